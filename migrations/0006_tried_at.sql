-- When a create was last tried: its deadline counts from there.
ALTER TABLE machines ADD COLUMN tried_at INTEGER;

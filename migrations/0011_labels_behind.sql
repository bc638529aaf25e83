-- Since when a machine's label does not tell its lease's end, unix milliseconds; null while it does. After a quarter of an hour health
-- says so: if the database is lost then, a machine ends too early.
ALTER TABLE machines ADD COLUMN label_behind_since INTEGER;
-- When it was last tried to be written while the provider's rate limit was nearly used up, which is done once in five minutes.
ALTER TABLE machines ADD COLUMN label_tried_at INTEGER;

-- When settle last did its work, and when an inventory pass last got on, unix milliseconds: health says so when they no longer do.
ALTER TABLE locks ADD COLUMN settled_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE locks ADD COLUMN inventoried_at INTEGER NOT NULL DEFAULT 0;

-- When a sweep last asked for the catalogue.
ALTER TABLE locks ADD COLUMN catalogue_asked_at INTEGER NOT NULL DEFAULT 0;

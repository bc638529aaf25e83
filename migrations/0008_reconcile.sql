-- The uid that a machine's label tells where that is not the row's own: a second machine with a known uid has a row of its own.
ALTER TABLE machines ADD COLUMN label_uid TEXT;
-- The latest end that was sent for the label without an answer.
ALTER TABLE machines ADD COLUMN label_sent_at INTEGER;

-- When this database's first sweep ran, and how far the reconcile has got: JSON.
ALTER TABLE locks ADD COLUMN first_sweep_at INTEGER;
ALTER TABLE locks ADD COLUMN reconcile TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(reconcile));

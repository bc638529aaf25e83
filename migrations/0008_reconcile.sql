-- The uid that a machine's label tells where that is not the row's own: a second machine with a known uid has a row of its own.
ALTER TABLE machines ADD COLUMN label_uid TEXT;
-- The ends that were sent for the label since one was last confirmed, whether they arrived or not: JSON.
ALTER TABLE machines ADD COLUMN labels_sent TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(labels_sent));

-- When this database's first sweep ran, and how far the reconcile has got: JSON.
ALTER TABLE locks ADD COLUMN first_sweep_at INTEGER;
ALTER TABLE locks ADD COLUMN reconcile TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(reconcile));

-- Only a label that was confirmed is the row's own: docs/decisions/row-and-label.md.
ALTER TABLE machines DROP COLUMN labels_sent;

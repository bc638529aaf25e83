-- A hash of each field of the body that a machine was asked with (JSON), so that another body can be told which fields differ. Null of rows from before.
ALTER TABLE machines ADD COLUMN spec_fields TEXT;

-- What a machine was made with and has not been seen with yet: JSON of provider ids; NULL = nothing to wait for.
ALTER TABLE machines ADD COLUMN attachments TEXT CHECK (attachments IS NULL OR json_valid(attachments));

-- What settle looks at, anew: also machines whose firewalls and networks are not confirmed.
DROP INDEX machines_unsettled;
CREATE INDEX machines_unsettled ON machines (next_try_at)
  WHERE phase IN ('requested', 'destroying')
     OR (phase = 'active' AND (status = 'creating' OR label_expires_at IS NOT expires_at OR attachments IS NOT NULL));

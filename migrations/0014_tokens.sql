-- What a token's holder may do is its policy's to say; the note is an admin's own. Last used: to the hour.
ALTER TABLE tokens ADD COLUMN policy TEXT NOT NULL DEFAULT 'default';
ALTER TABLE tokens ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
-- What a repeated order is known by, and until when.
ALTER TABLE tokens ADD COLUMN idempotency_sha256 TEXT;
ALTER TABLE tokens ADD COLUMN idempotency_until INTEGER;
CREATE INDEX tokens_by_idempotency ON tokens (idempotency_sha256) WHERE idempotency_sha256 IS NOT NULL;

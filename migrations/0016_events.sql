-- What an event keeps by itself: which machine it was, on whose word it came (JSON, no secret), and what its cost is worked out from.
-- All are NULL in rows that an older version wrote.
ALTER TABLE events ADD COLUMN account TEXT;
ALTER TABLE events ADD COLUMN name TEXT;
ALTER TABLE events ADD COLUMN evidence TEXT CHECK (evidence IS NULL OR json_valid(evidence));
ALTER TABLE events ADD COLUMN created_at INTEGER;
ALTER TABLE events ADD COLUMN price_micro_eur INTEGER;
ALTER TABLE events ADD COLUMN price_month_micro_eur INTEGER;
ALTER TABLE events ADD COLUMN ipv4_micro_eur INTEGER;
ALTER TABLE events ADD COLUMN ipv4_month_micro_eur INTEGER;
ALTER TABLE events ADD COLUMN has_ipv4 INTEGER;

-- Newest first, of one owner and of all, read no further than asked; one machine's have `events_by_uid`.
CREATE INDEX events_by_owner ON events (owner, at);
CREATE INDEX events_by_time ON events (at);
-- Machines that have ended, newest first.
CREATE INDEX machines_by_ending ON machines (destroyed_at) WHERE destroyed_at IS NOT NULL;

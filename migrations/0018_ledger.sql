-- What machines were charged, kept after their rows: by the day (UTC) in which their hours began, as `2026-11-30`; by the month once
-- the day is older than history is kept. Of it `estimated_micro_eur` was counted without a known price, at the dearest known one.
CREATE TABLE charges (
  period TEXT NOT NULL,
  account TEXT NOT NULL,
  owner TEXT NOT NULL,
  server_type TEXT NOT NULL,
  hours INTEGER NOT NULL,
  micro_eur INTEGER NOT NULL,
  estimated_micro_eur INTEGER NOT NULL,
  PRIMARY KEY (period, account, owner, server_type)
) STRICT, WITHOUT ROWID;
-- The same by month and account: what limits are held against at every create.
CREATE TABLE charged_months (
  month TEXT NOT NULL,
  account TEXT NOT NULL,
  micro_eur INTEGER NOT NULL,
  PRIMARY KEY (month, account)
) STRICT, WITHOUT ROWID;

-- When an ended machine's hours were added to those sums, and how many of its hours are in them: a row that is opened again is added
-- to them once more from there.
ALTER TABLE machines ADD COLUMN booked_at INTEGER;
ALTER TABLE machines ADD COLUMN booked_hours INTEGER NOT NULL DEFAULT 0;
-- What those sums do not tell yet: live machines, and those that ended a moment ago.
CREATE INDEX machines_unbooked ON machines (account) WHERE booked_at IS NULL;

-- What is to be added to them: the first that ended before the others.
CREATE INDEX machines_to_book ON machines (destroyed_at) WHERE booked_at IS NULL AND destroyed_at IS NOT NULL;
-- What a machine was counted with before, when it is found again.
CREATE INDEX machines_by_ended_id ON machines (provider_id) WHERE destroyed_at IS NOT NULL;
-- When a sweep last found nothing more to add.
ALTER TABLE locks ADD COLUMN booked_at INTEGER NOT NULL DEFAULT 0;

-- What is old, the oldest first; and when a sweep last found no more of it.
CREATE INDEX charges_by_day ON charges (period) WHERE length(period) = 10;
CREATE INDEX resources_by_ending ON resources (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX tombstones_by_end ON tombstones (until);
CREATE INDEX tokens_by_end ON tokens (expires_at);
ALTER TABLE locks ADD COLUMN forgotten_at INTEGER NOT NULL DEFAULT 0;

-- As what an unknown price counts: the dearest of the catalogue, micro-EUR an hour.
ALTER TABLE catalogues ADD COLUMN dearest_micro_eur INTEGER;
ALTER TABLE catalogues ADD COLUMN dearest_ipv4_micro_eur INTEGER;

-- Nothing ever wrote it: what is reserved is worked out from the row.
ALTER TABLE machines DROP COLUMN reserved_micro_eur;

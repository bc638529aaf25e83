-- One row a machine, live or tombstone. Written before the provider is asked, kept when it is gone.
-- Times are unix milliseconds, money micro-EUR. docs/storage.md tells each column and who writes it.
CREATE TABLE machines (
  uid TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  provider_name TEXT NOT NULL,
  provider_id TEXT,
  installation TEXT NOT NULL,
  credential TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('requested', 'active', 'destroying', 'destroyed', 'failed', 'disowned')),
  status TEXT NOT NULL CHECK (status IN ('creating', 'running', 'stopped', 'deleting', 'unknown', 'destroyed')),
  reason TEXT,
  spec_sha256 TEXT NOT NULL,
  server_type TEXT NOT NULL,
  region TEXT NOT NULL,
  image TEXT NOT NULL,
  arch TEXT NOT NULL DEFAULT '',
  labels TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(labels)),
  public_ipv4 TEXT NOT NULL DEFAULT '',
  public_ipv6 TEXT NOT NULL DEFAULT '',
  private_ipv4 TEXT NOT NULL DEFAULT '',
  price_micro_eur INTEGER,
  reserved_micro_eur INTEGER,
  requested_at INTEGER NOT NULL,
  created_at INTEGER,
  expires_at INTEGER NOT NULL,
  max_until INTEGER NOT NULL,
  keep_on_failure_ms INTEGER,
  label_expires_at INTEGER,
  observed_at INTEGER,
  missing_since INTEGER,
  mismatched_since INTEGER,
  destroy_requested_at INTEGER,
  destroyed_at INTEGER,
  provider_action_id TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try_at INTEGER,
  last_error TEXT,
  CHECK (expires_at <= max_until)
) STRICT;

-- I3: one live machine an owner and name, whatever races.
CREATE UNIQUE INDEX machines_by_live_name ON machines (owner, name) WHERE phase IN ('requested', 'active', 'destroying');
-- What expire looks at.
CREATE INDEX machines_by_end ON machines (expires_at) WHERE phase IN ('requested', 'active', 'destroying');
-- Identity: who holds this provider id?
CREATE INDEX machines_by_provider_id ON machines (provider_id) WHERE phase IN ('requested', 'active', 'destroying');
-- Listing and history of one owner.
CREATE INDEX machines_by_owner ON machines (owner, requested_at);

-- What happened, in the order it happened. Never updated.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  uid TEXT,
  owner TEXT,
  event TEXT NOT NULL,
  reason TEXT,
  request_id TEXT,
  detail TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(detail))
) STRICT;
CREATE INDEX events_by_uid ON events (uid, id);

-- Reports of sweeps that did, failed or held something, and one an hour besides.
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  started_by TEXT NOT NULL CHECK (started_by IN ('cron', 'admin')),
  dry_run INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'partial', 'failed')),
  report TEXT NOT NULL CHECK (json_valid(report))
) STRICT;

-- The sweep's lock, and its heartbeat: the one row that an idle tick writes.
CREATE TABLE locks (
  name TEXT PRIMARY KEY,
  holder TEXT,
  fence INTEGER NOT NULL DEFAULT 0,
  held_until INTEGER NOT NULL DEFAULT 0,
  last_started_at INTEGER,
  last_good_cron_at INTEGER NOT NULL,
  last_report_at INTEGER NOT NULL DEFAULT 0,
  last_error TEXT
) STRICT;
-- Health counts from here until the first tick.
INSERT INTO locks (name, last_good_cron_at) VALUES ('sweep', CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- Rights that an admin handed out. Only a hash of each secret is here.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  secret_sha256 TEXT NOT NULL UNIQUE,
  auth_epoch TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

-- What this database remembers of its installation.
CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

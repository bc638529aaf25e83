-- Firewalls, networks and SSH keys. Written before the provider is asked, kept when it is gone. spec: JSON of what was asked for;
-- equal specs mean the same thing.
CREATE TABLE resources (
  uid TEXT PRIMARY KEY,
  label_uid TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('firewall', 'network', 'ssh_key')),
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  provider_name TEXT NOT NULL,
  provider_id TEXT,
  installation TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('requested', 'active', 'deleting', 'deleted', 'failed')),
  reason TEXT,
  spec TEXT NOT NULL CHECK (json_valid(spec)),
  requested_at INTEGER NOT NULL,
  created_at INTEGER,
  expires_at INTEGER NOT NULL,
  delete_requested_at INTEGER,
  idle_since INTEGER,
  missing_since INTEGER,
  deleted_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try_at INTEGER,
  last_error TEXT
) STRICT;

-- One live resource of a kind an owner and name, whatever races.
CREATE UNIQUE INDEX resources_by_live_name ON resources (kind, owner, name) WHERE phase IN ('requested', 'active', 'deleting');
-- What the sweep looks at.
CREATE INDEX resources_by_end ON resources (expires_at) WHERE phase IN ('requested', 'active', 'deleting');
-- Who else has this key?
CREATE INDEX resources_by_spec ON resources (spec) WHERE kind = 'ssh_key' AND phase IN ('requested', 'active', 'deleting');

-- Which machine uses which of them. Kept with the machine's row: only live machines count.
CREATE TABLE resource_uses (
  resource_uid TEXT NOT NULL,
  machine_uid TEXT NOT NULL,
  PRIMARY KEY (resource_uid, machine_uid)
) STRICT, WITHOUT ROWID;
CREATE INDEX resource_uses_by_machine ON resource_uses (machine_uid);

-- When a sweep last looked at all of them at the provider.
ALTER TABLE locks ADD COLUMN resources_listed_at INTEGER NOT NULL DEFAULT 0;

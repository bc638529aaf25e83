-- Machines that reap could not destroy and that no row holds: they back off, so that they cannot starve the others.
CREATE TABLE reap_failures (
  provider_id TEXT PRIMARY KEY,
  attempts INTEGER NOT NULL,
  next_try_at INTEGER NOT NULL,
  last_error TEXT NOT NULL
) STRICT;

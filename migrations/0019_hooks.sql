-- What signed events have asked for: one row for each rule of a hook that an event fits, written before its sender is answered.
CREATE TABLE deliveries (
  uid TEXT PRIMARY KEY,
  hook TEXT NOT NULL,
  -- The sender's own id for the event, which decides nothing.
  delivery TEXT NOT NULL,
  rule INTEGER,
  source TEXT,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  act TEXT NOT NULL CHECK (act IN ('create', 'renew', 'destroy')),
  -- When the fact was so, unix milliseconds.
  rank INTEGER NOT NULL,
  ttl TEXT,
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'ignored', 'refused')),
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Nobody else tries before this.
  next_try_at INTEGER,
  received_at INTEGER NOT NULL,
  finished_at INTEGER,
  machine_uid TEXT,
  reason TEXT,
  detail TEXT
) STRICT;
-- What is still to be carried out, oldest first; and what of it a newer fact about its machine ends.
CREATE INDEX deliveries_pending ON deliveries (received_at) WHERE state = 'pending';
CREATE INDEX deliveries_pending_of_machine ON deliveries (owner, name) WHERE state = 'pending';
-- Newest first, of all and of one hook; and what is old enough to be forgotten.
CREATE INDEX deliveries_by_time ON deliveries (received_at);
CREATE INDEX deliveries_by_hook ON deliveries (hook, received_at);

-- By which fact a machine was last ended: what is not newer does not make it again. Apart from the owners' tombstones.
CREATE TABLE hook_ranks (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  rank INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_ranks_by_end ON hook_ranks (until);

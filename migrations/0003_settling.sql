-- What following a create or a destroy to its end needs.
-- delete_accepted_at: the provider has agreed to delete the machine; gone is proven later.
ALTER TABLE machines ADD COLUMN delete_accepted_at INTEGER;
-- looked_at: when somebody last asked the provider for it; one look in three seconds serves all who wait.
ALTER TABLE machines ADD COLUMN looked_at INTEGER;

-- What settle looks at: a create or a destroy under way, or a lease that the label does not tell of yet.
CREATE INDEX machines_unsettled ON machines (next_try_at)
  WHERE phase IN ('requested', 'destroying')
     OR (phase = 'active' AND (status = 'creating' OR label_expires_at IS NOT expires_at));

-- Names that shall not be created for a while, though no machine had them.
CREATE TABLE tombstones (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- A create may start a small sweep where cron is dead.
CREATE TABLE sweeps_new (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  started_by TEXT NOT NULL CHECK (started_by IN ('cron', 'admin', 'create')),
  dry_run INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'partial', 'failed')),
  report TEXT NOT NULL CHECK (json_valid(report))
) STRICT;
INSERT INTO sweeps_new SELECT * FROM sweeps;
DROP TABLE sweeps;
ALTER TABLE sweeps_new RENAME TO sweeps;

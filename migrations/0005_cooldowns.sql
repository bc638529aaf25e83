-- Where a provider had no room a moment ago: tried after the others for a while.
CREATE TABLE cooldowns (
  provider TEXT NOT NULL,
  server_type TEXT NOT NULL,
  region TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (provider, server_type, region)
) STRICT, WITHOUT ROWID;

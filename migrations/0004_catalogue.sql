-- What a provider offers, as it last said: a JSON list of server types. Read often, asked for seldom.
CREATE TABLE catalogues (
  provider TEXT PRIMARY KEY,
  server_types TEXT NOT NULL CHECK (json_valid(server_types)),
  fetched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions of the page that were ended before their time: one by its own name, or all of a key under the key's id.
CREATE TABLE session_end (
  name TEXT PRIMARY KEY,
  at   INTEGER NOT NULL                -- those that began before then are over
) STRICT, WITHOUT ROWID;

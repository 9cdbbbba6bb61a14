-- Answers from the platforms: whose an address is, which events were taken, and how far each connection was read.

-- The addresses of `user`, by address.
CREATE TABLE user_address (
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (channel, address, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_address_user ON user_address (user_id);
INSERT INTO user_address (channel, address, user_id)
  SELECT DISTINCT a.value ->> 'channel', coalesce(a.value ->> 'address', ''), u.id
  FROM user u, json_each(u.addresses) a WHERE json_valid(u.addresses);

-- Events that were taken, as long as a copy of them could come.
CREATE TABLE seen (
  channel TEXT NOT NULL,
  id      BLOB NOT NULL,                  -- the first half of the SHA-256 of the platform's name for it
  until   INTEGER NOT NULL,
  PRIMARY KEY (channel, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_until ON seen (until);

-- The connections to platforms.
CREATE TABLE inbound (
  channel  TEXT PRIMARY KEY,
  node     TEXT NOT NULL,                 -- who has it
  lease    INTEGER NOT NULL,              -- rises whenever another node takes it
  place    TEXT,                          -- how far it was read
  place_at INTEGER
) STRICT, WITHOUT ROWID;

-- What a person who answered calls themselves.
ALTER TABLE response ADD COLUMN name TEXT;

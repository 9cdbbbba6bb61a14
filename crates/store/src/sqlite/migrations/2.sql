-- What quiet hours do not hold back (`critical` or `high`), whether what waited is told in one message, and until when nothing at
-- all is sent to somebody.
ALTER TABLE user ADD COLUMN quiet_except TEXT;
ALTER TABLE user ADD COLUMN quiet_digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN paused_until INTEGER;

-- Whom alerts are for.
CREATE INDEX user_admin ON user (id) WHERE admin;

-- Addresses that their platform calls dead: nothing is sent there any more.
CREATE TABLE dead_address (
  channel     TEXT NOT NULL,
  address     TEXT NOT NULL,
  since       INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  PRIMARY KEY (channel, address)
) STRICT, WITHOUT ROWID;

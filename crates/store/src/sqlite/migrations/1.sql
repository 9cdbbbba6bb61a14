-- Instants are microseconds since 1970. Words are the words of the API, so that a person with the sqlite3
-- shell can read every row.

CREATE TABLE reminder (
  id                 BLOB PRIMARY KEY,
  user               TEXT NOT NULL,
  name               TEXT,
  message            TEXT NOT NULL,
  schedule           TEXT NOT NULL,
  timezone           TEXT NOT NULL,
  priority           INTEGER NOT NULL,
  route              TEXT,                -- JSON list of addresses; NULL: the user's own
  ack_timeout        INTEGER,             -- milliseconds; NULL: no answer is asked for
  ack_prompt         TEXT,
  ack_reminders_max  INTEGER NOT NULL,
  snooze_allowed     INTEGER NOT NULL,
  retries_max        INTEGER NOT NULL,
  misfire            TEXT NOT NULL,
  misfire_within     INTEGER NOT NULL,    -- milliseconds
  on_unknown         TEXT NOT NULL,
  created_via        TEXT NOT NULL,
  original_text      TEXT,
  metadata           TEXT NOT NULL,
  status             TEXT NOT NULL,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  last_run           INTEGER NOT NULL,    -- the highest run number given out
  carried_by         INTEGER,             -- the run whose settle plans the next; NULL: the series is over
  planned            INTEGER NOT NULL,    -- runs of the schedule planned so far
  last_run_at        INTEGER,
  last_status        TEXT,
  total_runs         INTEGER NOT NULL DEFAULT 0,
  consecutive_errors INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX reminder_user ON reminder (user, id);

CREATE TABLE occurrence (
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  state       TEXT NOT NULL,
  wake_at     INTEGER,                    -- when the engine must look at it; NULL: never again
  priority    INTEGER NOT NULL,           -- the reminder's, kept here for the hot index
  lease       INTEGER NOT NULL DEFAULT 0, -- rises with every claim
  node        TEXT,                       -- who holds the lease
  at          INTEGER,                    -- when the state was reached, where that matters
  error       TEXT,
  attempts    INTEGER NOT NULL DEFAULT 0,
  rounds      INTEGER NOT NULL DEFAULT 0,
  position    INTEGER NOT NULL DEFAULT 0,
  refused     INTEGER NOT NULL DEFAULT 0,
  asks        INTEGER NOT NULL DEFAULT 0,
  reached     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (reminder_id, run)
) STRICT, WITHOUT ROWID;
-- The hot index: only what is still to come, one stretch per priority, so that a backlog drains urgent first.
CREATE INDEX occurrence_wake ON occurrence (priority, wake_at) WHERE wake_at IS NOT NULL;
-- What a node that died left behind: a handful of rows.
CREATE INDEX occurrence_node ON occurrence (node) WHERE node IS NOT NULL;
-- What pruning looks for.
CREATE INDEX occurrence_ended ON occurrence (at) WHERE wake_at IS NULL;

CREATE TABLE attempt (
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  channel     TEXT NOT NULL,
  address     TEXT NOT NULL,
  status      TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  error       TEXT,
  message_id  TEXT,
  PRIMARY KEY (reminder_id, run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE response (
  number      INTEGER PRIMARY KEY,
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  until       INTEGER
) STRICT;
CREATE INDEX response_occurrence ON response (reminder_id, run);

CREATE TABLE audit (
  number      INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  action      TEXT NOT NULL,
  reminder_id BLOB NOT NULL,
  run         INTEGER,
  detail      TEXT
) STRICT;
CREATE INDEX audit_reminder ON audit (reminder_id);

CREATE TABLE user (
  id          TEXT PRIMARY KEY,
  timezone    TEXT,
  language    TEXT,
  addresses   TEXT NOT NULL,              -- JSON list
  quiet_from  TEXT,
  quiet_to    TEXT,
  admin       INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  hash        BLOB NOT NULL UNIQUE,
  user        TEXT,
  write       INTEGER NOT NULL,
  expires_at  INTEGER,
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE answered (
  key         TEXT PRIMARY KEY,
  request     BLOB NOT NULL,
  body        TEXT NOT NULL,
  at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);

CREATE TABLE probe (number INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);

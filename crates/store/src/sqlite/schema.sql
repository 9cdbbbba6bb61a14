-- The tables of a file, schema version 1. Later versions only add: migrations/2.sql and so on.
--
-- Instants are microseconds since 1970. Words are the words of the API, so that a person with the sqlite3 shell can read every row.

CREATE TABLE reminder (
  id                 BLOB PRIMARY KEY,
  user_id            TEXT NOT NULL,
  name               TEXT,
  message            TEXT NOT NULL,
  schedule           TEXT NOT NULL,
  timezone           TEXT NOT NULL,
  priority           INTEGER NOT NULL,
  route              TEXT,                -- JSON list of addresses; NULL: the user's own
  only_to            INTEGER NOT NULL DEFAULT 0, -- whether nothing but these addresses is tried
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
  metadata           TEXT NOT NULL,       -- JSON, as it was given
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
CREATE INDEX reminder_user ON reminder (user_id, id);

CREATE TABLE occurrence (
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  made_for    INTEGER,                    -- the instant the run was made for, where a snooze or quiet hours have moved it since
  wake_at     INTEGER,                    -- when the engine must look at it; NULL: never again
  state       TEXT NOT NULL,
  at          INTEGER,                    -- when the state was reached, where that matters
  error       TEXT,
  waits_for   TEXT,                       -- `quiet` or `paused`: what it waits for the end of
  asked       TEXT,                       -- the schedule of a run that is still to be planned; nothing writes one here
  priority    INTEGER NOT NULL,           -- the reminder's, kept here for the hot index
  shard       INTEGER NOT NULL,           -- punctual_core::shard::shard_of(user_id), for a database that nodes share
  at_once     INTEGER NOT NULL DEFAULT 0, -- somebody asked for the run by hand: it waits for no quiet hours and no pause
  lease       INTEGER NOT NULL DEFAULT 0, -- rises with every claim
  node        TEXT,                       -- who holds the lease
  channel     TEXT,                       -- where the attempt under way goes to
  address     TEXT,
  message_id  TEXT,                       -- the platform's own, once it has taken the message
  readdressed INTEGER NOT NULL DEFAULT 0, -- whether the run has got other addresses since
  attempts    INTEGER NOT NULL DEFAULT 0,
  rounds      INTEGER NOT NULL DEFAULT 0,
  position    INTEGER NOT NULL DEFAULT 0,
  refused     INTEGER NOT NULL DEFAULT 0, -- addresses, as bits
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
  attempt_key TEXT,                       -- the key of this attempt alone, as its receiver was told
  key         TEXT,                       -- the key it was sent under, where several went out in one message
  status      TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  error       TEXT,
  message_id  TEXT,                       -- the platform's own
  PRIMARY KEY (reminder_id, run, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attempt_key ON attempt (attempt_key);

-- A person's answers.
CREATE TABLE response (
  number         INTEGER PRIMARY KEY,
  reminder_id    BLOB NOT NULL,
  run            INTEGER NOT NULL,
  kind           TEXT NOT NULL,
  at             INTEGER NOT NULL,
  actor          TEXT NOT NULL,
  user_id        TEXT,                    -- who answered
  channel        TEXT,                    -- where they said it
  text           TEXT,                    -- in their own words
  until          INTEGER,
  snooze_minutes INTEGER
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
-- Entries that belong to no reminder are pruned by their age.
CREATE INDEX audit_test ON audit (at) WHERE action = 'channel.test';

CREATE TABLE user (
  id           TEXT PRIMARY KEY,
  timezone     TEXT,
  language     TEXT,
  addresses    TEXT NOT NULL,             -- JSON list
  quiet_from   TEXT,
  quiet_to     TEXT,
  quiet_except TEXT,                      -- what quiet hours do not hold back: `critical` or `high`
  quiet_digest INTEGER NOT NULL DEFAULT 0, -- whether all that waited is told in one message
  paused_until INTEGER,                   -- nothing at all is sent before
  admin        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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

CREATE TABLE api_key (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  hash        BLOB NOT NULL UNIQUE,
  user        TEXT,
  write       INTEGER NOT NULL,
  expires_at  INTEGER,
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was answered to a request with an idempotency key, so that the same request is answered the same.
CREATE TABLE answered (
  key         TEXT PRIMARY KEY,
  request     BLOB NOT NULL,
  status      INTEGER NOT NULL DEFAULT 201, -- 0: it has begun and has not been answered
  body        TEXT NOT NULL,
  at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);

-- One row, updated to see that a write works.
CREATE TABLE probe (number INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);

-- How many commits there have been. A file beside the database says how many were answered for; if the database knows of fewer,
-- its write-ahead log was lost.
CREATE TABLE commits (n INTEGER NOT NULL) STRICT;
INSERT INTO commits VALUES (0);

-- The tables of a file, schema version 1. Later versions are migrations/2.sql and so on; migrate.rs says what they may do.
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
  escalate           TEXT,                -- who is asked next, a JSON list; NULL: as the user's entry says
  escalates_run      INTEGER,             -- the run that nobody has answered, where this asks somebody else about it,
  escalates_id       BLOB,                -- and its reminder
  event              TEXT,                -- the event that it belongs to: JSON; NULL: none
  snooze_allowed     INTEGER NOT NULL,
  retries_max        INTEGER NOT NULL,
  misfire            TEXT NOT NULL,
  misfire_within     INTEGER NOT NULL,    -- milliseconds
  on_unknown         TEXT NOT NULL,
  created_via        TEXT NOT NULL,
  original_text      TEXT,
  metadata           TEXT NOT NULL,       -- JSON, as it was given
  tags               TEXT,                -- JSON list; NULL: none
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
CREATE INDEX reminder_escalates ON reminder (escalates_id) WHERE escalates_id IS NOT NULL;

-- Reminders by their tags, for lists and silences. The triggers keep it in step with `reminder.tags`.
CREATE TABLE reminder_tag (
  tag         TEXT NOT NULL,
  reminder_id BLOB NOT NULL,
  user_id     TEXT NOT NULL,              -- the reminder's
  PRIMARY KEY (tag, reminder_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reminder_tag_user ON reminder_tag (user_id, tag, reminder_id);

CREATE TRIGGER reminder_tagged AFTER INSERT ON reminder WHEN new.tags IS NOT NULL BEGIN
  INSERT INTO reminder_tag (tag, reminder_id, user_id) SELECT value, new.id, new.user_id FROM json_each(new.tags);
END;
CREATE TRIGGER reminder_retagged AFTER UPDATE OF tags ON reminder WHEN new.tags IS NOT old.tags BEGIN
  DELETE FROM reminder_tag WHERE reminder_id = old.id AND tag IN (SELECT value FROM json_each(coalesce(old.tags, '[]')));
  INSERT INTO reminder_tag (tag, reminder_id, user_id)
    SELECT value, new.id, new.user_id FROM json_each(coalesce(new.tags, '[]'));
END;
CREATE TRIGGER reminder_untagged AFTER DELETE ON reminder WHEN old.tags IS NOT NULL BEGIN
  DELETE FROM reminder_tag WHERE reminder_id = old.id AND tag IN (SELECT value FROM json_each(old.tags));
END;

CREATE TABLE occurrence (
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  made_for    INTEGER,                    -- the instant the run was made for, where a snooze or quiet hours have moved it since
  wake_at     INTEGER,                    -- when the engine must look at it; NULL: never again
  own_at      INTEGER,                    -- the state's own moment, where `wake_at` comes before it
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
  escalation  TEXT,                       -- `planned`: further people are asked at `escalate_at`; `asked`: they were, and the run is
  escalate_at INTEGER,                    -- not called unanswered before `escalate_at`
  PRIMARY KEY (reminder_id, run)
) STRICT, WITHOUT ROWID;
-- The hot index: only what is still to come, one stretch per priority, so that a backlog drains urgent first.
CREATE INDEX occurrence_wake ON occurrence (priority, wake_at) WHERE wake_at IS NOT NULL;
-- What a node that died left behind: a handful of rows.
CREATE INDEX occurrence_node ON occurrence (node) WHERE node IS NOT NULL;
-- What pruning looks for.
CREATE INDEX occurrence_ended ON occurrence (at) WHERE wake_at IS NULL;
-- A person's day: their runs by the instant at which they are due.
CREATE INDEX occurrence_due ON occurrence (shard, due_at);
-- The runs that wait for the end of a silence.
CREATE INDEX occurrence_silenced ON occurrence (reminder_id, run) WHERE waits_for = 'silenced';
-- Runs that their person was told of and can still answer, by the shard of their user: words of somebody with a long history are looked
-- up among what waits, and not among everything that person ever had.
CREATE INDEX occurrence_asked ON occurrence (shard, reminder_id, run) WHERE reached > 0 AND wake_at IS NOT NULL;
-- The runs that failed, for lists and for sending them again: few, and in the order of their names.
CREATE INDEX occurrence_failed ON occurrence (reminder_id, run, at) WHERE state = 'failed';

CREATE TABLE attempt (
  reminder_id BLOB NOT NULL,
  run         INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  channel     TEXT NOT NULL,
  address     TEXT NOT NULL,
  key         TEXT,                       -- the key it was sent under, where several went out in one message
  status      TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  error       TEXT,
  message_id  TEXT,                       -- the platform's own
  PRIMARY KEY (reminder_id, run, number)
) STRICT, WITHOUT ROWID;

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
  snooze_minutes INTEGER,
  name           TEXT                     -- what the person calls themselves
) STRICT;
CREATE INDEX response_occurrence ON response (reminder_id, run);

-- The texts by which reminders are found, folded; punctual_core::rules::search says how. They follow the journal.
CREATE TABLE search_text (
  number      INTEGER PRIMARY KEY,        -- its place: what came last has the highest
  reminder_id BLOB NOT NULL UNIQUE,
  user_id     TEXT NOT NULL,
  text        TEXT NOT NULL
) STRICT;
CREATE INDEX search_text_user ON search_text (user_id, number);
-- Groups of three letters. It stores no text of its own, and where in a text a group stands is not kept.
CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'search_text', content_rowid = 'number', tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0
);
-- Nothing of a text that was removed stays in the index.
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER search_text_new AFTER INSERT ON search_text BEGIN
  INSERT INTO search (rowid, text) VALUES (new.number, new.text);
END;
CREATE TRIGGER search_text_changed AFTER UPDATE OF text ON search_text BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', old.number, old.text);
  INSERT INTO search (rowid, text) VALUES (new.number, new.text);
END;
CREATE TRIGGER search_text_gone AFTER DELETE ON search_text BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', old.number, old.text);
END;
CREATE TRIGGER reminder_unsearched AFTER DELETE ON reminder BEGIN
  DELETE FROM search_text WHERE reminder_id = old.id;
END;
-- How far it has been filled with the reminders that were there before it.
CREATE TABLE search_state (is_filled INTEGER NOT NULL, filled_to BLOB) STRICT;
INSERT INTO search_state (is_filled) VALUES (0);

-- Everything that happened, an entry each. Its number is its place: one writer commits one after the other, and the last entry is never
-- removed, so no number is given twice. (AUTOINCREMENT would write one more page in every commit.)
CREATE TABLE journal (
  number      INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  reminder_id BLOB,
  run         INTEGER,
  user_id     TEXT,
  actor       TEXT,                       -- NULL: the engine
  via         TEXT,                       -- through which door
  data        TEXT                        -- JSON
) STRICT;
CREATE INDEX journal_reminder ON journal (reminder_id) WHERE reminder_id IS NOT NULL;
-- Of users, keys and events: few. An import that comes twice finds them here.
CREATE INDEX journal_other ON journal (at) WHERE reminder_id IS NULL;

-- The first entry of each hour: where a reader begins who asks for what happened since an instant. An index on `at` would be written with
-- every entry.
CREATE TABLE journal_hour (
  hour  INTEGER PRIMARY KEY,              -- journal.at in whole hours
  first INTEGER NOT NULL                  -- journal.number
) STRICT, WITHOUT ROWID;

-- Work that is done by one at a time, such as telling a subscriber, and how far it has come in the journal.
CREATE TABLE duty (
  name     TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  lease    INTEGER NOT NULL,
  node     TEXT NOT NULL,
  note     TEXT                           -- what an operator should know
) STRICT, WITHOUT ROWID;

-- How late sends were: a row for each stretch of five minutes in which something was sent, and each run of a node.
CREATE TABLE lateness (
  at       INTEGER NOT NULL,
  node     TEXT NOT NULL,
  since    INTEGER NOT NULL,              -- when the node was started
  late_max INTEGER NOT NULL,              -- microseconds
  counts   TEXT NOT NULL,                 -- how many sends were how late: punctual_core::model::lateness
  failed   INTEGER NOT NULL,
  given_up INTEGER NOT NULL,
  waiting  INTEGER NOT NULL,
  PRIMARY KEY (at, node, since)
) STRICT, WITHOUT ROWID;

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
  escalate     TEXT,                      -- who is asked next, for reminders without a plan of their own
  habits       TEXT,                      -- JSON: what they mean by words that leave something open; NULL: none of their own
  admin        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Whom alerts are for.
CREATE INDEX user_admin ON user (id) WHERE admin;

-- The addresses of `user`, by address.
CREATE TABLE user_address (
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (channel, address, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_address_user ON user_address (user_id);

-- People who belong together. Not `group`, which is a word of SQL.
CREATE TABLE user_group (
  name       TEXT PRIMARY KEY,
  mode       TEXT NOT NULL,               -- `in_order` or `all`
  users      TEXT NOT NULL,               -- JSON list, in order
  rota       TEXT,                        -- the calendar that says who is on duty; NULL: everybody in `users`
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Stretches of time in which some reminders are not sent.
CREATE TABLE silence (
  id         BLOB PRIMARY KEY,
  user_id    TEXT,                        -- each of these three that is not NULL must match
  group_name TEXT,
  tag        TEXT,
  from_at    INTEGER NOT NULL,
  until_at   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX silence_until ON silence (until_at);

-- How often the address of a user's calendar was changed; no row: never.
CREATE TABLE calendar_key (
  user_id TEXT PRIMARY KEY NOT NULL,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calendars that are read every so often: of a user (its items become events) or of a group (they say who is on duty).
CREATE TABLE feed (
  kind TEXT NOT NULL,                 -- `user` or `group`
  owner TEXT NOT NULL,                -- the user or the group
  name TEXT NOT NULL,                 -- what its owner calls it; empty for a group's
  source TEXT NOT NULL,               -- an https URL or a file; it may be a secret
  settings TEXT NOT NULL,             -- what is made of its items, as JSON
  every INTEGER NOT NULL,             -- how often it is read, in seconds
  next_at INTEGER,                    -- when it is read next; null: never again, because it is gone
  etag TEXT,
  modified TEXT,
  read_at INTEGER,                    -- when it was last read
  changed_at INTEGER,                 -- when it last was another than before
  failures INTEGER NOT NULL DEFAULT 0,
  vanished INTEGER NOT NULL DEFAULT 0, -- how many of its items were gone at the last reading, and are waited for
  problem TEXT,                       -- why it could not be read
  problems TEXT,                      -- what of it could not be read, as a JSON list
  node TEXT,                          -- who reads it now, until `until_at`
  until_at INTEGER,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (kind, owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_next ON feed (next_at) WHERE next_at IS NOT NULL;

-- Who of a group is on duty when, by the calendar that the group names.
CREATE TABLE rota_shift (
  group_name TEXT NOT NULL,
  number INTEGER NOT NULL,
  from_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (group_name, number)
) STRICT, WITHOUT ROWID;

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
  scopes      TEXT,                       -- what it may do, such as `read,write`; NULL: as `write` says
  channels    TEXT,                       -- the only channels it sends by and sees, as a JSON list; NULL: all
  rate        TEXT,                       -- how often it may ask, such as `30/1s`; NULL: as the server's settings say
  prefix      TEXT,                       -- the secret's first characters; NULL: not known
  expires_at  INTEGER,
  created_at  INTEGER NOT NULL,
  used_at     INTEGER,
  old_hash    BLOB,                       -- of the secret before the last rotation, which works until `old_until`
  old_prefix  TEXT,
  old_until   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_old ON api_key (old_hash) WHERE old_hash IS NOT NULL;

-- Sessions of the page that were ended before their time: one by its own name, or all of a key under the key's id.
CREATE TABLE session_end (
  name TEXT PRIMARY KEY,
  at   INTEGER NOT NULL                -- those that began before then are over
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

-- Something of the application's with a start, and offsets before and after it, at each of which each of its people is reminded.
CREATE TABLE event (
  key               TEXT PRIMARY KEY,
  starts_at         INTEGER NOT NULL,      -- of a series: the first instance
  ends_at           INTEGER,
  repeats           TEXT,                  -- JSON: the rule, and what is different about some instances; NULL: a single event
  offsets           TEXT,                  -- JSON list; NULL: those of the nearest scope
  scope             TEXT,
  users             TEXT NOT NULL,         -- JSON list
  groups            TEXT,                  -- JSON list; NULL: none
  message           TEXT NOT NULL,         -- with fields such as {minutes}
  -- As in reminder, but for the zone: NULL is each user's own.
  name              TEXT,
  timezone          TEXT,
  priority          INTEGER NOT NULL,
  route             TEXT,
  only_to           INTEGER NOT NULL,
  ack_timeout       INTEGER,
  ack_prompt        TEXT,
  ack_reminders_max INTEGER NOT NULL,
  escalate          TEXT,
  snooze_allowed    INTEGER NOT NULL,
  retries_max       INTEGER NOT NULL,
  misfire           TEXT NOT NULL,
  misfire_within    INTEGER NOT NULL,
  on_unknown        TEXT NOT NULL,
  metadata          TEXT NOT NULL,
  tags              TEXT,
  source            TEXT,                  -- the calendar it was read from
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  removed           INTEGER NOT NULL DEFAULT 0, -- somebody removed it; it is gone when nothing of it is on its way
  planned           INTEGER NOT NULL DEFAULT 0, -- its reminders are what they should be
  plan_at           INTEGER,               -- when the planner must look at it; NULL: never by itself
  asked_at          INTEGER,               -- when something was first asked for that has not been planned
  planned_until     INTEGER,               -- until when the instances of a series have been planned
  error             TEXT                   -- why it cannot be planned
) STRICT;
CREATE INDEX event_plan ON event (plan_at) WHERE plan_at IS NOT NULL;
CREATE INDEX event_scope ON event (scope) WHERE offsets IS NULL;
CREATE INDEX event_source ON event (source, key) WHERE source IS NOT NULL;
CREATE INDEX event_grouped ON event (key) WHERE groups IS NOT NULL;

-- The reminder of each event, instance, offset and user.
CREATE TABLE event_reminder (
  event_key   TEXT NOT NULL,
  instance    TEXT NOT NULL,               -- the original local start of an instance of a series; empty: a single event
  offset_word TEXT NOT NULL,
  user_id     TEXT NOT NULL,
  due_at      INTEGER NOT NULL,            -- what it was planned for, also when a person has put it off since
  reminder_id BLOB NOT NULL,
  PRIMARY KEY (event_key, instance, offset_word, user_id)
) STRICT, WITHOUT ROWID;

-- Offsets for the events below a path: `guild:1/channel:2` inherits from `guild:1`.
CREATE TABLE scope (
  path       TEXT PRIMARY KEY,
  offsets    TEXT NOT NULL,                -- JSON list
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Watches: their definitions, runs, intents and ledgers.
CREATE TABLE watch (
  name TEXT PRIMARY KEY,
  hash TEXT NOT NULL,                -- tells one definition from another
  definition TEXT NOT NULL,          -- JSON for people, without secrets
  defined_at INTEGER NOT NULL,
  next_at INTEGER                    -- when it runs next
) STRICT, WITHOUT ROWID;

CREATE TABLE watch_run (
  id BLOB PRIMARY KEY,
  watch TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  asked INTEGER NOT NULL,            -- somebody asked for it
  state TEXT NOT NULL,               -- running, done, given_up
  node TEXT NOT NULL,
  place TEXT,                        -- where reading goes on: due date and key, JSON
  seen INTEGER NOT NULL,
  sent INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  retried INTEGER NOT NULL,
  error TEXT,                        -- why it was given up
  lease INTEGER NOT NULL             -- which time it was taken: an earlier holder is refused
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX watch_run_going ON watch_run (watch) WHERE state = 'running';
CREATE INDEX watch_run_started ON watch_run (watch, started_at);
CREATE INDEX watch_run_ended ON watch_run (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE watch_intent (
  watch TEXT NOT NULL,
  key TEXT NOT NULL,                 -- the row's name
  reminder_id BLOB NOT NULL,
  user_id TEXT NOT NULL,
  intent TEXT NOT NULL,              -- the row's marks and the rendered reminder, JSON
  run BLOB NOT NULL,
  made_at INTEGER NOT NULL,
  PRIMARY KEY (watch, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_intent_user ON watch_intent (user_id);

CREATE TABLE watch_bad (
  run BLOB NOT NULL,
  number INTEGER NOT NULL,
  key TEXT NOT NULL,
  field TEXT,
  problem TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE watch_ledger (
  watch TEXT NOT NULL,
  key TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  n INTEGER NOT NULL,                -- how many reminders there were
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (watch, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_ledger_due ON watch_ledger (due_at);

-- One row, updated to see that a write works.
CREATE TABLE probe (number INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);

-- How many commits there have been. A file beside the database says how many were answered for; if the database knows of fewer,
-- its write-ahead log was lost.
CREATE TABLE commits (n INTEGER NOT NULL) STRICT;
INSERT INTO commits VALUES (0);

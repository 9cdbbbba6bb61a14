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

-- The event that a reminder belongs to: JSON; NULL: none.
ALTER TABLE reminder ADD COLUMN event TEXT;

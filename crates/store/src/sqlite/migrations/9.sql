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

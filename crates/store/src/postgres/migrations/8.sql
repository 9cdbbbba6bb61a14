-- Watches: their definitions, runs, intents and ledgers.
create table punctual.watch (
  name text collate "C" primary key,
  hash text not null,                      -- tells one definition from another
  definition text not null,                -- JSON for people, without secrets
  defined_at timestamptz not null,
  next_at timestamptz                      -- when it runs next
);

create table punctual.watch_run (
  id uuid primary key,
  watch text collate "C" not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  asked boolean not null,                  -- somebody asked for it
  state text not null,                     -- running, done, given_up
  node text not null,
  place text,                              -- where reading goes on: due date and key, JSON
  seen bigint not null,
  sent bigint not null,
  skipped bigint not null,
  failed bigint not null,
  retried bigint not null,
  error text,                              -- why it was given up
  lease bigint not null,                   -- which time it was taken: an earlier holder is refused
  until timestamptz                        -- until when its node has it; null: it was given back
) with (fillfactor = 50);
create unique index watch_run_going on punctual.watch_run (watch) where state = 'running';
create index watch_run_started on punctual.watch_run (watch, started_at);
create index watch_run_ended on punctual.watch_run (ended_at) where ended_at is not null;

create table punctual.watch_intent (
  watch text collate "C" not null,
  key text collate "C" not null,           -- the row's name
  reminder_id uuid not null,
  user_id text not null,
  intent text not null,                    -- the row's marks and the rendered reminder, JSON
  run uuid not null,
  made_at timestamptz not null,
  primary key (watch, key)
);
create index watch_intent_user on punctual.watch_intent (user_id);

create table punctual.watch_bad (
  run uuid not null,
  number bigint not null,
  key text not null,
  field text,
  problem text not null,
  primary key (run, number)
);

create table punctual.watch_ledger (
  watch text collate "C" not null,
  key text collate "C" not null,
  due_at timestamptz not null,
  n integer not null,                      -- how many reminders there were
  sent_at timestamptz not null,
  primary key (watch, key)
);
create index watch_ledger_due on punctual.watch_ledger (due_at);

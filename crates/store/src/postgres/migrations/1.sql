-- Instants are timestamptz: microseconds, which is what punctual keeps, and what people can read. Words are the words of the
-- API, so that a person with psql can read every row. No foreign keys: every write goes through transactions that keep
-- rows together, and checking each of them again would cost as much as writing it.

create table punctual.reminder (
  id                 uuid primary key,
  user_id            text collate "C" not null,
  name               text,
  message            text not null,
  schedule           text not null,
  timezone           text not null,
  priority           smallint not null,
  route              text,                 -- JSON list of addresses; null: the user's own
  ack_timeout        bigint,               -- milliseconds; null: no answer is asked for
  ack_prompt         text,
  ack_reminders_max  integer not null,
  snooze_allowed     boolean not null,
  retries_max        integer not null,
  misfire            text not null,
  misfire_within     bigint not null,      -- milliseconds
  on_unknown         text not null,
  created_via        text not null,
  original_text      text,
  metadata           text not null,        -- JSON, as it was given
  status             text not null,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  last_run           integer not null,     -- the highest run number given out
  carried_by         integer,              -- the run whose settle plans the next; null: the series is over
  planned            bigint not null,      -- runs of the schedule planned so far
  last_run_at        timestamptz,
  last_status        text,
  total_runs         integer not null default 0,
  consecutive_errors integer not null default 0
) with (
  -- Each settle updates counters that no index holds. Room on the page keeps the new version there, and no index is touched.
  fillfactor = 80,
  -- A million rows with the usual fifth of dead ones would be vacuumed after 200,000 updates, and then for long. These tables
  -- change all day: a little, often, is what keeps them as fast as on the first.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);
create index reminder_user on punctual.reminder (user_id, id);

create table punctual.occurrence (
  reminder_id uuid not null,
  run         integer not null,
  due_at      timestamptz not null,
  wake_at     timestamptz,                  -- when the engine must look at it; null: never again
  at          timestamptz,                  -- when the state was reached, where that matters
  lease       bigint not null default 0,    -- rises with every claim
  refused     bigint not null default 0,    -- addresses, as bits
  attempts    integer not null default 0,
  rounds      integer not null default 0,
  position    integer not null default 0,
  asks        integer not null default 0,
  reached     integer not null default 0,
  priority    smallint not null,            -- the reminder's, kept here for the hot index
  shard       smallint not null,            -- punctual_core::shard::shard_of(user_id)
  state       text not null,
  node        text,                         -- who holds the lease
  error       text,
  primary key (reminder_id, run)
) with (
  -- A claim and a settle each move `wake_at`, which is indexed, so these updates touch the indexes whatever room there is;
  -- the room lets both versions stay on one page, and the next visitor of the page cleans it.
  fillfactor = 70,
  -- Every delivery leaves two dead versions. What is dead at the front of the hot index is walked over by every claim.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
-- The hot index: only what is still to come, one stretch per priority, so that a backlog drains urgent first.
-- With the shard, so that a node sees which are its own without a visit to the table.
create index occurrence_wake on punctual.occurrence (priority, wake_at) include (shard) where wake_at is not null;
-- What a node that died left behind: a handful of rows.
create index occurrence_node on punctual.occurrence (node) where node is not null;
-- What pruning looks for.
create index occurrence_ended on punctual.occurrence (at) where wake_at is null;

create table punctual.attempt (
  reminder_id uuid not null,
  run         integer not null,
  number      integer not null,
  channel     text not null,
  address     text not null,
  status      text not null,
  started_at  timestamptz not null,
  ended_at    timestamptz,
  error       text,
  message_id  text,
  primary key (reminder_id, run, number)
) with (
  -- Each row is written once and updated once, moments later: half a page of room keeps both on it, and no index is touched.
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);

create table punctual.response (
  number      bigint generated always as identity primary key,
  reminder_id uuid not null,
  run         integer not null,
  kind        text not null,
  at          timestamptz not null,
  actor       text not null,
  until       timestamptz
);
create index response_occurrence on punctual.response (reminder_id, run);

create table punctual.audit (
  number      bigint generated always as identity primary key,
  at          timestamptz not null,
  actor       text not null,
  action      text not null,
  reminder_id uuid not null,
  run         integer,
  detail      text
);
create index audit_reminder on punctual.audit (reminder_id, number);

-- Not `user`, which PostgreSQL takes for the role that asks.
create table punctual.app_user (
  id          text collate "C" primary key,
  timezone    text,
  language    text,
  addresses   text not null,                -- JSON list
  quiet_from  text,
  quiet_to    text,
  admin       boolean not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null
);

create table punctual.api_key (
  id          text collate "C" primary key,
  name        text not null,
  hash        bytea not null unique,
  user_id     text collate "C",
  write       boolean not null,
  expires_at  timestamptz,
  created_at  timestamptz not null
);

create table punctual.answered (
  key         text collate "C" primary key,
  request     bytea not null,
  body        text not null,
  at          timestamptz not null
);
create index answered_at on punctual.answered (at);

-- One row, updated to see that a write works. It must not grow.
create table punctual.probe (number integer primary key, value bigint not null)
  with (fillfactor = 10, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
insert into punctual.probe values (1, 0);

-- The tables of a database, schema version 1. Later versions only add: migrations/2.sql and so on. The functions' text stands in
-- functions/, and is put in place after this.
--
-- Instants are timestamptz: microseconds, which is what punctual keeps, and what people can read. Words are the words of the
-- API, so that a person with psql can read every row. No foreign keys: every write goes through transactions that keep
-- rows together, and checking each of them again would cost as much as writing it.

-- Which text the functions have: the program that put them in place and the hash of what it put. One row.
create table punctual.functions (
  program integer[] not null,              -- its version: major, minor, patch
  hash    text not null,
  put_at  timestamptz not null default now()
);

---- Reminders and what becomes of them

create table punctual.reminder (
  id                 uuid primary key,
  user_id            text collate "C" not null,
  name               text,
  message            text not null,
  schedule           text not null,
  timezone           text not null,
  priority           smallint not null,
  route              text,                 -- JSON list of addresses; null: the user's own
  only_to            boolean not null default false, -- whether nothing but these addresses is tried
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
  -- Each settle updates counters that no index holds. Room on the page keeps the new version there, and no index is touched. Rows that
  -- stand together are often settled together, in one transaction: there must be room for all of them twice.
  fillfactor = 50,
  -- A million rows with the usual fifth of dead ones would be vacuumed after 200,000 updates, and then for long. These tables
  -- change all day: a little, often, is what keeps them as fast as on the first.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);
create index reminder_user on punctual.reminder (user_id, id);

-- Columns of eight bytes stand before narrower ones: fewer bytes of each row are padding.
create table punctual.occurrence (
  reminder_id uuid not null,
  run         integer not null,
  due_at      timestamptz not null,
  made_for    timestamptz,                  -- the instant the run was made for, where a snooze or quiet hours have moved it since
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
  at_once     boolean not null default false, -- somebody asked for the run by hand: it waits for no quiet hours and no pause
  readdressed boolean not null default false, -- whether it has got other addresses since the attempt under way began
  state       text not null,
  waits_for   text,                         -- `quiet` or `paused`: what it waits for the end of
  node        text,                         -- who holds the lease
  channel     text,                         -- where the attempt under way goes to
  address     text,
  message_id  text,                         -- the platform's own, once it has taken the message
  asked       text,                         -- the schedule of a run that SQL left to be planned, as the HTTP API takes it: JSON
  error       text,
  primary key (reminder_id, run)
) with (
  -- A claim and a settle each move `wake_at`, which is indexed, so these updates touch the indexes whatever room there is;
  -- the room lets both versions stay on one page, also when a whole page is claimed at once, and the next visitor cleans it.
  fillfactor = 45,
  -- Every delivery leaves two dead versions. What is dead at the front of the hot index is walked over by every claim.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
-- The hot index: only what is still to come, one stretch per priority, so that a backlog drains urgent first.
-- With the shard, so that a node sees which are its own without a visit to the table.
create index occurrence_wake on punctual.occurrence (priority, wake_at) include (shard) where wake_at is not null;
-- What pruning looks for.
create index occurrence_ended on punctual.occurrence (at) where wake_at is null;

create table punctual.attempt (
  reminder_id uuid not null,
  run         integer not null,
  number      integer not null,
  channel     text not null,
  address     text not null,
  attempt_key text collate "C",             -- the key of this attempt alone, as its receiver was told
  key         text,                         -- the key it was sent under, where several went out in one message
  status      text not null,
  started_at  timestamptz not null,
  ended_at    timestamptz,
  error       text,
  message_id  text,                         -- the platform's own
  primary key (reminder_id, run, number)
) with (
  -- Each row is written once, when its attempt has ended.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);
create unique index attempt_key on punctual.attempt (attempt_key);

-- A person's answers.
create table punctual.response (
  number         bigint generated always as identity primary key,
  reminder_id    uuid not null,
  run            integer not null,
  kind           text not null,
  at             timestamptz not null,
  actor          text not null,
  user_id        text,                      -- who answered
  channel        text,                      -- where they said it
  text           text,                      -- in their own words
  until          timestamptz,
  snooze_minutes integer
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
-- Entries that belong to no reminder are pruned by their age.
create index audit_test on punctual.audit (at) where action = 'channel.test';

---- People, keys and requests

-- Not `user`, which PostgreSQL takes for the role that asks.
create table punctual.app_user (
  id           text collate "C" primary key,
  timezone     text,
  language     text,
  addresses    text not null,               -- JSON list
  quiet_from   text,
  quiet_to     text,
  quiet_except text,                        -- what quiet hours do not hold back: `critical` or `high`
  quiet_digest boolean not null default false, -- whether all that waited is told in one message
  paused_until timestamptz,                 -- nothing at all is sent before
  admin        boolean not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null
);
-- Whom alerts are for.
create index app_user_admin on punctual.app_user (id) where admin;

-- Addresses that their platform calls dead: nothing is sent there any more.
create table punctual.dead_address (
  channel     text collate "C" not null,
  address     text collate "C" not null,
  since       timestamptz not null,
  reason      text not null,
  primary key (channel, address)
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

-- What was answered to a request with an idempotency key, so that the same request is answered the same.
create table punctual.answered (
  key         text collate "C" primary key,
  request     bytea not null,
  status      smallint not null default 201, -- 0: it has begun and has not been answered
  body        text not null,
  at          timestamptz not null
);
create index answered_at on punctual.answered (at);

---- Events

-- Offsets for the events below a path: `guild:1/channel:2` inherits from `guild:1`.
create table punctual.scope (
  path       text collate "C" primary key,
  offsets    integer[] not null,           -- seconds before the start
  updated_at timestamptz not null
);

-- Something of the application's with a start, and offsets before it, each of which reminds each of its users.
create table punctual.event (
  key               text collate "C" primary key,
  starts_at         timestamptz not null,
  offsets           integer[],             -- seconds before the start; null: those of the nearest scope
  scope             text collate "C",
  users             text[] not null,
  message           text not null,         -- {minutes}, {key} and {starts_at} are filled in
  -- As in punctual.reminder, but for the zone: null is each user's own.
  name              text,
  timezone          text,
  priority          smallint not null,
  route             text,
  only_to           boolean not null default false,
  ack_timeout       bigint,
  ack_prompt        text,
  ack_reminders_max integer not null,
  snooze_allowed    boolean not null,
  retries_max       integer not null,
  misfire           text not null,
  misfire_within    bigint not null,
  on_unknown        text not null,
  metadata          text not null,
  created_at        timestamptz not null,
  updated_at        timestamptz not null
);
create index event_scope on punctual.event (scope, starts_at) where offsets is null;

-- One reminder for each event, offset and user.
create table punctual.event_reminder (
  event_key      text collate "C" not null,
  seconds_before integer not null,
  user_id        text collate "C" not null,
  due_at         timestamptz not null,     -- what it was planned for, also when a person has put it off since
  reminder_id    uuid not null,
  primary key (event_key, seconds_before, user_id)
);

---- Nodes, and what they share. Nobody but the owner can read or write these.

-- Who lives. Each node writes its row once a second: the row must stay where it is, and the table must not grow.
create table punctual.node (
  name        text collate "C" primary key,
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  shared      text                         -- fingerprints of its secrets, so that nodes which disagree can say so
) with (
  fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0
);

-- What signs webhooks (`webhook_secret`) and proves answer links (`link_secret`): made by the first node, used by all.
create table punctual.secret (
  name        text collate "C" primary key,
  value       text not null,
  made_at     timestamptz not null default now()
);

-- SHA-256 of the nodes' own admin keys: each works on every node, for as long as a node uses it and a day longer.
create table punctual.admin_key (
  hash        bytea primary key,
  node        text not null,               -- who used it last
  used_at     timestamptz not null
);

-- Whoever may connect may NOTIFY, so a notification only says that there is something to read in the next two tables, and nobody
-- but the owner can write there. What a crash forgets is no harm.

-- Waits that a platform asked one node for.
create unlogged table punctual.throttle (
  channel     text collate "C" not null,
  is_address  boolean not null,
  name        text collate "C" not null,   -- the receiver, or the fingerprint of the address
  until       timestamptz not null,
  told_at     timestamptz not null,
  primary key (channel, is_address, name)
);

-- Reminders that a node is about to change, and whose claimed runs it asks the others to give back.
create unlogged table punctual.recall (
  reminder_id uuid primary key,
  asked_at    timestamptz not null
);

-- When the last sends under each limit of a platform began, so that the nodes together keep to it.
create unlogged table punctual.turn (
  limit_name  text collate "C" primary key,
  begun       bigint[] not null,           -- microseconds, the newest last; never more than the limit allows at once
  last_at     timestamptz not null
);
create index turn_last_at on punctual.turn (last_at);

-- One row, updated to see that a write works. It must not grow.
create table punctual.probe (number integer primary key, value bigint not null)
  with (fillfactor = 10, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
insert into punctual.probe values (1, 0);

---- What nodes publish about themselves, so that the functions judge as they would

-- The channels that nodes have; empty until a node has started, and then nothing is refused for being unknown. With each, which
-- addresses it takes: a regular expression and a length, or for URLs whether they may be private.
create table punctual.channel (
  name          text collate "C" primary key,
  kind          text not null,
  pattern       text,
  bytes_max     integer,
  problem       text,                      -- what is wrong with an address that the pattern does not match
  allow_private boolean
);

-- Settings that decide what a reminder gets that does not say: `timezone`, `max_retries`, `webhook_allow_private`,
-- `default_channel_chosen`.
create table punctual.setting (name text collate "C" primary key, value text not null);

-- The zones there are. Asking the server for them takes 60 ms, a reminder should not. Nodes add what they know beside.
create table punctual.zone (name text collate "C" primary key);
create unique index zone_lower on punctual.zone (lower(name));
insert into punctual.zone select name from pg_timezone_names
  where name !~ '^(posix|right)/' and name not in ('localtime', 'posixrules', 'Factory');

---- Triggers. Their functions are declared here, so that they can be named; what they do stands in functions/.

create function punctual.occurrence_inserted() returns trigger language plpgsql as 'begin return null; end';
create function punctual.occurrence_updated() returns trigger language plpgsql as 'begin return null; end';
create function punctual.occurrence_deleted() returns trigger language plpgsql as 'begin return null; end';
create function punctual.made_anew() returns trigger language plpgsql as 'begin return new; end';

-- Nodes are told what anybody changes, but for transactions of a node that knows all about its own change and says
-- `set local punctual.quiet = 'on'`.
create trigger occurrence_inserted after insert on punctual.occurrence
  referencing new table as new_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_inserted();
create trigger occurrence_updated after update on punctual.occurrence
  referencing old table as old_rows new table as new_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_updated();
create trigger occurrence_deleted after delete on punctual.occurrence
  referencing old table as old_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_deleted();

-- An event that moves makes its run for another instant.
create trigger occurrence_made_anew before update of due_at on punctual.occurrence for each row
  when (old.made_for is not null and new.made_for = old.made_for and new.due_at <> old.due_at
    and new.state in ('scheduled', 'paused'))
  execute function punctual.made_anew();

---- The role that applications are members of

-- Whoever migrates may not be allowed to make roles, another database of the cluster may have made it, or make it at this moment;
-- none of this is a reason not to start.
do $$
begin
  if not exists (select from pg_roles where rolname = 'punctual_client') then
    create role punctual_client nologin;
  end if;
exception
  when duplicate_object or unique_violation then
    null;
  when insufficient_privilege then
    raise notice 'punctual_client was not made: create role punctual_client nologin; select punctual.admit(''punctual_client'')';
end $$;

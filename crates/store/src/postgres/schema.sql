-- The tables of a database, schema version 1. Later versions are migrations/2.sql and so on; migrate.rs says what they may do. The
-- functions' text stands in functions/, and is put in place after this.
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
  escalate           text,                 -- who is asked next, a JSON list; null: as the user's entry says
  escalates_run      integer,              -- the run that nobody has answered, where this asks somebody else about it,
  escalates_id       uuid,                 -- and its reminder
  event              text,                 -- the event that it belongs to: JSON; null: none
  snooze_allowed     boolean not null,
  retries_max        integer not null,
  misfire            text not null,
  misfire_within     bigint not null,      -- milliseconds
  on_unknown         text not null,
  created_via        text not null,
  original_text      text,
  metadata           text not null,        -- JSON, as it was given
  tags               text,                 -- JSON list; null: none
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
create index reminder_escalates on punctual.reminder (escalates_id) where escalates_id is not null;

-- Reminders by their tags, for lists and silences. The triggers keep it in step with `reminder.tags`, whoever writes that.
create table punctual.reminder_tag (
  tag         text collate "C" not null,
  reminder_id uuid not null,
  user_id     text collate "C" not null,   -- the reminder's
  primary key (tag, reminder_id)
);
create index reminder_tag_user on punctual.reminder_tag (user_id, tag, reminder_id);

-- What a claim and a settle leave as it is stands first: an update writes to the log what follows the first difference. Among those,
-- and among the others, columns of eight bytes stand before narrower ones: fewer bytes of each row are padding.
create table punctual.occurrence (
  reminder_id uuid not null,
  due_at      timestamptz not null,
  made_for    timestamptz,                  -- the instant the run was made for, where a snooze or quiet hours have moved it since
  own_at      timestamptz,                  -- the state's own moment, where `wake_at` comes before it
  escalate_at timestamptz,                  -- as `escalation` says
  refused     bigint not null default 0,    -- addresses, as bits
  run         integer not null,
  rounds      integer not null default 0,
  position    integer not null default 0,
  asks        integer not null default 0,
  priority    smallint not null,            -- the reminder's, kept here for the hot index
  shard       smallint not null,            -- punctual_core::shard::shard_of(user_id)
  at_once     boolean not null default false, -- somebody asked for the run by hand: it waits for no quiet hours and no pause
  readdressed boolean not null default false, -- whether it has got other addresses since the attempt under way began
  escalation  text,                         -- `planned`: further people are asked at `escalate_at`; `asked`: they were, and the run is
                                            -- not called unanswered before `escalate_at`
  waits_for   text,                         -- `quiet` or `paused`, say: what it waits for the end of
  asked       text,                         -- the schedule of a run that SQL left to be planned, as the HTTP API takes it: JSON
  error       text,
  message_id  text,                         -- the platform's own, once it has taken the message
  reached     integer not null default 0,
  attempts    integer not null default 0,
  lease       bigint not null default 0,    -- rises with every claim
  wake_at     timestamptz,                  -- when the engine must look at it; null: never again
  at          timestamptz,                  -- when the state was reached, where that matters
  state       text not null,
  channel     text,                         -- where the attempt under way goes to
  address     text,
  node        text,                         -- who holds the lease
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
-- A person's day: their runs by the instant at which they are due.
create index occurrence_due on punctual.occurrence (shard, due_at);
-- The runs that wait for the end of a silence.
create index occurrence_silenced on punctual.occurrence (reminder_id, run) where waits_for = 'silenced';
-- Runs that their person was told of and can still answer, by the shard of their user: words of somebody with a long history are looked
-- up among what waits, and not among everything that person ever had.
create index occurrence_asked on punctual.occurrence (shard, reminder_id, run) where reached > 0 and wake_at is not null;
-- The runs that failed, for lists and for sending them again: few, and in the order of their names.
create index occurrence_failed on punctual.occurrence (reminder_id, run, at) where state = 'failed';

create table punctual.attempt (
  reminder_id uuid not null,
  run         integer not null,
  number      integer not null,
  channel     text not null,
  address     text not null,
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
  snooze_minutes integer,
  name           text                       -- what the person calls themselves
);
create index response_occurrence on punctual.response (reminder_id, run);

-- The texts by which reminders are found, folded; punctual_core::rules::search says how. They follow the journal. Where the extension pg_trgm
-- is, an index of groups of three letters is made over them: postgres/search.rs.
create table punctual.search (
  number      bigint generated always as identity primary key, -- its place: what came last has the highest
  reminder_id uuid not null unique,
  user_id     text collate "C" not null,
  text        text collate "C" not null
);
create index search_user on punctual.search (user_id, number);
-- How far it has been filled with the reminders that were there before it.
create table punctual.search_state (is_filled boolean not null, filled_to uuid);
insert into punctual.search_state values (false);
-- It is a trusted extension, which the owner of a database may make; a server without it, or another role, is no reason not to start.
do $$
begin
  create extension if not exists pg_trgm schema public;
exception when others then
  raise notice 'there is no search: create extension pg_trgm (%)', sqlerrm;
end $$;

---- The journal: everything that happened, an entry each

-- Numbers that are given before a commit are not in the order of commits. So an entry is named by its write, and writes get their place
-- when they are committed: punctual.place_writes. Rows are written once and never updated.

-- A statement that wrote entries: one row for all of them.
create table punctual.journal_write (
  write bigint generated always as identity primary key,
  xact  xid8 not null default pg_current_xact_id(),
  n     integer not null,                  -- how many entries
  node  text                               -- null: written in SQL, or before the node's first beat
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index journal_write_xact on punctual.journal_write (xact);

-- Columns of eight bytes stand before narrower ones.
create table punctual.journal (
  write       bigint not null,
  at          timestamptz not null,
  reminder_id uuid,
  item        integer not null,            -- which entry of its write, from 0
  run         integer,
  kind        text not null,
  user_id     text,
  actor       text,                        -- null: the engine
  via         text,                        -- through which door
  data        text,                        -- JSON
  primary key (write, item)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index journal_reminder on punctual.journal (reminder_id) where reminder_id is not null;
-- Of users, keys and events: few. A file that is copied twice finds them here.
create index journal_other on punctual.journal (at) where reminder_id is null;

-- Where each write stands: its entries have the positions from `first` on.
create table punctual.journal_place (
  first     bigint primary key,
  write     bigint not null unique,
  n         integer not null,
  placed_at timestamptz not null default clock_timestamp(),
  snapshot  pg_snapshot                    -- of the pass that placed it, on the pass's last row
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index journal_place_at on punctual.journal_place (placed_at);
-- A pass finds one before it. No transaction has an id below 3, so every write is after this one.
insert into punctual.journal_place (first, write, n, snapshot) values (0, 0, 1, '3:3:');

-- Locked by a pass, and never updated.
create table punctual.journal_turn (one boolean primary key default true check (one));
insert into punctual.journal_turn values (true);

-- How late sends were: a row for each stretch of five minutes in which something was sent, and each run of a node.
create table punctual.lateness (
  at       timestamptz not null,
  since    timestamptz not null,          -- when the node was started
  late_max bigint not null,               -- microseconds
  failed   bigint not null,
  given_up bigint not null,
  waiting  bigint not null,
  node     text collate "C" not null,
  counts   text not null,                 -- how many sends were how late: punctual_core::model::lateness
  primary key (at, node, since)
) with (fillfactor = 50);

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
  escalate     text,                        -- who is asked next, for reminders without a plan of their own
  habits       text,                        -- JSON: what they mean by words that leave something open; null: none of their own
  admin        boolean not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null
);
-- Whom alerts are for.
create index app_user_admin on punctual.app_user (id) where admin;

-- The addresses of `app_user`, by address.
create table punctual.user_address (
  channel text collate "C" not null,
  address text collate "C" not null,
  user_id text collate "C" not null,
  primary key (channel, address, user_id)
);
create index user_address_user on punctual.user_address (user_id);

-- People who belong together. Not `group`, which is a word of SQL.
create table punctual.user_group (
  name       text collate "C" primary key,
  mode       text not null,                -- `in_order` or `all`
  users      text not null,                -- JSON list, in order
  rota       text,                         -- the calendar that says who is on duty; null: everybody in `users`
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Stretches of time in which some reminders are not sent.
create table punctual.silence (
  id         uuid primary key,
  user_id    text collate "C",             -- each of these three that is not null must match
  group_name text collate "C",
  tag        text collate "C",
  from_at    timestamptz not null,
  until_at   timestamptz not null,
  created_at timestamptz not null,
  created_by text not null
);
create index silence_until on punctual.silence (until_at);

-- How often the address of a user's calendar was changed; no row: never.
create table punctual.calendar_key (
  user_id text collate "C" primary key,
  generation bigint not null
);

-- Calendars that are read every so often: of a user (its items become events) or of a group (they say who is on duty).
create table punctual.feed (
  kind text collate "C" not null,       -- `user` or `group`
  owner text collate "C" not null,      -- the user or the group
  name text collate "C" not null,       -- what its owner calls it; empty for a group's
  source text not null,                 -- an https URL or a file; it may be a secret
  settings text not null,               -- what is made of its items, as JSON
  every bigint not null,                -- how often it is read, in seconds
  next_at timestamptz,                  -- when it is read next; null: never again, because it is gone
  etag text,
  modified text,
  read_at timestamptz,                  -- when it was last read
  changed_at timestamptz,               -- when it last was another than before
  failures bigint not null default 0,
  vanished bigint not null default 0,   -- how many of its items were gone at the last reading, and are waited for
  problem text,                         -- why it could not be read
  problems text,                        -- what of it could not be read, as a JSON list
  node text,                            -- who reads it now, until `until_at`
  until_at timestamptz,
  created_at timestamptz not null,
  primary key (kind, owner, name)
);
create index feed_next on punctual.feed (next_at) where next_at is not null;

-- Who of a group is on duty when, by the calendar that the group names.
create table punctual.rota_shift (
  group_name text collate "C" not null,
  number bigint not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  user_id text not null,
  primary key (group_name, number)
);

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
  scopes      text,                        -- what it may do, such as `read,write`; null: as `write` says
  channels    text,                        -- the only channels it sends by and sees, as a JSON list; null: all
  rate        text,                        -- how often it may ask, such as `30/1s`; null: as the server's settings say
  prefix      text,                        -- the secret's first characters; null: not known
  expires_at  timestamptz,
  created_at  timestamptz not null,
  used_at     timestamptz,
  old_hash    bytea,                       -- of the secret before the last rotation, which works until `old_until`
  old_prefix  text,
  old_until   timestamptz
);
create index api_key_old on punctual.api_key (old_hash) where old_hash is not null;

-- Sessions of the page that were ended before their time: one by its own name, or all of a key under the key's id.
create table punctual.session_end (
  name        text primary key,
  at          timestamptz not null         -- those that began before then are over
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
  offsets    text not null,                -- JSON list
  updated_at timestamptz not null
);

-- Something of the application's with a start, and offsets before and after it, at each of which each of its people is reminded.
create table punctual.event (
  key               text collate "C" primary key,
  starts_at         timestamptz not null,  -- of a series: the first instance
  ends_at           timestamptz,
  repeats           text,                  -- JSON: the rule, and what is different about some instances; null: a single event
  offsets           text,                  -- JSON list; null: those of the nearest scope
  scope             text collate "C",
  users             text not null,         -- JSON list
  groups            text,                  -- JSON list; null: none
  message           text not null,         -- with fields such as {minutes}
  -- As in punctual.reminder, but for the zone: null is each user's own.
  name              text,
  timezone          text,
  priority          smallint not null,
  route             text,
  only_to           boolean not null default false,
  ack_timeout       bigint,
  ack_prompt        text,
  ack_reminders_max integer not null,
  escalate          text,
  snooze_allowed    boolean not null,
  retries_max       integer not null,
  misfire           text not null,
  misfire_within    bigint not null,
  on_unknown        text not null,
  metadata          text not null,
  tags              text,
  source            text collate "C",      -- the calendar it was read from
  created_at        timestamptz not null,
  updated_at        timestamptz not null,
  removed           boolean not null default false, -- somebody removed it; it is gone when nothing of it is on its way
  planned           boolean not null default false, -- its reminders are what they should be
  plan_at           timestamptz,           -- when a planner must look at it; null: never by itself
  asked_at          timestamptz,           -- when something was first asked for that has not been planned
  planned_until     timestamptz,           -- until when the instances of a series have been planned
  error             text                   -- why it cannot be planned
);
create index event_plan on punctual.event (plan_at) where plan_at is not null;
create index event_scope on punctual.event (scope) where offsets is null;
create index event_source on punctual.event (source, key) where source is not null;
create index event_grouped on punctual.event (key) where groups is not null;

-- The reminder of each event, instance, offset and user.
create table punctual.event_reminder (
  event_key      text collate "C" not null,
  instance       text collate "C" not null, -- the original local start of an instance of a series; empty: a single event
  offset_word    text collate "C" not null,
  user_id        text collate "C" not null,
  due_at         timestamptz not null,     -- what it was planned for, also when a person has put it off since
  reminder_id    uuid not null,
  primary key (event_key, instance, offset_word, user_id)
);

---- Watches

-- Their definitions, runs, intents and ledgers.
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

---- Nodes, and what they share. Nobody but the owner can read or write these.

-- Who lives. Each node writes its row once a second: the row must stay where it is, and the table must not grow.
create table punctual.node (
  name        text collate "C" primary key,
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  shared      text,                        -- fingerprints of its secrets, so that nodes which disagree can say so
  follows     boolean not null default false, -- whether somebody reads the journal on it as it is written
  about       text                         -- JSON: what it says of itself, for people who look after it
) with (
  fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0
);

-- Work that one node does at a time, such as telling a subscriber, and how far it has come in the journal.
create table punctual.duty (
  name     text collate "C" primary key,
  position bigint not null,
  lease    bigint not null,                -- rises each time it is taken
  node     text not null,
  until    timestamptz,                    -- null: given back
  note     text                            -- what an operator should know
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Events that were taken, as long as a copy of them could come. A crash must not forget one, so the table is logged.
create table punctual.seen (
  channel text collate "C" not null,
  id      bytea not null,                  -- the first half of the SHA-256 of the platform's name for it
  until   timestamptz not null,
  primary key (channel, id)
);
create index seen_until on punctual.seen (until);

-- The connections to platforms, each of which one node has at a time. An answer that comes by it moves its place: the row must stay
-- where it is, and the table must not grow.
create table punctual.inbound (
  channel  text collate "C" primary key,
  node     text collate "C" not null,      -- who has it, as long as that node lives
  lease    bigint not null,                -- rises whenever another node takes it
  place    text,                           -- how far it was read
  place_at timestamptz
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
create function punctual.reminder_tagged() returns trigger language plpgsql as 'begin return null; end';
create function punctual.reminder_unsearched() returns trigger language plpgsql as 'begin return null; end';

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

create trigger reminder_tagged after insert on punctual.reminder for each row
  when (new.tags is not null) execute function punctual.reminder_tagged();
create trigger reminder_retagged after update of tags on punctual.reminder for each row
  when (new.tags is distinct from old.tags) execute function punctual.reminder_tagged();
create trigger reminder_untagged after delete on punctual.reminder for each row
  when (old.tags is not null) execute function punctual.reminder_tagged();
create trigger reminder_unsearched after delete on punctual.reminder
  referencing old table as old_rows for each statement execute function punctual.reminder_unsearched();

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

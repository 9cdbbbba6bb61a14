-- The journal: everything that happened, an entry each, in place of the audit trail.
--
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

-- Work that one node does at a time, such as telling a subscriber, and how far it has come in the journal.
create table punctual.duty (
  name     text collate "C" primary key,
  position bigint not null,
  lease    bigint not null,                -- rises each time it is taken
  node     text not null,
  until    timestamptz,                    -- null: given back
  note     text                            -- what an operator should know
) with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Whether somebody reads the journal on the node as it is written.
alter table punctual.node add column follows boolean not null default false;

-- The audit trail becomes the first write. The first pass places it.
with old as (
  select row_number() over (order by a.number) - 1 as item, a.*, r.user_id
  from punctual.audit a left join punctual.reminder r on r.id = a.reminder_id
), w as (insert into punctual.journal_write (n) select count(*) from old having count(*) > 0 returning write)
insert into punctual.journal (write, item, at, kind, reminder_id, run, user_id, actor, data)
  select w.write, o.item, o.at,
    case o.action
      when 'create' then 'reminder.created' when 'cancel' then 'reminder.cancelled' when 'ack' then 'reminder.acknowledged'
      when 'snooze' then 'reminder.snoozed' when 'dismiss' then 'reminder.dismissed' when 'failed' then 'reminder.failed'
      when 'missed' then 'reminder.missed' when 'unanswered' then 'reminder.unanswered' when 'alert' then 'reminder.alerted'
      when 'quiet' then 'reminder.waiting' when 'paused' then 'reminder.waiting' when 'channel.test' then 'channel.test'
      else 'reminder.changed' end,
    case when o.action <> 'channel.test' then o.reminder_id end, o.run, o.user_id, nullif(o.actor, 'engine'),
    case when o.action in ('update', 'pause', 'resume', 'skip', 'fire') then json_build_object('did', o.action)::text
      when o.action in ('quiet', 'paused') then json_build_object('why', o.action, 'detail', o.detail)::text
      when o.detail is not null then json_build_object('detail', o.detail)::text end
  from old o, w;
drop table punctual.audit;

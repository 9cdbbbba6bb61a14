-- Events are planned by a node, on whichever store: SQL writes the event, and says that it is to be planned.

-- The event that a reminder belongs to: JSON; null: none.
alter table punctual.reminder add column event text;

alter table punctual.event
  add column ends_at timestamptz,
  add column repeats text,                 -- JSON: the rule, and what is different about some instances; null: a single event
  add column offset_list text,
  add column people text,
  add column groups text,                  -- JSON list; null: none
  add column source text collate "C",      -- the calendar it was read from
  add column removed boolean not null default false, -- somebody removed it; it is gone when nothing of it is on its way
  add column planned boolean not null default false, -- its reminders are what they should be
  add column plan_at timestamptz default now(), -- when a planner must look at it; null: never by itself
  add column asked_at timestamptz,         -- when something was first asked for that has not been planned
  add column planned_until timestamptz,    -- until when the instances of a series have been planned
  add column error text;                   -- why it cannot be planned
update punctual.event e set
  offset_list = case when e.offsets is not null
    then coalesce((select json_agg(o / 60 order by o desc) from unnest(e.offsets) as o), '[]')::text end,
  people = case when e.users = array['event:' || e.key] then '[]' else to_json(e.users)::text end;
alter table punctual.event drop column offsets, drop column users;
alter table punctual.event rename column offset_list to offsets; -- JSON list; null: those of the nearest scope
alter table punctual.event rename column people to users;        -- JSON list
alter table punctual.event alter column users set not null, alter column plan_at drop default;
create index event_plan on punctual.event (plan_at) where plan_at is not null;
create index event_scope on punctual.event (scope) where offsets is null;
create index event_source on punctual.event (source, key) where source is not null;
create index event_grouped on punctual.event (key) where groups is not null;

-- The reminder of each event, instance, offset and user.
alter table punctual.event_reminder
  add column instance text collate "C" not null default '', -- the original local start of an instance of a series; empty: a single event
  add column offset_word text collate "C";
update punctual.event_reminder set offset_word = (seconds_before / 60)::text;
alter table punctual.event_reminder drop constraint event_reminder_pkey, drop column seconds_before,
  alter column offset_word set not null, alter column instance drop default,
  add primary key (event_key, instance, offset_word, user_id);

alter table punctual.scope add column offset_list text;
update punctual.scope s set offset_list = coalesce((select json_agg(o / 60 order by o desc) from unnest(s.offsets) as o), '[]')::text;
alter table punctual.scope drop column offsets;
alter table punctual.scope rename column offset_list to offsets; -- JSON list
alter table punctual.scope alter column offsets set not null;

-- A node says itself what a run was made for.
drop trigger occurrence_made_anew on punctual.occurrence;

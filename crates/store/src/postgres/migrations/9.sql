-- What quiet hours do not hold back (`critical` or `high`), whether what waited is told in one message, and until when nothing at
-- all is sent to somebody.
alter table punctual.app_user add column quiet_except text;
alter table punctual.app_user add column quiet_digest boolean not null default false;
alter table punctual.app_user add column paused_until timestamptz;

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

-- `on_unknown` may be `auto` now. A node of an earlier version calls a reminder with a word that it does not know unreadable and
-- sets it aside. So `auto` is kept as `resend`, which is what it would do, with a mark beside it.
alter table punctual.reminder add column on_unknown_auto boolean not null default false;
alter table punctual.event add column on_unknown_auto boolean not null default false;

-- The functions that clients call carry the mark along and take `auto` for their default. Each stays as it is but for the words
-- given here; one that is not found is a mistake, and nothing of this is done.
create function pg_temp.reword(callable regproc, was text, is_now text) returns void
language plpgsql as $$
declare
  definition text := pg_get_functiondef(callable);
begin
  if strpos(definition, was) = 0 then
    raise exception 'punctual: % does not say %', callable, was;
  end if;
  execute replace(definition, was, is_now);
end $$;

select pg_temp.reword('punctual.draft', '{resend,hold}', '{auto,resend,hold}');
select pg_temp.reword('punctual.draft', 'r.on_unknown := coalesce(on_unknown, ''resend'');',
  'r.on_unknown := coalesce(nullif(on_unknown, ''auto''), ''resend'');
  r.on_unknown_auto := coalesce(on_unknown, ''auto'') = ''auto'';');
select pg_temp.reword('punctual.write_reminders', 'misfire_within, on_unknown, created_via',
  'misfire_within, on_unknown, on_unknown_auto, created_via');
select pg_temp.reword('punctual.write_reminders', 'r.on_unknown, r.created_via',
  'r.on_unknown, coalesce(r.on_unknown_auto, false), r.created_via');
select pg_temp.reword('punctual.plan_event', 'r.on_unknown := e.on_unknown;',
  'r.on_unknown := e.on_unknown;
  r.on_unknown_auto := e.on_unknown_auto;');
select pg_temp.reword('punctual.plan_event', 'on_unknown = v.on_unknown,',
  'on_unknown = v.on_unknown, on_unknown_auto = v.on_unknown_auto,');
select pg_temp.reword('punctual.plan_event', 't.on_unknown, t.metadata', 't.on_unknown, t.on_unknown_auto, t.metadata');
select pg_temp.reword('punctual.plan_event', 'v.on_unknown, v.metadata', 'v.on_unknown, v.on_unknown_auto, v.metadata');
select pg_temp.reword('punctual.put_event', 'misfire_within, on_unknown, metadata',
  'misfire_within, on_unknown, on_unknown_auto, metadata');
select pg_temp.reword('punctual.put_event', 'r.on_unknown, r.metadata', 'r.on_unknown, r.on_unknown_auto, r.metadata');
select pg_temp.reword('punctual.put_event', 'on_unknown = excluded.on_unknown,',
  'on_unknown = excluded.on_unknown, on_unknown_auto = excluded.on_unknown_auto,');
drop function pg_temp.reword(regproc, text, text);

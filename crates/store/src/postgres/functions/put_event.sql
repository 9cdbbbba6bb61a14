-- Writes or replaces an event and plans its reminders; returns how many are to come. `offsets` are minutes before the start;
-- without them the nearest scope's count. `users` are reminded, each where they can be reached or at `"to"`; with `"to"` alone
-- the event itself is the user.
create or replace function punctual.put_event(
  key text, starts_at timestamptz, offsets integer[] default null, scope text default null, message text default null,
  "to" jsonb default null, users text[] default null, name text default null, timezone text default null,
  priority text default null, require_ack boolean default null, ack_prompt text default null, ack_timeout interval default null,
  max_ack_reminders integer default null, snooze_allowed boolean default null, max_retries integer default null,
  misfire text default null, on_unknown text default null, metadata jsonb default null,
  "only" boolean default null, tags text[] default null, escalate jsonb default null
) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  r punctual.reminder;
  e punctual.event;
  place integer;
begin
  if key is null then
    perform punctual.refuse('key', 'is missing', 'Name the event, such as ''game:42''.');
  elsif starts_at is null then
    perform punctual.refuse('starts_at', 'is missing', 'Say when the event starts.');
  elsif coalesce(users, '{}') = '{}' and coalesce(jsonb_typeof("to"), 'null') = 'null' then
    perform punctual.refuse('users', 'is missing', 'Say whom to remind: users, or addresses in "to".');
  elsif cardinality(users) > 10000 then
    perform punctual.refuse('users', format('has %s entries; at most 10000', cardinality(users)));
  end if;
  perform punctual.check_text('key', key, 1, 200);
  perform punctual.check_instant('starts_at', starts_at);
  perform punctual.check_path('scope', scope);
  users := coalesce(nullif(users, '{}'), array['event:' || key]);
  for place in 1..cardinality(users) loop
    if users[place] is null then
      perform punctual.refuse(format('users[%s]', place - 1), 'is null', 'Name a user.');
    end if;
    perform punctual.check_text(format('users[%s]', place - 1), users[place], 1, 256);
  end loop;
  -- A plan of who is asked next is a wish for an answer.
  r := punctual.draft(users[1], message, name, timezone, priority, "to",
    coalesce(require_ack, nullif(jsonb_typeof(escalate) = 'array' and escalate <> '[]', false)), ack_prompt, ack_timeout, max_ack_reminders,
    snooze_allowed, max_retries, misfire, on_unknown, metadata, null, null);
  r.tags := punctual.check_tags('tags', tags);
  r.only_to := coalesce("only", false);
  perform punctual.check_reach(case when r.route is null then 'users' else 'to' end, users, r.route, r.only_to);
  r.escalate := punctual.check_escalate('escalate', escalate, r.ack_timeout is not null);
  if scope is not null then
    perform punctual.lock_scope(scope, false);
  end if;
  insert into punctual.event as was (key, starts_at, offsets, scope, users, message, name, timezone, priority, route, only_to,
      ack_timeout, ack_prompt, ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, metadata,
      tags, escalate, created_at, updated_at)
    values (put_event.key, put_event.starts_at, punctual.offset_seconds(put_event.offsets), put_event.scope,
      array(select distinct u from unnest(put_event.users) as u), r.message, r.name,
      case when put_event.timezone is not null then r.timezone end, r.priority, r.route, r.only_to, r.ack_timeout, r.ack_prompt,
      r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, r.on_unknown, r.metadata, r.tags, r.escalate,
      r.created_at, r.created_at)
    on conflict on constraint event_pkey do update set starts_at = excluded.starts_at, offsets = excluded.offsets,
      scope = excluded.scope, users = excluded.users, message = excluded.message, name = excluded.name,
      timezone = excluded.timezone, priority = excluded.priority, route = excluded.route, only_to = excluded.only_to,
      ack_timeout = excluded.ack_timeout, ack_prompt = excluded.ack_prompt, ack_reminders_max = excluded.ack_reminders_max,
      snooze_allowed = excluded.snooze_allowed, retries_max = excluded.retries_max, misfire = excluded.misfire,
      misfire_within = excluded.misfire_within, on_unknown = excluded.on_unknown, metadata = excluded.metadata,
      tags = excluded.tags, escalate = excluded.escalate,
      updated_at = excluded.updated_at
    returning was.* into e;
  return punctual.plan_event(e);
end $$;

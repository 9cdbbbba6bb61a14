-- Events: something of the application's with a start, and offsets before it, each of which reminds each of its users. Offsets are
-- the event's own, or those of the nearest scope: `guild:1/channel:2` inherits from `guild:1`.

create table punctual.scope (
  path       text collate "C" primary key,
  offsets    integer[] not null,           -- seconds before the start
  updated_at timestamptz not null
);

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

-- Minutes as they are given, as seconds: each once, the earliest reminder first.
create function punctual.offset_seconds(offsets integer[]) returns integer[]
language plpgsql as $$
begin
  if cardinality(offsets) > 32 then
    perform punctual.refuse('offsets', format('has %s entries; at most 32', cardinality(offsets)));
  elsif exists (select from unnest(offsets) as o where o is null or o not between 0 and 527040) then
    perform punctual.refuse('offsets', 'has an entry that is no number of minutes from 0 to 527040, which is 366 days',
      'Write array[60, 15] for one hour and a quarter of an hour before.');
  end if;
  return case when offsets is not null then array(select distinct o * 60 from unnest(offsets) as o order by 1 desc) end;
end $$;

create function punctual.check_path(field text, path text) returns void
language plpgsql as $$
begin
  perform punctual.check_text(field, path, 1, 256);
  if path ~ '(^/|//|/$)' then
    perform punctual.refuse(field, format('`%s` has an empty part', path), 'Write guild:1/channel:2.');
  end if;
end $$;

-- Events under one root and its scopes are changed one after the other; events among themselves need not wait.
create function punctual.lock_scope(path text, alone boolean) returns void
language plpgsql as $$
declare
  root constant bigint := hashtextextended('punctual.scope ' || split_part(path, '/', 1), 0);
begin
  if alone then
    perform pg_advisory_xact_lock(root);
  else
    perform pg_advisory_xact_lock_shared(root);
  end if;
end $$;

-- Offsets of the nearest scope; none if there is none.
create function punctual.scope_offsets(path text) returns integer[]
language plpgsql as $$
declare
  parts constant text[] := string_to_array(path, '/');
begin
  return (select s.offsets from punctual.scope s
    where s.path = any (array(select array_to_string(parts[:n], '/') from generate_series(1, cardinality(parts)) as n))
    order by length(s.path) desc limit 1);
end $$;

-- Makes the reminders of an event what they should be now; returns how many are to come. The caller holds the event locked.
--
-- Only what lies ahead is planned. What waits is moved, changed or cancelled; what was claimed, sent, put off or cancelled by a
-- person is left alone, and a new reminder is made beside it when the event has moved since, unless a person has cancelled it.
--
-- Every part of a key that rows are looked up by comes from the same arrays, and none is a constant: a constant would tempt the
-- planner to fetch all rows that have it, and to compare each with all that are given.
create function punctual.plan_event(e punctual.event) returns integer
language plpgsql as $$
declare
  now constant timestamptz := clock_timestamp();
  offsets constant integer[] := coalesce(e.offsets, punctual.scope_offsets(e.scope), '{}');
  ids constant uuid[] := array(select l.reminder_id from punctual.event_reminder l where l.event_key = e.key);
  befores integer[];
  people text[];
  waiting uuid[];
  dropped uuid[];
  w record;
  r punctual.reminder;
  changed punctual.reminder[] := '{}';
  changed_ids uuid[] := '{}';
  changed_users text[] := '{}';
  changed_due timestamptz[] := '{}';
  changed_before integer[] := '{}';
  made punctual.reminder[] := '{}';
  made_due timestamptz[] := '{}';
  made_before integer[] := '{}';
begin
  -- Occurrences before their reminders, both by id, as everybody locks them; and only what waits, because whoever settles what
  -- was sent may hold that of several events.
  waiting := array(select o.reminder_id from punctual.occurrence o
    where o.reminder_id = any (ids) and o.state in ('scheduled', 'paused') order by o.reminder_id, o.run for update);
  perform from punctual.reminder t where t.id = any (waiting) order by t.id for update;
  waiting := array(select t.id from punctual.reminder t
    where t.id = any (waiting) and t.status in ('active', 'paused') and t.last_run = 1);

  r.status := 'active';
  r.created_via := 'sql';
  r.last_run := 1;
  r.planned := 1;
  r.created_at := now;
  r.updated_at := now;
  r.name := coalesce(e.name, e.key);
  r.priority := e.priority;
  r.route := e.route;
  r.ack_timeout := e.ack_timeout;
  r.ack_prompt := e.ack_prompt;
  r.ack_reminders_max := e.ack_reminders_max;
  r.snooze_allowed := e.snooze_allowed;
  r.retries_max := e.retries_max;
  r.misfire := e.misfire;
  r.misfire_within := e.misfire_within;
  r.on_unknown := e.on_unknown;
  r.metadata := e.metadata;
  select coalesce(array_agg(b), '{}'), coalesce(array_agg(u), '{}') into befores, people
    from unnest(offsets) as b cross join unnest(e.users) as u where e.starts_at - b * interval '1 second' > now;
  for w in
    select v.seconds_before, v.user_id, e.starts_at - v.seconds_before * interval '1 second' as due_at, l.reminder_id,
      l.due_at as planned_for, l.reminder_id = any (waiting) as waits, kept.status,
      coalesce(e.timezone, person.timezone, (select s.value from punctual.setting s where s.name = 'timezone'), 'UTC') as timezone
    from unnest(array_fill(e.key, array[cardinality(people)]), befores, people) as v (event_key, seconds_before, user_id)
    left join punctual.event_reminder l on l.event_key = v.event_key and l.seconds_before = v.seconds_before
      and l.user_id = v.user_id
    left join punctual.reminder kept on kept.id = l.reminder_id
    left join punctual.app_user person on person.id = v.user_id
  loop
    r.id := coalesce(case when w.waits then w.reminder_id end, punctual.new_id(now));
    r.user_id := w.user_id;
    r.timezone := w.timezone;
    r.message := replace(replace(e.message, '{minutes}', round(w.seconds_before / 60.0)::text), '{key}', e.key);
    if strpos(r.message, '{starts_at}') > 0 then
      r.message := replace(r.message, '{starts_at}', to_char(punctual.local_of(e.starts_at, w.timezone), 'YYYY-MM-DD HH24:MI'));
    end if;
    perform punctual.check_text('message', r.message, 1, 65536);
    r.schedule := '{"at":"' || punctual.instant_text(w.due_at) || '","type":"once"}';
    if w.waits then
      changed := changed || r;
      changed_ids := changed_ids || r.id;
      changed_users := changed_users || r.user_id;
      changed_due := changed_due || w.due_at;
      changed_before := changed_before || w.seconds_before;
    elsif w.reminder_id is null or w.planned_for <> w.due_at and w.status is distinct from 'cancelled' then
      made := made || r;
      made_due := made_due || w.due_at;
      made_before := made_before || w.seconds_before;
    end if;
  end loop;

  dropped := array(select unnest(waiting) except select unnest(changed_ids));
  if cardinality(dropped) > 0 then
    perform punctual.end_open(dropped);
    delete from punctual.event_reminder l where l.event_key = e.key and l.reminder_id = any (dropped);
  end if;
  if cardinality(changed) > 0 then
    update punctual.occurrence o set due_at = v.due_at, wake_at = case o.state when 'scheduled' then v.due_at end,
        priority = e.priority
      from unnest(changed_ids, array_fill(1, array[cardinality(changed)]), changed_due) as v (id, run, due_at)
      where o.reminder_id = v.id and o.run = v.run and (o.due_at, o.priority) is distinct from (v.due_at, e.priority);
    with differing as (
      update punctual.reminder t set name = v.name, message = v.message, schedule = v.schedule, timezone = v.timezone,
        priority = v.priority, route = v.route, ack_timeout = v.ack_timeout, ack_prompt = v.ack_prompt,
        ack_reminders_max = v.ack_reminders_max, snooze_allowed = v.snooze_allowed, retries_max = v.retries_max,
        misfire = v.misfire, misfire_within = v.misfire_within, on_unknown = v.on_unknown, metadata = v.metadata, updated_at = now
      from unnest(changed) as v
      where t.id = v.id and (t.name, t.message, t.schedule, t.timezone, t.priority, t.route, t.ack_timeout, t.ack_prompt,
          t.ack_reminders_max, t.snooze_allowed, t.retries_max, t.misfire, t.misfire_within, t.on_unknown, t.metadata)
        is distinct from (v.name, v.message, v.schedule, v.timezone, v.priority, v.route, v.ack_timeout, v.ack_prompt,
          v.ack_reminders_max, v.snooze_allowed, v.retries_max, v.misfire, v.misfire_within, v.on_unknown, v.metadata)
      returning t.id
    ) insert into punctual.audit (at, actor, action, reminder_id, run)
      select now, punctual.actor(), 'update', d.id, 1 from differing d;
    update punctual.event_reminder l set due_at = v.due_at
      from unnest(array_fill(e.key, array[cardinality(changed)]), changed_before, changed_users, changed_due)
        as v (event_key, seconds_before, user_id, due_at)
      where l.event_key = v.event_key and l.seconds_before = v.seconds_before and l.user_id = v.user_id and l.due_at <> v.due_at;
  end if;
  if cardinality(made) > 0 then
    perform punctual.write_reminders(made, made_due);
    insert into punctual.event_reminder (event_key, seconds_before, user_id, due_at, reminder_id)
      select e.key, made_before[m.ordinality], m.user_id, made_due[m.ordinality], m.id from unnest(made) with ordinality as m
      on conflict (event_key, seconds_before, user_id) do update
        set due_at = excluded.due_at, reminder_id = excluded.reminder_id;
  end if;
  return cardinality(changed) + cardinality(made);
end $$;

-- Writes or replaces an event and plans its reminders; returns how many are to come. `offsets` are minutes before the start;
-- without them the nearest scope's count. `users` are reminded, each where they can be reached or at `"to"`; with `"to"` alone
-- the event itself is the user.
create function punctual.put_event(
  key text, starts_at timestamptz, offsets integer[] default null, scope text default null, message text default null,
  "to" jsonb default null, users text[] default null, name text default null, timezone text default null,
  priority text default null, require_ack boolean default null, ack_prompt text default null, ack_timeout interval default null,
  max_ack_reminders integer default null, snooze_allowed boolean default null, max_retries integer default null,
  misfire text default null, on_unknown text default null, metadata jsonb default null
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
  r := punctual.draft(users[1], message, name, timezone, priority, "to", require_ack, ack_prompt, ack_timeout, max_ack_reminders,
    snooze_allowed, max_retries, misfire, on_unknown, metadata, null, null);
  if scope is not null then
    perform punctual.lock_scope(scope, false);
  end if;
  insert into punctual.event as was (key, starts_at, offsets, scope, users, message, name, timezone, priority, route, ack_timeout,
      ack_prompt, ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, metadata, created_at,
      updated_at)
    values (put_event.key, put_event.starts_at, punctual.offset_seconds(put_event.offsets), put_event.scope,
      array(select distinct u from unnest(put_event.users) as u), r.message, r.name,
      case when put_event.timezone is not null then r.timezone end, r.priority, r.route, r.ack_timeout, r.ack_prompt,
      r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, r.on_unknown, r.metadata, r.created_at,
      r.created_at)
    on conflict on constraint event_pkey do update set starts_at = excluded.starts_at, offsets = excluded.offsets,
      scope = excluded.scope, users = excluded.users, message = excluded.message, name = excluded.name,
      timezone = excluded.timezone, priority = excluded.priority, route = excluded.route, ack_timeout = excluded.ack_timeout,
      ack_prompt = excluded.ack_prompt, ack_reminders_max = excluded.ack_reminders_max,
      snooze_allowed = excluded.snooze_allowed, retries_max = excluded.retries_max, misfire = excluded.misfire,
      misfire_within = excluded.misfire_within, on_unknown = excluded.on_unknown, metadata = excluded.metadata,
      updated_at = excluded.updated_at
    returning was.* into e;
  return punctual.plan_event(e);
end $$;

-- Removes an event and cancels what of it has not been claimed or sent. False when there is none.
create function punctual.remove_event(key text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  e punctual.event;
begin
  delete from punctual.event v where v.key = remove_event.key returning v.* into e;
  if e.key is null then
    return false;
  end if;
  e.offsets := '{}';
  perform punctual.plan_event(e);
  delete from punctual.event_reminder l where l.event_key = e.key;
  return true;
end $$;

-- Plans anew the events that depend on a scope; returns how many those are.
create function punctual.plan_scope(path text) returns integer
language plpgsql as $$
declare
  e punctual.event;
  n_planned integer := 0;
begin
  -- An event that has begun has nothing ahead. `0` follows `/`.
  for e in select v.* from punctual.event v where v.offsets is null and v.starts_at > clock_timestamp()
    and (v.scope = path or v.scope > path || '/' and v.scope < path || '0') order by v.key for update
  loop
    perform punctual.plan_event(e);
    n_planned := n_planned + 1;
  end loop;
  return n_planned;
end $$;

-- Writes or replaces a scope's offsets, in minutes, and plans anew the events that depend on it; returns how many those are.
create function punctual.put_scope(path text, offsets integer[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  if path is null then
    perform punctual.refuse('path', 'is missing', 'Write guild:1/channel:2.');
  elsif offsets is null then
    perform punctual.refuse('offsets', 'is missing', 'Write minutes such as array[60, 15]; to remove a scope call remove_scope.');
  end if;
  perform punctual.check_path('path', path);
  perform punctual.lock_scope(path, true);
  insert into punctual.scope values (put_scope.path, punctual.offset_seconds(put_scope.offsets), clock_timestamp())
    on conflict on constraint scope_pkey do update set offsets = excluded.offsets, updated_at = excluded.updated_at;
  return punctual.plan_scope(path);
end $$;

-- Removes a scope: what depended on it depends on the next one up. False when there is none.
create function punctual.remove_scope(path text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  perform punctual.lock_scope(path, true);
  delete from punctual.scope s where s.path = remove_scope.path;
  if not found then
    return false;
  end if;
  perform punctual.plan_scope(path);
  return true;
end $$;

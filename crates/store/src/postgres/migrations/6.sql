-- `punctual.remind` and `punctual.cancel`: what the HTTP API does, in the caller's own transaction. They write the rows that a
-- node would have written, and the trigger of the occurrences tells the nodes when the transaction commits.

-- Who acts, for the audit trail: the role that has logged in, whatever function it calls.
create function punctual.actor() returns text
language sql stable as $$ select 'sql:' || session_user $$;

-- Writes reminders, each with its first run.
create function punctual.write_reminders(reminders punctual.reminder[], due_at timestamptz[]) returns void
language plpgsql as $$
begin
  insert into punctual.reminder (id, user_id, name, message, schedule, timezone, priority, route, ack_timeout, ack_prompt,
      ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, created_via, original_text, metadata,
      status, created_at, updated_at, last_run, carried_by, planned)
    select r.id, r.user_id, r.name, r.message, r.schedule, r.timezone, r.priority, r.route, r.ack_timeout, r.ack_prompt,
      r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, r.on_unknown, r.created_via,
      r.original_text, r.metadata, r.status, r.created_at, r.updated_at, r.last_run, r.carried_by, r.planned
    from unnest(reminders) as r;
  insert into punctual.occurrence (reminder_id, run, due_at, state, wake_at, priority, shard)
    select r.id, 1, due_at[r.ordinality], 'scheduled', due_at[r.ordinality], r.priority,
      get_byte(sha256(convert_to(r.user_id, 'UTF8')), 0)
    from unnest(reminders) with ordinality as r;
  insert into punctual.audit (at, actor, action, reminder_id)
    select r.created_at, punctual.actor(), 'create', r.id from unnest(reminders) as r;
end $$;

-- Creates a reminder; returns its id. One of `at`, `every`, `daily` and `weekly` says when.
create function punctual.remind(
  user_id text, message text, at timestamptz default null, name text default null, timezone text default null,
  priority text default null, "to" jsonb default null, require_ack boolean default null, ack_prompt text default null,
  ack_timeout interval default null, max_ack_reminders integer default null, snooze_allowed boolean default null,
  max_retries integer default null, misfire text default null, on_unknown text default null, metadata jsonb default null,
  original_text text default null, created_via text default null,
  every interval default null, anchor text default null, daily time default null, weekly text[] default null,
  at_time time default null, starts_at timestamptz default null, ends_at timestamptz default null, count integer default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r punctual.reminder := punctual.draft(user_id, message, name, timezone, priority, "to", require_ack, ack_prompt, ack_timeout,
    max_ack_reminders, snooze_allowed, max_retries, misfire, on_unknown, metadata, original_text, created_via);
  now constant timestamptz := r.created_at;
  -- What a transaction says with `now()` is not late because the transaction takes long; else a minute is forgiven, which a
  -- request may have taken.
  past constant timestamptz := transaction_timestamp() - interval '1 minute';
  clock time := coalesce(daily, at_time);
  days integer[] := '{1,2,3,4,5,6,7}';
  step numeric := punctual.micros('every', every);
  origin timestamptz;
  first timestamptz;
begin
  if num_nonnulls(at, every, daily, weekly) <> 1 then
    perform punctual.refuse('at', case num_nonnulls(at, every, daily, weekly) when 0 then 'is missing' else
        'is one way too many to say when' end, 'Give one of at, every, daily, and weekly with at_time.');
  elsif anchor is not null and every is null then
    perform punctual.refuse('anchor', 'is for intervals', 'Leave it out, or say every.');
  elsif at_time is not null and weekly is null then
    perform punctual.refuse('at_time', 'is for weekly', 'Leave it out, or say weekly.');
  elsif weekly is not null and at_time is null then
    perform punctual.refuse('at_time', 'is missing', 'Write a time such as ''07:30'' beside weekly.');
  elsif at is not null and num_nonnulls(starts_at, ends_at, count) > 0 then
    perform punctual.refuse(case when starts_at is not null then 'starts_at' when ends_at is not null then 'ends_at' else 'count'
      end, 'is for recurring reminders', 'Leave it out: at is a single instant.');
  elsif clock = time '24:00' or extract(microseconds from clock) % 1000000 <> 0 then
    perform punctual.refuse(case when daily is null then 'at_time' else 'daily' end, format('`%s` is not a time of day', clock),
      'Write 08:00, or 20:00 for 8 in the evening.');
  end if;
  perform punctual.check_instant('at', at);
  perform punctual.check_instant('starts_at', starts_at);
  perform punctual.check_instant('ends_at', ends_at);
  perform punctual.check_word('anchor', anchor, '{start,ack}');
  if least(at, ends_at) < past then
    perform punctual.refuse(case when at is null then 'ends_at' else 'at' end, format('is in the past (now is %s)', now));
  elsif step < 1000000 then
    perform punctual.refuse('every', 'is too short', 'The shortest interval is 1 second.');
  elsif step > 3653 * 86400000000 then
    perform punctual.refuse('every', 'is too long', 'The longest interval is ten years.');
  elsif starts_at >= ends_at then
    perform punctual.refuse('ends_at', 'must be after starts_at');
  elsif count < 1 then
    perform punctual.refuse('count', format('`%s` is not a number from 1 up', count));
  end if;

  if weekly is not null then
    days := punctual.days_of(weekly);
  end if;
  if every is not null then
    origin := coalesce(starts_at, now);
    -- The origin itself is due when somebody asked for it, and not when it is only the creation.
    first := origin + case when starts_at > now then 0
      else (floor(extract(epoch from now - origin) * 1000000 / step) + 1) * step end * interval '1 microsecond';
  else
    first := coalesce(at, punctual.next_on(r.timezone, clock, days, greatest(now, starts_at - interval '1 microsecond')));
  end if;
  if first > ends_at or first > '9999-12-30 22:00:00.999999+00' then
    perform punctual.refuse('ends_at', 'is before the first run', 'Nothing of it would ever be due.');
  end if;

  r.id := punctual.new_id(now);
  r.carried_by := case when at is null then 1 end;
  -- Names in the order of their bytes, as a node writes them.
  r.schedule := '{' || concat_ws(',',
    case when every is not null then '"anchor":' || to_json(coalesce(anchor, 'start')) end,
    '"at":"' || punctual.instant_text(at) || '"',
    '"count":' || count,
    case when weekly is not null then '"days":' || punctual.days_text(days) end,
    '"ends_at":"' || punctual.instant_text(ends_at) || '"',
    '"every":"' || punctual.span_text(step) || '"',
    '"origin":"' || punctual.instant_text(origin) || '"',
    '"starts_at":"' || punctual.instant_text(starts_at) || '"',
    '"time":"' || to_char(clock, case extract(second from clock) when 0 then 'HH24:MI' else 'HH24:MI:SS' end) || '"',
    '"type":"' || case when at is not null then 'once' when every is not null then 'interval' when daily is not null then 'daily'
      else 'weekly' end || '"') || '}';
  perform punctual.write_reminders(array[r], array[first]);
  return r.id;
end $$;

-- Ends what is open of these reminders, and the reminders with it. The caller holds both locked.
create function punctual.end_open(ids uuid[]) returns void
language plpgsql as $$
declare
  now constant timestamptz := clock_timestamp();
  had_runs uuid[];
  runs integer[];
  lasts text[];
begin
  with ended as (
    -- One that reached the person was not cancelled: it will just not be asked about any more.
    update punctual.occurrence o set state = case o.state when 'awaiting_ack' then 'dismissed' else 'cancelled' end,
      wake_at = null, node = null, at = now, error = null
    where o.reminder_id = any (ids) and (o.wake_at is not null or o.state = 'paused')
    returning o.reminder_id, o.run, o.state, o.reached
  ), by_reminder as (
    select e.reminder_id, min(e.run) as run, (array_agg(e.state order by e.run desc) filter (where e.reached > 0))[1] as last
    from ended e group by e.reminder_id
  ) select array_agg(b.reminder_id), array_agg(b.run), array_agg(b.last) into had_runs, runs, lasts from by_reminder b;
  update punctual.reminder r set status = 'cancelled', carried_by = null, updated_at = now where r.id = any (ids);
  -- What was sent and has now ended with its reminder is the last thing that became of it.
  update punctual.reminder r set last_status = v.last from unnest(had_runs, lasts) as v (id, last)
    where r.id = v.id and v.last is not null;
  insert into punctual.audit (at, actor, action, reminder_id, run)
    select now, punctual.actor(), 'cancel', v.id, v.run from unnest(had_runs, runs) as v (id, run)
    union all
    select now, punctual.actor(), 'cancel', v.id, null from (select unnest(ids) except select unnest(had_runs)) as v (id);
end $$;

-- Cancels a reminder, of this user if one is named. True when it is cancelled and nothing of it will be sent; false when there
-- is none, or nothing is left to cancel; an error of SQLSTATE 55000 when its send has begun.
create function punctual.cancel(id uuid, user_id text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  -- By key, whatever the statistics say: postgres/batch.rs tells why.
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  held integer[];
  runs integer[];
  begun boolean;
  state text;
begin
  for try in 1..20 loop
    begin
      if not exists (select from punctual.reminder r where r.id = cancel.id and r.user_id = coalesce(cancel.user_id, r.user_id)) then
        return false;
      end if;
      -- Occurrences before their reminder, as everybody locks them, so that nobody waits in a circle.
      with open as (
        select o.run from punctual.occurrence o where o.reminder_id = cancel.id and (o.wake_at is not null or o.state = 'paused')
        order by o.run for update
      ) select coalesce(array_agg(open.run), '{}') into held from open;
      select r.status into state from punctual.reminder r where r.id = cancel.id for update;
      select coalesce(array_agg(o.run), '{}'), coalesce(bool_or(o.state = 'processing'), false) into runs, begun
        from punctual.occurrence o where o.reminder_id = cancel.id and (o.wake_at is not null or o.state = 'paused');
      if not runs <@ held then
        -- A run was planned before the reminder was ours. Both are let go and looked at once more.
        raise exception using errcode = 'PN001', message = 'another run has been planned';
      end if;
      if state is null or state = 'cancelled' or state = 'completed' and runs = '{}' then
        return false;
      elsif begun then
        raise exception using errcode = '55000', message = 'the send has begun; try again when it has ended',
          detail = format('Reminder %s is being sent.', cancel.id);
      end if;
      perform punctual.end_open(array[cancel.id]);
      return true;
    exception when sqlstate 'PN001' then
      null;
    end;
  end loop;
  raise exception using errcode = '40001', message = 'the reminder changes faster than it can be cancelled; try again';
end $$;

-- Makes the reminders of an event what they should be now; returns how many are to come. The caller holds the event locked.
--
-- Only what lies ahead is planned. A run that waits for its instant is moved, changed or cancelled. A run that waits for a retry or
-- for its person's quiet hours is cancelled when the event is not at that time any more. What was claimed, or has reached somebody,
-- or was put off or cancelled by a person, is left alone while the person is invited, and a new reminder is made beside it when the
-- event has moved since, unless a person has cancelled it.
--
-- Every part of a key that rows are looked up by comes from the same arrays, and none is a constant: a constant would tempt the
-- planner to fetch all rows that have it, and to compare each with all that are given.
create or replace function punctual.plan_event(e punctual.event) returns integer
language plpgsql as $$
declare
  now constant timestamptz := clock_timestamp();
  offsets constant integer[] := coalesce(e.offsets, punctual.scope_offsets(e.scope), '{}');
  ids constant uuid[] := array(select l.reminder_id from punctual.event_reminder l where l.event_key = e.key);
  befores integer[];
  people text[];
  -- What the event would not plan any more, and of that, what is for people who are not invited any more.
  stale constant uuid[] := array(select l.reminder_id from punctual.event_reminder l where l.event_key = e.key
    and not (l.seconds_before = any (offsets) and l.user_id = any (e.users)
      and l.due_at = e.starts_at - l.seconds_before * interval '1 second'));
  uninvited constant uuid[] := array(select l.reminder_id from punctual.event_reminder l where l.event_key = e.key
    and not l.user_id = any (e.users));
  waiting uuid[];
  withdrawn uuid[];
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
  n_differing integer := 0;
begin
  -- Occurrences before their reminders, both by id, as everybody locks them; and nothing that is being sent, because whoever
  -- settles that may hold what belongs to several events.
  with held as (
    select o.reminder_id as id, o.state in ('scheduled', 'paused') as waits from punctual.occurrence o
    where o.reminder_id = any (ids) and (o.state in ('scheduled', 'paused')
      or o.reminder_id = any (stale) and o.state in ('pending_retry', 'waiting', 'snoozed', 'awaiting_ack')
        and (o.reminder_id = any (uninvited) or o.reached = 0 and o.state <> 'snoozed'))
    order by o.reminder_id, o.run for update
  ) select coalesce(array_agg(h.id) filter (where h.waits), '{}'), coalesce(array_agg(h.id) filter (where not h.waits), '{}')
    into waiting, withdrawn from held h;
  perform from punctual.reminder t where t.id = any (waiting || withdrawn) order by t.id for update;
  waiting := array(select t.id from punctual.reminder t
    where t.id = any (waiting) and t.status in ('active', 'paused') and t.last_run = 1);
  withdrawn := array(select t.id from punctual.reminder t where t.id = any (withdrawn) and t.last_run = 1);

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
  r.only_to := e.only_to;
  r.metadata := e.metadata;
  r.tags := e.tags;
  r.escalate := e.escalate;
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

  dropped := withdrawn || array(select unnest(waiting) except select unnest(changed_ids));
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
        misfire = v.misfire, misfire_within = v.misfire_within, on_unknown = v.on_unknown, only_to = v.only_to,
        metadata = v.metadata, tags = v.tags, escalate = v.escalate, updated_at = now
      from unnest(changed) as v
      where t.id = v.id and (t.name, t.message, t.schedule, t.timezone, t.priority, t.route, t.ack_timeout, t.ack_prompt,
          t.ack_reminders_max, t.snooze_allowed, t.retries_max, t.misfire, t.misfire_within, t.on_unknown, t.only_to, t.metadata, t.tags,
          t.escalate)
        is distinct from (v.name, v.message, v.schedule, v.timezone, v.priority, v.route, v.ack_timeout, v.ack_prompt,
          v.ack_reminders_max, v.snooze_allowed, v.retries_max, v.misfire, v.misfire_within, v.on_unknown, v.only_to, v.metadata,
          v.tags, v.escalate)
      returning t.id, t.user_id
    ), header as (insert into punctual.journal_write (n) select count(*) from differing having count(*) > 0 returning write)
    insert into punctual.journal (write, item, at, kind, reminder_id, run, user_id, actor, via, data)
      select header.write, row_number() over (order by d.id) - 1, now, 'reminder.changed', d.id, 1, d.user_id, punctual.actor(), 'sql',
        '{"did":"update"}'
      from header, differing d;
    get diagnostics n_differing = row_count;
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
  if cardinality(dropped) + n_differing + cardinality(made) > 0 then
    with header as (insert into punctual.journal_write (n) values (1) returning write)
    insert into punctual.journal (write, item, at, kind, actor, via, data)
      select header.write, 0, now, 'event.planned', punctual.actor(), 'sql', json_build_object('key', e.key,
        'starts_at', punctual.instant_text(e.starts_at), 'planned', cardinality(changed) + cardinality(made))::text
      from header;
  end if;
  return cardinality(changed) + cardinality(made);
end $$;

-- Ends what is open of these reminders, and the reminders with it. The caller holds both locked.
create or replace function punctual.end_open(ids uuid[]) returns void
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
      wake_at = null, own_at = null, escalation = null, escalate_at = null, node = null, at = now, error = null, waits_for = null
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

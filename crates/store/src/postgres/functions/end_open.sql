-- Ends what is open of these reminders, and the reminders with it. The caller holds both locked.
create or replace function punctual.end_open(ids uuid[]) returns void
language plpgsql as $$
declare
  now constant timestamptz := clock_timestamp();
  had_runs uuid[];
  runs integer[];
  lasts text[];
  ends text[];
begin
  with ended as (
    -- One that reached the person was not cancelled: it will just not be asked about any more.
    update punctual.occurrence o set state = case o.state when 'awaiting_ack' then 'dismissed' else 'cancelled' end,
      wake_at = null, own_at = null, escalation = null, escalate_at = null, node = null, at = now, error = null, waits_for = null
    from punctual.occurrence was
    where o.reminder_id = any (ids) and (o.wake_at is not null or o.state = 'paused')
      and was.reminder_id = o.reminder_id and was.run = o.run
    returning o.reminder_id, o.run, o.state, o.reached, was.state = 'unplanned' as unplanned
  ), by_reminder as (
    -- What an undo needs to know beside the runs: punctual_core::journal::Ended.
    select e.reminder_id, min(e.run) as run, (array_agg(e.state order by e.run desc) filter (where e.reached > 0))[1] as last,
      '{"runs":' || to_json(array_agg(e.run order by e.run)) || coalesce(',"carried_by":' || r.carried_by, '')
        || case r.status when 'paused' then ',"paused":true' else '' end
        || case when bool_or(e.unplanned) then ',"unplanned":true' else '' end || '}' as ends
    from ended e join punctual.reminder r on r.id = e.reminder_id group by e.reminder_id, r.carried_by, r.status
  ) select array_agg(b.reminder_id), array_agg(b.run), array_agg(b.last), array_agg(b.ends) into had_runs, runs, lasts, ends
    from by_reminder b;
  update punctual.reminder r set status = 'cancelled', carried_by = null, updated_at = now where r.id = any (ids);
  -- What was sent and has now ended with its reminder is the last thing that became of it.
  update punctual.reminder r set last_status = v.last from unnest(had_runs, lasts) as v (id, last)
    where r.id = v.id and v.last is not null;
  with cancelled as (
    select v.id, v.run, v.ends from unnest(had_runs, runs, ends) as v (id, run, ends)
    union all
    select v.id, null, '{"runs":[]}' from (select unnest(ids) except select unnest(had_runs)) as v (id)
  ), w as (insert into punctual.journal_write (n) select count(*) from cancelled having count(*) > 0 returning write)
  insert into punctual.journal (write, item, at, kind, reminder_id, run, user_id, actor, via, data)
    select w.write, row_number() over (order by c.id) - 1, now, 'reminder.cancelled', c.id, c.run, r.user_id, punctual.actor(), 'sql', c.ends
    from w, cancelled c left join punctual.reminder r on r.id = c.id;
end $$;

-- Ends what is open of a reminder, which is cancelled, and of those of `others`, who were asked in its person's place. The caller holds all of
-- it locked. What becomes of them is what core decides: `Work::cancel` in core/src/decide/change.rs and `Kin::follow` in decide/family.rs.
create or replace function punctual.end_open(cancelled uuid, others uuid[]) returns void
language plpgsql as $$
declare
  now constant timestamptz := clock_timestamp();
begin
  with ended as (
    -- One that reached the person was not cancelled: it will just not be asked about any more.
    update punctual.occurrence o set
      state = case when o.state = 'awaiting_ack' or o.reminder_id <> cancelled and o.reached > 0 then 'dismissed' else 'cancelled' end,
      wake_at = null, own_at = null, node = null, at = now, error = null, waits_for = null,
      -- That others were asked about it stays true.
      escalation = case o.escalation when 'asked' then o.escalation end,
      escalate_at = case o.escalation when 'asked' then o.escalate_at end
    from punctual.occurrence was
    where (o.reminder_id = cancelled or o.reminder_id = any (others)) and (o.wake_at is not null or o.state = 'paused')
      and was.reminder_id = o.reminder_id and was.run = o.run
    returning o.reminder_id, o.run, o.state, o.reached, was.state = 'unplanned' as unplanned
  ), changed as (
    select r.id, r.user_id, r.status, r.carried_by, min(e.run) as run,
      coalesce(to_json(array_agg(e.run order by e.run) filter (where e.run is not null)), '[]') as runs,
      coalesce(bool_or(e.unplanned), false) as unplanned,
      -- What was sent and has now ended with its reminder is the last thing that became of it.
      (array_agg(e.state order by e.run desc) filter (where e.reached > 0))[1] as last
    from punctual.reminder r left join ended e on e.reminder_id = r.id
    where r.id = cancelled or r.id = any (others) group by r.id
  ), moved as (
    update punctual.reminder r set updated_at = now, last_status = coalesce(c.last, r.last_status),
      status = case when r.id = cancelled then 'cancelled' when r.status = 'active' and r.carried_by is null then 'completed'
        else r.status end,
      carried_by = case when r.id <> cancelled then r.carried_by end
    from changed c where r.id = c.id
  ), entry as (
    -- What an undo needs to know: punctual_core::journal::Ended.
    select c.id, c.run, c.user_id, '{"runs":' || c.runs || coalesce(',"carried_by":' || c.carried_by, '')
      || case c.status when 'paused' then ',"paused":true' else '' end
      || case when c.unplanned then ',"unplanned":true' else '' end || '}' as data
    from changed c where c.id = cancelled
    union all
    select e.reminder_id, e.run, c.user_id, '{"did":"cancel","by_user":' || to_json(owner.user_id) || '}'
    from ended e join changed c on c.id = e.reminder_id join changed owner on owner.id = cancelled where e.reminder_id <> cancelled
  ), w as (insert into punctual.journal_write (n) select count(*) from entry having count(*) > 0 returning write)
  insert into punctual.journal (write, item, at, kind, reminder_id, run, user_id, actor, via, data)
    select w.write, row_number() over (order by e.id <> cancelled, e.id, e.run) - 1, now, 'reminder.cancelled', e.id, e.run, e.user_id,
      punctual.actor(), 'sql', e.data
    from w, entry e;
end $$;

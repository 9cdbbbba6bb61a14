-- Keeps an event's reminders from being sent as they were planned before the caller changed the event; the caller has written that it is to be
-- planned. A claim that runs at the same moment either comes after, and sees that, or came before: then the nodes are asked for the run back.
--
-- Runs are locked by id, as everybody locks them, and none that is being sent: whoever settles those may have locked what belongs to several events.
create or replace function punctual.lock_event(event_key text) returns void
language plpgsql as $$
declare
  ids constant uuid[] := array(select l.reminder_id from punctual.event_reminder l where l.event_key = lock_event.event_key);
begin
  if ids = '{}' then
    return;
  end if;
  perform from punctual.occurrence o where o.reminder_id = any (ids) and o.wake_at is not null and o.state <> 'processing'
    order by o.reminder_id, o.run for update;
  -- In the order of their names, so that two who ask for the same do not wait in a circle.
  insert into punctual.recall (reminder_id, asked_at)
    select distinct o.reminder_id, clock_timestamp() from punctual.occurrence o
    where o.reminder_id = any (ids) and o.wake_at is not null and o.state = 'processing' order by o.reminder_id
    on conflict (reminder_id) do update set asked_at = excluded.asked_at;
  if found then
    perform pg_notify('punctual', 'recall');
  end if;
end $$;

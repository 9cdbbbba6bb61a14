-- Removes an event and ends its reminders, but for what a node has claimed and is sending. False when there is none.
create or replace function punctual.remove_event(key text) returns boolean
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
  e.users := '{}';
  perform punctual.plan_event(e);
  delete from punctual.event_reminder l where l.event_key = e.key;
  return true;
end $$;

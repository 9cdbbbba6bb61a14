-- Removes an event: a node withdraws its reminders right after the commit, and none of them is sent before it has, but for what is just being sent.
-- False when there is none.
create or replace function punctual.remove_event(key text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  e punctual.event;
begin
  select v.* into e from punctual.event v where v.key = remove_event.key and not v.removed for update;
  if e.key is null then
    return false;
  elsif e.source is not null then
    perform punctual.refuse('key', format('`%s` follows the calendar %s', e.key, e.source), 'Remove it there.');
  end if;
  e := punctual.marked(e, clock_timestamp());
  update punctual.event v set removed = true, planned = e.planned, plan_at = e.plan_at, asked_at = e.asked_at,
    updated_at = e.plan_at where v.key = e.key;
  perform punctual.event_changed(e.key, json_build_object('event', e.key, 'deleted', true));
  return true;
end $$;

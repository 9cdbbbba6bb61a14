-- Writes or replaces a scope's offsets, in minutes, and plans anew the events that depend on it; returns how many those are.
create or replace function punctual.put_scope(path text, offsets integer[]) returns integer
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

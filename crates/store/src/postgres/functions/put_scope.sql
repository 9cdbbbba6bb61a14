-- Writes or replaces a scope's offsets: in minutes before the start, or in every form of the HTTP API. Returns how many events depend on it; nodes
-- plan those anew right after the commit.
create or replace function punctual.put_scope(path text, offsets integer[] default null, offset_list jsonb default null) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  kept text;
begin
  if path is null then
    perform punctual.refuse('path', 'is missing', 'Write guild:1/channel:2.');
  elsif num_nonnulls(offsets, offset_list) <> 1 then
    perform punctual.refuse('offsets', case when offsets is null then 'is missing' else 'says the same as offset_list' end,
      'Write minutes such as array[60, 15]; to remove a scope call remove_scope.');
  end if;
  path := punctual.check_path('path', path);
  kept := punctual.offset_list(case when offsets is null then 'offset_list' else 'offsets' end, coalesce(to_jsonb(offsets), offset_list));
  if kept is null then
    perform punctual.refuse('offset_list', 'is null', 'Write [60, 15]; to remove a scope call remove_scope.');
  end if;
  perform punctual.lock_scope(path, true);
  insert into punctual.scope (path, offsets, updated_at) values (path, kept, clock_timestamp())
    on conflict on constraint scope_pkey do update set offsets = excluded.offsets, updated_at = excluded.updated_at;
  return punctual.scope_changed(path, kept);
end $$;

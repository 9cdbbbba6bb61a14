-- Removes a scope: what depended on it depends on the next one up. False when there is none.
create or replace function punctual.remove_scope(path text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  perform punctual.lock_scope(path, true);
  delete from punctual.scope s where s.path = replace(remove_scope.path, '%2f', '%2F');
  if not found then
    return false;
  end if;
  perform punctual.scope_changed(replace(path, '%2f', '%2F'), null);
  return true;
end $$;

-- Plans anew the events that depend on a scope; returns how many those are.
create or replace function punctual.plan_scope(path text) returns integer
language plpgsql as $$
declare
  e punctual.event;
  n_planned integer := 0;
begin
  -- An event that has begun has nothing ahead. `0` follows `/`.
  for e in select v.* from punctual.event v where v.offsets is null and v.starts_at > clock_timestamp()
    and (v.scope = path or v.scope > path || '/' and v.scope < path || '0') order by v.key for update
  loop
    perform punctual.plan_event(e);
    n_planned := n_planned + 1;
  end loop;
  return n_planned;
end $$;

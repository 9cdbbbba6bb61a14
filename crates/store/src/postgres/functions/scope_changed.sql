-- Marks the events that depend on a scope to be planned, writes down that it was changed, and tells the nodes; returns how many events those are.
create or replace function punctual.scope_changed(path text, offsets text) returns integer
language plpgsql as $$
declare
  n_marked integer;
begin
  -- `0` follows `/`.
  update punctual.event v
    set (planned, plan_at, asked_at) = (select m.planned, m.plan_at, m.asked_at from punctual.marked(v, clock_timestamp()) as m)
    where not v.removed and v.offsets is null and (v.scope = path or v.scope > path || '/' and v.scope < path || '0');
  get diagnostics n_marked = row_count;
  with header as (insert into punctual.journal_write (n) values (1) returning write)
  insert into punctual.journal (write, item, at, kind, actor, via, data)
    select header.write, 0, clock_timestamp(), 'scope.changed', punctual.actor(), 'sql', json_strip_nulls(json_build_object('scope', path,
      'offsets', coalesce(scope_changed.offsets, '[]')::json, 'events', n_marked,
      'deleted', case when scope_changed.offsets is null then true end))::text
    from header;
  if n_marked > 0 then
    perform pg_notify('punctual', 'events');
  end if;
  return n_marked;
end $$;

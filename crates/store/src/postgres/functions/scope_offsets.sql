-- Offsets of the nearest scope; none if there is none.
create or replace function punctual.scope_offsets(path text) returns integer[]
language plpgsql as $$
declare
  parts constant text[] := string_to_array(path, '/');
begin
  return (select s.offsets from punctual.scope s
    where s.path = any (array(select array_to_string(parts[:n], '/') from generate_series(1, cardinality(parts)) as n))
    order by length(s.path) desc limit 1);
end $$;

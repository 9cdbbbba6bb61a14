-- JSON as the HTTP API keeps it: without spaces, names in the order of their bytes.
create or replace function punctual.compact(value jsonb) returns text
language plpgsql as $$
begin
  if jsonb_typeof(value) = 'object' then
    return '{' || coalesce((select string_agg(to_json(e.key)::text || ':'
        || case when jsonb_typeof(e.value) in ('object', 'array') then punctual.compact(e.value) else e.value::text end,
        ',' order by e.key collate "C")
      from jsonb_each(value) as e), '') || '}';
  elsif jsonb_typeof(value) = 'array' then
    return '[' || coalesce((select string_agg(
        case when jsonb_typeof(e.value) in ('object', 'array') then punctual.compact(e.value) else e.value::text end,
        ',' order by e.place)
      from jsonb_array_elements(value) with ordinality as e (value, place)), '') || ']';
  end if;
  return value::text;
end $$;

-- JSON as the HTTP API keeps it: without spaces, names in the order of their bytes.
create or replace function punctual.compact(value jsonb) returns text
language plpgsql as $$
begin
  return case jsonb_typeof(value)
    when 'object' then
      '{' || coalesce((select string_agg(to_json(e.key)::text || ':' || punctual.compact(e.value), ',' order by e.key collate "C")
        from jsonb_each(value) as e), '') || '}'
    when 'array' then
      '[' || coalesce((select string_agg(punctual.compact(e.value), ',' order by e.place)
        from jsonb_array_elements(value) with ordinality as e (value, place)), '') || ']'
    else value::text
  end;
end $$;

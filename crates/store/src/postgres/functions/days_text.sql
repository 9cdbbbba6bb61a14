-- Their names, as schedules keep them.
create or replace function punctual.days_text(days integer[]) returns text
language sql immutable as $$
  select case days
    when '{1,2,3,4,5,6,7}' then '["daily"]'
    when '{1,2,3,4,5}' then '["weekdays"]'
    when '{6,7}' then '["weekend"]'
    else (select '[' || string_agg('"' || (array['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])[d] || '"', ',' order by d) || ']'
      from unnest(days) as d)
  end
$$;

-- How far a fixed offset such as `+05:45` is ahead of UTC.
create or replace function punctual.offset_of(zone text) returns interval
language sql immutable as $$
  select case left(zone, 1) when '-' then -1 else 1 end
    * make_interval(hours => substr(zone, 2, 2)::integer, mins => coalesce(nullif(substr(zone, 5, 2), ''), '0')::integer)
$$;

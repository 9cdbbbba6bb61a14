-- When a clock in the zone shows a local time: one that does not exist is shifted by the length of the gap, and one that
-- exists twice is the first.
create or replace function punctual.instant_of(local timestamp, zone text) returns timestamptz
language plpgsql set timezone = 'UTC' as $$
declare
  found timestamptz;
  first timestamptz;
  before interval;
begin
  if zone ~ '^[+-]' then
    return local at time zone 'UTC' - punctual.offset_of(zone);
  end if;
  perform set_config('timezone', zone, true);
  -- In a gap the server reads it off the clock from before, as is wanted; of two it takes the second.
  found := local::timestamptz;
  foreach before in array array[interval '2 hours', interval '26 hours'] loop
    first := found - before;
    first := (local at time zone 'UTC') - (first::timestamp - (first at time zone 'UTC'));
    if first < found and first::timestamp = local then
      return first;
    end if;
  end loop;
  return found;
end $$;

-- What a clock in the zone shows. `AT TIME ZONE` would take CET and its kin for abbreviations, which know no summer.
create or replace function punctual.local_of(at timestamptz, zone text) returns timestamp
language plpgsql set timezone = 'UTC' as $$
begin
  if zone ~ '^[+-]' then
    return at at time zone 'UTC' + punctual.offset_of(zone);
  end if;
  perform set_config('timezone', zone, true);
  return at::timestamp;
end $$;

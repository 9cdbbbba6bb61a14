-- The first instant after `after` when clocks in the zone show `clock` on one of `days`, of which 1 is Monday.
create or replace function punctual.next_on(zone text, clock time, days integer[], after timestamptz) returns timestamptz
language plpgsql as $$
declare
  -- Yesterday's time may have been shifted into today, by a zone that skipped a day.
  day date := punctual.local_of(after, zone)::date - 1;
  at timestamptz;
begin
  loop
    if extract(isodow from day)::integer = any (days) then
      at := punctual.instant_of(day + clock, zone);
      if at > after then
        return at;
      end if;
    end if;
    day := day + 1;
  end loop;
end $$;

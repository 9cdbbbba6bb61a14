-- The name under which a zone is kept: the database's own spelling, or a fixed offset as it was given.
create or replace function punctual.zone_name(given text) returns text
language plpgsql as $$
declare
  found text;
  near text;
begin
  if given = 'UTC' or given ~ '^[+-](0[0-9]|1[0-8])(:[0-5][0-9])?$' then
    return given;
  end if;
  select z.name into found from punctual.zone z where lower(z.name) = lower(given);
  if found is null then
    select string_agg(z.name, ', ') into near from (
      select name from punctual.zone where length(given) > 2 and regexp_replace(lower(name), '^.*/', '') like
        '%' || left(regexp_replace(translate(lower(given), ' -', '__'), '^.*/', ''), 4) || '%' order by name limit 3) as z;
    perform punctual.refuse('timezone', format('unknown time zone `%s`', given),
      coalesce('Did you mean ' || near || '?', 'Use an IANA name such as Europe/Berlin, or an offset such as +02:00.'));
  end if;
  return found;
end $$;

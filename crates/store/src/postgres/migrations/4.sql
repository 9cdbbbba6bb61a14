-- What the functions that write in SQL need: what running nodes publish about themselves, and the rules that the HTTP API
-- checks, once more. Every refusal is SQLSTATE 22023, names the field as COLUMN, and says what would be right.
--
-- Only functions that run as the owner call these, and nobody else may; so each sees the search path that its caller has set.

-- The channels that nodes have; empty until a node has started, and then nothing is refused for being unknown.
create table punctual.channel (name text collate "C" primary key, kind text not null);

-- Settings of the nodes that decide what a reminder gets that does not say: `timezone`, `max_retries`,
-- `webhook_allow_private`.
create table punctual.setting (name text collate "C" primary key, value text not null);

-- The zones there are. Asking the server for them takes 60 ms, a reminder should not. Nodes add what they know beside.
create table punctual.zone (name text collate "C" primary key);
create unique index zone_lower on punctual.zone (lower(name));
insert into punctual.zone select name from pg_timezone_names
  where name !~ '^(posix|right)/' and name not in ('localtime', 'posixrules', 'Factory');

create function punctual.refuse(field text, problem text, hint text default null) returns void
language plpgsql as $$
begin
  if hint is null then
    raise exception using errcode = '22023', column = field, message = field || ': ' || problem;
  end if;
  raise exception using errcode = '22023', column = field, message = field || ': ' || problem, hint = hint;
end $$;

-- Lengths are bytes of UTF-8.
create function punctual.check_text(field text, value text, bytes_min integer, bytes_max integer) returns void
language plpgsql as $$
declare
  n_bytes constant integer := octet_length(convert_to(value, 'UTF8'));
begin
  if n_bytes < bytes_min then
    perform punctual.refuse(field, 'is empty', format('Write %s to %s bytes.', bytes_min, bytes_max));
  elsif n_bytes > bytes_max then
    perform punctual.refuse(field, format('is %s bytes long; at most %s are accepted', n_bytes, bytes_max));
  end if;
end $$;

create function punctual.check_word(field text, word text, known text[]) returns void
language plpgsql as $$
begin
  if word <> all (known) then
    perform punctual.refuse(field, format('`%s` is not one of %s', word, array_to_string(known, ', ')));
  end if;
end $$;

-- What Unicode calls white space; with `controls`, also what it calls control characters.
create function punctual.blanks(controls boolean) returns text
language sql stable as $$
  select string_agg(chr(c), '') from (
    select unnest(array[9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201,
      8202, 8232, 8233, 8239, 8287, 12288]) as c
    union select generate_series(1, 31) where controls
    union select generate_series(127, 159) where controls
  ) as code where c < 128 or getdatabaseencoding() = 'UTF8'
$$;

-- The microseconds of an interval of a fixed length.
create function punctual.micros(field text, span interval) returns numeric
language plpgsql as $$
begin
  if extract(year from span) <> 0 or extract(month from span) <> 0 then
    perform punctual.refuse(field, format('`%s` has months or years, which are not always equally long', span),
      'Write it in days, hours, minutes and seconds; a day is 24 hours.');
  elsif extract(epoch from span) < 0 then
    perform punctual.refuse(field, format('`%s` is negative', span), 'Write an interval such as ''10 minutes''.');
  end if;
  return extract(epoch from span) * 1000000;
end $$;

-- A span as the HTTP API writes it, `1h30m`, in milliseconds.
create function punctual.span_millis(field text, span text) returns bigint
language plpgsql as $$
declare
  unit constant text := '(ns|us|ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)';
  nanos numeric;
begin
  if span is null then
    return null;
  end if;
  if btrim(lower(span), punctual.blanks(false)) !~ ('^([0-9]+([.][0-9]+)?\s*' || unit || '\s*)+$') then
    perform punctual.refuse(field, format('`%s` is not a span', span), 'Write 5m, 2h or 1h30m; the units are s, m, h, d and w.');
  end if;
  select sum(part[1]::numeric * case
      when part[2] = 'ns' then 1
      when part[2] = 'us' then 1000
      when part[2] like 'm%s' and part[2] not like 'min%' or part[2] like 'milli%' then 1000000
      when part[2] like 's%' then 1000000000
      when part[2] like 'm%' then 60000000000
      when part[2] like 'h%' then 3600000000000
      when part[2] like 'd%' then 86400000000000
      else 604800000000000 end)
    into nanos from regexp_matches(lower(span), '([0-9]+(?:[.][0-9]+)?)\s*([a-z]+)', 'g') as part;
  if nanos >= 18446744073709551616000000000 then
    perform punctual.refuse(field, format('`%s` is too long', span), 'Write a span such as 5m, 2h or 1d.');
  end if;
  return least(floor(nanos / 1000000), 9223372036854775807)::bigint;
end $$;

-- An interval as schedules keep it: `1h30m`.
create function punctual.span_text(micros numeric) returns text
language sql immutable as $$
  select case
    when micros = 0 then '0s'
    when micros % 604800000000 = 0 then trunc(micros / 604800000000) || 'w'
    else (select string_agg(n || unit, '' order by place) from (values
        (1, trunc(micros / 86400000000), 'd'), (2, trunc(micros / 3600000000) % 24, 'h'),
        (3, trunc(micros / 60000000) % 60, 'm'), (4, trunc(micros / 1000000) % 60, 's'),
        (5, trunc(micros / 1000) % 1000, 'ms'), (6, trunc(micros) % 1000, 'us')) as part (place, n, unit) where n > 0)
  end
$$;

-- An instant as schedules keep it.
create function punctual.instant_text(at timestamptz) returns text
language sql immutable as $$
  select rtrim(rtrim(to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'
$$;

create function punctual.check_instant(field text, at timestamptz) returns void
language plpgsql as $$
begin
  if not at between '0001-01-01 00:00:00+00' and '9999-12-30 22:00:00.999999+00' then
    perform punctual.refuse(field, 'is further away than the calendar goes', 'Write an instant in the years 1 to 9999.');
  end if;
end $$;

-- JSON as the HTTP API keeps it: without spaces, names in the order of their bytes.
create function punctual.compact(value jsonb) returns text
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

-- The name under which a zone is kept: the database's own spelling, or a fixed offset as it was given.
create function punctual.zone_name(given text) returns text
language plpgsql as $$
declare
  found text;
  near text;
begin
  if given ~ '^[+-](0[0-9]|1[0-8])(:[0-5][0-9])?$' then
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

-- How far a fixed offset such as `+05:45` is ahead of UTC.
create function punctual.offset_of(zone text) returns interval
language sql immutable as $$
  select case left(zone, 1) when '-' then -1 else 1 end
    * make_interval(hours => substr(zone, 2, 2)::integer, mins => coalesce(nullif(substr(zone, 5, 2), ''), '0')::integer)
$$;

-- What a clock in the zone shows. `AT TIME ZONE` would take CET and its kin for abbreviations, which know no summer.
create function punctual.local_of(at timestamptz, zone text) returns timestamp
language plpgsql set timezone = 'UTC' as $$
begin
  if zone ~ '^[+-]' then
    return at at time zone 'UTC' + punctual.offset_of(zone);
  end if;
  perform set_config('timezone', zone, true);
  return at::timestamp;
end $$;

-- When a clock in the zone shows a local time: one that does not exist is shifted by the length of the gap, and one that
-- exists twice is the first.
create function punctual.instant_of(local timestamp, zone text) returns timestamptz
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

-- The first instant after `after` when clocks in the zone show `clock` on one of `days`, of which 1 is Monday.
create function punctual.next_on(zone text, clock time, days integer[], after timestamptz) returns timestamptz
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

-- Days of the week from their names, Monday is 1.
create function punctual.days_of(names text[]) returns integer[]
language plpgsql as $$
declare
  days integer[] := '{}';
  more integer[];
  word text;
  place integer := 0;
begin
  foreach word in array names loop
    word := btrim(word, punctual.blanks(false));
    more := case
      when lower(word) in ('mon', 'monday') then '{1}'::integer[]
      when lower(word) in ('tue', 'tues', 'tuesday') then '{2}'
      when lower(word) in ('wed', 'wednesday') then '{3}'
      when lower(word) in ('thu', 'thur', 'thurs', 'thursday') then '{4}'
      when lower(word) in ('fri', 'friday') then '{5}'
      when lower(word) in ('sat', 'saturday') then '{6}'
      when lower(word) in ('sun', 'sunday') then '{7}'
      when lower(word) in ('weekday', 'weekdays', 'workday', 'workdays') then '{1,2,3,4,5}'
      when lower(word) in ('weekend', 'weekends') then '{6,7}'
      when lower(word) in ('daily', 'everyday') then '{1,2,3,4,5,6,7}'
    end;
    if more is null then
      perform punctual.refuse(format('weekly[%s]', place), format('`%s` is not a day', coalesce(word, 'null')),
        'Use mon, tue, wed, thu, fri, sat, sun, weekdays, weekend or daily.');
    end if;
    days := days || more;
    place := place + 1;
  end loop;
  if days = '{}' then
    perform punctual.refuse('weekly', 'is empty', 'Name days such as mon and thu, or weekdays.');
  end if;
  return array(select distinct d from unnest(days) as d order by d);
end $$;

-- Their names, as schedules keep them.
create function punctual.days_text(days integer[]) returns text
language sql immutable as $$
  select case days
    when '{1,2,3,4,5,6,7}' then '["daily"]'
    when '{1,2,3,4,5}' then '["weekdays"]'
    when '{6,7}' then '["weekend"]'
    else (select '[' || string_agg('"' || (array['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])[d] || '"', ',' order by d) || ']'
      from unnest(days) as d)
  end
$$;

-- A span as the HTTP API writes it, `1h30m`, in nanoseconds.
create or replace function punctual.span_nanos(field text, span text) returns numeric
language plpgsql as $$
declare
  unit constant text := '(ns|us|ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)';
  nanos numeric;
begin
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
  return nanos;
end $$;

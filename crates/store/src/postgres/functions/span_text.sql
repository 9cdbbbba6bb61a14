-- An interval as schedules keep it: `1h30m`.
create or replace function punctual.span_text(micros numeric) returns text
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

-- The whole seconds of an offset's span: in the API's form, `1h30m`, or in that of ISO 8601, `PT1H30M`.
create or replace function punctual.offset_seconds(field text, span text) returns bigint
language plpgsql as $$
declare
  seconds numeric;
begin
  if span !~ '^[Pp]' then
    seconds := punctual.span_nanos(field, span) / 1000000000;
  elsif span ~* '^P([0-9]+W)?([0-9]+D)?(T([0-9]+([.,][0-9]+)?H)?([0-9]+([.,][0-9]+)?M)?([0-9]+([.,][0-9]+)?S)?)?$' and span ~ '[0-9]'
    and span !~* 'T$' then
    select sum(replace(part[1], ',', '.')::numeric * case upper(part[2]) when 'W' then 604800 when 'D' then 86400 when 'H' then 3600
      when 'M' then 60 else 1 end) into seconds from regexp_matches(span, '([0-9.,]+)([A-Za-z])', 'g') as part;
  elsif span ~* '^P([0-9]+Y)?([0-9]+M)?([0-9]+W)?([0-9]+D)?(T.*)?$' then
    perform punctual.refuse(field, format('`%s` has months or years, which are not always equally long', span), 'Write days, such as P30D.');
  else
    perform punctual.refuse(field, format('`%s` is no span', span), 'Write PT15M, PT1H30M or P1D.');
  end if;
  if seconds <> trunc(seconds) then
    perform punctual.refuse(field, format('`%s` is finer than a second', span));
  end if;
  return least(seconds, 1000000000000);
end $$;

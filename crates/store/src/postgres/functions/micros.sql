-- The microseconds of an interval of a fixed length.
create or replace function punctual.micros(field text, span interval) returns numeric
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

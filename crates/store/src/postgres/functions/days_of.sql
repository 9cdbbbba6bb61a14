-- Days of the week from their names, Monday is 1.
create or replace function punctual.days_of(names text[]) returns integer[]
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

-- Refuses days of the week that core would not know.
create or replace function punctual.check_days(field text, names text[]) returns void
language plpgsql as $$
declare
  known constant text[] := '{mon,monday,tue,tues,tuesday,wed,wednesday,thu,thur,thurs,thursday,fri,friday,sat,saturday,sun,sunday,
    weekday,weekdays,workday,workdays,weekend,weekends,daily,everyday}';
begin
  if names = '{}' then
    perform punctual.refuse(field, 'is empty', 'Name days such as mon and thu, or weekdays.');
  end if;
  for i in 1 .. coalesce(cardinality(names), 0) loop
    if coalesce(lower(btrim(names[i], punctual.blanks(false))) <> all (known), true) then
      perform punctual.refuse(format('%s[%s]', field, i - 1), format('`%s` is not a day', coalesce(names[i], 'null')),
        'Use mon, tue, wed, thu, fri, sat, sun, weekdays, weekend or daily.');
    end if;
  end loop;
end $$;

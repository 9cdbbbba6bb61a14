-- Refuses an instant that core's calendar does not have; null is none.
create or replace function punctual.check_instant(field text, at timestamptz) returns void
language plpgsql strict as $$
begin
  if not at between '0001-01-01 00:00:00+00' and '9999-12-30 22:00:00.999999+00' then
    perform punctual.refuse(field, 'is further away than the calendar goes', 'Write an instant in the years 1 to 9999.');
  end if;
end $$;

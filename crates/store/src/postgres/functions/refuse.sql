-- Refuses a value: SQLSTATE 22023, with the field as COLUMN, and a hint that says what would be right.
create or replace function punctual.refuse(field text, problem text, hint text default null) returns void
language plpgsql as $$
begin
  if hint is null then
    raise exception using errcode = '22023', column = field, message = field || ': ' || problem;
  end if;
  raise exception using errcode = '22023', column = field, message = field || ': ' || problem, hint = hint;
end $$;

-- An event that is to be planned: that was asked for now, or before if it was not planned since. The nodes say the same as `MARK`.
create or replace function punctual.marked(e punctual.event, at timestamptz) returns punctual.event
language plpgsql as $$
begin
  if e.planned is not false or e.asked_at is null then
    e.asked_at := at;
  end if;
  e.planned := false;
  e.plan_at := at;
  return e;
end $$;

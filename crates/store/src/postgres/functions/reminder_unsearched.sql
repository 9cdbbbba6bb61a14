-- Takes the texts of removed reminders out of the search. It runs as the owner, so that a role that may remove the ones needs no rights on the
-- others.
create or replace function punctual.reminder_unsearched() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from punctual.search s using old_rows o where s.reminder_id = o.id;
  return null;
end $$;

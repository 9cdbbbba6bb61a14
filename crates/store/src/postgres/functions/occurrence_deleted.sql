-- Tells the nodes that something near has gone. It runs as the owner, so that a role that may write the table needs no other rights.
create or replace function punctual.occurrence_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform punctual.tell('{}', exists (
    select from old_rows o where o.wake_at <= clock_timestamp() + interval '2 minutes'));
  return null;
end $$;

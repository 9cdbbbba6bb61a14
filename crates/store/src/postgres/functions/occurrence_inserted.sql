-- Tells the nodes of new moments. It runs as the owner, so that a role that may write the table needs no other rights.
create or replace function punctual.occurrence_inserted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  watched_until constant timestamptz := clock_timestamp() + interval '2 minutes';
begin
  perform punctual.tell(array(
    select distinct n.shard || ':' || (extract(epoch from greatest(n.wake_at, 'epoch')) * 1000000)::bigint
    from new_rows n where n.wake_at <= watched_until limit 51), false);
  return null;
end $$;

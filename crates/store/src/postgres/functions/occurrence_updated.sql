-- Tells the nodes of moments that moved. It runs as the owner, so that a role that may write the table needs no other rights.
create or replace function punctual.occurrence_updated() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  watched_until constant timestamptz := clock_timestamp() + interval '2 minutes';
  pairs text[];
  look boolean;
begin
  -- Old and new meet by grouping and not by a join: whatever the planner believes, and whatever the caller has forbidden it, that
  -- is one pass over each.
  select coalesce(array_agg(distinct m.shard || ':' || (extract(epoch from greatest(m.is_at, 'epoch')) * 1000000)::bigint)
           filter (where m.is_at is distinct from m.was_at and m.is_at is not null), '{}'),
         coalesce(bool_or(m.is_at is null or m.is_at > m.was_at), false)
  into pairs, look
  from (
    select max(b.shard) as shard, max(b.is_at) as is_at, max(b.was_at) as was_at
    from (
      select n.reminder_id, n.run, n.shard, n.wake_at as is_at, null::timestamptz as was_at
      from new_rows n where n.wake_at <= watched_until
      union all
      select o.reminder_id, o.run, o.shard, null, o.wake_at from old_rows o where o.wake_at <= watched_until
    ) as b group by b.reminder_id, b.run
  ) as m;
  perform punctual.tell(pairs, look);
  return null;
end $$;

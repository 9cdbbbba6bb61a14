-- Tells the nodes when something changes that they cannot know of: a client that writes in plain SQL, or through another node.
--
-- The message is `wake SHARD:MICROS SHARD:MICROS ...`, the moments that are new within the time that nodes watch, in microseconds
-- since 1970; or `look`, when those are too many to list, or when something that nodes watch has gone or moved to later: they then read
-- afresh what is to come. What lies further ahead is told to nobody, because nodes read it by themselves before it is near.
--
-- NOTIFY takes a lock over the whole cluster when its transaction commits, so there is one for a statement and never one for a
-- row, and a transaction of very many statements goes over to `look`, which is sent once however often it is said.
--
-- A node that knows all about its own change says `set local punctual.quiet = 'on'`, and nothing of this runs.

create function punctual.tell(pairs text[], look boolean) returns void
language plpgsql as $$
declare
  told_max constant integer := 50;
  told integer;
begin
  if cardinality(pairs) = 0 and not look then
    return;
  end if;
  told := coalesce(nullif(current_setting('punctual.told', true), ''), '0')::integer;
  if look or told >= told_max or cardinality(pairs) > 50 then
    perform pg_notify('punctual', 'look');
  else
    perform pg_notify('punctual', 'wake ' || array_to_string(pairs, ' '));
    -- Counts within this transaction alone.
    perform set_config('punctual.told', (told + 1)::text, true);
  end if;
end $$;

-- The functions of the triggers run as the owner, so that whoever may write the table needs no other rights.

create function punctual.occurrence_inserted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  watched_until constant timestamptz := clock_timestamp() + interval '2 minutes';
begin
  perform punctual.tell(array(
    select distinct n.shard || ':' || (extract(epoch from greatest(n.wake_at, 'epoch')) * 1000000)::bigint
    from new_rows n where n.wake_at <= watched_until limit 51), false);
  return null;
end $$;

create function punctual.occurrence_updated() returns trigger
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

create function punctual.occurrence_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform punctual.tell('{}', exists (
    select from old_rows o where o.wake_at <= clock_timestamp() + interval '2 minutes'));
  return null;
end $$;

create trigger occurrence_inserted after insert on punctual.occurrence
  referencing new table as new_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_inserted();
create trigger occurrence_updated after update on punctual.occurrence
  referencing old table as old_rows new table as new_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_updated();
create trigger occurrence_deleted after delete on punctual.occurrence
  referencing old table as old_rows for each statement
  when (current_setting('punctual.quiet', true) is distinct from 'on') execute function punctual.occurrence_deleted();

revoke all on function punctual.tell(text[], boolean), punctual.occurrence_inserted(), punctual.occurrence_updated(),
  punctual.occurrence_deleted() from public;

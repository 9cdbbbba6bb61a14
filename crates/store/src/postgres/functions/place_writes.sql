-- Gives every write that is committed its place, after all that have one; returns the last position. Null, unless it `waits`: another
-- pass is under way.
--
-- A pass finds what was committed since the one before it: the writes of transactions that the snapshot of that pass did not see. They
-- are those that began after it, and those that were open then. So an open transaction delays its own entries and no others. A pass
-- stores the snapshot of the very statement that chose the writes: what it saw has its place, what it did not is seen by a later one.
-- docs/decisions/the-journal-is-placed-after-its-commit.md says more.
create or replace function punctual.place_writes(waits boolean) returns bigint
language plpgsql
  -- By the indexes and in their order, whatever the statistics say.
  set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  last punctual.journal_place;
  head bigint;
begin
  -- To lock a row is to write, and a commit that writes waits for the disk.
  if not punctual.unplaced() then
    select p.first + p.n - 1 into head from punctual.journal_place p order by p.first desc limit 1;
    return head;
  end if;
  -- A snapshot says nothing of its own transaction.
  if exists (select from punctual.journal_write w where w.xact = pg_current_xact_id_if_assigned()) then
    raise exception 'entries are placed after their commit';
  end if;
  if waits then
    perform from punctual.journal_turn for update;
  else
    perform from punctual.journal_turn for update skip locked;
  end if;
  if not found then
    return null;
  end if;
  -- A statement of its own, so that it sees the pass before.
  select * into last from punctual.journal_place p order by p.first desc limit 1;
  if pg_snapshot_xmax(last.snapshot) > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The database was restored into a server whose transactions have lower ids. What has no place gets one now, and what has one
    -- must never look new again.
    insert into punctual.journal_place (first, write, n, snapshot)
      select last.first + last.n + sum(w.n) over (order by w.write) - w.n, w.write, w.n,
        case when lead(w.write) over (order by w.write) is null then pg_current_snapshot() end
      from punctual.journal_write w where not exists (select from punctual.journal_place p where p.write = w.write);
    if not found then
      update punctual.journal_place p set snapshot = pg_current_snapshot() where p.first = last.first;
    end if;
    update punctual.journal_write w set xact = '0' where w.xact >= pg_snapshot_xmin(pg_current_snapshot())
      and exists (select from punctual.journal_place p where p.write = w.write);
  else
    with fresh as (
      select w.write, w.n from punctual.journal_write w where w.xact >= pg_snapshot_xmax(last.snapshot)
      union all
      select w.write, w.n from pg_snapshot_xip(last.snapshot) as o (xact) join punctual.journal_write w on w.xact = o.xact
    ) insert into punctual.journal_place (first, write, n, snapshot)
      select last.first + last.n + sum(f.n) over (order by f.write) - f.n, f.write, f.n,
        case when lead(f.write) over (order by f.write) is null then pg_current_snapshot() end
      from fresh f;
    if not found then
      return last.first + last.n - 1;
    end if;
  end if;
  perform pg_notify('punctual', 'journal');
  select p.first + p.n - 1 into head from punctual.journal_place p order by p.first desc limit 1;
  return head;
end $$;

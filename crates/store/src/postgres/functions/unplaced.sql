-- Whether a pass would find something to place (punctual.place_writes).
create or replace function punctual.unplaced() returns boolean
language plpgsql
  -- By the indexes and in their order, whatever the statistics say.
  set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  last pg_snapshot;
begin
  select p.snapshot into last from punctual.journal_place p order by p.first desc limit 1;
  return pg_snapshot_xmax(last) > pg_snapshot_xmax(pg_current_snapshot())
    or exists (select from punctual.journal_write w where w.xact >= pg_snapshot_xmax(last))
    or exists (select from pg_snapshot_xip(last) as o (xact) join punctual.journal_write w on w.xact = o.xact);
end $$;

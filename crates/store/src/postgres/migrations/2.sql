-- Who lives. Each node writes its row once a second: the row must stay where it is, and the table must not grow.
create table punctual.node (
  name        text collate "C" primary key,
  started_at  timestamptz not null,
  seen_at     timestamptz not null
) with (
  fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0
);

-- A person's day: their runs by the instant at which they are due.
create index occurrence_due on punctual.occurrence (shard, due_at);

-- How late sends were: a row for each stretch of five minutes in which something was sent, and each run of a node.
create table punctual.lateness (
  at       timestamptz not null,
  since    timestamptz not null,          -- when the node was started
  late_max bigint not null,               -- microseconds
  failed   bigint not null,
  given_up bigint not null,
  waiting  bigint not null,
  node     text collate "C" not null,
  counts   text not null,                 -- how many sends were how late: punctual_core::model::lateness
  primary key (at, node, since)
) with (fillfactor = 50);

alter table punctual.node add column about text; -- JSON: what the node says of itself, for people who look after it

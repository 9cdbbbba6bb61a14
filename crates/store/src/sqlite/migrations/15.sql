-- A person's day: their runs by the instant at which they are due.
CREATE INDEX occurrence_due ON occurrence (shard, due_at);

-- How late sends were: a row for each stretch of five minutes in which something was sent, and each run of a node.
CREATE TABLE lateness (
  at       INTEGER NOT NULL,
  node     TEXT NOT NULL,
  since    INTEGER NOT NULL,              -- when the node was started
  late_max INTEGER NOT NULL,              -- microseconds
  counts   TEXT NOT NULL,                 -- how many sends were how late: punctual_core::model::lateness
  failed   INTEGER NOT NULL,
  given_up INTEGER NOT NULL,
  waiting  INTEGER NOT NULL,
  PRIMARY KEY (at, node, since)
) STRICT, WITHOUT ROWID;

-- The first entry of each hour: where a reader begins who asks for what happened since an instant. An index on `at` would be written with
-- every entry.
CREATE TABLE journal_hour (
  hour  INTEGER PRIMARY KEY,              -- journal.at in whole hours
  first INTEGER NOT NULL                  -- journal.number
) STRICT, WITHOUT ROWID;
INSERT INTO journal_hour (hour, first) SELECT at / 3600000000, min(number) FROM journal GROUP BY 1;

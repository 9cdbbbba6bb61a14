-- Everything that happened, an entry each. Its number is its place: one writer commits one after the other, and the last entry is never
-- removed, so no number is given twice. (AUTOINCREMENT would write one more page in every commit.)
CREATE TABLE journal (
  number      INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  reminder_id BLOB,
  run         INTEGER,
  user_id     TEXT,
  actor       TEXT,                       -- NULL: the engine
  via         TEXT,                       -- through which door
  data        TEXT                        -- JSON
) STRICT;
CREATE INDEX journal_reminder ON journal (reminder_id) WHERE reminder_id IS NOT NULL;

-- Work that is done by one at a time, such as telling a subscriber, and how far it has come in the journal.
CREATE TABLE duty (
  name     TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  lease    INTEGER NOT NULL,
  node     TEXT NOT NULL,
  note     TEXT                           -- what an operator should know
) STRICT, WITHOUT ROWID;

INSERT INTO journal (number, at, kind, reminder_id, run, user_id, actor, data)
SELECT a.number, a.at,
  CASE a.action
    WHEN 'create' THEN 'reminder.created' WHEN 'cancel' THEN 'reminder.cancelled' WHEN 'ack' THEN 'reminder.acknowledged'
    WHEN 'snooze' THEN 'reminder.snoozed' WHEN 'dismiss' THEN 'reminder.dismissed' WHEN 'failed' THEN 'reminder.failed'
    WHEN 'missed' THEN 'reminder.missed' WHEN 'unanswered' THEN 'reminder.unanswered' WHEN 'alert' THEN 'reminder.alerted'
    WHEN 'quiet' THEN 'reminder.waiting' WHEN 'paused' THEN 'reminder.waiting' WHEN 'channel.test' THEN 'channel.test'
    ELSE 'reminder.changed' END,
  CASE WHEN a.action <> 'channel.test' THEN a.reminder_id END,
  a.run, r.user_id, nullif(a.actor, 'engine'),
  CASE WHEN a.action IN ('update', 'pause', 'resume', 'skip', 'fire') THEN json_object('did', a.action)
    WHEN a.action IN ('quiet', 'paused') THEN json_object('why', a.action, 'detail', a.detail)
    WHEN a.detail IS NOT NULL THEN json_object('detail', a.detail) END
FROM audit a LEFT JOIN reminder r ON r.id = a.reminder_id ORDER BY a.number;
DROP TABLE audit;

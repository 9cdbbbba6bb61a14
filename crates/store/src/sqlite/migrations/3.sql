-- Schema version 3: people who belong together, and what they are left in peace of.

ALTER TABLE reminder ADD COLUMN tags TEXT;  -- JSON list; NULL: none

-- Reminders by their tags, for lists and silences. The triggers keep it in step with `reminder.tags`.
CREATE TABLE reminder_tag (
  tag         TEXT NOT NULL,
  reminder_id BLOB NOT NULL,
  user_id     TEXT NOT NULL,              -- the reminder's
  PRIMARY KEY (tag, reminder_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reminder_tag_user ON reminder_tag (user_id, tag, reminder_id);

CREATE TRIGGER reminder_tagged AFTER INSERT ON reminder WHEN new.tags IS NOT NULL BEGIN
  INSERT INTO reminder_tag (tag, reminder_id, user_id) SELECT value, new.id, new.user_id FROM json_each(new.tags);
END;
CREATE TRIGGER reminder_retagged AFTER UPDATE OF tags ON reminder WHEN new.tags IS NOT old.tags BEGIN
  DELETE FROM reminder_tag WHERE reminder_id = old.id AND tag IN (SELECT value FROM json_each(coalesce(old.tags, '[]')));
  INSERT INTO reminder_tag (tag, reminder_id, user_id)
    SELECT value, new.id, new.user_id FROM json_each(coalesce(new.tags, '[]'));
END;
CREATE TRIGGER reminder_untagged AFTER DELETE ON reminder WHEN old.tags IS NOT NULL BEGIN
  DELETE FROM reminder_tag WHERE reminder_id = old.id AND tag IN (SELECT value FROM json_each(old.tags));
END;

-- People who belong together. Not `group`, which is a word of SQL.
CREATE TABLE user_group (
  name       TEXT PRIMARY KEY,
  mode       TEXT NOT NULL,               -- `in_order` or `all`
  users      TEXT NOT NULL,               -- JSON list, in order
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Stretches of time in which some reminders are not sent.
CREATE TABLE silence (
  id         BLOB PRIMARY KEY,
  user_id    TEXT,                        -- each of these three that is not NULL must match
  group_name TEXT,
  tag        TEXT,
  from_at    INTEGER NOT NULL,
  until_at   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX silence_until ON silence (until_at);
-- The runs that wait for the end of a silence.
CREATE INDEX occurrence_silenced ON occurrence (reminder_id, run) WHERE waits_for = 'silenced';
-- Runs that their person was told of and can still answer.
CREATE INDEX occurrence_asked ON occurrence (reminder_id, run) WHERE reached > 0 AND wake_at IS NOT NULL;

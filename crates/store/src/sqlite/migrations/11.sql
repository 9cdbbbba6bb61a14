-- Lists: search, failed runs, erasures.

-- The runs that failed, for lists and for sending them again: few, and in the order of their names.
CREATE INDEX occurrence_failed ON occurrence (reminder_id, run, at) WHERE state = 'failed';

-- The texts by which reminders are found, folded; punctual_core::rules::search says how. They follow the journal.
CREATE TABLE search_text (
  number      INTEGER PRIMARY KEY,        -- its place: what came last has the highest
  reminder_id BLOB NOT NULL UNIQUE,
  user_id     TEXT NOT NULL,
  text        TEXT NOT NULL
) STRICT;
CREATE INDEX search_text_user ON search_text (user_id, number);
-- Groups of three letters. It stores no text of its own, and where in a text a group stands is not kept.
CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'search_text', content_rowid = 'number', tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0
);
-- Nothing of a text that was removed stays in the index.
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER search_text_new AFTER INSERT ON search_text BEGIN
  INSERT INTO search (rowid, text) VALUES (new.number, new.text);
END;
CREATE TRIGGER search_text_changed AFTER UPDATE OF text ON search_text BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', old.number, old.text);
  INSERT INTO search (rowid, text) VALUES (new.number, new.text);
END;
CREATE TRIGGER search_text_gone AFTER DELETE ON search_text BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', old.number, old.text);
END;
CREATE TRIGGER reminder_unsearched AFTER DELETE ON reminder BEGIN
  DELETE FROM search_text WHERE reminder_id = old.id;
END;
-- How far it has been filled with the reminders that were there before it.
CREATE TABLE search_state (is_filled INTEGER NOT NULL, filled_to BLOB) STRICT;
INSERT INTO search_state (is_filled) VALUES (0);

-- Of users, keys and events: few. An import that comes twice finds them here.
CREATE INDEX journal_other ON journal (at) WHERE reminder_id IS NULL;

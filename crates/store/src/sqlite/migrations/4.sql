-- The instant a run was made for, where a snooze or quiet hours have moved it since.
ALTER TABLE occurrence ADD COLUMN made_for INTEGER;

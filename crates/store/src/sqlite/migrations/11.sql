-- Lists: search, failed runs, erasures.

-- Of users, keys and events: few. An import that comes twice finds them here.
CREATE INDEX journal_other ON journal (at) WHERE reminder_id IS NULL;

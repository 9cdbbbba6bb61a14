-- Who is asked when another does not answer: the plan of it, and how far it has come.
ALTER TABLE occurrence ADD COLUMN own_at INTEGER;        -- the state's own moment, where `wake_at` comes before it
ALTER TABLE occurrence ADD COLUMN escalation TEXT;       -- `planned`: further people are asked at `escalate_at`; `asked`: they were
ALTER TABLE occurrence ADD COLUMN escalate_at INTEGER;   -- and the run is not called unanswered before `escalate_at`

ALTER TABLE reminder ADD COLUMN escalate TEXT;           -- who is asked next, a JSON list; NULL: as the user's entry says
ALTER TABLE reminder ADD COLUMN escalates_run INTEGER;   -- the run that nobody has answered, where this asks somebody else about it
ALTER TABLE reminder ADD COLUMN escalates_id BLOB;       -- and its reminder
CREATE INDEX reminder_escalates ON reminder (escalates_id) WHERE escalates_id IS NOT NULL;

ALTER TABLE user ADD COLUMN escalate TEXT;               -- who is asked next, for reminders without a plan of their own

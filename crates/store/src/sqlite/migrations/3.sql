-- Version 3: people who are asked when another does not answer.

ALTER TABLE occurrence ADD COLUMN own_at INTEGER;        -- the state's own moment, where `wake_at` comes before it
ALTER TABLE occurrence ADD COLUMN escalation TEXT;       -- `planned`: further people are asked at `escalate_at`; `asked`: they were
ALTER TABLE occurrence ADD COLUMN escalate_at INTEGER;   -- and the run is not called unanswered before `escalate_at`

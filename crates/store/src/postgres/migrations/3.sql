-- Version 3: people who are asked when another does not answer.

alter table punctual.occurrence
  add column own_at timestamptz,           -- the state's own moment, where `wake_at` comes before it
  add column escalation text,              -- `planned`: further people are asked at `escalate_at`; `asked`: they were,
  add column escalate_at timestamptz;      -- and the run is not called unanswered before `escalate_at`

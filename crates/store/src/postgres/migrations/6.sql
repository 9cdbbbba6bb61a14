-- Who is asked when another does not answer: the plan of it, and how far it has come.
alter table punctual.occurrence
  add column own_at timestamptz,           -- the state's own moment, where `wake_at` comes before it
  add column escalation text,              -- `planned`: further people are asked at `escalate_at`; `asked`: they were,
  add column escalate_at timestamptz;      -- and the run is not called unanswered before `escalate_at`

alter table punctual.reminder
  add column escalate text,                -- who is asked next, a JSON list; null: as the user's entry says
  add column escalates_run integer,        -- the run that nobody has answered, where this asks somebody else about it,
  add column escalates_id uuid;            -- and its reminder
create index reminder_escalates on punctual.reminder (escalates_id) where escalates_id is not null;

alter table punctual.app_user add column escalate text; -- who is asked next, for reminders without a plan of their own
alter table punctual.event add column escalate text;

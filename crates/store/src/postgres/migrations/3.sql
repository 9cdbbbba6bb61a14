-- Schema version 3: people who belong together, and what they are left in peace of.

alter table punctual.reminder add column tags text;  -- JSON list; null: none
alter table punctual.event add column tags text;     -- as in punctual.reminder

-- Reminders by their tags, for lists and silences. The triggers keep it in step with `reminder.tags`, whoever writes that.
create table punctual.reminder_tag (
  tag         text collate "C" not null,
  reminder_id uuid not null,
  user_id     text collate "C" not null,   -- the reminder's
  primary key (tag, reminder_id)
);
create index reminder_tag_user on punctual.reminder_tag (user_id, tag, reminder_id);

create function punctual.reminder_tagged() returns trigger language plpgsql as 'begin return null; end';
create trigger reminder_tagged after insert on punctual.reminder for each row
  when (new.tags is not null) execute function punctual.reminder_tagged();
create trigger reminder_retagged after update of tags on punctual.reminder for each row
  when (new.tags is distinct from old.tags) execute function punctual.reminder_tagged();
create trigger reminder_untagged after delete on punctual.reminder for each row
  when (old.tags is not null) execute function punctual.reminder_tagged();

-- People who belong together. Not `group`, which is a word of SQL.
create table punctual.user_group (
  name       text collate "C" primary key,
  mode       text not null,                -- `in_order` or `all`
  users      text not null,                -- JSON list, in order
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Stretches of time in which some reminders are not sent.
create table punctual.silence (
  id         uuid primary key,
  user_id    text collate "C",             -- each of these three that is not null must match
  group_name text collate "C",
  tag        text collate "C",
  from_at    timestamptz not null,
  until_at   timestamptz not null,
  created_at timestamptz not null,
  created_by text not null
);
create index silence_until on punctual.silence (until_at);
-- The runs that wait for the end of a silence.
create index occurrence_silenced on punctual.occurrence (reminder_id, run) where waits_for = 'silenced';
-- Runs that their person was told of and can still answer.
create index occurrence_asked on punctual.occurrence (reminder_id, run) where reached > 0 and wake_at is not null;

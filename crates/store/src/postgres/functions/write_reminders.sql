-- Writes reminders, each with its first run, due at `due_at`; with `asked`, a run that is still to be planned.
create or replace function punctual.write_reminders(reminders punctual.reminder[], due_at timestamptz[], asked text default null)
returns void
language plpgsql as $$
begin
  insert into punctual.reminder (id, user_id, name, message, schedule, timezone, priority, route, ack_timeout, ack_prompt,
      ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, only_to, created_via, original_text,
      metadata, tags, escalate, status, created_at, updated_at, last_run, carried_by, planned)
    select r.id, r.user_id, r.name, r.message, r.schedule, r.timezone, r.priority, r.route, r.ack_timeout, r.ack_prompt,
      r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, r.on_unknown, coalesce(r.only_to, false),
      r.created_via, r.original_text, r.metadata, r.tags, r.escalate, r.status, r.created_at, r.updated_at, r.last_run, r.carried_by, r.planned
    from unnest(reminders) as r;
  insert into punctual.occurrence (reminder_id, run, due_at, state, wake_at, priority, shard, asked)
    select r.id, 1, due_at[r.ordinality], case when asked is null then 'scheduled' else 'unplanned' end, due_at[r.ordinality],
      r.priority, get_byte(sha256(convert_to(r.user_id, 'UTF8')), 0), asked
    from unnest(reminders) with ordinality as r;
  with w as (insert into punctual.journal_write (n) values (cardinality(reminders)) returning write)
  insert into punctual.journal (write, item, at, kind, reminder_id, user_id, actor, via)
    select w.write, r.ordinality - 1, r.created_at, 'reminder.created', r.id, r.user_id, punctual.actor(), 'sql'
    from w, unnest(reminders) with ordinality as r;
end $$;

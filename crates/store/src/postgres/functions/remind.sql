-- Creates a reminder; returns its id. One of `at`, `every`, `daily`, `weekly`, `cron`, `rrule` and `phrase` says when.
--
-- `at` is an instant, and is planned here. When the others are due first, core works out, because zones, cron expressions, calendar
-- rules and phrases are its business: what is written here is a run that is still to be planned and due at once, and the node that
-- claims it plans it.
create or replace function punctual.remind(
  user_id text, message text, at timestamptz default null, name text default null, timezone text default null,
  priority text default null, "to" jsonb default null, require_ack boolean default null, ack_prompt text default null,
  ack_timeout interval default null, max_ack_reminders integer default null, snooze_allowed boolean default null,
  max_retries integer default null, misfire text default null, on_unknown text default null, metadata jsonb default null,
  original_text text default null, created_via text default null,
  every interval default null, anchor text default null, daily time default null, weekly text[] default null,
  at_time time default null, starts_at timestamptz default null, ends_at timestamptz default null, count integer default null,
  "only" boolean default null, cron text default null, rrule text default null, phrase text default null,
  tags text[] default null, escalate jsonb default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- A plan of who is asked next is a wish for an answer.
  r punctual.reminder := punctual.draft(user_id, message, name, timezone, priority, "to",
    coalesce(require_ack, nullif(jsonb_typeof(escalate) = 'array' and escalate <> '[]', false)), ack_prompt, ack_timeout,
    max_ack_reminders, snooze_allowed, max_retries, misfire, on_unknown, metadata, original_text, created_via);
  now constant timestamptz := r.created_at;
  -- What a transaction says with `now()` is not late because the transaction takes long; else a minute is forgiven, which a
  -- request may have taken.
  past constant timestamptz := transaction_timestamp() - interval '1 minute';
  clock constant time := coalesce(daily, at_time);
  step constant numeric := punctual.micros('every', every);
  asked jsonb;
begin
  if num_nonnulls(at, every, daily, weekly, cron, rrule, phrase) <> 1 then
    perform punctual.refuse('at', case num_nonnulls(at, every, daily, weekly, cron, rrule, phrase) when 0 then 'is missing' else
        'is one way too many to say when' end, 'Give one of at, every, daily, weekly with at_time, cron, rrule and phrase.');
  elsif anchor is not null and every is null then
    perform punctual.refuse('anchor', 'is for intervals', 'Leave it out, or say every.');
  elsif at_time is not null and weekly is null then
    perform punctual.refuse('at_time', 'is for weekly', 'Leave it out, or say weekly.');
  elsif weekly is not null and at_time is null then
    perform punctual.refuse('at_time', 'is missing', 'Write a time such as ''07:30'' beside weekly.');
  elsif at is not null and num_nonnulls(starts_at, ends_at, count) > 0 then
    perform punctual.refuse(case when starts_at is not null then 'starts_at' when ends_at is not null then 'ends_at' else 'count'
      end, 'is for recurring reminders', 'Leave it out: at is a single instant.');
  elsif clock = time '24:00' or extract(microseconds from clock) % 1000000 <> 0 then
    perform punctual.refuse(case when daily is null then 'at_time' else 'daily' end, format('`%s` is not a time of day', clock),
      'Write 08:00, or 20:00 for 8 in the evening.');
  end if;
  perform punctual.check_instant('at', at);
  perform punctual.check_instant('starts_at', starts_at);
  perform punctual.check_instant('ends_at', ends_at);
  perform punctual.check_word('anchor', anchor, '{start,ack}');
  if least(at, ends_at) < past then
    perform punctual.refuse(case when at is null then 'ends_at' else 'at' end, format('is in the past (now is %s)', now));
  elsif step < 1000000 then
    perform punctual.refuse('every', 'is too short', 'The shortest interval is 1 second.');
  elsif step > 3653 * 86400000000 then
    perform punctual.refuse('every', 'is too long', 'The longest interval is ten years.');
  elsif starts_at >= ends_at then
    perform punctual.refuse('ends_at', 'must be after starts_at');
  elsif count < 1 then
    perform punctual.refuse('count', format('`%s` is not a number from 1 up', count));
  end if;
  perform punctual.check_days('weekly', weekly);
  perform punctual.check_text('cron', cron, 1, 512);
  perform punctual.check_text('rrule', rrule, 1, 65536);
  perform punctual.check_text('phrase', phrase, 1, 2000);

  if at is null then
    -- The schedule as the HTTP API takes it.
    asked := jsonb_strip_nulls(jsonb_build_object(
      'type', case when every is not null then 'interval' when daily is not null then 'daily' when weekly is not null then 'weekly'
        when cron is not null then 'cron' when rrule is not null then 'rrule' else 'phrase' end,
      'every', trunc(step) || 'us', 'anchor', anchor, 'time', to_char(clock, 'HH24:MI:SS'), 'days', to_jsonb(weekly),
      'expr', cron, 'ical', rrule, 'text', phrase,
      'starts_at', punctual.instant_text(starts_at), 'ends_at', punctual.instant_text(ends_at), 'count', count));
  end if;
  r.tags := punctual.check_tags('tags', tags);
  r.only_to := coalesce("only", false);
  perform punctual.check_reach('to', array[user_id], r.route, r.only_to);
  r.escalate := punctual.check_escalate('escalate', escalate, r.ack_timeout is not null);
  r.id := punctual.new_id(now);
  r.schedule := '{"at":"' || punctual.instant_text(coalesce(at, now)) || '","type":"once"}';
  perform punctual.write_reminders(array[r], array[coalesce(at, now)], asked::text);
  return r.id;
end $$;

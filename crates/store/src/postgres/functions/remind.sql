-- Creates a reminder; returns its id. One of `at`, `every`, `daily` and `weekly` says when.
create or replace function punctual.remind(
  user_id text, message text, at timestamptz default null, name text default null, timezone text default null,
  priority text default null, "to" jsonb default null, require_ack boolean default null, ack_prompt text default null,
  ack_timeout interval default null, max_ack_reminders integer default null, snooze_allowed boolean default null,
  max_retries integer default null, misfire text default null, on_unknown text default null, metadata jsonb default null,
  original_text text default null, created_via text default null,
  every interval default null, anchor text default null, daily time default null, weekly text[] default null,
  at_time time default null, starts_at timestamptz default null, ends_at timestamptz default null, count integer default null,
  "only" boolean default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  r punctual.reminder := punctual.draft(user_id, message, name, timezone, priority, "to", require_ack, ack_prompt, ack_timeout,
    max_ack_reminders, snooze_allowed, max_retries, misfire, on_unknown, metadata, original_text, created_via);
  now constant timestamptz := r.created_at;
  -- What a transaction says with `now()` is not late because the transaction takes long; else a minute is forgiven, which a
  -- request may have taken.
  past constant timestamptz := transaction_timestamp() - interval '1 minute';
  clock time := coalesce(daily, at_time);
  days integer[] := '{1,2,3,4,5,6,7}';
  step numeric := punctual.micros('every', every);
  origin timestamptz;
  first timestamptz;
begin
  if num_nonnulls(at, every, daily, weekly) <> 1 then
    perform punctual.refuse('at', case num_nonnulls(at, every, daily, weekly) when 0 then 'is missing' else
        'is one way too many to say when' end, 'Give one of at, every, daily, and weekly with at_time.');
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

  if weekly is not null then
    days := punctual.days_of(weekly);
  end if;
  if every is not null then
    origin := coalesce(starts_at, now);
    -- The origin itself is due when somebody asked for it, and not when it is only the creation.
    first := origin + case when starts_at > now then 0
      else (floor(extract(epoch from now - origin) * 1000000 / step) + 1) * step end * interval '1 microsecond';
  else
    first := coalesce(at, punctual.next_on(r.timezone, clock, days, greatest(now, starts_at - interval '1 microsecond')));
  end if;
  if first > ends_at or first > '9999-12-30 22:00:00.999999+00' then
    perform punctual.refuse('ends_at', 'is before the first run', 'Nothing of it would ever be due.');
  end if;

  r.only_to := coalesce("only", false);
  perform punctual.check_reach('to', array[user_id], r.route, r.only_to);
  r.id := punctual.new_id(now);
  r.carried_by := case when at is null then 1 end;
  -- Names in the order of their bytes, as a node writes them.
  r.schedule := '{' || concat_ws(',',
    case when every is not null then '"anchor":' || to_json(coalesce(anchor, 'start')) end,
    '"at":"' || punctual.instant_text(at) || '"',
    '"count":' || count,
    case when weekly is not null then '"days":' || punctual.days_text(days) end,
    '"ends_at":"' || punctual.instant_text(ends_at) || '"',
    '"every":"' || punctual.span_text(step) || '"',
    '"origin":"' || punctual.instant_text(origin) || '"',
    '"starts_at":"' || punctual.instant_text(starts_at) || '"',
    '"time":"' || to_char(clock, case extract(second from clock) when 0 then 'HH24:MI' else 'HH24:MI:SS' end) || '"',
    '"type":"' || case when at is not null then 'once' when every is not null then 'interval' when daily is not null then 'daily'
      else 'weekly' end || '"') || '}';
  perform punctual.write_reminders(array[r], array[first]);
  return r.id;
end $$;

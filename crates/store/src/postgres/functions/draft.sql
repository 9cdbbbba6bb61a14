-- A reminder with all that does not depend on when it is due, checked; null stands for the default.
create or replace function punctual.draft(
  user_id text, message text, name text, timezone text, priority text, "to" jsonb, require_ack boolean, ack_prompt text,
  ack_timeout interval, max_ack_reminders integer, snooze_allowed boolean, max_retries integer, misfire text, on_unknown text,
  metadata jsonb, original_text text, created_via text
) returns punctual.reminder
language plpgsql as $$
declare
  r punctual.reminder;
  policy jsonb;
  wrong text;
  is_asked boolean := coalesce(require_ack, ack_prompt is not null);
  timeout numeric := coalesce(punctual.micros('ack_timeout', ack_timeout), 600000000);
begin
  if user_id is null then
    perform punctual.refuse('user_id', 'is missing', 'Say whose it is.');
  elsif message is null then
    perform punctual.refuse('message', 'is missing', 'Say what to be reminded of, such as ''Take your medicine''.');
  end if;
  perform punctual.check_text('user_id', user_id, 1, 256), punctual.check_text('message', message, 1, 65536);
  if message !~ '[!-~]' and btrim(message, punctual.blanks(false)) = '' then
    perform punctual.refuse('message', 'is empty', 'Say what to be reminded of.');
  end if;
  perform punctual.check_text('name', name, 1, 256), punctual.check_text('original_text', original_text, 0, 65536),
    punctual.check_text('created_via', created_via, 1, 64);
  if created_via = 'alert' then
    perform punctual.refuse('created_via', '`alert` is what punctual says of its own alerts', 'Write another word.');
  end if;
  perform punctual.check_word('priority', priority, '{low,normal,high,critical}'),
    punctual.check_word('on_unknown', on_unknown, '{auto,resend,hold}');
  if max_retries not between 0 and 100 then
    perform punctual.refuse('max_retries', format('is %s; 0 to 100 are accepted', max_retries));
  elsif max_ack_reminders < 0 then
    perform punctual.refuse('max_ack_reminders', format('must be a whole number from 0 up, not %s', max_ack_reminders));
  end if;

  r.user_id := user_id;
  r.message := message;
  r.name := name;
  r.original_text := original_text;
  r.created_via := coalesce(created_via, 'sql');
  r.timezone := case when timezone is not null then punctual.zone_name(timezone) else coalesce(
    (select u.timezone from punctual.app_user u where u.id = user_id),
    (select s.value from punctual.setting s where s.name = 'timezone'), 'UTC') end;
  r.priority := array_position('{low,normal,high,critical}', coalesce(priority, 'normal')) - 1;
  r.route := punctual.route_of('to', "to");
  r.snooze_allowed := coalesce(snooze_allowed, true);
  r.retries_max := coalesce(max_retries,
    (select s.value::integer from punctual.setting s where s.name = 'max_retries'), 3);
  r.on_unknown := coalesce(on_unknown, 'auto');

  -- A prompt is a wish for an answer, unless `require_ack` says otherwise: then what else is said must be right all the same.
  perform punctual.check_text('ack_prompt', ack_prompt, is_asked::integer, 2048);
  if timeout not between 1000000 and 366 * 86400000000 then
    perform punctual.refuse('ack_timeout', 'must be between 1 second and 366 days', 'Write an interval such as ''10 minutes''.');
  elsif max_ack_reminders > 1000 then
    perform punctual.refuse('max_ack_reminders', format('is %s; at most 1000', max_ack_reminders));
  end if;
  r.ack_reminders_max := 0;
  if is_asked then
    r.ack_prompt := ack_prompt;
    r.ack_timeout := floor(timeout / 1000);
    r.ack_reminders_max := coalesce(max_ack_reminders, 3);
  end if;

  r.misfire := 'latest';
  r.misfire_within := 86400000;
  if misfire ~ '^\s*\{' then
    begin
      policy := misfire::jsonb;
    exception when others then
      perform punctual.refuse('misfire', 'is no JSON', 'Write latest, all or skip, or {"policy": "latest", "within": "24h"}.');
    end;
    select k into wrong from jsonb_object_keys(policy) as k where k not in ('policy', 'within') limit 1;
    if wrong is not null then
      perform punctual.refuse('misfire.' || wrong, 'is not a known field', 'Known are policy and within.');
    end if;
    foreach wrong in array array['policy', 'within'] loop
      if jsonb_typeof(policy -> wrong) not in ('string', 'null') then
        perform punctual.refuse('misfire.' || wrong, 'must be text', 'Write {"policy": "latest", "within": "24h"}.');
      end if;
    end loop;
    perform punctual.check_word('misfire.policy', policy ->> 'policy', '{latest,all,skip}');
    r.misfire := coalesce(policy ->> 'policy', r.misfire);
    r.misfire_within := coalesce(punctual.span_millis('misfire.within', policy ->> 'within'), r.misfire_within);
  elsif misfire is not null then
    perform punctual.check_word('misfire', misfire, '{latest,all,skip}');
    r.misfire := misfire;
  end if;

  r.metadata := '{}';
  if jsonb_typeof(metadata) not in ('object', 'null') then
    perform punctual.refuse('metadata', format('must be an object, not %s', jsonb_typeof(metadata)));
  elsif jsonb_path_exists(metadata, 'strict $.**{126 to last} ? (@.type() == "object" || @.type() == "array")') then
    perform punctual.refuse('metadata', 'is nested more than 126 deep');
  elsif jsonb_path_exists(metadata, 'strict $.** ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)') then
    perform punctual.refuse('metadata', 'has a number that is out of range', 'Numbers go up to 1.79e308.');
  elsif jsonb_typeof(metadata) = 'object' then
    r.metadata := punctual.compact(metadata);
    if octet_length(convert_to(r.metadata, 'UTF8')) > 65536 then
      perform punctual.refuse('metadata', 'is larger than 65536 bytes');
    end if;
  end if;

  r.status := 'active';
  r.created_at := clock_timestamp();
  r.updated_at := r.created_at;
  r.last_run := 1;
  r.planned := 1;
  return r;
end $$;

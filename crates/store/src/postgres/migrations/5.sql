-- What both `punctual.remind` and `punctual.put_event` need: the checks of addresses, and a reminder with all that does not depend
-- on when it is due.

-- Refuses a webhook's address that cannot be right, without repeating it: it may carry a password.
create function punctual.check_webhook(field text, address text) returns void
language plpgsql as $$
declare
  example constant text := 'Write one such as https://example.org/hook.';
  private constant inet[] := '{0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,
    192.0.2.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/3}';
  authority text;
  host text;
  port text;
  ip inet;
begin
  if address = '' then
    perform punctual.refuse(field, 'is empty', example);
  elsif translate(address, punctual.blanks(true), '') <> address then
    perform punctual.refuse(field, 'has a space or a control character in it', example);
  elsif address !~* '^https?://' then
    perform punctual.refuse(field, 'is no URL that begins with http:// or https://', example);
  end if;
  authority := regexp_replace(substring(address from '^[^:]*:[/\\]*([^/\\?#]*)'), '^.*@', '');
  port := substring(authority from ':([^]:]*)$');
  host := lower(regexp_replace(authority, ':[^]:]*$', ''));
  if host = '' or host ~ '[]<>^|%:[]' and host !~ '^\[[0-9a-f:.]+\]$' then
    perform punctual.refuse(field, 'is no URL: its host cannot be', example);
  elsif port !~ '^[0-9]{0,5}$' then
    perform punctual.refuse(field, 'is no URL: its port is no number', example);
  elsif nullif(port, '')::integer > 65535 then
    perform punctual.refuse(field, 'is no URL: its port is above 65535', example);
  elsif nullif(port, '')::integer = 0 then
    perform punctual.refuse(field, 'has port 0, which nothing listens on', 'Write the receiver''s port.');
  end if;
  begin
    -- A host that ends in a number is an address.
    if host ~ '^\[' or host ~ '(^|[.])(0x[0-9a-f]*|[0-9]+)[.]?$' then
      ip := rtrim(btrim(host, '[]'), '.')::inet;
    end if;
  exception when invalid_text_representation then
    perform punctual.refuse(field, 'has an address for a host that cannot be', 'Write it as four numbers, or as [IPv6].');
  end;
  -- Whether private ones may be called is for the nodes to say, which look once more where a name leads.
  if exists (select from punctual.setting s where s.name = 'webhook_allow_private' and s.value = 'false')
    and (host ~ '(^|[.])localhost[.]?$' or family(ip) = 4 and ip <<= any (private)
      or family(ip) = 6 and (not ip <<= any ('{2000::/3, ::ffff:0:0/96, 64:ff9b::/96}'::inet[])
        or ip <<= any ('{2001::/23, 2001:db8::/32, 3fff::/20}'::inet[])))
  then
    perform punctual.refuse(field, 'is a private address', 'Set PUNCTUAL_WEBHOOK_ALLOW_PRIVATE=true to allow it.');
  end if;
end $$;

-- The addresses in `list`, as they are kept; null for none, which means wherever the user can be reached.
create function punctual.route_of(field text, list jsonb) returns text
language plpgsql as $$
declare
  kept text[] := '{}';
  known text[];
  kind text;
  item jsonb;
  place text;
  channel text;
  address text;
  wrong text;
begin
  if list is null or list = 'null' then
    return null;
  elsif jsonb_typeof(list) <> 'array' then
    perform punctual.refuse(field, 'must be a list', 'Write [{"channel": "webhook", "address": "https://example.org/hook"}].');
  elsif jsonb_array_length(list) > 32 then
    perform punctual.refuse(field, format('has %s addresses; at most 32 are tried', jsonb_array_length(list)));
  end if;
  select array_agg(c.name order by c.name) into known from punctual.channel c;
  for item, place in
    select e.item, format('%s[%s]', field, e.place - 1) from jsonb_array_elements(list) with ordinality as e (item, place)
  loop
    if jsonb_typeof(item) = 'string' then
      -- `webhook:https://...` is how the command line writes it; a bare URL can only mean a webhook.
      address := item #>> '{}';
      channel := split_part(address, ':', 1);
      if channel = '' then
        perform punctual.refuse(place, 'names no channel', 'Write CHANNEL:ADDRESS, such as webhook:https://example.org/hook.');
      elsif address ~ '^https?://' then
        channel := 'webhook';
      else
        address := coalesce(substr(address, length(channel) + 2), '');
      end if;
    elsif jsonb_typeof(item) = 'object' then
      select k into wrong from jsonb_object_keys(item) as k where k not in ('channel', 'address') limit 1;
      if wrong is not null then
        perform punctual.refuse(place || '.' || wrong, 'is not a known field', 'Known are channel and address.');
      end if;
      foreach wrong in array array['channel', 'address'] loop
        if jsonb_typeof(item -> wrong) not in ('string', 'null') then
          perform punctual.refuse(place || '.' || wrong, 'must be text');
        end if;
      end loop;
      channel := item ->> 'channel';
      address := coalesce(item ->> 'address', '');
      if channel is null then
        perform punctual.refuse(place || '.channel', 'is missing', 'Name a channel such as webhook.');
      end if;
    else
      perform punctual.refuse(place, 'must be an object', 'Write {"channel": "console", "address": ""}.');
    end if;
    perform punctual.check_text(place || '.channel', channel, 1, 64);
    perform punctual.check_text(place || '.address', address, 0, 2048);
    if channel <> all (known) then
      perform punctual.refuse(place || '.channel', format('unknown channel `%s`', channel),
        'Known are ' || array_to_string(known, ', ') || '.');
    end if;
    select c.kind into kind from punctual.channel c where c.name = channel;
    if coalesce(kind, channel) = 'webhook' then
      perform punctual.check_webhook(place || '.address', address);
    elsif kind = 'console' then
      perform punctual.check_text(place || '.address', address, 0, 256);
    end if;
    kept := kept || format('{"channel":%s,"address":%s}', to_json(channel), to_json(address));
  end loop;
  return case when kept <> '{}' then '[' || array_to_string(kept, ',') || ']' end;
end $$;

-- A reminder with all that does not depend on when it is due, checked; null stands for the default.
create function punctual.draft(
  user_id text, message text, name text, timezone text, priority text, "to" jsonb, require_ack boolean, ack_prompt text,
  ack_timeout interval, max_ack_reminders integer, snooze_allowed boolean, max_retries integer, misfire text, on_unknown text,
  metadata jsonb, original_text text, created_via text
) returns punctual.reminder
language plpgsql as $$
declare
  r punctual.reminder;
  policy jsonb;
  wrong text;
  timeout numeric := coalesce(punctual.micros('ack_timeout', ack_timeout), 600000000);
begin
  if user_id is null then
    perform punctual.refuse('user_id', 'is missing', 'Say whose it is.');
  elsif message is null then
    perform punctual.refuse('message', 'is missing', 'Say what to be reminded of, such as ''Take your medicine''.');
  end if;
  perform punctual.check_text('user_id', user_id, 1, 256);
  perform punctual.check_text('message', message, 1, 65536);
  if message !~ '[!-~]' and btrim(message, punctual.blanks(false)) = '' then
    perform punctual.refuse('message', 'is empty', 'Say what to be reminded of.');
  end if;
  perform punctual.check_text('name', name, 1, 256);
  perform punctual.check_text('original_text', original_text, 0, 65536);
  perform punctual.check_text('created_via', created_via, 1, 64);
  perform punctual.check_word('priority', priority, '{low,normal,high,critical}');
  perform punctual.check_word('on_unknown', on_unknown, '{resend,hold}');
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
  r.on_unknown := coalesce(on_unknown, 'resend');

  -- A prompt is a wish for an answer, unless `require_ack` says otherwise.
  r.ack_reminders_max := 0;
  if coalesce(require_ack, ack_prompt is not null) then
    perform punctual.check_text('ack_prompt', ack_prompt, 1, 2048);
    if timeout not between 1000000 and 366 * 86400000000 then
      perform punctual.refuse('ack_timeout', 'must be between 1 second and 366 days', 'Write an interval such as ''10 minutes''.');
    elsif max_ack_reminders > 1000 then
      perform punctual.refuse('max_ack_reminders', format('is %s; at most 1000', max_ack_reminders));
    end if;
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

-- A name that sorts by creation: UUID version 7.
create function punctual.new_id(at timestamptz) returns uuid
language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The addresses in `list`, as they are kept; null for none, which means wherever the user can be reached.
create or replace function punctual.route_of(field text, list jsonb) returns text
language plpgsql as $$
declare
  kept text[] := '{}';
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
  for i in 0 .. jsonb_array_length(list) - 1 loop
    item := list -> i;
    place := format('%s[%s]', field, i);
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
    perform punctual.check_text(place || '.channel', channel, 1, 64), punctual.check_text(place || '.address', address, 0, 2048),
      punctual.check_address(place, channel, address);
    kept := kept || format('{"channel":%s,"address":%s}', to_json(channel), to_json(address));
  end loop;
  return case when kept <> '{}' then '[' || array_to_string(kept, ',') || ']' end;
end $$;

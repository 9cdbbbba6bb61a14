-- SQL takes the addresses that HTTP takes. Nodes publish the rule of each channel beside its name and kind: a regular expression
-- and a length, or for URLs whether they may be private.
alter table punctual.channel add column pattern text;
alter table punctual.channel add column bytes_max integer;
alter table punctual.channel add column problem text;
alter table punctual.channel add column allow_private boolean;

create function pg_temp.reword(callable regproc, was text, is_now text) returns void
language plpgsql as $$
declare
  definition text := pg_get_functiondef(callable);
begin
  if strpos(definition, was) = 0 then
    raise exception 'punctual: % does not say %', callable, was;
  end if;
  execute replace(definition, was, is_now);
end $$;

-- Whether private addresses may be called is for each channel to say.
do $$
declare
  definition text := pg_get_functiondef('punctual.check_webhook'::regproc);
  setting constant text := 'exists (select from punctual.setting s where s.name = ''webhook_allow_private'' and s.value = ''false'')';
begin
  if strpos(definition, setting) = 0 then
    raise exception 'punctual: check_webhook does not ask for the setting';
  end if;
  definition := replace(definition, setting, 'not allow_private');
  execute replace(definition, 'punctual.check_webhook(field text, address text)',
    'punctual.check_url(field text, address text, allow_private boolean)');
end $$;

-- Refuses an address that its channel would refuse. What no node has published is not refused.
create function punctual.check_address(field text, channel text, address text) returns void
language plpgsql as $$
declare
  c punctual.channel;
begin
  select k.* into c from punctual.channel k where k.name = check_address.channel;
  if coalesce(c.kind, channel) = 'webhook' then
    perform punctual.check_url(field, address, coalesce(c.allow_private, not exists (
      select from punctual.setting s where s.name = 'webhook_allow_private' and s.value = 'false')));
    return;
  end if;
  perform punctual.check_text(field, address, 0, c.bytes_max);
  -- The expressions name characters by their numbers in Unicode.
  if getdatabaseencoding() = 'UTF8' and address !~ c.pattern then
    perform punctual.refuse(field, c.problem);
  end if;
end $$;

-- An address that its platform calls dead is refused as over HTTP.
create function punctual.check_alive(field text, channel text, address text) returns void
language plpgsql as $$
declare
  dead punctual.dead_address;
begin
  select d.* into dead from punctual.dead_address d where d.channel = check_alive.channel and d.address = check_alive.address;
  if dead.channel is not null then
    perform punctual.refuse(field, format('has been dead since %s: %s', punctual.instant_text(dead.since), dead.reason),
      format('If it lives again, `punctual channels test %s ADDRESS` brings it back.', channel));
  end if;
end $$;

select pg_temp.reword('punctual.route_of', 'select c.kind into kind from punctual.channel c where c.name = channel;
    if coalesce(kind, channel) = ''webhook'' then
      perform punctual.check_webhook(place || ''.address'', address);
    elsif kind = ''console'' then
      perform punctual.check_text(place || ''.address'', address, 0, 256);
    end if;', 'perform punctual.check_address(place || ''.address'', channel, address);
    perform punctual.check_alive(place || ''.address'', channel, address);');
drop function punctual.check_webhook(text, text);

-- Alerts wait for no quiet hours and raise no alert of their own; only punctual makes them.
select pg_temp.reword('punctual.draft', 'perform punctual.check_text(''created_via'', created_via, 1, 64);',
  'perform punctual.check_text(''created_via'', created_via, 1, 64);
  if created_via = ''alert'' then
    perform punctual.refuse(''created_via'', ''`alert` is what punctual says of its own alerts'', ''Write another word.'');
  end if;');
drop function pg_temp.reword(regproc, text, text);

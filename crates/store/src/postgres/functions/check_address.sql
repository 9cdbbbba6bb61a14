-- Refuses a channel that no node has, and an address that its channel would refuse. While no node has published its channels, none is refused.
create or replace function punctual.check_address(place text, channel text, address text) returns void
language plpgsql as $$
declare
  c punctual.channel;
  known text[];
  field constant text := place || '.address';
begin
  select k.* into c from punctual.channel k where k.name = check_address.channel;
  if not found then
    known := array(select k.name from punctual.channel k order by k.name);
    if known <> '{}' then
      perform punctual.refuse(place || '.channel', format('unknown channel `%s`', channel),
        'Known are ' || array_to_string(known, ', ') || '.');
    end if;
  end if;
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

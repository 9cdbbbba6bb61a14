-- Refuses a webhook's address that cannot be right, without repeating it: it may carry a password.
create or replace function punctual.check_url(field text, address text, allow_private boolean) returns void
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
  if not allow_private
    and (host ~ '(^|[.])localhost[.]?$' or family(ip) = 4 and ip <<= any (private)
      or family(ip) = 6 and (not ip <<= any ('{2000::/3, ::ffff:0:0/96, 64:ff9b::/96}'::inet[])
        or ip <<= any ('{2001::/23, 2001:db8::/32, 3fff::/20}'::inet[])))
  then
    perform punctual.refuse(field, 'is a private address', 'Set PUNCTUAL_WEBHOOK_ALLOW_PRIVATE=true to allow it.');
  end if;
end $$;

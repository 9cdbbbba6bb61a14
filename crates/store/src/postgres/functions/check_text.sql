-- Lengths are bytes of UTF-8; null is no text, and is not looked at.
create or replace function punctual.check_text(field text, value text, bytes_min integer, bytes_max integer) returns void
language plpgsql strict as $$
declare
  n_bytes constant integer := octet_length(convert_to(value, 'UTF8'));
begin
  if n_bytes < bytes_min then
    perform punctual.refuse(field, 'is empty', format('Write %s to %s bytes.', bytes_min, bytes_max));
  elsif n_bytes > bytes_max then
    perform punctual.refuse(field, format('is %s bytes long; at most %s are accepted', n_bytes, bytes_max));
  end if;
end $$;

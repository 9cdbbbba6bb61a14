-- An instant as schedules keep it.
create or replace function punctual.instant_text(at timestamptz) returns text
language plpgsql immutable as $$
begin
  return rtrim(rtrim(to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z';
end $$;

-- A span as the HTTP API writes it, `1h30m`, in milliseconds.
create or replace function punctual.span_millis(field text, span text) returns bigint
language plpgsql as $$
begin
  return case when span is not null then least(floor(punctual.span_nanos(field, span) / 1000000), 9223372036854775807)::bigint end;
end $$;

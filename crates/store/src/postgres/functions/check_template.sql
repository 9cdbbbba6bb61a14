-- Refuses an event's message with a field that there is not, or with a single brace.
create or replace function punctual.check_template(field text, message text, metadata jsonb) returns void
language plpgsql as $$
declare
  parts text[];
  name text;
begin
  if message !~ '[{}]' then
    return;
  elsif regexp_replace(message, '\{\{|\}\}|\{[^{}]*\}', '', 'g') ~ '[{}]' then
    perform punctual.refuse(field, 'has a single { or }', 'Write {{ or }} for a brace.');
  end if;
  -- Without the braces that stand for themselves, each one that is left begins or ends a field.
  parts := string_to_array(regexp_replace(message, '\{\{|\}\}', '', 'g'), '{');
  for i in 2 .. cardinality(parts) loop
    name := split_part(parts[i], '}', 1);
    if not metadata ? name and name not in ('minutes', 'starts_at', 'ends_at', 'key') then
      name := btrim(name, punctual.blanks(false));
    end if;
    if name not in ('minutes', 'starts_at', 'ends_at', 'key')
      and coalesce(jsonb_typeof(metadata -> name), 'none') not in ('string', 'number', 'boolean') then
      perform punctual.refuse(field, format('has the unknown field {%s}', name),
        'Known are minutes, starts_at, ends_at, key and the fields of the metadata that are texts, numbers, true or false.');
    end if;
  end loop;
end $$;

-- Refuses an event's message with a field that there is not, or with a single brace.
create or replace function punctual.check_template(field text, message text, metadata jsonb) returns void
language plpgsql as $$
declare
  part constant text := '\{\{|\}\}|\{([^{}]*)\}';
  name text;
begin
  if regexp_replace(message, part, '', 'g') ~ '[{}]' then
    perform punctual.refuse(field, 'has a single { or }', 'Write {{ or }} for a brace.');
  end if;
  for name in
    select m[1] from regexp_matches(message, part, 'g') as m
    where m[1] not in ('minutes', 'starts_at', 'ends_at', 'key') and coalesce(jsonb_typeof(metadata -> m[1]), 'none') not in ('string', 'number', 'boolean')
  loop
    name := btrim(name, punctual.blanks(false));
    if name not in ('minutes', 'starts_at', 'ends_at', 'key')
      and coalesce(jsonb_typeof(metadata -> name), 'none') not in ('string', 'number', 'boolean') then
      perform punctual.refuse(field, format('has the unknown field {%s}', name),
        'Known are minutes, starts_at, ends_at, key and the fields of the metadata that are texts, numbers, true or false.');
    end if;
  end loop;
end $$;

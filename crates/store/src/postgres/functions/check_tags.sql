-- The tags as they are kept: a JSON list, in lower case, in order, each once; null is none. Refuses what core would refuse.
create or replace function punctual.check_tags(field text, tags text[]) returns text
language plpgsql as $$
declare
  made text[] := '{}';
  made_of text;
begin
  if coalesce(cardinality(tags), 0) = 0 then
    return null;
  elsif cardinality(tags) > 16 then
    perform punctual.refuse(field, format('has %s tags; at most 16', cardinality(tags)));
  end if;
  for i in 1 .. coalesce(cardinality(tags), 0) loop
    if tags[i] is null then
      perform punctual.refuse(format('%s[%s]', field, i - 1), 'is null', 'Write a word such as health.');
    end if;
    made_of := lower(btrim(tags[i], punctual.blanks(false)));
    perform punctual.check_text(format('%s[%s]', field, i - 1), made_of, 1, 64);
    if made_of ~ '[,\u0001-\u001f\u007f-\u009f]' then
      perform punctual.refuse(format('%s[%s]', field, i - 1), 'has a comma or a control character',
        'Write one word, such as health.');
    end if;
    made := made || made_of;
  end loop;
  return (select '[' || string_agg(to_json(m)::text, ',' order by m collate "C") || ']'
    from (select distinct unnest(made) as m) as each);
end $$;

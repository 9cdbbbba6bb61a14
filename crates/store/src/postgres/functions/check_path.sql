-- The path of a scope as it is kept; refuses one that has an empty part, too many levels or a percent sign that stands for nothing.
create or replace function punctual.check_path(field text, path text) returns text
language plpgsql as $$
declare
  kept constant text := replace(path, '%2f', '%2F');
begin
  perform punctual.check_text(field, path, 1, 256);
  if path ~ '(^/|//|/$)' then
    perform punctual.refuse(field, format('`%s` has an empty part', path), 'Write guild:1/channel:2.');
  elsif cardinality(string_to_array(path, '/')) > 8 then
    perform punctual.refuse(field, format('`%s` has %s levels; at most 8', path, cardinality(string_to_array(path, '/'))));
  elsif kept ~ '%(?!2F|25)' then
    perform punctual.refuse(field, format('`%s` has a single %%', path), 'Write %25 for a percent sign, %2F for a slash in a name.');
  end if;
  return kept;
end $$;

-- Refuses the path of a scope that has an empty part.
create or replace function punctual.check_path(field text, path text) returns void
language plpgsql as $$
begin
  perform punctual.check_text(field, path, 1, 256);
  if path ~ '(^/|//|/$)' then
    perform punctual.refuse(field, format('`%s` has an empty part', path), 'Write guild:1/channel:2.');
  end if;
end $$;

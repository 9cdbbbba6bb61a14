-- Events under one root and its scopes are changed one after the other; events among themselves need not wait.
create or replace function punctual.lock_scope(path text, alone boolean) returns void
language plpgsql as $$
declare
  root constant bigint := hashtextextended('punctual.scope ' || split_part(path, '/', 1), 0);
begin
  if alone then
    perform pg_advisory_xact_lock(root);
  else
    perform pg_advisory_xact_lock_shared(root);
  end if;
end $$;

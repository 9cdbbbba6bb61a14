-- Lets a role call the functions that are for applications, and nothing else. Nobody but the owner gets anything by itself.
create or replace function punctual.admit(role name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  callable regprocedure;
begin
  execute format('grant usage on schema punctual to %I', role);
  for callable in select p.oid from pg_proc p where p.pronamespace = 'punctual'::regnamespace
    and p.proname in ('remind', 'cancel', 'put_event', 'put_instance', 'remove_event', 'put_scope', 'remove_scope')
  loop
    execute format('grant execute on function %s to %I', callable, role);
  end loop;
end $$;

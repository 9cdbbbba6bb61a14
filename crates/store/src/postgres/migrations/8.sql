-- Who may call what. Nobody but the owner gets anything by itself; `select punctual.admit('some_role')` lets a role call the
-- functions that are for everybody, and nothing else.

create function punctual.admit(role name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  callable regprocedure;
begin
  execute format('grant usage on schema punctual to %I', role);
  for callable in select p.oid from pg_proc p where p.pronamespace = 'punctual'::regnamespace
    and p.proname in ('remind', 'cancel', 'put_event', 'remove_event', 'put_scope', 'remove_scope')
  loop
    execute format('grant execute on function %s to %I', callable, role);
  end loop;
end $$;

revoke all on all functions in schema punctual from public;

-- A role that may only call them, for applications to be members of. Whoever migrates may not be allowed to make roles, another
-- database of the cluster may have made it, or make it at this moment; none of this is a reason not to start.
do $$
begin
  if not exists (select from pg_roles where rolname = 'punctual_client') then
    begin
      create role punctual_client nologin;
    exception
      when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        raise notice 'punctual_client was not made: create role punctual_client nologin; select punctual.admit(''punctual_client'')';
    end;
  end if;
  if exists (select from pg_roles where rolname = 'punctual_client') then
    perform punctual.admit('punctual_client');
  end if;
end $$;

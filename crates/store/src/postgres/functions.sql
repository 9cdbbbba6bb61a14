-- Puts the functions in place; functions.rs fills in the words in capitals.
set local check_function_bodies = off;

do $put$
declare
  names constant text[] := array[NAMES];
  texts constant text[] := array[
TEXTS
  ];
  before regprocedure[];
  callers text[];
  gone regprocedure;
  caller text;
begin
  for i in 1 .. cardinality(names) loop
    before := array(select p.oid::regprocedure from pg_proc p
      where p.pronamespace = 'punctual'::regnamespace and p.proname = names[i]);
    callers := array(select distinct a.grantee::regrole::text from pg_proc p, aclexplode(p.proacl) as a
      where p.oid = any (before::oid[]) and a.grantee not in (0, p.proowner));
    begin
      execute texts[i];
    exception when invalid_function_definition then
      -- Its arguments have other names, or it returns something else.
      foreach gone in array before loop
        execute format('drop function %s', gone);
      end loop;
      execute texts[i];
    end;
    -- With other arguments it is another function to PostgreSQL, and the one before must not stay beside it.
    for gone in select p.oid::regprocedure from pg_proc p
      where p.oid = any (before::oid[]) and exists (select from pg_proc q where q.pronamespace = p.pronamespace
        and q.proname = p.proname and q.oid <> all (before::oid[]))
    loop
      execute format('drop function %s', gone);
    end loop;
    foreach caller in array callers loop
      execute format('grant execute on function %s to %s', (select p.oid::regprocedure from pg_proc p
        where p.pronamespace = 'punctual'::regnamespace and p.proname = names[i]), caller);
    end loop;
  end loop;
  for gone in select p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'punctual'::regnamespace and p.proname <> all (names)
  loop
    execute format('drop function %s', gone);
  end loop;
end $put$;

-- Nobody gets a right by itself.
revoke all on all functions in schema punctual from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'punctual_client') then
    perform punctual.admit('punctual_client');
  end if;
end $$;

delete from punctual.functions;
insert into punctual.functions (program, hash) values (array[PROGRAM], 'HASH');

-- A reminder may say that nothing but its own addresses is tried; else its user's come after them.
alter table punctual.reminder add column only_to boolean not null default false;
alter table punctual.event add column only_to boolean not null default false;

create function pg_temp.reword(callable regproc, was text, is_now text) returns void
language plpgsql as $$
declare
  definition text := pg_get_functiondef(callable);
begin
  if strpos(definition, was) = 0 then
    raise exception 'punctual: % does not say %', callable, was;
  end if;
  execute replace(definition, was, is_now);
end $$;

-- Gives a function that clients call a last parameter, `"only"`; whoever may call it still may.
create function pg_temp.with_only(callable regproc) returns void
language plpgsql as $$
declare
  definition constant text := pg_get_functiondef(callable);
  name constant text := callable::text;
  roles constant text[] := array(select distinct a.grantee::regrole::text from pg_proc p, aclexplode(p.proacl) as a
    where p.oid = callable and a.grantee not in (0, p.proowner));
  role text;
begin
  if strpos(definition, E')\n RETURNS ') = 0 then
    raise exception 'punctual: % does not say what it returns', name;
  end if;
  execute format('drop function %s', callable::oid::regprocedure);
  execute replace(definition, E')\n RETURNS ', E', "only" boolean DEFAULT NULL::boolean)\n RETURNS ');
  execute format('revoke all on function %s from public', name::regproc::oid::regprocedure);
  foreach role in array roles loop
    execute format('grant execute on function %s to %s', name::regproc::oid::regprocedure, role);
  end loop;
end $$;

-- Refuses what nobody can receive, as over HTTP: reminders of these users to the addresses in `route`. A dead address in `route` is
-- a warning while another lives.
create function punctual.check_reach(field text, users text[], route text, only_to boolean) returns void
language plpgsql as $$
declare
  a record;
  places text[] := '{}';
  problems text[] := '{}';
  hints text[] := '{}';
  lives boolean := false;
  who text;
  had integer;
begin
  if only_to and route is null then
    perform punctual.refuse('only', 'says that nothing but "to" is tried, and "to" is empty', 'Write "to", or leave it out.');
  end if;
  for a in
    select format('to[%s].address', e.place - 1) as place, e.item ->> 'channel' as channel, d.since, d.reason
    from jsonb_array_elements(coalesce(route, '[]')::jsonb) with ordinality as e (item, place)
    left join punctual.dead_address d on d.channel = e.item ->> 'channel' and d.address = e.item ->> 'address' order by e.place
  loop
    if a.since is null then
      lives := true;
    else
      places := places || a.place;
      problems := problems || format('has been dead since %s: %s', punctual.instant_text(a.since), a.reason);
      hints := hints || format('If it lives again, `punctual channels revive %s ADDRESS` brings it back.', a.channel);
    end if;
  end loop;
  if not lives then
    -- The first of the users whom no address of their own reaches. `me` has the console, and everybody a default that was chosen.
    select u.id, jsonb_array_length(coalesce(p.addresses, '[]')::jsonb) into who, had
    from unnest(users) with ordinality as u (id, place) left join punctual.app_user p on p.id = u.id
    where (only_to or not exists (
        select from jsonb_array_elements(coalesce(p.addresses, '[]')::jsonb) as e (item) where not exists (
          select from punctual.dead_address d
          where d.channel = e.item ->> 'channel' and d.address = coalesce(e.item ->> 'address', ''))))
      and (route is not null or jsonb_array_length(coalesce(p.addresses, '[]')::jsonb) > 0 or u.id <> 'me' and exists (
        select from punctual.setting s where s.name = 'default_channel_chosen' and s.value = 'false'))
    order by u.place limit 1;
    if who is not null and route is not null then
      perform punctual.refuse(places[1], problems[1], hints[1]);
    elsif who is not null and had > 0 then
      perform punctual.refuse(field, format('nobody can receive it: every address of `%s` is dead', who),
        'Give another in "to" or in the user''s addresses.');
    elsif who is not null then
      perform punctual.refuse(field, format('nobody can receive it: it has no "to" and the user `%s` has no addresses', who),
        'Write "to", such as ''["webhook:https://example.org/hook"]'', or give the user addresses, or set default_channel.');
    end if;
  end if;
  for i in 1 .. cardinality(places) loop
    raise warning using message = places[i] || ': ' || problems[i], hint = hints[i];
  end loop;
end $$;
revoke all on function punctual.check_reach(text, text[], text, boolean) from public;

select pg_temp.reword('punctual.route_of', '
    perform punctual.check_alive(place || ''.address'', channel, address);', '');
drop function punctual.check_alive(text, text, text);

select pg_temp.with_only('punctual.remind');
select pg_temp.reword('punctual.remind', 'r.id := punctual.new_id(now);', 'r.only_to := coalesce("only", false);
  perform punctual.check_reach(''to'', array[user_id], r.route, r.only_to);
  r.id := punctual.new_id(now);');
select pg_temp.reword('punctual.write_reminders', 'on_unknown, on_unknown_auto, created_via',
  'on_unknown, on_unknown_auto, only_to, created_via');
select pg_temp.reword('punctual.write_reminders', 'coalesce(r.on_unknown_auto, false), r.created_via',
  'coalesce(r.on_unknown_auto, false), coalesce(r.only_to, false), r.created_via');

select pg_temp.with_only('punctual.put_event');
select pg_temp.reword('punctual.put_event', 'if scope is not null then', 'r.only_to := coalesce("only", false);
  perform punctual.check_reach(case when r.route is null then ''users'' else ''to'' end, users, r.route, r.only_to);
  if scope is not null then');
select pg_temp.reword('punctual.put_event', 'on_unknown, on_unknown_auto, metadata',
  'on_unknown, on_unknown_auto, only_to, metadata');
select pg_temp.reword('punctual.put_event', 'r.on_unknown_auto, r.metadata', 'r.on_unknown_auto, r.only_to, r.metadata');
select pg_temp.reword('punctual.put_event', 'on_unknown_auto = excluded.on_unknown_auto,',
  'on_unknown_auto = excluded.on_unknown_auto, only_to = excluded.only_to,');
select pg_temp.reword('punctual.plan_event', 'r.on_unknown_auto := e.on_unknown_auto;', 'r.on_unknown_auto := e.on_unknown_auto;
  r.only_to := e.only_to;');
select pg_temp.reword('punctual.plan_event', 'on_unknown_auto = v.on_unknown_auto,',
  'on_unknown_auto = v.on_unknown_auto, only_to = v.only_to,');
select pg_temp.reword('punctual.plan_event', 't.on_unknown_auto, t.metadata', 't.on_unknown_auto, t.only_to, t.metadata');
select pg_temp.reword('punctual.plan_event', 'v.on_unknown_auto, v.metadata', 'v.on_unknown_auto, v.only_to, v.metadata');
drop function pg_temp.reword(regproc, text, text);
drop function pg_temp.with_only(regproc);

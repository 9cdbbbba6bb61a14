-- Refuses what nobody can receive, as over HTTP: reminders of these users to the addresses in `route`. A dead address in `route` is
-- a warning while another lives.
create or replace function punctual.check_reach(field text, users text[], route text, only_to boolean) returns void
language plpgsql as $$
declare
  item jsonb;
  dead punctual.dead_address;
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
  for i in 0 .. coalesce(jsonb_array_length(route::jsonb), 0) - 1 loop
    item := route::jsonb -> i;
    select d.* into dead from punctual.dead_address d where d.channel = item ->> 'channel' and d.address = item ->> 'address';
    if not found then
      lives := true;
    else
      places := places || format('to[%s].address', i);
      problems := problems || format('has been dead since %s: %s', punctual.instant_text(dead.since), dead.reason);
      hints := hints || format('If it lives again, `punctual channels revive %s ADDRESS` brings it back.', dead.channel);
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

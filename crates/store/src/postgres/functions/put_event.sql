-- Writes or replaces an event; returns whether it is new. A node plans its reminders right after the commit, and sends none of them before
-- it has.
--
-- `offsets` are minutes before the start, negative after it; `offset_list` takes them in every form of the HTTP API. Without either the nearest
-- scope's count. `users` and the members of `groups` are reminded, each where they can be reached or at `"to"`; with `"to"` alone the
-- event itself is the user.
create or replace function punctual.put_event(
  key text, starts_at timestamptz, offsets integer[] default null, scope text default null, message text default null,
  "to" jsonb default null, users text[] default null, name text default null, timezone text default null,
  priority text default null, require_ack boolean default null, ack_prompt text default null, ack_timeout interval default null,
  max_ack_reminders integer default null, snooze_allowed boolean default null, max_retries integer default null,
  misfire text default null, on_unknown text default null, metadata jsonb default null,
  "only" boolean default null, tags text[] default null, escalate jsonb default null,
  ends_at timestamptz default null, offset_list jsonb default null, groups text[] default null, rrule text default null
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  r punctual.reminder;
  before punctual.event;
  e punctual.event;
  is_new boolean;
  own_offsets text;
  n_reminders integer;
  people text[];
  place integer;
  kept jsonb;
begin
  -- Each once.
  users := coalesce(users, '{}');
  if cardinality(users) > 1 then
    users := array(select u.name from unnest(users) with ordinality as u (name, place) group by u.name order by min(u.place));
  end if;
  groups := coalesce(groups, '{}');
  if cardinality(groups) > 1 then
    groups := array(select g.name from unnest(groups) with ordinality as g (name, place) group by g.name order by min(g.place));
  end if;
  if key is null then
    perform punctual.refuse('key', 'is missing', 'Name the event, such as ''game:42''.');
  elsif starts_at is null then
    perform punctual.refuse('starts_at', 'is missing', 'Say when the event starts.');
  elsif users = '{}' and groups = '{}' and coalesce(jsonb_typeof("to"), 'null') = 'null' then
    perform punctual.refuse('users', 'is missing', 'Say whom to remind: users, groups, or addresses in "to".');
  elsif cardinality(users) > 10000 then
    perform punctual.refuse('users', format('has %s entries; at most 10000', cardinality(users)));
  elsif cardinality(groups) > 16 then
    perform punctual.refuse('groups', format('has %s entries; at most 16', cardinality(groups)));
  elsif offsets is not null and coalesce(jsonb_typeof(offset_list), 'null') <> 'null' then
    perform punctual.refuse('offset_list', 'says the same as offsets', 'Give one of them.');
  end if;
  -- Several in one statement: starting one costs more than a check.
  perform punctual.check_text('key', key, 1, 200), punctual.check_instant('starts_at', starts_at), punctual.check_instant('ends_at', ends_at);
  if ends_at < starts_at then
    perform punctual.refuse('ends_at', 'is before starts_at');
  end if;
  scope := punctual.check_path('scope', scope);
  own_offsets := punctual.offset_list(case when offsets is null then 'offset_list' else 'offsets' end, coalesce(to_jsonb(offsets), offset_list));
  if ends_at is null and strpos(own_offsets, '"end"') > 0 then
    perform punctual.refuse('offset_list', 'is counted from the end, and the event has no ends_at', 'Say when it ends.');
  end if;
  for place in 1 .. cardinality(users) loop
    if users[place] is null then
      perform punctual.refuse(format('users[%s]', place - 1), 'is null', 'Name a user.');
    end if;
    perform punctual.check_text(format('users[%s]', place - 1), users[place], 1, 256);
  end loop;
  for place in 1 .. cardinality(groups) loop
    if not exists (select from punctual.user_group g where g.name = groups[place]) then
      perform punctual.refuse(format('groups[%s]', place - 1), format('there is no group `%s`', groups[place]), 'Make it first.');
    end if;
  end loop;
  if rrule is not null then
    perform punctual.check_text('rrule', rrule, 1, 65536);
  end if;
  n_reminders := greatest(cardinality(users) + 100 * cardinality(groups), 1) * jsonb_array_length(own_offsets::jsonb);
  if n_reminders > 20000 then
    perform punctual.refuse('offsets', format('are %s reminders; at most 20000', n_reminders), 'Name fewer people or offsets.');
  end if;
  people := coalesce(nullif(users, '{}'), case when groups = '{}' then array['event:' || key] else '{}' end);
  -- A plan of who is asked next is a wish for an answer.
  r := punctual.draft(coalesce(people[1], 'event:' || key), message, name, coalesce(timezone, 'UTC'), priority, "to",
    coalesce(require_ack, nullif(jsonb_typeof(escalate) = 'array' and escalate <> '[]', false)), ack_prompt, ack_timeout, max_ack_reminders,
    snooze_allowed, max_retries, misfire, on_unknown, metadata, null, null);
  perform punctual.check_template('message', message, metadata);
  r.tags := punctual.check_tags('tags', tags);
  r.only_to := coalesce("only", false);
  perform punctual.check_reach(case when r.route is null then 'users' else 'to' end, people, r.route, r.only_to);
  r.escalate := punctual.check_escalate('escalate', escalate, r.ack_timeout is not null);
  if scope is not null then
    perform punctual.lock_scope(scope, false);
  end if;
  select v.* into before from punctual.event v where v.key = put_event.key for update;
  if before.source is not null then
    perform punctual.refuse('key', format('`%s` follows the calendar %s', key, before.source), 'Change it there.');
  end if;
  e := before;
  e.key := key;
  e.starts_at := starts_at;
  e.ends_at := ends_at;
  kept := coalesce(case when not before.removed then before.repeats::jsonb -> 'instances' end, '[]');
  if rrule is null then
    e.repeats := null;
  elsif before.removed is not false or before.repeats::jsonb ->> 'rule' is distinct from rrule or before.starts_at <> starts_at
    or before.timezone is distinct from (case when timezone is not null then r.timezone end) then
    -- Which instances the changed series still has, a node finds: it must know the series that named them.
    e.repeats := punctual.compact(jsonb_build_object('rule', rrule, 'instances', kept) || case
      when kept = '[]' then '{}'
      when before.repeats::jsonb ? 'was' then (before.repeats::jsonb - 'rule') - 'instances'
      else jsonb_build_object('unchecked', true, 'was', jsonb_build_object('rule', before.repeats::jsonb -> 'rule',
        'starts_at', punctual.instant_text(before.starts_at), 'timezone', before.timezone)) end::jsonb);
  end if;
  e.offsets := own_offsets;
  e.scope := scope;
  e.users := to_json(users)::text;
  e.groups := nullif(to_json(groups)::text, '[]');
  e.message := r.message;
  e.name := r.name;
  e.timezone := case when timezone is not null then r.timezone end;
  e.priority := r.priority;
  e.route := r.route;
  e.only_to := r.only_to;
  e.ack_timeout := r.ack_timeout;
  e.ack_prompt := r.ack_prompt;
  e.ack_reminders_max := r.ack_reminders_max;
  e.snooze_allowed := r.snooze_allowed;
  e.retries_max := r.retries_max;
  e.misfire := r.misfire;
  e.misfire_within := r.misfire_within;
  e.on_unknown := r.on_unknown;
  e.metadata := r.metadata;
  e.tags := r.tags;
  e.escalate := r.escalate;
  e.removed := false;
  if before.key is not null and e is not distinct from before then
    return false;
  end if;
  e := punctual.marked(e, r.created_at);
  e.planned_until := null;
  e.error := null;
  e.created_at := coalesce(before.created_at, r.created_at);
  e.updated_at := r.created_at;
  if before.key is null then
    insert into punctual.event select e.* on conflict do nothing;
    if not found then
      -- Another transaction has written it at the same moment, and has ended.
      return punctual.put_event(key, starts_at, offsets, scope, message, "to", users, name, timezone, priority, require_ack, ack_prompt,
        ack_timeout, max_ack_reminders, snooze_allowed, max_retries, misfire, on_unknown, metadata, "only", tags, escalate, ends_at,
        offset_list, groups, rrule);
    end if;
  else
    update punctual.event v set starts_at = e.starts_at, ends_at = e.ends_at, repeats = e.repeats, offsets = e.offsets,
        scope = e.scope, users = e.users, groups = e.groups, message = e.message, name = e.name, timezone = e.timezone,
        priority = e.priority, route = e.route, only_to = e.only_to, ack_timeout = e.ack_timeout, ack_prompt = e.ack_prompt,
        ack_reminders_max = e.ack_reminders_max, snooze_allowed = e.snooze_allowed, retries_max = e.retries_max,
        misfire = e.misfire, misfire_within = e.misfire_within, on_unknown = e.on_unknown, metadata = e.metadata,
        tags = e.tags, escalate = e.escalate, removed = e.removed, planned = e.planned, plan_at = e.plan_at,
        asked_at = e.asked_at, planned_until = e.planned_until, error = e.error, updated_at = e.updated_at
      where v.key = e.key;
  end if;
  is_new := before.key is null or before.removed;
  perform punctual.event_changed(e.key, json_build_object('event', e.key, 'starts_at', punctual.instant_text(e.starts_at),
    'was', case when not is_new and before.starts_at <> e.starts_at then punctual.instant_text(before.starts_at) end,
    'new', case when is_new then true end));
  return is_new;
end $$;

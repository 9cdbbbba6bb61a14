-- Changes one instance of a series, named by its original local start, or with `following` that and all later ones; with nothing said it is as its
-- series says again. False when there is no such event. Whether the series has such an instance, a node finds.
create or replace function punctual.put_instance(
  key text, at timestamp, starts_at timestamptz default null, ends_at timestamptz default null, cancelled boolean default null,
  following boolean default null, offset_list jsonb default null, message text default null, metadata jsonb default null
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  name constant text := to_char(at, 'YYYYMMDD"T"HH24MISS');
  follows constant boolean := coalesce(following, false);
  e punctual.event;
  change jsonb;
  others jsonb;
begin
  if at is null then
    perform punctual.refuse('at', 'is missing', 'Name the instance by its original local start, such as ''2026-03-10 18:00''.');
  end if;
  perform punctual.check_instant('starts_at', starts_at);
  perform punctual.check_instant('ends_at', ends_at);
  if ends_at < starts_at then
    perform punctual.refuse('ends_at', 'is before starts_at');
  elsif coalesce(cancelled, false) and num_nonnulls(starts_at, ends_at, offset_list, message, metadata) > 0 then
    perform punctual.refuse('cancelled', 'is true, and other arguments say how it takes place', 'Leave one out.');
  elsif coalesce(jsonb_typeof(metadata), 'object') <> 'object' then
    perform punctual.refuse('metadata', format('must be an object, not %s', jsonb_typeof(metadata)));
  end if;
  perform punctual.check_text('message', message, 1, 65536);
  perform punctual.check_text('metadata', metadata::text, 1, 65536);
  select v.* into e from punctual.event v where v.key = put_instance.key and not v.removed for update;
  if e.key is null then
    return false;
  elsif e.source is not null then
    perform punctual.refuse('key', format('`%s` follows the calendar %s', e.key, e.source), 'Change it there.');
  elsif e.repeats is null then
    perform punctual.refuse('key', format('`%s` does not repeat', e.key), 'Move the event itself with put_event.');
  end if;
  perform punctual.check_template('message', coalesce(message, e.message), coalesce(metadata, e.metadata::jsonb));
  change := jsonb_strip_nulls(jsonb_build_object('cancelled', nullif(coalesce(cancelled, false), false),
    'starts_at', punctual.instant_text(starts_at), 'ends_at', punctual.instant_text(ends_at),
    'offsets', punctual.offset_list('offset_list', offset_list)::jsonb, 'message', message, 'metadata', metadata));
  others := (select coalesce(jsonb_agg(i), '[]') from jsonb_array_elements(e.repeats::jsonb -> 'instances') as i
    where i ->> 'at' <> name or coalesce((i ->> 'following')::boolean, false) <> follows);
  if change <> '{}' then
    others := others || (change || jsonb_build_object('at', name) || case when follows then '{"following": true}' else '{}' end::jsonb);
  end if;
  if jsonb_array_length(others) > 1000 then
    perform punctual.refuse('at', 'is one instance too many that something is different about; at most 1000');
  end if;
  -- It is named by the series as it is now.
  e.repeats := punctual.compact(e.repeats::jsonb || jsonb_build_object('instances', others, 'unchecked', true,
    'named', coalesce(e.repeats::jsonb -> 'named', '[]') || to_jsonb(name)));
  e := punctual.marked(e, clock_timestamp());
  update punctual.event v set repeats = e.repeats, planned = e.planned, plan_at = e.plan_at, asked_at = e.asked_at,
    updated_at = e.plan_at, error = null where v.key = e.key;
  perform punctual.event_changed(e.key, json_build_object('event', e.key, 'starts_at', punctual.instant_text(e.starts_at), 'instance', name));
  return true;
end $$;

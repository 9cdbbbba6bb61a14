-- The plan of who is asked next as it is kept: a JSON list as the HTTP API writes it; null is none. Refuses what core would refuse, and whom
-- nobody could ask.
create or replace function punctual.check_escalate(field text, steps jsonb, has_ack boolean) returns text
language plpgsql as $$
declare
  step jsonb;
  place text;
  wrong text;
  after bigint;
  before bigint := 0;
  who text;
  made text[] := '{}';
begin
  if jsonb_typeof(steps) not in ('array', 'null') then
    perform punctual.refuse(field, format('must be a list, not %s', jsonb_typeof(steps)), 'Write [{"after": "5m", "to": "bob"}].');
  elsif jsonb_typeof(steps) is distinct from 'array' or jsonb_array_length(steps) = 0 then
    return null;
  elsif not has_ack then
    perform punctual.refuse(field, 'needs an answer to wait for', 'Leave out require_ack => false.');
  elsif jsonb_array_length(steps) > 16 then
    perform punctual.refuse(field, format('has %s steps; at most 16', jsonb_array_length(steps)));
  end if;
  for i in 0 .. jsonb_array_length(steps) - 1 loop
    step := steps -> i;
    place := format('%s[%s]', field, i);
    if jsonb_typeof(step) <> 'object' then
      perform punctual.refuse(place, format('must be an object, not %s', jsonb_typeof(step)), 'Write {"after": "5m", "to": "bob"}.');
    end if;
    select k into wrong from jsonb_object_keys(step) as k where k not in ('after', 'to') limit 1;
    if wrong is not null then
      perform punctual.refuse(place || '.' || wrong, 'is not a known field', 'Known are after and to.');
    end if;
    foreach wrong in array array['after', 'to'] loop
      if jsonb_typeof(step -> wrong) is distinct from 'string' then
        perform punctual.refuse(place || '.' || wrong, 'must be text', 'Write {"after": "5m", "to": "bob"}.');
      end if;
    end loop;
    after := punctual.span_millis(place || '.after', step ->> 'after');
    if after not between 1000 and 366::bigint * 86400000 then
      perform punctual.refuse(place || '.after', 'must be between 1s and 366d', 'Write a span such as 5m.');
    elsif after < before then
      perform punctual.refuse(place || '.after', 'is before the step ahead of it', 'Write the steps in order.');
    end if;
    before := after;
    who := step ->> 'to';
    if who like 'group:%' then
      perform punctual.check_text(place || '.to', substr(who, 7), 1, 256);
      if not exists (select from punctual.user_group g where g.name = substr(who, 7)) then
        perform punctual.refuse(place || '.to', format('there is no group `%s`', substr(who, 7)), 'Make it first.');
      end if;
    else
      perform punctual.check_text(place || '.to', who, 1, 256);
      perform punctual.check_reach(place || '.to', array[who], null, false);
    end if;
    made := made || format('{"after":%s,"to":%s}', to_json(step ->> 'after'), to_json(who));
  end loop;
  return '[' || array_to_string(made, ',') || ']';
end $$;

-- Offsets as they are kept: a JSON list in the API's form, each once. Null stays null. Refuses what core would refuse; core gives each its name.
create or replace function punctual.offset_list(field text, given jsonb) returns text
language plpgsql as $$
declare
  hint constant text :=
    'Write minutes before the start such as 60, a span such as "PT15M", "1d" or "-30m", or {"after": "end", "by": "10m"}.';
  item jsonb;
  place text;
  span text;
  sign integer;
  of_end boolean;
  seconds numeric;
  ends boolean[] := '{}';
  befores numeric[] := '{}';
  made jsonb[];
begin
  if coalesce(jsonb_typeof(given), 'null') = 'null' then
    return null;
  elsif jsonb_typeof(given) <> 'array' then
    perform punctual.refuse(field, 'is no list', 'Write [60, 15] for one hour and a quarter of an hour before.');
  end if;
  for i in 0 .. jsonb_array_length(given) - 1 loop
    item := given -> i;
    place := format('%s[%s]', field, i);
    sign := 1;
    of_end := false;
    seconds := null;
    case jsonb_typeof(item)
    when 'number' then
      seconds := item::numeric * 60;
      if seconds <> trunc(seconds) then
        perform punctual.refuse(place, format('`%s` is no number of whole seconds in minutes', item), hint);
      end if;
    when 'string' then
      span := btrim(item #>> '{}', punctual.blanks(false));
      if span like 'end%' then
        of_end := true;
        span := substr(span, 4);
        if span = '' then
          seconds := 0;
        elsif span ~ '^[+-]' then
          sign := case when span like '+%' then -1 else 1 end;
          span := substr(span, 2);
        else
          perform punctual.refuse(place, format('`%s` is no offset', item #>> '{}'), hint);
        end if;
      elsif span like '-%' then
        sign := -1;
        span := substr(span, 2);
      end if;
      if not of_end and span ~ '^[+]?[0-9]+$' then
        seconds := span::numeric * 60;
      end if;
    when 'object' then
      if (select count(*) from jsonb_object_keys(item)) <> 2 or jsonb_typeof(item -> 'by') is distinct from 'string'
        or num_nonnulls(item -> 'before', item -> 'after') <> 1 then
        perform punctual.refuse(place, 'has unknown or missing fields', hint);
      elsif coalesce(item -> 'before', item -> 'after') not in ('"start"', '"end"') then
        perform punctual.refuse(place, format('`%s` is no end of an event', coalesce(item -> 'before', item -> 'after')), 'Write start or end.');
      end if;
      sign := case when item ? 'after' then -1 else 1 end;
      of_end := coalesce(item ->> 'before', item ->> 'after') = 'end';
      span := item ->> 'by';
    else
      perform punctual.refuse(place, format('`%s` is no offset', item), hint);
    end case;
    seconds := sign * coalesce(seconds, punctual.offset_seconds(place, span));
    if abs(seconds) > 366 * 86400 then
      perform punctual.refuse(place, 'is more than 366 days', hint);
    end if;
    ends := ends || of_end;
    befores := befores || trunc(seconds);
  end loop;
  -- As core keeps them: those of the start first, and the one that is longest before first.
  made := array(select case
      when o.of_end and o.before > 0 then jsonb_build_object('before', 'end', 'by', o.before || 's')
      when o.of_end then jsonb_build_object('after', 'end', 'by', abs(o.before) || 's')
      when o.before % 60 = 0 then to_jsonb((o.before / 60)::integer)
      else to_jsonb(case when o.before < 0 then '-' else '' end || 'PT' || abs(o.before) || 'S') end
    from (select distinct given.of_end, given.before from unnest(ends, befores) as given (of_end, before)) as o order by o.of_end, o.before desc);
  if cardinality(made) > 32 then
    perform punctual.refuse(field, format('has %s entries; at most 32', cardinality(made)));
  end if;
  return punctual.compact(to_jsonb(made));
end $$;

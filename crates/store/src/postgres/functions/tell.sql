-- Tells the nodes when something changes that they cannot know of: a client writes in plain SQL, or through another node.
--
-- The message is `wake SHARD:MICROS SHARD:MICROS ...`, the moments that are new within the time that nodes watch, in microseconds
-- since 1970; or `look`, when those are too many to list, or when something that nodes watch has gone or moved to later: they then
-- read afresh what is to come. What lies further ahead is told to nobody, because nodes read it by themselves before it is near.
--
-- NOTIFY takes a lock over the whole cluster when its transaction commits, so there is one for a statement and never one for a
-- row, and a transaction of very many statements goes over to `look`, which is sent once however often it is said.
create or replace function punctual.tell(pairs text[], look boolean) returns void
language plpgsql as $$
declare
  told_max constant integer := 50;
  told integer;
begin
  if cardinality(pairs) = 0 and not look then
    return;
  end if;
  told := coalesce(nullif(current_setting('punctual.told', true), ''), '0')::integer;
  if look or told >= told_max or cardinality(pairs) > 50 then
    perform pg_notify('punctual', 'look');
  else
    perform pg_notify('punctual', 'wake ' || array_to_string(pairs, ' '));
    -- Counts within this transaction alone.
    perform set_config('punctual.told', (told + 1)::text, true);
  end if;
end $$;

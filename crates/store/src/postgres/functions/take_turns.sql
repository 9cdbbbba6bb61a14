-- Takes a turn under every limit, or none; returns for each how many microseconds it has to be waited for. All zero: taken.
-- In no stretch of `spans[i]` microseconds does limit i give more than `counts[i]` turns.
create or replace function punctual.take_turns(names text[], counts int[], spans bigint[]) returns bigint[]
language plpgsql as $$
declare
  now_us  bigint;
  waits   bigint[] := '{}';
  one     bigint[];
begin
  -- What a crash forgets is no harm, and nobody waits for the disk.
  perform set_config('synchronous_commit', 'off', true);
  insert into punctual.turn (limit_name, begun, last_at)
    select name, '{}', now() from unnest(names) as name order by name
    on conflict do nothing;
  -- In one order, so that two who want the same ones do not wait for each other.
  perform 1 from punctual.turn t where t.limit_name = any (names) order by t.limit_name for update;
  now_us := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  for i in 1 .. cardinality(names) loop
    select t.begun into one from punctual.turn t where t.limit_name = names[i];
    waits := waits || case
      when cardinality(one) < counts[i] then 0
      else greatest(0, one[cardinality(one) - counts[i] + 1] + spans[i] - now_us)
    end;
  end loop;
  if 0 = all (waits) then
    for i in 1 .. cardinality(names) loop
      update punctual.turn t
        set begun = t.begun[greatest(1, cardinality(t.begun) - counts[i] + 2):] || now_us, last_at = now()
        where t.limit_name = names[i];
    end loop;
  end if;
  return waits;
end $$;

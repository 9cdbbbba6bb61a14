-- Minutes as they are given, as seconds: each once, the earliest reminder first.
create or replace function punctual.offset_seconds(offsets integer[]) returns integer[]
language plpgsql as $$
begin
  if cardinality(offsets) > 32 then
    perform punctual.refuse('offsets', format('has %s entries; at most 32', cardinality(offsets)));
  elsif exists (select from unnest(offsets) as o where o is null or o not between 0 and 527040) then
    perform punctual.refuse('offsets', 'has an entry that is no number of minutes from 0 to 527040, which is 366 days',
      'Write array[60, 15] for one hour and a quarter of an hour before.');
  end if;
  return case when offsets is not null then array(select distinct o * 60 from unnest(offsets) as o order by 1 desc) end;
end $$;

-- An event that moves makes its run for another instant.
create or replace function punctual.made_anew() returns trigger
language plpgsql as $$
begin
  new.made_for := null;
  return new;
end $$;

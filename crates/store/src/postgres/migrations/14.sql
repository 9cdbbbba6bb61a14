-- The instant a run was made for, where a snooze or quiet hours have moved it since.
alter table punctual.occurrence add column made_for timestamptz;

-- An event that moves makes its run for another instant.
create function punctual.made_anew() returns trigger
language plpgsql as $$
begin
  new.made_for := null;
  return new;
end $$;
create trigger occurrence_made_anew before update of due_at on punctual.occurrence for each row
  when (old.made_for is not null and new.made_for = old.made_for and new.due_at <> old.due_at
    and new.state in ('scheduled', 'paused'))
  execute function punctual.made_anew();
revoke all on function punctual.made_anew() from public;

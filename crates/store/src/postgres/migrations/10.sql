-- Lists: search, failed runs, erasures.

-- The runs that failed, for lists and for sending them again: few, and in the order of their names.
create index occurrence_failed on punctual.occurrence (reminder_id, run, at) where state = 'failed';

-- The texts by which reminders are found, folded; punctual_core::rules::search says how. They follow the journal. Where the extension pg_trgm
-- is, an index of groups of three letters is made over them: postgres/search.rs.
create table punctual.search (
  number      bigint generated always as identity primary key, -- its place: what came last has the highest
  reminder_id uuid not null unique,
  user_id     text collate "C" not null,
  text        text collate "C" not null
);
create index search_user on punctual.search (user_id, number);
create function punctual.reminder_unsearched() returns trigger language plpgsql as 'begin return null; end';
create trigger reminder_unsearched after delete on punctual.reminder
  referencing old table as old_rows for each statement execute function punctual.reminder_unsearched();
-- How far it has been filled with the reminders that were there before it.
create table punctual.search_state (is_filled boolean not null, filled_to uuid);
insert into punctual.search_state values (false);
-- It is a trusted extension, which the owner of a database may make; a server without it, or another role, is no reason not to start.
do $$
begin
  create extension if not exists pg_trgm schema public;
exception when others then
  raise notice 'there is no search: create extension pg_trgm (%)', sqlerrm;
end $$;

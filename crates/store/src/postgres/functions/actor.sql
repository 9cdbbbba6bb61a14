-- Who acts, for the journal: the role that has logged in, whatever function it calls.
create or replace function punctual.actor() returns text
language sql stable as $$ select 'sql:' || session_user $$;

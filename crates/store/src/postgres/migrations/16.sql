-- How a request was answered, so that the same request is answered the same; 0: it has begun and has not been answered.
alter table punctual.answered add column status smallint not null default 201;

-- An answer in the person's own words, by how many minutes they put it off, who they are, and where they said it.
alter table punctual.response
  add column text text,
  add column snooze_minutes integer,
  add column user_id text,
  add column channel text;

-- Entries that belong to no reminder are pruned by their age.
create index audit_test on punctual.audit (at) where action = 'channel.test';

-- A test revives nothing.
do $$
begin
  execute replace(pg_get_functiondef('punctual.check_alive'::regproc), 'punctual channels test', 'punctual channels revive');
end $$;

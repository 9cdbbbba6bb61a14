-- A run that somebody asked for by hand: it waits neither for the end of quiet hours nor of a pause.
alter table punctual.occurrence add column at_once boolean not null default false;

-- The key that an attempt was sent under, where it was not its own: what waited goes out in one message.
alter table punctual.attempt add column key text;

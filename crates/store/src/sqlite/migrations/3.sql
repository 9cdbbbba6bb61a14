-- A run that somebody asked for by hand: it waits neither for the end of quiet hours nor of a pause.
ALTER TABLE occurrence ADD COLUMN at_once INTEGER NOT NULL DEFAULT 0;

-- The key that an attempt was sent under, where it was not its own: what waited goes out in one message.
ALTER TABLE attempt ADD COLUMN key TEXT;

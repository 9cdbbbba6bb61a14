-- How a request was answered, so that the same request is answered the same; 0: it has begun and has not been answered.
ALTER TABLE answered ADD COLUMN status INTEGER NOT NULL DEFAULT 201;

-- An answer in the person's own words, by how many minutes they put it off, who they are, and where they said it.
ALTER TABLE response ADD COLUMN text TEXT;
ALTER TABLE response ADD COLUMN snooze_minutes INTEGER;
ALTER TABLE response ADD COLUMN user TEXT;
ALTER TABLE response ADD COLUMN channel TEXT;

-- Entries that belong to no reminder are pruned by their age.
CREATE INDEX audit_test ON audit (at) WHERE action = 'channel.test';

-- What nodes tell each other beside what is to come. Whoever may connect may NOTIFY, so a notification only says that there is
-- something to read here, and nobody but the owner can write here. What a crash forgets is no harm.

-- Waits that a platform asked one node for.
create unlogged table punctual.hold (
  channel     text collate "C" not null,
  is_address  boolean not null,
  -- The receiver, or the fingerprint of the address.
  name        text collate "C" not null,
  until       timestamptz not null,
  told_at     timestamptz not null,
  primary key (channel, is_address, name)
);

-- Reminders that a node is about to change, and whose claimed runs it asks the others to give back.
create unlogged table punctual.recall (
  reminder_id uuid primary key,
  asked_at    timestamptz not null
);

revoke all on punctual.hold, punctual.recall from public;

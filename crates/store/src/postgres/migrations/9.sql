-- Calendars: tokens of those we give, and foreign ones that we read.

-- How often the address of a user's calendar was changed; no row: never.
create table punctual.calendar_key (
  user_id text collate "C" primary key,
  generation bigint not null
);

-- Calendars that are read every so often: of a user (its items become events) or of a group (they say who is on duty).
create table punctual.feed (
  kind text collate "C" not null,       -- `user` or `group`
  owner text collate "C" not null,      -- the user or the group
  name text collate "C" not null,       -- what its owner calls it; empty for a group's
  source text not null,                 -- an https URL or a file; it may be a secret
  settings text not null,               -- what is made of its items, as JSON
  every bigint not null,                -- how often it is read, in seconds
  next_at timestamptz,                  -- when it is read next; null: never again, because it is gone
  etag text,
  modified text,
  read_at timestamptz,                  -- when it was last read
  changed_at timestamptz,               -- when it last was another than before
  failures bigint not null default 0,
  vanished bigint not null default 0,   -- how many of its items were gone at the last reading, and are waited for
  problem text,                         -- why it could not be read
  problems text,                        -- what of it could not be read, as a JSON list
  node text,                            -- who reads it now, until `until_at`
  until_at timestamptz,
  created_at timestamptz not null,
  primary key (kind, owner, name)
);
create index feed_next on punctual.feed (next_at) where next_at is not null;

-- Who of a group is on duty when, by the calendar that the group names.
create table punctual.rota_shift (
  group_name text collate "C" not null,
  number bigint not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  user_id text not null,
  primary key (group_name, number)
);

alter table punctual.user_group add column rota text; -- the calendar that says who is on duty; null: everybody in `users`

-- Answers from the platforms: whose an address is, which events were taken, and how far each connection was read.

-- The addresses of `app_user`, by address.
create table punctual.user_address (
  channel text collate "C" not null,
  address text collate "C" not null,
  user_id text collate "C" not null,
  primary key (channel, address, user_id)
);
create index user_address_user on punctual.user_address (user_id);
insert into punctual.user_address (channel, address, user_id)
  select distinct a ->> 'channel', coalesce(a ->> 'address', ''), u.id
  from punctual.app_user u, jsonb_array_elements(u.addresses::jsonb) a;

-- Events that were taken, as long as a copy of them could come. A crash must not forget one, so the table is logged.
create table punctual.seen (
  channel text collate "C" not null,
  id      bytea not null,                  -- the first half of the SHA-256 of the platform's name for it
  until   timestamptz not null,
  primary key (channel, id)
);
create index seen_until on punctual.seen (until);

-- The connections to platforms, each of which one node has at a time. An answer that comes by it moves its place: the row must stay
-- where it is, and the table must not grow.
create table punctual.inbound (
  channel  text collate "C" primary key,
  node     text collate "C" not null,      -- who has it, as long as that node lives
  lease    bigint not null,                -- rises whenever another node takes it
  place    text,                           -- how far it was read
  place_at timestamptz
) with (
  fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0
);

-- What a person who answered calls themselves.
alter table punctual.response add column name text;

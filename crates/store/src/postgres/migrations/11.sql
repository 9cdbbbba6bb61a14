-- Keys: what each may do and by which channels, how often, when it was last used, and the secret before a rotation.

alter table punctual.api_key
  add column scopes     text,        -- such as `read,write`; null: as `write` says, from a version that knows no others
  add column channels   text,        -- the only channels it sends by and sees, as a JSON list; null: all
  add column rate       text,        -- how often it may ask, such as `30/1s`; null: as the server's settings say
  add column prefix     text,        -- the secret's first characters; null: not known
  add column used_at    timestamptz,
  add column old_hash   bytea,       -- of the secret before the last rotation, which works until `old_until`
  add column old_prefix text,
  add column old_until  timestamptz;
create index api_key_old on punctual.api_key (old_hash) where old_hash is not null;

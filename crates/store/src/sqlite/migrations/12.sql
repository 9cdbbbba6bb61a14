-- Keys: what each may do and by which channels, how often, when it was last used, and the secret before a rotation.

ALTER TABLE api_key ADD COLUMN scopes TEXT;      -- such as `read,write`; null: as `write` says, from before there were others
ALTER TABLE api_key ADD COLUMN channels TEXT;    -- the only channels it sends by and sees, as a JSON list; null: all
ALTER TABLE api_key ADD COLUMN rate TEXT;        -- how often it may ask, such as `30/1s`; null: as the server's settings say
ALTER TABLE api_key ADD COLUMN prefix TEXT;      -- the secret's first characters; null: not known
ALTER TABLE api_key ADD COLUMN used_at INTEGER;
ALTER TABLE api_key ADD COLUMN old_hash BLOB;    -- of the secret before the last rotation, which works until `old_until`
ALTER TABLE api_key ADD COLUMN old_prefix TEXT;
ALTER TABLE api_key ADD COLUMN old_until INTEGER;
CREATE INDEX api_key_old ON api_key (old_hash) WHERE old_hash IS NOT NULL;

-- The key of this attempt alone, as its receiver was told.
alter table punctual.attempt add column attempt_key text collate "C";
create unique index attempt_key on punctual.attempt (attempt_key);

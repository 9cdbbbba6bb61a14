-- The key of this attempt alone, as its receiver was told.
ALTER TABLE attempt ADD COLUMN attempt_key TEXT;
CREATE UNIQUE INDEX attempt_key ON attempt (attempt_key);

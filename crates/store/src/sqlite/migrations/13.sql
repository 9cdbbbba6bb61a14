-- What a person means by words that leave something open, such as 5/3 or `tomorrow morning`.
ALTER TABLE user ADD COLUMN habits TEXT;                 -- JSON: each by its name; NULL: none of their own

-- What a person means by words that leave something open, such as 5/3 or `tomorrow morning`.
alter table punctual.app_user add column habits text; -- JSON: each by its name; null: none of their own

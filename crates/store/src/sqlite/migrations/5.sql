-- An attempt's key is made of its run and its number, which are the primary key: nothing looks it up, and it cannot be there twice.
DROP INDEX attempt_key;

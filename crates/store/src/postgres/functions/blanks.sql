-- What Unicode calls white space; with `controls`, also what it calls control characters.
create or replace function punctual.blanks(controls boolean) returns text
language sql stable as $$
  select string_agg(chr(c), '') from (
    select unnest(array[9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201,
      8202, 8232, 8233, 8239, 8287, 12288]) as c
    union select generate_series(1, 31) where controls
    union select generate_series(127, 159) where controls
  ) as code where c < 128 or getdatabaseencoding() = 'UTF8'
$$;

-- Refuses a word that is none of those known; null is no word.
create or replace function punctual.check_word(field text, word text, known text[]) returns void
language plpgsql strict as $$
begin
  if word <> all (known) then
    perform punctual.refuse(field, format('`%s` is not one of %s', word, array_to_string(known, ', ')));
  end if;
end $$;

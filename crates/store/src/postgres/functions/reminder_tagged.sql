-- Keeps punctual.reminder_tag in step with a reminder's tags. It runs as the owner, so that a role that may write the one table needs
-- no rights on the other.
create or replace function punctual.reminder_tagged() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op <> 'INSERT' and old.tags is not null then
    delete from punctual.reminder_tag t
      where t.reminder_id = old.id and t.tag = any (array(select jsonb_array_elements_text(old.tags::jsonb)));
  end if;
  if tg_op <> 'DELETE' and new.tags is not null then
    insert into punctual.reminder_tag (tag, reminder_id, user_id)
      select v, new.id, new.user_id from jsonb_array_elements_text(new.tags::jsonb) as v;
  end if;
  return null;
end $$;

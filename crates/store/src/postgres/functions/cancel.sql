-- Cancels a reminder, of this user if one is named. True when it is cancelled and nothing of it will be sent; false when there
-- is none, or nothing is left to cancel; an error of SQLSTATE 55000 when its send has begun.
create or replace function punctual.cancel(id uuid, user_id text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
  -- By key, whatever the statistics say: postgres/batch.rs tells why.
  set jit = off set enable_seqscan = off set enable_indexscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_custom_plan
as $$
declare
  locked_runs integer[];
  runs integer[];
  begun boolean;
  others uuid[];
  state text;
begin
  for try in 1..20 loop
    begin
      if not exists (select from punctual.reminder r where r.id = cancel.id and r.user_id = coalesce(cancel.user_id, r.user_id)) then
        return false;
      end if;
      -- Occurrences before their reminder, as everybody locks them, so that nobody waits in a circle.
      with open as (
        select o.run from punctual.occurrence o where o.reminder_id = cancel.id and (o.wake_at is not null or o.state = 'paused')
        order by o.run for update
      ) select coalesce(array_agg(open.run), '{}') into locked_runs from open;
      -- Those who were asked in its person's place are asked no more, also where their question is paused.
      others := array(select k.id from punctual.reminder k where k.escalates_id = cancel.id and k.status in ('active', 'paused'));
      with open as (
        select o.reminder_id from punctual.occurrence o
        where o.reminder_id = any (others) and (o.wake_at is not null or o.state = 'paused')
        order by o.reminder_id, o.run for update
      ) select coalesce(array_agg(distinct open.reminder_id), '{}') into others from open;
      select r.status into state from punctual.reminder r where r.id = cancel.id for update;
      select coalesce(array_agg(o.run), '{}'), coalesce(bool_or(o.state = 'processing'), false) into runs, begun
        from punctual.occurrence o where o.reminder_id = cancel.id and (o.wake_at is not null or o.state = 'paused');
      if not runs <@ locked_runs then
        -- A run was planned before the reminder was ours. Both are let go and looked at once more.
        raise exception using errcode = 'PN001', message = 'another run has been planned';
      end if;
      begun := begun or exists (select from punctual.occurrence o where o.reminder_id = any (others) and o.state = 'processing');
      if state is null or state = 'cancelled' or state = 'completed' and runs = '{}' and others = '{}' then
        return false;
      elsif begun then
        raise exception using errcode = '55000', message = 'the send has begun; try again when it has ended',
          detail = format('Reminder %s is being sent.', cancel.id);
      end if;
      perform punctual.end_open(cancel.id, others);
      return true;
    exception when sqlstate 'PN001' then
      null;
    end;
  end loop;
  raise exception using errcode = '40001', message = 'the reminder changes faster than it can be cancelled; try again';
end $$;

-- Writes down what was changed about an event, has a node plan it, and keeps the reminders that it has from being sent before that.
create or replace function punctual.event_changed(key text, data json) returns void
language plpgsql as $$
begin
  with header as (insert into punctual.journal_write (n) values (1) returning write)
  insert into punctual.journal (write, item, at, kind, actor, via, data)
    select header.write, 0, clock_timestamp(), 'event.changed', punctual.actor(), 'sql', json_strip_nulls(event_changed.data)::text
    from header;
  perform punctual.lock_event(key);
  -- Sent once by a transaction, however often it is said.
  perform pg_notify('punctual', 'events');
end $$;

-- An attempt's key is made of its run and its number, which are the primary key: nothing looks it up, and it cannot be there twice.
drop index punctual.attempt_key;

-- The runs that wait for an answer, by the shard of their user: words of somebody with a long history are looked up among what waits, and not
-- among everything that person ever had.
drop index punctual.occurrence_asked;
create index occurrence_asked on punctual.occurrence (shard, reminder_id, run) where reached > 0 and wake_at is not null;

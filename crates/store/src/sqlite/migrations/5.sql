-- An attempt's key is made of its run and its number, which are the primary key: nothing looks it up, and it cannot be there twice.
DROP INDEX attempt_key;

-- The runs that wait for an answer, by the shard of their user: words of somebody with a long history are looked up among what waits, and not
-- among everything that person ever had.
DROP INDEX occurrence_asked;
CREATE INDEX occurrence_asked ON occurrence (shard, reminder_id, run) WHERE reached > 0 AND wake_at IS NOT NULL;

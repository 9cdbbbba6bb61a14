-- How many commits there have been. A file beside the database says how many were answered for; if the database knows of fewer,
-- its write-ahead log was lost.
CREATE TABLE commits (n INTEGER NOT NULL) STRICT;
INSERT INTO commits VALUES (0);

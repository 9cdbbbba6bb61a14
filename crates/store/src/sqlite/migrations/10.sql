-- Calendars: tokens of those we give, and foreign ones that we read.

-- How often the address of a user's calendar was changed; no row: never.
CREATE TABLE calendar_key (
    user_id TEXT PRIMARY KEY NOT NULL,
    generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calendars that are read every so often: of a user (its items become events) or of a group (they say who is on duty).
CREATE TABLE feed (
    kind TEXT NOT NULL,                 -- `user` or `group`
    owner TEXT NOT NULL,                -- the user or the group
    name TEXT NOT NULL,                 -- what its owner calls it; empty for a group's
    source TEXT NOT NULL,               -- an https URL or a file; it may be a secret
    settings TEXT NOT NULL,             -- what is made of its items, as JSON
    every INTEGER NOT NULL,             -- how often it is read, in seconds
    next_at INTEGER,                    -- when it is read next; null: never again, because it is gone
    etag TEXT,
    modified TEXT,
    read_at INTEGER,                    -- when it was last read
    changed_at INTEGER,                 -- when it last was another than before
    failures INTEGER NOT NULL DEFAULT 0,
    vanished INTEGER NOT NULL DEFAULT 0, -- how many of its items were gone at the last reading, and are waited for
    problem TEXT,                       -- why it could not be read
    problems TEXT,                      -- what of it could not be read, as a JSON list
    node TEXT,                          -- who reads it now, until `until_at`
    until_at INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_next ON feed (next_at) WHERE next_at IS NOT NULL;

-- Who of a group is on duty when, by the calendar that the group names.
CREATE TABLE rota_shift (
    group_name TEXT NOT NULL,
    number INTEGER NOT NULL,
    from_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (group_name, number)
) STRICT, WITHOUT ROWID;

ALTER TABLE user_group ADD COLUMN rota TEXT; -- the calendar that says who is on duty; null: everybody in `users`

-- Nothing but the reminder's own addresses is tried.
ALTER TABLE reminder ADD COLUMN only_to INTEGER NOT NULL DEFAULT 0;

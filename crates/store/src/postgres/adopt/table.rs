//! The tables on both sides, column by column.

use jiff::Timestamp;

/// One table: where its columns are read from, and where they are written to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Its name in the file.
    pub(super) name: &'static str,
    /// Its name in the database.
    pub(super) into: &'static str,
    /// Its rows, in the file.
    from: &'static str,
    /// The columns that order its rows there.
    key: &'static str,
    pub(super) columns: &'static [Column],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// An expression in the file. `{now}` stands for the present in microseconds.
    from: &'static str,
    /// The column in the database.
    pub(super) into: &'static str,
    pub(super) kind: Kind,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Uuid,
    Text,
    Small,
    Int,
    Big,
    Bool,
    At,
    Bytes,
}

use Kind::{At, Big, Bool, Bytes, Int, Small, Text, Uuid};

const fn same(name: &'static str, kind: Kind) -> Column {
    Column { from: name, into: name, kind }
}

const fn other(from: &'static str, into: &'static str, kind: Kind) -> Column {
    Column { from, into, kind }
}

pub(super) const REMINDER: Table = Table {
    name: "reminder",
    into: "reminder",
    from: "reminder",
    key: "id",
    columns: &[
        same("id", Uuid),
        same("user_id", Text),
        same("name", Text),
        same("message", Text),
        same("schedule", Text),
        same("timezone", Text),
        same("priority", Small),
        same("route", Text),
        same("only_to", Bool),
        same("ack_timeout", Big),
        same("ack_prompt", Text),
        same("ack_reminders_max", Int),
        same("escalate", Text),
        same("escalates_run", Int),
        same("escalates_id", Uuid),
        same("snooze_allowed", Bool),
        same("retries_max", Int),
        same("misfire", Text),
        same("misfire_within", Big),
        same("on_unknown", Text),
        same("created_via", Text),
        same("original_text", Text),
        same("metadata", Text),
        same("status", Text),
        same("created_at", At),
        same("updated_at", At),
        same("last_run", Int),
        same("carried_by", Int),
        same("planned", Big),
        same("last_run_at", At),
        same("last_status", Text),
        same("total_runs", Int),
        same("consecutive_errors", Int),
        same("tags", Text),
        same("event", Text),
    ],
};

/// No node has a lease in the new database: a run that was leased in the old one is looked at now.
pub(super) const OCCURRENCE: Table = Table {
    name: "occurrence",
    into: "occurrence",
    from: "occurrence",
    key: "reminder_id",
    columns: &[
        same("reminder_id", Uuid),
        same("run", Int),
        same("due_at", At),
        same("made_for", At),
        same("own_at", At),
        same("escalation", Text),
        same("escalate_at", At),
        other("CASE WHEN node IS NULL THEN wake_at ELSE min(wake_at, {now}) END", "wake_at", At),
        same("at", At),
        same("lease", Big),
        same("refused", Big),
        same("attempts", Int),
        same("rounds", Int),
        same("position", Int),
        same("asks", Int),
        same("reached", Int),
        same("at_once", Bool),
        same("priority", Small),
        same("shard", Small),
        same("readdressed", Bool),
        same("state", Text),
        same("waits_for", Text),
        same("node", Text),
        same("channel", Text),
        same("address", Text),
        same("message_id", Text),
        same("asked", Text),
        same("error", Text),
    ],
};

pub(super) const ATTEMPT: Table = Table {
    name: "attempt",
    into: "attempt",
    from: "attempt",
    key: "reminder_id",
    columns: &[
        same("reminder_id", Uuid),
        same("run", Int),
        same("number", Int),
        same("channel", Text),
        same("address", Text),
        same("status", Text),
        same("started_at", At),
        same("ended_at", At),
        same("error", Text),
        same("message_id", Text),
        same("key", Text),
        same("attempt_key", Text),
    ],
};

pub(super) const RESPONSE: Table = Table {
    name: "response",
    into: "response",
    from: "response",
    key: "number",
    columns: &[
        same("reminder_id", Uuid),
        same("run", Int),
        same("kind", Text),
        same("at", At),
        same("actor", Text),
        same("until", At),
        same("snooze_minutes", Int),
        same("user_id", Text),
        same("text", Text),
        same("channel", Text),
        same("name", Text),
    ],
};

pub(super) const JOURNAL: Table = Table {
    name: "journal",
    into: "journal",
    from: "journal",
    key: "number",
    columns: &[
        same("at", At),
        same("kind", Text),
        same("reminder_id", Uuid),
        same("run", Int),
        same("user_id", Text),
        same("actor", Text),
        same("via", Text),
        same("data", Text),
    ],
};

pub(super) const USER: Table = Table {
    name: "user",
    into: "app_user",
    from: "user",
    key: "id",
    columns: &[
        same("id", Text),
        same("timezone", Text),
        same("language", Text),
        same("addresses", Text),
        same("quiet_from", Text),
        same("quiet_to", Text),
        same("quiet_except", Text),
        same("quiet_digest", Bool),
        same("paused_until", At),
        same("escalate", Text),
        same("habits", Text),
        same("admin", Bool),
        same("created_at", At),
        same("updated_at", At),
    ],
};

pub(super) const GROUP: Table = Table {
    name: "user_group",
    into: "user_group",
    from: "user_group",
    key: "name",
    columns: &[
        same("name", Text),
        same("mode", Text),
        same("users", Text),
        same("rota", Text),
        same("created_at", At),
        same("updated_at", At),
    ],
};

pub(super) const CALENDAR_KEY: Table = Table {
    name: "calendar_key",
    into: "calendar_key",
    from: "calendar_key",
    key: "user_id",
    columns: &[same("user_id", Text), same("generation", Big)],
};

pub(super) const FEED: Table = Table {
    name: "feed",
    into: "feed",
    from: "feed",
    key: "kind || char(1) || owner || char(1) || name",
    columns: &[
        same("kind", Text),
        same("owner", Text),
        same("name", Text),
        same("source", Text),
        same("settings", Text),
        same("every", Big),
        same("next_at", At),
        same("etag", Text),
        same("modified", Text),
        same("read_at", At),
        same("changed_at", At),
        same("failures", Big),
        same("vanished", Big),
        same("problem", Text),
        same("problems", Text),
        same("node", Text),
        same("until_at", At),
        same("created_at", At),
    ],
};

pub(super) const SHIFT: Table = Table {
    name: "rota_shift",
    into: "rota_shift",
    from: "rota_shift",
    key: "group_name || char(1) || printf('%09d', number)",
    columns: &[
        same("group_name", Text),
        same("number", Big),
        same("from_at", At),
        same("until_at", At),
        same("user_id", Text),
    ],
};

pub(super) const SILENCE: Table = Table {
    name: "silence",
    into: "silence",
    from: "silence",
    key: "id",
    columns: &[
        same("id", Uuid),
        same("user_id", Text),
        same("group_name", Text),
        same("tag", Text),
        same("from_at", At),
        same("until_at", At),
        same("created_at", At),
        same("created_by", Text),
    ],
};

pub(super) const DEAD_ADDRESS: Table = Table {
    name: "dead_address",
    into: "dead_address",
    from: "dead_address",
    key: "channel || char(1) || address",
    columns: &[same("channel", Text), same("address", Text), same("since", At), same("reason", Text)],
};

pub(super) const KEY: Table = Table {
    name: "api_key",
    into: "api_key",
    from: "api_key",
    key: "id",
    columns: &[
        same("id", Text),
        same("name", Text),
        same("hash", Bytes),
        other("user", "user_id", Text),
        same("write", Bool),
        same("expires_at", At),
        same("created_at", At),
        same("scopes", Text),
        same("channels", Text),
        same("rate", Text),
        same("prefix", Text),
        same("used_at", At),
        same("old_hash", Bytes),
        same("old_prefix", Text),
        same("old_until", At),
    ],
};

/// A session that was ended stays ended, wherever its server keeps its things.
pub(super) const SESSION_END: Table = Table {
    name: "session_end",
    into: "session_end",
    from: "session_end",
    key: "name",
    columns: &[same("name", Text), same("at", At)],
};

pub(super) const ANSWERED: Table = Table {
    name: "answered",
    into: "answered",
    from: "answered",
    key: "key",
    columns: &[same("key", Text), same("request", Bytes), same("status", Small), same("body", Text), same("at", At)],
};

pub(super) const SEEN: Table = Table {
    name: "seen",
    into: "seen",
    from: "seen",
    key: "channel || char(1) || hex(id)",
    columns: &[same("channel", Text), same("id", Bytes), same("until", At)],
};

pub(super) const SCOPE: Table = Table {
    name: "scope",
    into: "scope",
    from: "scope",
    key: "path",
    columns: &[same("path", Text), same("offsets", Text), same("updated_at", At)],
};

pub(super) const EVENT: Table = Table {
    name: "event",
    into: "event",
    from: "event",
    key: "key",
    columns: &[
        same("key", Text),
        same("starts_at", At),
        same("ends_at", At),
        same("repeats", Text),
        same("offsets", Text),
        same("scope", Text),
        same("users", Text),
        same("groups", Text),
        same("message", Text),
        same("name", Text),
        same("timezone", Text),
        same("priority", Small),
        same("route", Text),
        same("only_to", Bool),
        same("ack_timeout", Big),
        same("ack_prompt", Text),
        same("ack_reminders_max", Int),
        same("escalate", Text),
        same("snooze_allowed", Bool),
        same("retries_max", Int),
        same("misfire", Text),
        same("misfire_within", Big),
        same("on_unknown", Text),
        same("metadata", Text),
        same("tags", Text),
        same("source", Text),
        same("created_at", At),
        same("updated_at", At),
        same("removed", Bool),
        same("planned", Bool),
        same("plan_at", At),
        same("asked_at", At),
        same("planned_until", At),
        same("error", Text),
    ],
};

pub(super) const EVENT_REMINDER: Table = Table {
    name: "event_reminder",
    into: "event_reminder",
    from: "event_reminder",
    key: "event_key || char(1) || instance || char(1) || offset_word || char(1) || user_id",
    columns: &[
        same("event_key", Text),
        same("instance", Text),
        same("offset_word", Text),
        same("user_id", Text),
        same("due_at", At),
        same("reminder_id", Uuid),
    ],
};

pub(super) const WATCH: Table = Table {
    name: "watch",
    into: "watch",
    from: "watch",
    key: "name",
    columns: &[
        same("name", Text),
        same("hash", Text),
        same("definition", Text),
        same("defined_at", At),
        same("next_at", At),
    ],
};

/// No node has a run in the new database: one that was going is gone on with.
pub(super) const WATCH_RUN: Table = Table {
    name: "watch_run",
    into: "watch_run",
    from: "watch_run",
    key: "id",
    columns: &[
        same("id", Uuid),
        same("watch", Text),
        same("started_at", At),
        same("ended_at", At),
        same("asked", Bool),
        same("state", Text),
        same("node", Text),
        same("place", Text),
        same("seen", Big),
        same("sent", Big),
        same("skipped", Big),
        same("failed", Big),
        same("retried", Big),
        same("error", Text),
        same("lease", Big),
    ],
};

pub(super) const WATCH_INTENT: Table = Table {
    name: "watch_intent",
    into: "watch_intent",
    from: "watch_intent",
    key: "watch || char(1) || key",
    columns: &[
        same("watch", Text),
        same("key", Text),
        same("reminder_id", Uuid),
        same("user_id", Text),
        same("intent", Text),
        same("run", Uuid),
        same("made_at", At),
    ],
};

pub(super) const WATCH_BAD: Table = Table {
    name: "watch_bad",
    into: "watch_bad",
    from: "watch_bad",
    key: "hex(run) || char(1) || printf('%020d', number)",
    columns: &[same("run", Uuid), same("number", Big), same("key", Text), same("field", Text), same("problem", Text)],
};

pub(super) const WATCH_LEDGER: Table = Table {
    name: "watch_ledger",
    into: "watch_ledger",
    from: "watch_ledger",
    key: "watch || char(1) || key",
    columns: &[same("watch", Text), same("key", Text), same("due_at", At), same("n", Int), same("sent_at", At)],
};

impl Table {
    fn expressions(&self) -> String {
        self.columns.iter().map(|column| column.from).collect::<Vec<_>>().join(", ")
    }

    /// Reads a page in the order of the key, which is the last column.
    pub(super) fn page(&self, has_after: bool) -> String {
        let (key, from, columns) = (self.key, self.from, self.expressions());
        let wheres = if has_after { format!("{key} > ?1") } else { "?1 IS NULL".to_owned() };
        format!("SELECT {columns}, {key} FROM {from} WHERE {wheres} ORDER BY {key} LIMIT ?2")
    }

    /// Reads everything of the reminders between two.
    pub(super) fn select(&self, now: Timestamp) -> String {
        let columns = self.expressions().replace("{now}", &now.as_microsecond().to_string());
        let order = if self.key == "number" { "number" } else { "reminder_id, run" };
        format!("SELECT {columns} FROM {} WHERE reminder_id BETWEEN ?1 AND ?2 ORDER BY {order}", self.from)
    }

    /// Writes what is not there.
    pub(super) fn insert(&self) -> String {
        let names = self.columns.iter().map(|column| column.into).collect::<Vec<_>>().join(", ");
        let holes = (1..=self.columns.len()).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
        format!(
            "insert into punctual.{} ({names}) select {names} from unnest({holes}) with ordinality as v ({names}, place) \
             order by place on conflict do nothing",
            self.into
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column that is added to the file's tables must be copied, or be named here with the reason why not.
    #[test]
    fn every_column_of_the_file_is_copied() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        db.execute_batch(&crate::sqlite::all_versions()).unwrap();
        let mut tables = db
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
            .unwrap();
        let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        // Tags are made from the reminders and addresses from the users; connections to platforms are opened anew; a duty's position means
        // nothing in another database, nor does the number of an hour's first entry, nor how late another database's nodes were.
        let not_copied =
            ["probe", "commits", "reminder_tag", "user_address", "inbound", "duty", "journal_hour", "lateness"];
        // The index by which reminders are found is made anew.
        let is_searched = |name: &str| name.starts_with("search");
        for name in tables.iter().filter(|name| !not_copied.contains(&name.as_str()) && !is_searched(name)) {
            let table = super::super::TABLES.iter().find(|table| table.name == name);
            let table = table.unwrap_or_else(|| panic!("{name} is not copied"));
            let mut columns = Vec::new();
            db.pragma(None, "table_info", name, |row| {
                columns.push(row.get::<_, String>("name")?);
                Ok(())
            })
            .unwrap();
            // Numbers are given out anew.
            columns.retain(|column| !(column == "number" && table.key == "number"));
            for column in columns {
                let is_copied = |copied: &Column| {
                    copied.from.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == column)
                };
                assert!(table.columns.iter().any(is_copied), "{name}.{column} is not copied");
            }
        }
    }
}

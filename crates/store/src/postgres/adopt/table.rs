//! The tables on both sides, column by column.

use jiff::Timestamp;

use crate::{columns, watch};

/// One table: where its columns are read from, and where they are written to.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name in the file.
    pub(super) name: &'static str,
    /// Its name in the database.
    pub(super) into: &'static str,
    /// Its rows, in the file.
    from: &'static str,
    /// The columns that order its rows there.
    key: &'static str,
    pub(super) columns: fn() -> Vec<Column>,
}

#[derive(Debug)]
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

fn same(name: &'static str, kind: Kind) -> Column {
    Column { from: name, into: name, kind }
}

/// The columns that a decision writes: those are called alike in the file and in the database.
fn all_of<T>(table: &columns::Table<T>) -> Vec<Column> {
    let kind = |kind| match kind {
        columns::Kind::Id => Uuid,
        columns::Kind::Small => Small,
        columns::Kind::Int => Int,
        columns::Kind::Big => Big,
        columns::Kind::Flag => Bool,
        columns::Kind::Text => Text,
        columns::Kind::At => At,
    };
    table.columns.iter().map(|column| same(column.name, kind(column.kind))).collect()
}

pub(super) const REMINDER: Table = Table {
    name: "reminder",
    into: "reminder",
    from: "reminder",
    key: "id",
    columns: || all_of(&columns::KEPT_REMINDER),
};

/// No node has a lease in the new database: a run that was leased in the old one is looked at now.
pub(super) const OCCURRENCE: Table = Table {
    name: "occurrence",
    into: "occurrence",
    from: "occurrence",
    key: "reminder_id",
    columns: || {
        let mut columns = all_of(&columns::KEPT_RUN);
        let wake_at = "CASE WHEN node IS NULL THEN wake_at ELSE min(wake_at, {now}) END";
        columns.iter_mut().filter(|column| column.into == "wake_at").for_each(|column| column.from = wake_at);
        columns
    },
};

pub(super) const ATTEMPT: Table = Table {
    name: "attempt",
    into: "attempt",
    from: "attempt",
    key: "reminder_id",
    columns: || all_of(&columns::ATTEMPT),
};

pub(super) const RESPONSE: Table = Table {
    name: "response",
    into: "response",
    from: "response",
    key: "number",
    columns: || all_of(&columns::RESPONSE),
};

pub(super) const JOURNAL: Table =
    Table { name: "journal", into: "journal", from: "journal", key: "number", columns: || all_of(&columns::ENTRY) };

pub(super) const USER: Table =
    Table { name: "user", into: "app_user", from: "user", key: "id", columns: || all_of(&columns::USER) };

pub(super) const GROUP: Table = Table {
    name: "user_group",
    into: "user_group",
    from: "user_group",
    key: "name",
    columns: || all_of(&columns::GROUP),
};

pub(super) const CALENDAR_KEY: Table = Table {
    name: "calendar_key",
    into: "calendar_key",
    from: "calendar_key",
    key: "user_id",
    columns: || vec![same("user_id", Text), same("generation", Big)],
};

pub(super) const FEED: Table = Table {
    name: "feed",
    into: "feed",
    from: "feed",
    key: "kind || char(1) || owner || char(1) || name",
    columns: || {
        vec![
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
        ]
    },
};

pub(super) const SHIFT: Table = Table {
    name: "rota_shift",
    into: "rota_shift",
    from: "rota_shift",
    key: "group_name || char(1) || printf('%09d', number)",
    columns: || {
        vec![
            same("group_name", Text),
            same("number", Big),
            same("from_at", At),
            same("until_at", At),
            same("user_id", Text),
        ]
    },
};

pub(super) const SILENCE: Table =
    Table { name: "silence", into: "silence", from: "silence", key: "id", columns: || all_of(&columns::SILENCE) };

pub(super) const DEAD_ADDRESS: Table = Table {
    name: "dead_address",
    into: "dead_address",
    from: "dead_address",
    key: "channel || char(1) || address",
    columns: || all_of(&columns::DEAD_ADDRESS),
};

pub(super) const KEY: Table = Table {
    name: "api_key",
    into: "api_key",
    from: "api_key",
    key: "id",
    columns: || {
        vec![
            same("id", Text),
            same("name", Text),
            same("hash", Bytes),
            Column { from: "user", into: "user_id", kind: Text },
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
        ]
    },
};

/// A session that was ended stays ended, wherever its server keeps its things.
pub(super) const SESSION_END: Table = Table {
    name: "session_end",
    into: "session_end",
    from: "session_end",
    key: "name",
    columns: || vec![same("name", Text), same("at", At)],
};

pub(super) const ANSWERED: Table = Table {
    name: "answered",
    into: "answered",
    from: "answered",
    key: "key",
    columns: || {
        vec![same("key", Text), same("request", Bytes), same("status", Small), same("body", Text), same("at", At)]
    },
};

pub(super) const SEEN: Table = Table {
    name: "seen",
    into: "seen",
    from: "seen",
    key: "channel || char(1) || hex(id)",
    columns: || vec![same("channel", Text), same("id", Bytes), same("until", At)],
};

pub(super) const SCOPE: Table =
    Table { name: "scope", into: "scope", from: "scope", key: "path", columns: || all_of(&columns::SCOPE) };

pub(super) const EVENT: Table =
    Table { name: "event", into: "event", from: "event", key: "key", columns: || all_of(&columns::EVENT) };

pub(super) const EVENT_REMINDER: Table = Table {
    name: "event_reminder",
    into: "event_reminder",
    from: "event_reminder",
    key: "event_key || char(1) || instance || char(1) || offset_word || char(1) || user_id",
    columns: || all_of(&columns::LINK),
};

pub(super) const WATCH: Table = Table {
    name: "watch",
    into: "watch",
    from: "watch",
    key: "name",
    columns: || {
        vec![
            same("name", Text),
            same("hash", Text),
            same("definition", Text),
            same("defined_at", At),
            same("next_at", At),
        ]
    },
};

/// No node has a run in the new database: one that was going is gone on with.
pub(super) const WATCH_RUN: Table =
    Table { name: "watch_run", into: "watch_run", from: "watch_run", key: "id", columns: || all_of(&watch::RUN) };

pub(super) const WATCH_INTENT: Table = Table {
    name: "watch_intent",
    into: "watch_intent",
    from: "watch_intent",
    key: "watch || char(1) || key",
    columns: || {
        vec![
            same("watch", Text),
            same("key", Text),
            same("reminder_id", Uuid),
            same("user_id", Text),
            same("intent", Text),
            same("run", Uuid),
            same("made_at", At),
        ]
    },
};

pub(super) const WATCH_BAD: Table = Table {
    name: "watch_bad",
    into: "watch_bad",
    from: "watch_bad",
    key: "hex(run) || char(1) || printf('%020d', number)",
    columns: || {
        vec![same("run", Uuid), same("number", Big), same("key", Text), same("field", Text), same("problem", Text)]
    },
};

pub(super) const WATCH_LEDGER: Table = Table {
    name: "watch_ledger",
    into: "watch_ledger",
    from: "watch_ledger",
    key: "watch || char(1) || key",
    columns: || all_of(&watch::LEDGER),
};

impl Table {
    fn expressions(&self) -> String {
        (self.columns)().iter().map(|column| column.from).collect::<Vec<_>>().join(", ")
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
        let columns = (self.columns)();
        let names = columns.iter().map(|column| column.into).collect::<Vec<_>>().join(", ");
        let holes = (1..=columns.len()).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
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
                assert!((table.columns)().iter().any(is_copied), "{name}.{column} is not copied");
            }
        }
    }
}

//! `punctual import`: other systems' tables, as they define them, in a real PostgreSQL and in SQLite.

mod bad_sources;
mod damaged;
mod kinds;
mod lines;
mod own;
mod v2_reminders;

use std::path::PathBuf;

use punctual_testkit::servers::Postgres;

use crate::common::Home;

/// Another system's database.
pub(crate) enum There {
    Postgres(Box<Postgres>, String),
    Sqlite(PathBuf),
}

impl There {
    /// One of each kind that can be had here.
    pub(crate) fn each(home: &Home) -> Vec<Self> {
        let mut each = vec![Self::Sqlite(home.path().join("bot.db"))];
        if let Some(server) = Postgres::start() {
            server.sql("postgres", "create database bot");
            each.push(Self::Postgres(Box::new(server), "bot".into()));
        }
        each
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Postgres(server, database) => server.url(database),
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
        }
    }

    /// Runs SQL that both understand; `{now}` is an expression for the present in UTC plus what stands in `{+3600}`.
    pub(crate) fn sql(&self, sql: &str) {
        match self {
            Self::Postgres(server, database) => {
                server.sql(database, &with_instants(sql, |seconds| format!("(now() + interval '{seconds} seconds')")));
            }
            Self::Sqlite(path) => {
                let sql = with_instants(sql, |seconds| format!("datetime('now', '{seconds:+} seconds')"));
                rusqlite::Connection::open(path).unwrap().execute_batch(&sql).unwrap();
            }
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(..))
    }

    /// Everything in a table, to see that nothing has changed.
    pub(crate) fn dump(&self, table: &str) -> String {
        match self {
            Self::Postgres(server, database) => server.sql(database, &format!("select * from {table} order by 1")),
            Self::Sqlite(path) => {
                let db = rusqlite::Connection::open(path).unwrap();
                let mut statement = db.prepare(&format!("select * from {table} order by 1")).unwrap();
                let n = statement.column_count();
                let rows = statement.query_map([], |row| {
                    let values = (0..n).map(|index| format!("{:?}", row.get_ref(index).unwrap()));
                    Ok(values.collect::<Vec<_>>().join("|"))
                });
                rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// `{+60}` in SQL is a minute from now, `{-60}` a minute ago.
fn with_instants(sql: &str, instant: impl Fn(i64) -> String) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('{') {
        let (seconds, after) = after.split_once('}').unwrap();
        out.push_str(before);
        out.push_str(&instant(seconds.parse().unwrap()));
        rest = after;
    }
    out + rest
}

/// The table of a chat bot, as it defines it.
pub(crate) fn v2_reminders(there: &There) {
    let (id, instant) = match there.is_postgres() {
        true => ("serial primary key", "timestamp with time zone"),
        false => ("integer primary key autoincrement", "timestamp"),
    };
    there.sql(&format!(
        "create table v2_reminders (id {id}, user_id varchar not null, channel_id varchar not null, \
         character_name varchar not null, content text not null, deliver_at {instant} not null, \
         status varchar default 'pending', created_at {instant} default current_timestamp)"
    ));
}

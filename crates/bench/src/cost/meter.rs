//! The counters of a database and of this process, read before and after.

use std::path::Path;

use anyhow::{Context, anyhow};
use jiff::SignedDuration;
use punctual_engine::machine;
use punctual_store::postgres::Session;
use punctual_store::sqlite::SqliteStore;
use rusqlite::OpenFlags;

use crate::proc::{self, Stat};

/// The threads of this process that work for SQLite, by their names.
const SQLITE_THREADS: [&str; 3] = ["writer", "checkpoint", "reader"];
/// The one of them that writes the log.
const SQLITE_WRITER: &str = "writer";

/// The counters at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) commits: u64,
    pub(super) updates: u64,
    pub(super) inserts: u64,
    pub(super) log_bytes: Option<u64>,
    pub(super) database: Option<SignedDuration>,
    pub(super) node: Option<SignedDuration>,
}

impl Reading {
    /// The counts since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let span = |now: Option<SignedDuration>, then: Option<SignedDuration>| Some(now? - then?);
        Self {
            commits: self.commits.saturating_sub(before.commits),
            updates: self.updates.saturating_sub(before.updates),
            inserts: self.inserts.saturating_sub(before.inserts),
            log_bytes: self.log_bytes.zip(before.log_bytes).map(|(now, then)| now.saturating_sub(then)),
            database: span(self.database, before.database),
            node: span(self.node, before.node),
        }
    }
}

/// Reads the counters of one database.
pub(super) enum Meter {
    /// SQLite works on threads of this process.
    Sqlite { store: std::sync::Arc<SqliteStore>, reader: rusqlite::Connection },
    /// PostgreSQL is a server, perhaps on this machine.
    Postgres { session: Session, server: anyhow::Result<Server> },
}

impl Meter {
    pub(super) fn of_sqlite(store: std::sync::Arc<SqliteStore>, file: &Path) -> anyhow::Result<Self> {
        let reader = rusqlite::Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(Self::Sqlite { store, reader })
    }

    pub(super) async fn of_postgres(url: &str) -> anyhow::Result<Self> {
        let session = Session::open(url, &machine()).await?;
        let [pid, database] = fields(&session, "pg_backend_pid(), current_database()").await?;
        let server =
            pid.parse().context("the server has a strange process number").and_then(|pid| Server::of(pid, &database));
        Ok(Self::Postgres { session, server })
    }

    /// The database's name and version.
    pub(super) async fn database(&self) -> anyhow::Result<String> {
        match self {
            Self::Sqlite { .. } => Ok(format!("SQLite {}", punctual_store::sqlite::version())),
            Self::Postgres { session, .. } => {
                let [version] = fields(session, "split_part(current_setting('server_version'), ' ', 1)").await?;
                Ok(format!("PostgreSQL {version}"))
            }
        }
    }

    /// Why the database's processor time is not known, if it is not.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Postgres { server: Err(problem), .. } => Some(format!("{problem:#}")),
            Self::Sqlite { .. } | Self::Postgres { .. } => None,
        }
    }

    pub(super) async fn read(&self) -> anyhow::Result<Reading> {
        let node = Stat::read(Path::new("/proc/self")).ok().map(Stat::cpu);
        match self {
            Self::Sqlite { store, reader } => {
                let (threads, changes) = (Threads::read().ok(), store.n_changes());
                let (commits, inserts) = rows(reader)?;
                let database = threads.map(|threads| threads.cpu);
                Ok(Reading {
                    commits,
                    // No row is deleted while this runs, so a row that is not new was changed.
                    updates: changes.saturating_sub(inserts),
                    inserts,
                    log_bytes: threads.map(|threads| threads.written),
                    database,
                    node: node.zip(database).map(|(all, database)| all - database),
                })
            }
            Self::Postgres { session, server } => {
                let [commits, updates, inserts, log] = fields(
                    session,
                    "xact_commit, tup_updated, tup_inserted, pg_current_wal_insert_lsn() - '0/0' \
                     from pg_stat_database where datname = current_database()",
                )
                .await?;
                Ok(Reading {
                    commits: commits.parse()?,
                    updates: updates.parse()?,
                    inserts: inserts.parse()?,
                    log_bytes: Some(log.parse()?),
                    database: server.as_ref().ok().map(Server::cpu).transpose()?,
                    node,
                })
            }
        }
    }
}

/// How many commits the file knows of, and how many rows it has.
fn rows(reader: &rusqlite::Connection) -> anyhow::Result<(u64, u64)> {
    let mut tables = reader.prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let counts: Vec<String> = tables.iter().map(|table| format!("(SELECT count(*) FROM \"{table}\")")).collect();
    let sql = format!("SELECT (SELECT n FROM commits), {}", counts.join(" + "));
    Ok(reader.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Some values that a session asks for in one row.
async fn fields<const N: usize>(session: &Session, values: &str) -> anyhow::Result<[String; N]> {
    let (values, from) =
        values.split_once(" from ").map_or((values, String::new()), |(values, from)| (values, format!(" from {from}")));
    let rows = session.texts(&format!("select concat_ws(' ', {values}){from}")).await?;
    let row = rows.first().context("the server did not say")?;
    let found: Vec<String> = row.split(' ').map(str::to_owned).collect();
    found.try_into().map_err(|found| anyhow!("the server said something else: {found:?}"))
}

/// SQLite's threads in this process.
#[derive(Debug, Clone, Copy)]
struct Threads {
    cpu: SignedDuration,
    /// By the one that writes the log.
    written: u64,
}

impl Threads {
    fn read() -> anyhow::Result<Self> {
        let mut sum = Self { cpu: SignedDuration::ZERO, written: 0 };
        for entry in std::fs::read_dir("/proc/self/task")? {
            let dir = entry?.path();
            // A thread that has ended meanwhile has no name.
            let name = std::fs::read_to_string(dir.join("comm")).unwrap_or_default();
            if SQLITE_THREADS.contains(&name.trim()) {
                sum.cpu += Stat::read(&dir)?.cpu();
            }
            if name.trim() == SQLITE_WRITER {
                sum.written += proc::written(&dir)?;
            }
        }
        Ok(sum)
    }
}

/// The processes of a PostgreSQL server on this machine.
pub(super) struct Server {
    /// The first of them, which has started all others.
    first: u32,
}

impl Server {
    /// The server that the session with process `pid` belongs to. Fails where it runs on another machine, or in a container that
    /// counts its processes by itself.
    fn of(pid: u32, database: &str) -> anyhow::Result<Self> {
        let dir = format!("/proc/{pid}");
        let title = std::fs::read_to_string(format!("{dir}/cmdline")).unwrap_or_default();
        // A session's process calls itself `postgres: USER DATABASE CLIENT STATE`.
        if !title.starts_with("postgres: ") || !title.split([' ', '\0']).any(|word| word == database) {
            return Err(anyhow!("the server does not run on this machine, or its processes cannot be seen"));
        }
        Ok(Self { first: Stat::read(Path::new(&dir))?.parent })
    }

    /// The processor time of all its processes, ended ones included.
    fn cpu(&self) -> anyhow::Result<SignedDuration> {
        let mut sum = Stat::read(Path::new(&format!("/proc/{}", self.first)))?.cpu_with_children();
        for entry in std::fs::read_dir("/proc")? {
            // An entry that is no process, or has ended meanwhile, has no such file.
            if let Ok(stat) = Stat::read(&entry?.path())
                && stat.parent == self.first
            {
                sum += stat.cpu();
            }
        }
        Ok(sum)
    }
}

//! The schema inside the binary: `schema.sql` for a new database, and `migrations/2.sql` and so on for each version after it.
//!
//! Nodes of two versions share one database while they are replaced one by one. So a version only adds: a column has a default,
//! nothing is renamed, and a column that no version uses any more is dropped a version later. A node refuses a schema that is
//! newer than the last version it knows only when it starts.

use punctual_core::store::StoreError;

use super::fault::Fault;
use super::functions::{self, Instead, Todo};
use super::open::OpenError;
use super::pool::{Connection, Pool, Urgency};
use super::row::get;

/// Each version's SQL; `punctual.migration` says which have been done. A version that has been released never changes: the next
/// one adds to it.
const VERSIONS: &[&str] = &[include_str!("schema.sql")];
/// The lock by which nodes that start at once take turns. Only a role with rights on the table can take it, and reading goes on meanwhile; an
/// advisory lock could be taken, and kept, by any role that may connect.
const LOCK: &str = "lock table punctual.migration in share row exclusive mode";
/// No role gets a right by itself, also on tables that a later version makes.
const CLOSE: &str = "revoke all on all tables in schema punctual from public";
/// How often the schema is looked for again when another node has just made it.
const TRIES_MAX: usize = 20;
/// The oldest server that is supported: 14.
const SERVER_MIN: i32 = 140_000;

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrateReport {
    /// The version before; 0 is a new database.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// The latest schema version this program knows.
pub(super) fn known() -> u32 {
    VERSIONS.len() as u32
}

/// Brings the database up to date, or refuses it untouched.
pub(super) async fn up(pool: &Pool) -> Result<MigrateReport, OpenError> {
    let db = pool.get(Urgency::Patient).await.map_err(|fault| OpenError::of(pool.url(), fault))?;
    let result = step_up(&db).await;
    match db.end(result).await {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(refused)) => Err(refused.at(pool.url())),
        Err((fault, _)) => Err(OpenError::of(pool.url(), fault)),
    }
}

/// Why a database is not touched.
pub(super) enum Refused {
    TooNew(u32),
    Unreleased,
    ServerTooOld(String),
}

impl Refused {
    fn at(self, url: &super::url::Url) -> OpenError {
        let url = url.to_string();
        match self {
            Self::TooNew(found) => OpenError::TooNew { url, found, known: known() },
            Self::Unreleased => OpenError::Refused {
                url,
                why: "a punctual from before the first release made its schema; drop it, or use another database"
                    .into(),
            },
            Self::ServerTooOld(found) => OpenError::ServerTooOld { url, found },
        }
    }
}

async fn step_up(db: &Connection<'_>) -> Result<Result<MigrateReport, Refused>, Fault> {
    let server = server(db).await?;
    if server.number < SERVER_MIN {
        return Ok(Err(Refused::ServerTooOld(server.name)));
    }
    // Looked at before anything is locked: a role that may only use the tables can start once they are there.
    let found = version(db).await?;
    if found > 0 && is_unreleased(db).await? {
        return Ok(Err(Refused::Unreleased));
    }
    if found > known() {
        return Ok(Err(Refused::TooNew(found)));
    }
    if found == known() && !must_put(db).await? {
        return Ok(Ok(MigrateReport { from: found, to: found }));
    }
    lock_schema(db).await?;
    // The node that had the lock before may have done it all. The table is read, not looked for: this session may still believe that
    // there is no such schema.
    let from = recorded(db).await?;
    if from > known() {
        db.rollback().await?;
        return Ok(Err(Refused::TooNew(from)));
    }
    for (index, sql) in VERSIONS.iter().enumerate().skip(from as usize) {
        db.batch(&format!("{sql}; insert into punctual.migration (version) values ({})", index + 1)).await?;
    }
    db.batch(CLOSE).await?;
    let todo = functions::todo(db).await?;
    if let Todo::Put(_) = todo {
        functions::put(db).await?;
    }
    db.commit().await?;
    match todo {
        Todo::Put(Instead::Older) => tracing::info!("the SQL functions of an older punctual were replaced"),
        Todo::Put(Instead::OtherBuild) => tracing::warn!(
            "the SQL functions of another build of this version were replaced; a node of that build calls these now"
        ),
        Todo::Put(Instead::Nothing) | Todo::Nothing | Todo::Leave => {}
    }
    Ok(Ok(MigrateReport { from, to: known() }))
}

/// Whether the functions need this program's text, and this role may put it in place.
async fn must_put(db: &Connection<'_>) -> Result<bool, Fault> {
    let todo = functions::todo(db).await?;
    if todo == Todo::Leave {
        tracing::warn!("the SQL functions are those of a newer punctual; they stay as they are");
    }
    let Todo::Put(_) = todo else { return Ok(false) };
    let may_put = functions::may_put(db).await?;
    if !may_put {
        tracing::warn!(
            "the SQL functions are those of another punctual; the schema's owner can run `punctual migrate`"
        );
    }
    Ok(may_put)
}

/// Begins a transaction that no other node's migration can run beside, with the schema made if there is none.
async fn lock_schema(db: &Connection<'_>) -> Result<(), Fault> {
    let make = "create schema if not exists punctual; create table if not exists punctual.migration \
                (version integer primary key, at timestamptz not null default now())";
    for n_tried in 1.. {
        db.begin("begin; set local lock_timeout = '30s'").await?;
        match db.batch(&format!("{make}; {LOCK}")).await {
            Ok(()) => break,
            // Another node made it at the same moment; `if not exists` does not see that.
            Err(Fault::RolledBack(_)) if n_tried < TRIES_MAX => db.rollback().await?,
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// What the server calls itself.
pub(super) struct Server {
    pub(super) number: i32,
    pub(super) name: String,
}

pub(super) async fn server(db: &Connection<'_>) -> Result<Server, Fault> {
    let sql = "select current_setting('server_version_num')::int, current_setting('server_version')";
    let rows = db.rows(sql, &[]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Broken("the server does not say its version".into()))?;
    Ok(Server { number: get(row, 0)?, name: get(row, 1)? })
}

/// The schema's version; 0 when there is none.
pub(super) async fn version(db: &Connection<'_>) -> Result<u32, Fault> {
    if !has_table(db, "migration").await? {
        return Ok(0);
    }
    recorded(db).await
}

async fn has_table(db: &Connection<'_>, name: &str) -> Result<bool, Fault> {
    let rows = db.rows(&format!("select to_regclass('punctual.{name}') is not null"), &[]).await?;
    Ok(rows.first().map_or(Ok(false), |row| get(row, 0))?)
}

/// Whether the schema was made before the first release, when versions were counted otherwise.
async fn is_unreleased(db: &Connection<'_>) -> Result<bool, Fault> {
    let sql = "select to_regclass('punctual.functions') is null or exists (select from pg_attribute \
        where attrelid = to_regclass('punctual.attempt') and attname = 'attempt_key' and not attisdropped)";
    let rows = db.rows(sql, &[]).await?;
    Ok(rows.first().map_or(Ok(false), |row| get(row, 0))?)
}

/// The last version that was made.
async fn recorded(db: &Connection<'_>) -> Result<u32, Fault> {
    let rows = db.rows("select coalesce(max(version), 0) from punctual.migration", &[]).await?;
    let version: i32 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    Ok(u32::try_from(version).unwrap_or(0))
}

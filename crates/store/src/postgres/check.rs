//! Whether a database is well.

use punctual_core::clock::Machine;

use super::fault::Fault;
use super::migrate::{self, known};
use super::open::{OpenError, pool};
use super::pool::{Connection, Urgency};
use super::row::get;

/// What a look at a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The database, without its password.
    pub url: String,
    /// The server's version.
    pub server: String,
    /// Its schema version; 0 when nothing has been made yet.
    pub schema: u32,
    /// The latest that this program knows.
    pub schema_known: u32,
    /// Whether a commit that has returned is on the disk.
    pub durable: bool,
    /// Whether the server only reads: a standby.
    pub read_only: bool,
    /// Whether dead rows are removed by the server itself.
    pub autovacuum: bool,
    /// Whether it has the extension by which words are found.
    pub searches: bool,
}

/// Looks at the database at `url` without changing it; servers may be using it.
pub async fn check(url: &str, machine: &Machine) -> Result<CheckReport, OpenError> {
    let pool = pool(url, machine)?;
    let of = |fault| OpenError::of(pool.url(), fault);
    let db = pool.get(Urgency::Normal).await.map_err(of)?;
    let looked = look(&db).await;
    let mut report = db.end(looked).await.map_err(|(fault, _)| of(fault))?;
    report.url = pool.url().to_string();
    Ok(report)
}

async fn look(db: &Connection<'_>) -> Result<CheckReport, Fault> {
    let server = migrate::server(db).await?;
    let schema = migrate::version(db).await?;
    let rows = db
        .rows(
            "select current_setting('fsync')::bool and current_setting('full_page_writes')::bool \
             and current_setting('synchronous_commit') <> 'off', pg_is_in_recovery(), \
             current_setting('autovacuum')::bool, exists (select from pg_extension e where e.extname = 'pg_trgm')",
            &[],
        )
        .await?;
    let setting = |index: usize| rows.first().map_or(Ok(false), |row| get(row, index));
    Ok(CheckReport {
        url: String::new(),
        server: server.name,
        schema,
        schema_known: known(),
        durable: setting(0)?,
        read_only: setting(1)?,
        autovacuum: setting(2)?,
        searches: setting(3)?,
    })
}

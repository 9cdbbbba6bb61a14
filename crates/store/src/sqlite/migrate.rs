//! The schema inside the binary: `schema.sql` for a new file, and `migrations/2.sql` and so on for each version after it. A version
//! only adds, as on PostgreSQL (`postgres/migrate.rs`).

use std::path::Path;

use rusqlite::Connection;

use super::Options;
use super::open::{OpenError, connect, failed, lock};

/// Each version's SQL; a file's `user_version` says how many have been done. A version that has been released never changes:
/// the next one adds to it.
const VERSIONS: &[&str] = &[include_str!("schema.sql")];
/// "pntl" in ASCII: tells our files from other SQLite files.
pub(super) const APPLICATION_ID: i32 = 0x706e_746c;
/// The same before the first release, when versions were counted otherwise.
const UNRELEASED_IDS: [i32; 2] = [0x7075_6e63, 0x706e_6374];

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrateReport {
    /// The version before; 0 is a new file.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// The latest schema version this program knows.
pub(super) fn known() -> u32 {
    VERSIONS.len() as u32
}

/// All versions, one after the other.
#[cfg(test)]
pub(crate) fn all_versions() -> String {
    VERSIONS.join(";\n")
}

/// Brings the file at `path` up to date without serving it.
pub fn migrate(path: &Path) -> Result<MigrateReport, OpenError> {
    let _lock = lock(path)?;
    let connection = connect(path, &Options::default())?;
    super::commits::refuse_lost(path, &connection)?;
    up(&connection, path)
}

/// Brings an open file up to date, or refuses it untouched.
pub(super) fn up(connection: &Connection, path: &Path) -> Result<MigrateReport, OpenError> {
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|e| failed(path, &e))
    };
    let not_ours = |why: &str| OpenError::NotOurs { path: path.to_owned(), why: why.to_owned() };
    let (application, from) = (pragma("application_id")?, pragma("user_version")?);
    let known = known();
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    if application == 0 && from == 0 {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|e| failed(path, &e))?;
        if tables > 0 {
            return Err(not_ours("it is an SQLite file of another program"));
        }
    } else if UNRELEASED_IDS.map(i64::from).contains(&application) {
        return Err(not_ours("a punctual from before the first release made it; use another file"));
    } else if application != i64::from(APPLICATION_ID) {
        return Err(not_ours("it is an SQLite file of another program"));
    }
    if from > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found: from, known });
    }
    for (index, sql) in VERSIONS.iter().enumerate().skip(from as usize) {
        let version = index + 1;
        let sql = format!(
            "BEGIN IMMEDIATE; {sql}; PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID}; COMMIT;"
        );
        connection.execute_batch(&sql).map_err(|e| failed(path, &e))?;
    }
    Ok(MigrateReport { from, to: known })
}

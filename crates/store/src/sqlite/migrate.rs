//! The schema, version by version, inside the binary.

use std::path::Path;

use rusqlite::Connection;

use super::Options;
use super::open::{OpenError, connect, failed, lock};

/// Each step's SQL; a file's `user_version` says how many have been done.
const STEPS: &[&str] = &[
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
];
/// "punc" in ASCII: tells our files from other SQLite files.
pub(super) const APPLICATION_ID: i32 = 0x7075_6e63;

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
    STEPS.len() as u32
}

/// All steps, one after the other.
#[cfg(test)]
pub(crate) fn all_steps() -> String {
    STEPS.join(";\n")
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
    let (application, from) = (pragma("application_id")?, pragma("user_version")?);
    let known = known();
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    if application == 0 && from == 0 {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|e| failed(path, &e))?;
        if tables > 0 {
            let why = "it is an SQLite file of another program".to_owned();
            return Err(OpenError::NotOurs { path: path.to_owned(), why });
        }
    } else if application != i64::from(APPLICATION_ID) {
        let why = "it is an SQLite file of another program".to_owned();
        return Err(OpenError::NotOurs { path: path.to_owned(), why });
    }
    if from > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found: from, known });
    }
    for (index, step) in STEPS.iter().enumerate().skip(from as usize) {
        let version = index + 1;
        let sql = format!(
            "BEGIN IMMEDIATE; {step}; PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID}; COMMIT;"
        );
        connection.execute_batch(&sql).map_err(|e| failed(path, &e))?;
    }
    Ok(MigrateReport { from, to: known })
}

//! Whether a file is whole.

use std::path::Path;

use rusqlite::Connection;

use super::open::{OpenError, failed};

/// What a look at a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// `ok`, or what SQLite found damaged.
    pub quick_check: String,
    /// Its schema version.
    pub schema: u32,
    /// The latest that this program knows.
    pub schema_known: u32,
    /// Deliveries marked as under way. None are, in a file that no server has open and that was closed in order.
    pub n_left_behind: usize,
}

/// Looks at the file at `path` without changing it; a server may have it open.
pub fn check(path: &Path) -> Result<CheckReport, OpenError> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let lost = || -> rusqlite::Result<Result<(), OpenError>> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(2))?;
        Ok(super::commits::refuse_lost(path, &connection))
    };
    lost().map_err(|error| failed(path, &error))??;
    let open = || -> rusqlite::Result<CheckReport> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(2))?;
        let count = "SELECT count(*) FROM occurrence WHERE node IS NOT NULL";
        Ok(CheckReport {
            quick_check: connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?,
            schema: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
            schema_known: super::migrate::known(),
            n_left_behind: connection.query_row(count, [], |row| row.get(0))?,
        })
    };
    open().map_err(|error| failed(path, &error))
}

//! Reading a file of ours from end to end, for moving what is in it elsewhere.

use std::path::Path;
use std::time::Duration;

use punctual_core::store::StoreError;
use rusqlite::{CachedStatement, Connection, OpenFlags};

use super::migrate::{self, APPLICATION_ID};
use super::open::{Lock, OpenError, failed, lock};
use super::row::broken;

/// Whether the file at `path` is a database of punctual's.
pub fn is_ours(path: &Path) -> Result<bool, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    std::fs::File::open(path).map_err(|error| OpenError::Io { path: path.to_owned(), why: error.to_string() })?;
    let id = Connection::open_with_flags(path, flags)
        .and_then(|db| db.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0)));
    Ok(id.map_err(|error| failed(path, &error))? == i64::from(APPLICATION_ID))
}

/// A file of ours, opened for reading.
pub(crate) struct Export {
    db: Connection,
    version: u32,
    /// Keeps servers away while it is read.
    _lock: Option<Lock>,
}

impl Export {
    pub(crate) fn open(path: &Path, locks: bool) -> Result<Self, OpenError> {
        if !is_ours(path)? {
            let why = "it is an SQLite file of another program".to_owned();
            return Err(OpenError::NotOurs { path: path.to_owned(), why });
        }
        let lock = if locks { Some(lock(path)?) } else { None };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error: rusqlite::Error| failed(path, &error);
        let db = Connection::open_with_flags(path, flags).map_err(failed)?;
        db.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
        let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        let (version, known) = (u32::try_from(version).unwrap_or(u32::MAX), migrate::known());
        if version > known {
            return Err(OpenError::TooNew { path: path.to_owned(), found: version, known });
        }
        Ok(Self { db, version, _lock: lock })
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn count(&self, table: &str) -> Result<u64, StoreError> {
        self.db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).map_err(broken)
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        self.db.prepare_cached(sql).map_err(broken)
    }
}

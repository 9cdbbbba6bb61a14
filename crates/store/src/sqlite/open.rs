//! Opening the file: who else has it, its settings, its schema.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::commits::{self, Commits};
use super::worker::{Readers, Writer};
use super::{Options, SqliteStore, migrate};

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another punctual has it.
    #[error("{path} is in use by another punctual server ({holder}); stop that one first, or use another file")]
    InUse {
        /// The file.
        path: PathBuf,
        /// The text that the other one wrote into the lock file.
        holder: String,
    },
    /// Something that is not punctual has it.
    #[error(
        "{path} is locked by another program; close whatever has it open (an sqlite3 shell, a backup) and try again"
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A later punctual wrote it.
    #[error("{path} has schema version {found}, but this punctual knows versions up to {known}; use a newer punctual")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It is some other file.
    #[error("{path} is not a punctual database: {why}")]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// Commits that were answered for are not in it.
    #[error(
        "{path} lacks the last {n_lost} commits: its write-ahead log {log} was lost, or an older copy was put in its place; \
         put the log back beside it, or restore a backup; to go on without what was lost, remove {count}"
    )]
    LogLost {
        /// The file.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
        /// The file that counts the commits.
        count: PathBuf,
        /// How many are missing.
        n_lost: u64,
    },
    /// The system refuses.
    #[error("cannot open {path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// Keeps other servers away from the file; the system ends it when the process ends, however it ends.
pub(super) struct Lock {
    _file: File,
}

pub(super) fn open(path: &Path, options: &Options) -> Result<SqliteStore, OpenError> {
    let lock = lock(path)?;
    let connection = connect(path, options)?;
    commits::refuse_lost(path, &connection)?;
    migrate::up(&connection, path)?;
    if options.inline {
        let writer = Writer::inline(connection);
        let readers = Readers::inline(&writer);
        return Ok(SqliteStore { writer, readers, _lock: lock });
    }
    let mut readers = Vec::new();
    for _ in 0..2 {
        let reader = connect(path, options)?;
        reader.pragma_update(None, "query_only", true).map_err(|e| failed(path, &e))?;
        readers.push(reader);
    }
    let checkpointer = connect(path, options)?;
    let commits = Commits::open(path, &connection)?;
    let writer = Writer::thread(connection, checkpointer, commits);
    Ok(SqliteStore { writer, readers: Readers::threads(readers), _lock: lock })
}

/// Takes the lock file, or says who has it.
pub(super) fn lock(path: &Path) -> Result<Lock, OpenError> {
    let lock_path = PathBuf::from(format!("{}.lock", path.display()));
    let io = |e: std::io::Error| OpenError::Io { path: lock_path.clone(), why: e.to_string() };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&lock_path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // The holder's text is a courtesy; without it the refusal stands all the same.
            let _ = file.read_to_string(&mut holder);
            let holder = if holder.trim().is_empty() { "unknown process".to_owned() } else { holder.trim().to_owned() };
            return Err(OpenError::InUse { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(e)) => return Err(io(e)),
    }
    file.set_len(0).map_err(io)?;
    file.rewind().map_err(io)?;
    let started = std::env::args().take(2).collect::<Vec<_>>().join(" ");
    write!(file, "pid {}, {started}", std::process::id()).map_err(io)?;
    Ok(Lock { _file: file })
}

pub(super) fn connect(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| failed(path, &e))?;
    connection.busy_timeout(Duration::from_secs(2)).map_err(|e| failed(path, &e))?;
    connection.set_prepared_statement_cache_capacity(128);
    // Else SQLite plans a statement anew whenever other values are bound to it, in case they show that a partial index has all the rows. That
    // costs more than the statement. Which index is used must not depend on values here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|e| failed(path, &e))?;
    let pragmas = [
        ("journal_mode", "WAL"),
        ("synchronous", if options.durable { "FULL" } else { "OFF" }),
        ("temp_store", "MEMORY"),
        ("cache_size", "-8192"),
        // A thread of its own checkpoints, so that no commit waits for it.
        ("wal_autocheckpoint", if options.inline { "1000" } else { "0" }),
        ("journal_size_limit", "67108864"),
        ("foreign_keys", "OFF"),
        // Every table is reached through an index of its own. Given the choice, SQLite would rather scan a table of a
        // million rows and build an index for the dozen values it is compared with.
        ("automatic_index", "OFF"),
    ];
    for (name, value) in pragmas {
        connection.pragma_update(None, name, value).map_err(|e| failed(path, &e))?;
    }
    Ok(connection)
}

/// Names a failure to open by what the user can do about it.
pub(super) fn failed(path: &Path, error: &rusqlite::Error) -> OpenError {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, NotADatabase};
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => OpenError::Locked { path },
        Some(NotADatabase) => OpenError::NotOurs { path, why: "it is not an SQLite file".into() },
        _ => OpenError::Io { path, why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{StatementStatus, params};

    use super::*;

    #[test]
    fn a_statement_is_planned_once_whatever_is_bound_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let connection = connect(&dir.path().join("punctual.db"), &Options::default()).unwrap();
        connection.execute_batch(&crate::sqlite::all_versions()).unwrap();
        // The runs of a reminder have partial indexes.
        let sql = "SELECT 1 FROM occurrence o WHERE o.reminder_id = ? AND o.run = ?";
        let mut statement = connection.prepare(sql).unwrap();
        for run in 1..5_u8 {
            assert!(!statement.exists(params![[run; 16].as_slice(), run]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}

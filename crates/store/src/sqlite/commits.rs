//! Noticing that the write-ahead log was lost.
//!
//! SQLite writes a commit to the log first, `punctual.db-wal`, and copies it into the file only later. If somebody deletes the log of
//! a killed server, or copies the file without it, the file is whole but lacks the last commits, and SQLite opens it. So every
//! commit counts itself in the database, and this module also writes the count into a small file beside it, `punctual.db.commits`.
//! If the database knows of fewer commits than that file, some were lost.
//!
//! The small file is not flushed to disk with every commit: after a power cut it may be behind, which does no harm, and it is never
//! ahead. A copy that `sqlite3 .backup` makes has no such file and opens.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::open::{OpenError, failed};

/// The count beside the file.
pub(super) struct Commits {
    file: File,
}

impl Commits {
    /// Opens the count beside the file at `path`; refuses a database that knows of fewer commits.
    pub(super) fn open(path: &Path, connection: &Connection) -> Result<Self, OpenError> {
        refuse_lost(path, connection)?;
        let count_path = count_path(path);
        let io = |error: io::Error| OpenError::Io { path: count_path.clone(), why: error.to_string() };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let commits = Self { file: options.open(&count_path).map_err(io)? };
        // A database that was put here anew may have counted further than the old one.
        commits.put(in_database(connection).map_err(|error| failed(path, &error))?.unwrap_or(0)).map_err(io)?;
        Ok(commits)
    }

    /// Counts the transaction that is about to be committed.
    pub(super) fn count(connection: &Connection) -> rusqlite::Result<i64> {
        let sql = "UPDATE commits SET n = n + 1 RETURNING n";
        connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
    }

    /// Says that `n` commits have been made. A failure to write it costs the notice, and no commit.
    pub(super) fn tell(&self, n: i64) {
        if let Err(error) = self.put(n) {
            tracing::debug!(%error, "the commits cannot be counted beside the database");
        }
    }

    fn put(&self, n: i64) -> io::Result<()> {
        // As many characters every time, so that no part of an older number stays.
        let text = format!("{n:020}\n");
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_all_at(&self.file, text.as_bytes(), 0);
        #[cfg(not(unix))]
        {
            use std::io::{Seek, Write};
            let mut file = &self.file;
            file.rewind()?;
            file.write_all(text.as_bytes())
        }
    }
}

/// Refuses a database that knows of fewer commits than were answered for.
pub(super) fn refuse_lost(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    // In this order: a server that runs may commit meanwhile, and then the database is ahead.
    let text = std::fs::read_to_string(count_path(path)).unwrap_or_default();
    let known = in_database(connection).map_err(|error| failed(path, &error))?.unwrap_or(0);
    match text.trim().parse::<i64>() {
        Ok(answered) if answered > known => Err(OpenError::LogLost {
            path: path.to_owned(),
            log: log_path(path),
            count: count_path(path),
            n_lost: answered.abs_diff(known),
        }),
        _ => Ok(()),
    }
}

/// How many commits the database knows of; none when it is older than the count.
fn in_database(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let has_count: bool = connection.query_row(
        "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'commits'",
        [],
        |row| row.get(0),
    )?;
    if !has_count {
        return Ok(None);
    }
    connection.query_row("SELECT n FROM commits", [], |row| row.get(0)).optional()
}

fn count_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.commits", path.display()))
}

fn log_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

//! Another program's file, opened for reading only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use punctual_core::id::hex;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::foreign::{ForeignError, ForeignKey, ForeignPage, ForeignRow, ForeignTable, KeyValue, quoted};

pub(crate) struct Foreign {
    path: PathBuf,
    db: Connection,
}

impl Foreign {
    pub(crate) fn open(path: &Path) -> Result<Self, ForeignError> {
        let refused = |why: String| ForeignError::Refused { name: path.display().to_string(), why };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite's own words for it are `unable to open database file`, whatever is wrong.
        std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
        let db = Connection::open_with_flags(path, flags).map_err(|error| refused(error.to_string()))?;
        let this = Self { path: path.to_owned(), db };
        this.said(this.db.busy_timeout(Duration::from_secs(5)))?;
        // Nothing is read before this, so a file that is none is found out now.
        this.tables()?;
        Ok(this)
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn name(&self) -> String {
        self.path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    pub(crate) fn tables(&self) -> Result<Vec<String>, ForeignError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                   ORDER BY name";
        self.said(self.db.prepare(sql).and_then(|mut statement| {
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect()
        }))
    }

    pub(crate) fn table(&self, name: &str) -> Result<Option<ForeignTable>, ForeignError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
        let found: Option<String> = self.said(self.db.query_row(sql, [name], |row| row.get(0)).optional())?;
        let Some(name) = found else { return Ok(None) };
        let (mut columns, mut types) = (Vec::new(), Vec::new());
        self.said(self.db.pragma(None, "table_info", &name, |row| {
            columns.push(row.get::<_, String>("name")?);
            types.push(row.get::<_, String>("type")?);
            Ok(())
        }))?;
        Ok(Some(ForeignTable { sql: quoted(&name), name, columns, types }))
    }

    pub(crate) fn count(&self, table: &ForeignTable) -> Result<u64, ForeignError> {
        self.said(self.db.query_row(&format!("SELECT count(*) FROM {}", table.sql), [], |row| row.get(0)))
    }

    pub(crate) fn page(&self, page: ForeignPage<'_>) -> Result<Vec<ForeignRow>, ForeignError> {
        let key = quoted(page.key);
        let (after, wheres) = match page.after {
            None => (None, "WHERE ?1 IS NULL".to_owned()),
            // NULL comes first, and nothing is greater than NULL.
            Some(ForeignKey(KeyValue::Sqlite(Value::Null))) => {
                (None, format!("WHERE ?1 IS NULL AND {key} IS NOT NULL"))
            }
            Some(ForeignKey(KeyValue::Sqlite(value))) => (Some(value.clone()), format!("WHERE {key} > ?1")),
            // As bytes, because a text in a file need not be UTF-8.
            Some(ForeignKey(KeyValue::SqliteText(bytes))) => {
                (Some(Value::Blob(bytes.clone())), format!("WHERE {key} > CAST(?1 AS TEXT)"))
            }
            Some(ForeignKey(KeyValue::Text(text))) => (Some(Value::Text(text.clone())), format!("WHERE {key} > ?1")),
        };
        let columns: Vec<String> = page.table.columns.iter().map(|name| quoted(name)).collect();
        let sql =
            format!("SELECT {key}, {} FROM {} {wheres} ORDER BY {key} LIMIT ?2", columns.join(", "), page.table.sql);
        let n_columns = columns.len();
        self.said(self.db.prepare_cached(&sql).and_then(|mut statement| {
            let rows = statement.query_map(params![after, page.limit], |row| {
                let values = (1..=n_columns).map(|index| row.get_ref(index).map(text)).collect::<Result<_, _>>()?;
                let key = match row.get_ref(0)? {
                    ValueRef::Text(bytes) => KeyValue::SqliteText(bytes.to_owned()),
                    value => KeyValue::Sqlite(Value::try_from(value)?),
                };
                Ok(ForeignRow { key: ForeignKey(key), values })
            })?;
            rows.collect()
        }))
    }

    fn said<T>(&self, answer: rusqlite::Result<T>) -> Result<T, ForeignError> {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, NotADatabase};
        answer.map_err(|error| {
            let name = self.shown();
            match error.sqlite_error_code() {
                Some(DatabaseBusy | DatabaseLocked) => {
                    ForeignError::Lost { name, why: "another program has it locked".into() }
                }
                Some(NotADatabase) => ForeignError::Refused { name, why: "it is not an SQLite file".into() },
                _ => ForeignError::Refused { name, why: error.to_string() },
            }
        })
    }
}

/// A value as people would write it; sixteen bytes are most likely a UUID.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Some(match <[u8; 16]>::try_from(bytes) {
            Ok(bytes) => uuid::Uuid::from_bytes(bytes).to_string(),
            Err(_) => hex(bytes),
        }),
    }
}

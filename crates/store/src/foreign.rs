//! Tables of other systems, read and never written.
//!
//! Values come as text, as people would write them: the importer says what a column means. Pages are taken in
//! the order of one column, the key, so that reading can go on after a lost connection where it ended.

use punctual_core::clock::Machine;

use crate::{postgres, sqlite};

/// A database of another system, opened for reading only.
pub struct Foreign {
    inner: Inner,
}

enum Inner {
    Postgres(Box<postgres::Foreign>),
    Sqlite(sqlite::Foreign),
}

/// A table and its columns.
#[derive(Debug, Clone)]
pub struct ForeignTable {
    /// Its name, without its schema.
    pub name: String,
    /// Its name in SQL, quoted where that is needed.
    pub(crate) sql: String,
    /// Its columns, in order.
    pub columns: Vec<String>,
    /// Their types in SQL.
    pub(crate) types: Vec<String>,
}

/// What to read of a table.
#[derive(Debug, Clone, Copy)]
pub struct ForeignPage<'a> {
    /// Which.
    pub table: &'a ForeignTable,
    /// The column that orders the rows; no two rows have the same value in it.
    pub key: &'a str,
    /// Where the page before ended.
    pub after: Option<&'a ForeignKey>,
    /// At most so many rows.
    pub limit: usize,
}

/// A row: the values of all columns of its table, in their order.
#[derive(Debug, Clone)]
pub struct ForeignRow {
    /// Where the next page begins if this is the last of its page.
    pub key: ForeignKey,
    /// The values; none is NULL.
    pub values: Vec<Option<String>>,
}

/// A value of the column that orders a table's rows, as the database has it.
#[derive(Debug, Clone)]
pub struct ForeignKey(pub(crate) KeyValue);

#[derive(Debug, Clone)]
pub(crate) enum KeyValue {
    Text(String),
    Sqlite(rusqlite::types::Value),
    SqliteText(Vec<u8>),
}

/// Why another system's database could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The text is no URL of a database. It may hold a password, so it is not repeated.
    #[error("{0}")]
    Url(String),
    /// It cannot be reached now, or the connection was lost. Trying again may help.
    #[error("cannot read {name}: {why}")]
    Lost {
        /// The database, without its password.
        name: String,
        /// Why.
        why: String,
    },
    /// It cannot be read.
    #[error("cannot read {name}: {why}")]
    Refused {
        /// The database, without its password.
        name: String,
        /// Why.
        why: String,
    },
}

impl Foreign {
    /// Opens `postgres://…` or `sqlite:PATH`.
    pub async fn open(url: &str, machine: &Machine) -> Result<Self, ForeignError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self { inner: Inner::Postgres(Box::new(postgres::Foreign::open(url, machine).await?)) });
        }
        match url.strip_prefix("sqlite:") {
            Some(path) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self { inner: Inner::Sqlite(sqlite::Foreign::open(path.as_ref())?) })
            }
            None => Err(ForeignError::Url("write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH".into())),
        }
    }

    /// The database, for people: without its password.
    pub fn shown(&self) -> String {
        match &self.inner {
            Inner::Postgres(database) => database.shown(),
            Inner::Sqlite(database) => database.shown(),
        }
    }

    /// The database's own name, wherever it is reached: of a file, its name without what follows the dot.
    pub fn name(&self) -> String {
        match &self.inner {
            Inner::Postgres(database) => database.name(),
            Inner::Sqlite(database) => database.name(),
        }
    }

    /// The table called `name`, if there is one; a PostgreSQL table may be called `schema.table`.
    pub async fn table(&self, name: &str) -> Result<Option<ForeignTable>, ForeignError> {
        match &self.inner {
            Inner::Postgres(database) => database.table(name).await,
            Inner::Sqlite(database) => database.table(name),
        }
    }

    /// The names of all tables and views.
    pub async fn tables(&self) -> Result<Vec<String>, ForeignError> {
        match &self.inner {
            Inner::Postgres(database) => database.tables().await,
            Inner::Sqlite(database) => database.tables(),
        }
    }

    /// How many rows a table has.
    pub async fn count(&self, table: &ForeignTable) -> Result<u64, ForeignError> {
        match &self.inner {
            Inner::Postgres(database) => database.count(table).await,
            Inner::Sqlite(database) => database.count(table),
        }
    }

    /// The next rows of a table.
    pub async fn page(&self, page: ForeignPage<'_>) -> Result<Vec<ForeignRow>, ForeignError> {
        match &self.inner {
            Inner::Postgres(database) => database.page(page).await,
            Inner::Sqlite(database) => database.page(page),
        }
    }
}

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

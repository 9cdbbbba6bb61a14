//! The promise of an application's own database, in which a watch looks.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::rules::watch::{Form, Found};
use crate::watch::{Place, Raw, SourceRow};

/// The rows of one watch. Nothing here holds the application up: every statement ends within a bounded time, and no transaction is left
/// open.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// Looks whether the table and its columns are there, and whether `sent` can be written.
    async fn check(&self) -> Result<Standing, SourceError>;

    /// Rows that are due within the bounds and have a key, in the order of due date and key, after `after`. Where dates are texts it may give
    /// others, too.
    async fn read(&self, bounds: Bounds, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError>;

    /// Rows that are due within the bounds and have no key: nothing can be read after those. In no order.
    async fn nameless(&self, bounds: Bounds, limit: usize) -> Result<Vec<SourceRow>, SourceError>;

    /// Marks rows as sent, all in one statement, each only if its due date and its `sent` are as they were; returns which of them were.
    async fn set_sent(&self, marks: &[Mark]) -> Result<Vec<bool>, SourceError>;

    /// What `sent` is now, of each of these rows.
    async fn sent_of(&self, keys: &[Raw]) -> Result<Vec<Found>, SourceError>;
}

/// How an application's table stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where it is written down that a row was reminded of.
    pub mode: Mode,
    /// Things that are odd but no reason to stop.
    pub warnings: Vec<String>,
}

/// Where it is written down that a row was reminded of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// In the application's own column, in this form.
    Column(Form),
    /// In our own ledger, because of this.
    Ledger(String),
}

impl Mode {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Column(_) => "column",
            Self::Ledger(_) => "ledger",
        }
    }
}

/// Which rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Due at or after this,
    pub from: Timestamp,
    /// and at or before this.
    pub until: Timestamp,
    /// And not reminded of since then; `None`: whatever `sent` says.
    pub sent_before: Option<Timestamp>,
}

/// A row that is marked as sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The row's name.
    pub key: Raw,
    /// Its due date, which must not have changed.
    pub due: Raw,
    /// Its `sent`, which must not have changed.
    pub previous: Option<Raw>,
    /// The new `sent`.
    pub mark: Raw,
}

/// Why an application's database did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It cannot be reached, or the connection was lost: it may have been done.
    #[error("{0}")]
    Lost(String),
    /// Another program was in the way: nothing was done, and trying later may work.
    #[error("{0}")]
    Busy(String),
    /// It was refused, and will be again.
    #[error("{0}")]
    Refused(String),
}

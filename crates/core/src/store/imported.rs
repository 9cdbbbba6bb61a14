//! Reminders that came from another system, and what became of their runs.

use jiff::Timestamp;

use crate::id::ReminderId;
use crate::occurrence::StateKind;
use crate::reminder::Reminder;

/// Which imported reminders to list.
#[derive(Debug, Clone)]
pub struct ImportedQuery {
    /// From where: what `imported.from` in their metadata says.
    pub source: String,
    /// Only with a larger id than this one.
    pub after: Option<ReminderId>,
    /// Only runs due at or after this.
    pub from: Timestamp,
    /// Only runs due before this.
    pub to: Timestamp,
    /// At most so many reminders.
    pub limit: usize,
}

/// An imported reminder and what became of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The reminder.
    pub reminder: Reminder,
    /// Its runs, oldest first, at most [`IMPORTED_RUNS_MAX`].
    pub runs: Vec<ImportedRun>,
}

/// One run of an imported reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedRun {
    /// Which run.
    pub run: u32,
    /// When it was due.
    pub due_at: Timestamp,
    /// Where it stands.
    pub state: StateKind,
    /// When the first send that worked began.
    pub sent_at: Option<Timestamp>,
}

/// The most runs of one imported reminder that are listed: the latest.
pub const IMPORTED_RUNS_MAX: usize = 1000;

//! Finding reminders by what became of them, and by words in their text.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{KeptDuty, ReminderQuery, StoreError};
use crate::decide::resend::is_held;
use crate::id::{OccurrenceId, ReminderId};
use crate::reminder::OnUnknown;
use crate::rules::search::Words;

/// Finding reminders by what became of them, and by words in their text.
#[async_trait]
pub trait Search: Send + Sync + 'static {
    /// Runs that have failed and can be sent again ([`crate::decide::resend`]), in the order of their ids.
    async fn failed_runs(&self, query: FailedQuery) -> Result<Vec<FailedRun>, StoreError>;

    /// The last reminder at which [`Store::reminders`](super::Store::reminders) looks for a query that names a channel; none if it looks at all
    /// of them.
    async fn looks_to(&self, query: ReminderQuery) -> Result<Option<ReminderId>, StoreError>;

    /// Makes ready what [`Search::find`] needs and the store can make itself. [`StoreError::Missing`]: somebody else must.
    async fn prepare_search(&self) -> Result<(), StoreError>;

    /// How far the index has been filled with the reminders that were there before it.
    async fn filled(&self) -> Result<Filled, StoreError>;

    /// The ids of up to `limit` reminders after `after`, in order: for the filling of the index.
    async fn ids_after(&self, after: Option<ReminderId>, limit: usize) -> Result<Vec<ReminderId>, StoreError>;

    /// Writes texts into the index, each over what is there of its reminder, if that is there. What is removed leaves the index by itself.
    async fn index(&self, index: Index) -> Result<(), StoreError>;

    /// Looks for words in the texts of the index, those that came into it last first. It looks at a bounded number of them.
    async fn find(&self, query: FindQuery) -> Result<Hits, StoreError>;
}

/// Texts for the index.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// The texts.
    pub texts: Vec<IndexText>,
    /// How far the index is filled with them.
    pub filled: Option<Filled>,
    /// How far the journal is dealt with by them. It is another's duty by now: nothing is written ([`StoreError::LeaseLost`]).
    pub kept: Option<KeptDuty>,
}

/// The text by which a reminder is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexText {
    /// Which reminder.
    pub reminder: ReminderId,
    /// Whose.
    pub user: String,
    /// [`crate::rules::search::text_of`].
    pub text: String,
}

/// How far the index has been filled with the reminders that were there before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filled {
    /// Not yet.
    #[default]
    Nothing,
    /// Up to this one, in the order of their ids.
    To(ReminderId),
    /// All are in it.
    Whole,
}

/// What to look for.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// These words.
    pub words: Words,
    /// Only this user's reminders.
    pub user: Option<String>,
    /// Only what stands before this place in the index.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// Reminders with their places in the index, last first.
    pub list: Vec<(i64, ReminderId)>,
    /// The place before which there may be more; none when that was all.
    pub more_before: Option<i64>,
}

/// Which runs that have failed.
#[derive(Debug, Clone)]
pub struct FailedQuery {
    /// Only those that failed then or later.
    pub since: Timestamp,
    /// Only this user's.
    pub user: Option<String>,
    /// Only of reminders with this tag.
    pub tag: Option<String>,
    /// Only those that were tried on this channel.
    pub channel: Option<String>,
    /// Only those after this one.
    pub after: Option<OccurrenceId>,
    /// At most so many.
    pub limit: usize,
}

/// A run that has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    /// Which.
    pub id: OccurrenceId,
    /// What its reminder says of messages that may have arrived,
    pub on_unknown: OnUnknown,
    /// and the channels on which an attempt of it was cut off, each once, by name.
    pub cut_off_on: Vec<String>,
}

impl FailedRun {
    /// Whether it may have arrived, and is not sent again for that reason.
    pub fn is_held(&self, holding: &BTreeSet<String>) -> bool {
        is_held(self.on_unknown, self.cut_off_on.iter().map(String::as_str), holding)
    }
}

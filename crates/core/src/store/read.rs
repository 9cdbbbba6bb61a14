//! Reminders as people see them, what is to come, and counts.

use std::str::FromStr;

use jiff::Timestamp;

use crate::id::{ReminderId, hex};
use crate::invalid::Invalid;
use crate::model::version::Version;
use crate::occurrence::StateKind;
use crate::reminder::{Reminder, ReminderStatus};
use crate::shard::Shards;

/// A reminder with what its runs have led to.
#[derive(Debug, Clone, PartialEq)]
pub struct ReminderView {
    /// The reminder.
    pub reminder: Reminder,
    /// When it is due next.
    pub next_run_at: Option<Timestamp>,
    /// Until when its next snoozed run is put off; none while no run is.
    pub snoozed_until: Option<Timestamp>,
    /// When something was last sent, or failed.
    pub last_run_at: Option<Timestamp>,
    /// What that led to.
    pub last_status: Option<StateKind>,
    /// Runs that have reached the person or failed.
    pub total_runs: u32,
    /// Runs that have failed since one worked.
    pub consecutive_errors: u32,
}

impl ReminderView {
    /// A reminder that has just been created and is first due at `first_due_at`.
    pub fn fresh(reminder: Reminder, first_due_at: Timestamp) -> Self {
        Self {
            reminder,
            next_run_at: Some(first_due_at),
            snoozed_until: None,
            last_run_at: None,
            last_status: None,
            total_runs: 0,
            consecutive_errors: 0,
        }
    }

    /// The version of the reminder as it is shown: also a run that was sent or put off makes it another.
    pub fn version(&self) -> Version {
        Version::of(self)
    }
}

/// Which reminders to list.
#[derive(Debug, Clone, Default)]
pub struct ReminderQuery {
    /// Only this user's.
    pub user: Option<String>,
    /// Only with this status.
    pub status: Option<StatusFilter>,
    /// Only those due next at or after this.
    pub from: Option<Timestamp>,
    /// Only those due next before this.
    pub to: Option<Timestamp>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those of this name or message, or whose id ends with this ([`id_end`]).
    pub matching: Option<String>,
    /// Only those whose own addresses name this channel, or whose last attempt went there. A page looks at no more than
    /// [`CHANNEL_LOOKED_AT_MAX`] of the reminders that all else is true of.
    pub channel: Option<String>,
    /// Only older than this one.
    pub before: Option<ReminderId>,
    /// At most so many.
    pub limit: usize,
}

/// How many reminders a page of [`ReminderQuery::channel`] looks at.
pub const CHANNEL_LOOKED_AT_MAX: usize = 20_000;

impl ReminderQuery {
    /// Whether it asks for this reminder, whose last attempt went to `tried_on`; wherever it is in the list.
    pub fn takes(&self, view: &ReminderView, tried_on: Option<&str>) -> bool {
        let ReminderView { reminder, next_run_at, last_status, .. } = view;
        let is_named = |matching: &String| {
            let has_words = reminder.name.as_ref() == Some(matching) || reminder.message == *matching;
            has_words || id_end(matching).is_some_and(|end| hex(reminder.id.as_bytes()).ends_with(&end))
        };
        let has_status = |status| match status {
            StatusFilter::Is(status) => reminder.status == status,
            StatusFilter::LastRun(end) => *last_status == Some(end),
        };
        let goes_by =
            |channel: &String| tried_on == Some(channel) || reminder.to.iter().any(|to| to.channel == *channel);
        self.user.as_ref().is_none_or(|user| *user == reminder.user)
            && self.tag.as_ref().is_none_or(|tag| reminder.tags.contains(tag))
            && self.status.is_none_or(has_status)
            && self.from.is_none_or(|from| next_run_at.is_some_and(|at| at >= from))
            && self.to.is_none_or(|to| next_run_at.is_some_and(|at| at < to))
            && self.matching.as_ref().is_none_or(is_named)
            && self.channel.as_ref().is_none_or(goes_by)
    }
}

/// The end of an id that a text can be, as hexadecimal digits without dashes; `None` where it can be none.
pub fn id_end(text: &str) -> Option<String> {
    let digits = text.replace('-', "").to_ascii_lowercase();
    let is_end = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_end.then_some(digits)
}

/// A status that narrows a list: that of the reminder, or how its last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// Reminders of this status.
    Is(ReminderStatus),
    /// Reminders whose last run ended so, whether more are to come or not.
    LastRun(StateKind),
}

impl StatusFilter {
    /// The ends of a last run that can be asked for: those in which the person was not reached, or did not answer.
    const ENDS: [StateKind; 3] = [StateKind::Failed, StateKind::Missed, StateKind::Unanswered];
}

impl FromStr for StatusFilter {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(end) = Self::ENDS.into_iter().find(|end| end.as_str() == text) {
            return Ok(Self::LastRun(end));
        }
        text.parse().map(Self::Is).map_err(|invalid: Invalid| {
            let ends: Vec<&str> = Self::ENDS.iter().map(StateKind::as_str).collect();
            Invalid::new("status", format!("{}, {}", invalid.problem, ends.join(", ")))
        })
    }
}

/// Which part of what is to come.
#[derive(Debug, Clone, Copy)]
pub struct UpcomingQuery {
    /// Then or later.
    pub from: Timestamp,
    /// Then or earlier.
    pub until: Timestamp,
    /// Of these shards. A store that one node alone uses need not look.
    pub shards: Shards,
    /// At most so many.
    pub limit: usize,
}

/// What is to come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upcoming {
    /// Instants, in order; each stands for one occurrence.
    pub instants: Vec<Timestamp>,
    /// The oldest moment that has already passed.
    pub overdue_since: Option<Timestamp>,
}

/// Counts over the whole store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStats {
    /// Occurrences still to be looked at.
    pub pending: u64,
    /// When the oldest of them was, or is, to be looked at.
    pub oldest_at: Option<Timestamp>,
    /// Reminders by status.
    pub reminders: Vec<(ReminderStatus, u64)>,
}

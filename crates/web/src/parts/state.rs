//! States: a shape and a word before any colour.

use maud::{Markup, html};
use punctual_client::known::{Priority, ReminderStatus, StateKind};
use punctual_client::wire::{self, Word};

use crate::manner::Manner;
use crate::texts::states as t;

/// How a state is shown: its shape, its word, and the class that colours both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) mark: &'static str,
    pub(crate) word: String,
    /// `good`, `bad`, `wait`, or nothing.
    pub(crate) class: &'static str,
}

/// A state, as it stands in a line.
pub(crate) fn state(shape: &Shape) -> Markup {
    html! { span.is.(shape.class) { span aria-hidden="true" { (shape.mark) } " " (shape.word) } }
}

/// Where a run stands.
pub(crate) fn of_run(m: &Manner, state: &wire::OccurrenceState) -> Shape {
    let Word::Known(kind) = state else { return other(state.as_str()) };
    let (mark, word, class) = match kind {
        StateKind::Unplanned | StateKind::Scheduled => ("○", t::SCHEDULED, ""),
        StateKind::Processing => ("➤", t::PROCESSING, ""),
        StateKind::PendingRetry => ("↺", t::PENDING_RETRY, "wait"),
        StateKind::AwaitingAck => ("?", t::AWAITING_ACK, "wait"),
        StateKind::Snoozed => ("☾", t::SNOOZED, "wait"),
        StateKind::Waiting => ("☾", t::WAITING, "wait"),
        StateKind::Paused => ("‖", t::PAUSED, "wait"),
        StateKind::Delivered => ("✓", t::DELIVERED, "good"),
        StateKind::Completed => ("✓", t::COMPLETED, "good"),
        StateKind::Dismissed => ("–", t::DISMISSED, ""),
        StateKind::Unanswered => ("!", t::UNANSWERED, "bad"),
        StateKind::Failed => ("✕", t::FAILED, "bad"),
        StateKind::Cancelled => ("⊘", t::CANCELLED, ""),
        StateKind::Missed => ("✕", t::MISSED, "bad"),
    };
    Shape { mark, word: m.t(word).into_owned(), class }
}

/// Where a reminder stands.
pub(crate) fn of_reminder(m: &Manner, status: &wire::ReminderStatus) -> Shape {
    let Word::Known(kind) = status else { return other(status.as_str()) };
    let (mark, word, class) = match kind {
        ReminderStatus::Active => ("○", t::ACTIVE, ""),
        ReminderStatus::Paused => ("‖", t::PAUSED, "wait"),
        ReminderStatus::Completed => ("✓", t::OVER, ""),
        ReminderStatus::Cancelled => ("⊘", t::CANCELLED, ""),
    };
    Shape { mark, word: m.t(word).into_owned(), class }
}

/// How urgent something is.
pub(crate) fn priority(m: &Manner, priority: &wire::Priority) -> String {
    let Word::Known(kind) = priority else { return priority.as_str().to_owned() };
    let word = match kind {
        Priority::Low => t::LOW,
        Priority::Normal => t::NORMAL,
        Priority::High => t::HIGH,
        Priority::Critical => t::CRITICAL,
    };
    m.t(word).into_owned()
}

/// A word that a newer server knows.
fn other(word: &str) -> Shape {
    Shape { mark: "·", word: word.to_owned(), class: "" }
}

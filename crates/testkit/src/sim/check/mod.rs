//! The promises, one file each.
//!
//! A checker sees what users were told, what receivers saw, and the rows a store shows to anybody who asks. It shares no
//! code with the engine, so that a mistake there cannot excuse itself here.

mod after_cancel;
mod answered;
mod counted;
mod disturbed;
mod early;
mod escalated;
mod hold;
mod journal;
mod late;
mod left_behind;
mod lost;
mod once;
mod series;
mod silenced;
mod told;
mod told_outside;
mod trail;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_core::id::ReminderId;
use punctual_core::journal::{Kind, Placed};
use punctual_core::store::{ReminderView, Trail};

use super::ledger::{Command, Ledger};
use super::options::Options;

/// No send begins before its instant.
pub const NEVER_EARLY: &str = "never early";
/// Sends begin on their instant, unless something went wrong just now.
pub const ON_TIME: &str = "on time";
/// An acknowledged reminder is delivered, or visibly in a named state.
pub const NEVER_LOST: &str = "never lost";
/// One key for one message, and no repeats without a reason.
pub const SENT_ONCE: &str = "sent once";
/// No message is sent after an acknowledged cancel.
pub const CANCELLED: &str = "cancelled means cancelled";
/// No message is sent after an answer.
pub const ANSWERED: &str = "answered means answered";
/// Who does not answer is followed by the next.
pub const ESCALATED: &str = "the next is asked";
/// A press on a button counts once, and is not lost when it was acknowledged.
pub const COUNTED_ONCE: &str = "counted once";
/// No lease and no attempt stays open.
pub const NO_LIMBO: &str = "no limbo";
/// Every ending can be explained.
pub const TRAIL: &str = "a trail for every ending";
/// A series goes on while it is active, and leaves out nothing.
pub const SERIES: &str = "the series goes on";
/// A message that may have arrived is not sent again when its reminder says `hold`.
pub const HOLD: &str = "held when unknown";
/// A person is not disturbed in their quiet hours, in a pause, or in a silence.
pub const LEFT_IN_PEACE: &str = "left in peace";
/// A critical reminder that led to nothing is told to somebody.
pub const TOLD: &str = "somebody is told";
/// An application that has subscribed is told of everything that it wants, in order for each reminder.
pub const TOLD_OUTSIDE: &str = "applications are told";
/// Everything that happened is in the journal, and a reader who resumes misses nothing.
pub const JOURNAL: &str = "the journal is whole";

/// Everything a checker may look at.
pub struct Evidence {
    /// What users and receivers wrote down.
    pub ledger: Ledger,
    /// What the store shows.
    pub rows: Vec<Row>,
    /// Everything that happened, as the store shows it.
    pub journal: Vec<Placed>,
    /// How far the journal had come a little before the end.
    pub head_before_the_end: i64,
    /// What the clock showed at the end.
    pub now: Timestamp,
    /// How much time had passed at the end.
    pub elapsed: SignedDuration,
    /// Since when nothing went wrong.
    pub quiet_since: SignedDuration,
    /// Since when the engines were stopped, one after the other.
    pub stopping_since: SignedDuration,
    /// What the world was like.
    pub options: Options,
    /// How many polls it took.
    pub n_polls: u64,
    /// The trace's hash.
    pub hash: u64,
}

impl Evidence {
    /// The commands about each reminder, in the order they were given.
    fn commands(&self) -> BTreeMap<ReminderId, Vec<Command>> {
        let mut by_reminder: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for command in &self.ledger.read().commands {
            by_reminder.entry(command.reminder).or_default().push(command.clone());
        }
        by_reminder
    }
}

/// One reminder as the store shows it.
pub struct Row {
    /// The reminder.
    pub view: ReminderView,
    /// Its occurrences, oldest first.
    pub trails: Vec<Trail>,
    /// What happened to it, oldest first.
    pub entries: Vec<Placed>,
}

impl Row {
    /// Whether it has an entry of one of these kinds.
    fn has(&self, kinds: &[Kind]) -> bool {
        self.entries.iter().any(|entry| kinds.iter().any(|kind| kind.as_str() == entry.kind))
    }

    /// The entries of a command.
    fn did(&self, verb: &str) -> impl Iterator<Item = &Placed> {
        let did = format!("{{\"did\":\"{verb}\"");
        self.entries.iter().filter(move |entry| entry.data.as_ref().is_some_and(|data| data.starts_with(&did)))
    }
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Who says so.
    pub checker: &'static str,
    /// What happened.
    pub what: String,
}

/// Says what is wrong, one sentence each.
pub type Checker = fn(&Evidence) -> Vec<String>;

/// Every checker, with its name.
pub const CHECKERS: [(&str, Checker); 16] = [
    (NEVER_EARLY, early::check),
    (NEVER_LOST, lost::check),
    (SENT_ONCE, once::check),
    (CANCELLED, after_cancel::check),
    (ANSWERED, answered::check),
    (ESCALATED, escalated::check),
    (COUNTED_ONCE, counted::check),
    (NO_LIMBO, left_behind::check),
    (HOLD, hold::check),
    (TRAIL, trail::check),
    (SERIES, series::check),
    (ON_TIME, late::check),
    (LEFT_IN_PEACE, disturbed::check),
    (TOLD, told::check),
    (JOURNAL, journal::check),
    (TOLD_OUTSIDE, told_outside::check),
];

/// Asks every checker.
pub fn all(evidence: &Evidence) -> Vec<Violation> {
    let ask = |(checker, check): (&'static str, Checker)| {
        check(evidence).into_iter().map(move |what| Violation { checker, what })
    };
    CHECKERS.into_iter().flat_map(ask).collect()
}

//! What a calendar has.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_core::schedule::Schedule;
use punctual_core::zone::Zone;

/// A calendar as it was read.
#[derive(Debug, Clone, Default)]
pub struct Calendar {
    /// Its name, if it says one.
    pub name: Option<String>,
    /// Its items, each uid once, in the order in which they stand there.
    pub items: Vec<Item>,
    /// What could not be read, or not in full.
    pub problems: Vec<Problem>,
    /// How often it wants to be read.
    pub refresh: Option<std::time::Duration>,
}

/// Something in a calendar that could not be read, or not in full. The rest of it could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The uid of the item; empty: of the calendar itself, or of an item without a uid.
    pub uid: String,
    /// The problem, beginning with the name of its line.
    pub problem: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.uid.is_empty() { f.write_str(&self.problem) } else { write!(f, "{}: {}", self.uid, self.problem) }
    }
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something that happens.
    Event,
    /// Something to do.
    Todo,
}

/// One event or to-do, with all its instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What names it. An item without one is named by its beginning and title; an instance without a series by the series' uid and its
    /// original start.
    pub uid: String,
    /// What it is.
    pub kind: Kind,
    /// Its title, or an empty text.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// Where it is.
    pub location: Option<String>,
    /// When it begins; of a series: the first instance. A to-do that has only a due date begins then.
    pub starts_at: Timestamp,
    /// When it ends; a to-do's due date, if it also has a beginning.
    pub ends_at: Option<Timestamp>,
    /// It is a matter of days: it begins at midnight in the zone of its reader.
    pub all_day: bool,
    /// The zone of its local times.
    pub zone: Zone,
    /// When it happens again.
    pub repeats: Option<Repeats>,
    /// When its reader wants to be reminded. `None`: it does not say, so that the reader's defaults count; empty: never.
    pub alarms: Option<Vec<Alarm>>,
    /// It was cancelled, or is done.
    pub done: bool,
    /// How much it matters, 1 the most; 0: not said.
    pub priority: u8,
    /// The mail addresses of those who organize or attend it, without `mailto:`, in small letters.
    pub people: Vec<String>,
}

impl Item {
    /// What its reminders are about: a to-do is about its end.
    pub fn anchor(&self) -> Edge {
        match (self.kind, self.ends_at) {
            (Kind::Todo, Some(_)) => Edge::End,
            _ => Edge::Start,
        }
    }

    /// How long its longest instance is.
    pub fn longest(&self) -> SignedDuration {
        let span =
            |from: Timestamp, to: Option<Timestamp>| to.map_or(SignedDuration::ZERO, |to| to.duration_since(from));
        let overrides = self.repeats.iter().flat_map(|repeats| &repeats.overrides);
        let changed = overrides.filter_map(|one| match &one.change {
            Change::Changed { starts_at, ends_at, .. } => Some(span(*starts_at, *ends_at)),
            Change::Cancelled => None,
        });
        changed.fold(span(self.starts_at, self.ends_at), SignedDuration::max)
    }

    /// How long it is by the clock on the wall: an event from 22:00 to 6:00 is eight hours long also in the night of a change.
    pub(crate) fn length(&self) -> Option<SignedDuration> {
        let local = |at: Timestamp| self.zone.rules().to_datetime(at);
        self.ends_at.map(|ends_at| local(ends_at).duration_since(local(self.starts_at)))
    }
}

/// When an item happens again.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// The lines `RRULE`, `RDATE` and `EXDATE`, one to a line; their times are local times of the item's zone.
    pub lines: String,
    /// The same with the beginning, as our engine understands it.
    pub schedule: Schedule,
    /// The instances that are otherwise, by their original start.
    pub overrides: Vec<Override>,
}

/// An instance of a series that is otherwise than its rule says.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// Its original start, local time of the series.
    pub at: DateTime,
    /// All later instances are moved by as much.
    pub following: bool,
    /// What became of it.
    pub change: Change,
}

/// What became of one instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It does not happen.
    Cancelled,
    /// It is there or then, or is called so.
    Changed {
        /// When it begins.
        starts_at: Timestamp,
        /// When it ends.
        ends_at: Option<Timestamp>,
        /// Its title.
        title: String,
        /// Its own alarms. `None`: it does not say.
        alarms: Option<Vec<Alarm>>,
    },
}

/// Which end of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Edge {
    Start,
    End,
}

/// When the reader of a calendar wants to be reminded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alarm {
    /// So many seconds before one end of each instance; negative: after it.
    Before {
        /// How many.
        seconds: i64,
        /// Which end.
        of: Edge,
    },
    /// At an instant. In a series it is for the one instance that comes next.
    At(Timestamp),
}

impl Alarm {
    /// When it rings for an item from `starts_at` to `ends_at`.
    pub fn rings_at(self, starts_at: Timestamp, ends_at: Option<Timestamp>) -> Option<Timestamp> {
        match self {
            Self::At(at) => Some(at),
            Self::Before { seconds, of } => {
                let anchor = if of == Edge::End { ends_at.unwrap_or(starts_at) } else { starts_at };
                anchor.checked_sub(SignedDuration::from_secs(seconds)).ok()
            }
        }
    }
}

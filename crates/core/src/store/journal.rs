//! Reading the journal, and the work whose place in it is kept.

use jiff::Timestamp;

use crate::id::ReminderId;
use crate::model::journal::{Kind, Placed};

/// Which entries of the journal to read.
#[derive(Debug, Clone)]
pub struct JournalQuery {
    /// From where, and in which direction.
    pub start: Start,
    /// Only about this reminder.
    pub reminder: Option<ReminderId>,
    /// Only this user's.
    pub user: Option<String>,
    /// Only of these kinds; none is all.
    pub kinds: Vec<Kind>,
    /// Only by this actor.
    pub actor: Option<String>,
    /// Only through this door.
    pub via: Option<String>,
    /// Only about reminders that have this tag now.
    pub tag: Option<String>,
    /// Only what happened at or after this.
    pub from: Option<Timestamp>,
    /// Only what happened before this.
    pub to: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
}

impl JournalQuery {
    /// Everything from there on, at most so many.
    pub fn new(start: Start, limit: usize) -> Self {
        let (reminder, user, actor, via, tag) = (None, None, None, None, None);
        Self { start, reminder, user, kinds: Vec::new(), actor, via, tag, from: None, to: None, limit }
    }

    /// Whether it asks for this entry, wherever it starts and whichever tags the reminder has, which no entry says: the same rule for a store
    /// in memory and for a reader who hears everything.
    pub fn takes(&self, entry: &Placed) -> bool {
        self.reminder.is_none_or(|id| entry.reminder == Some(id))
            && self.user.as_ref().is_none_or(|user| entry.user.as_ref() == Some(user))
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == entry.kind))
            && self.actor.as_ref().is_none_or(|actor| *actor == entry.actor)
            && self.via.as_ref().is_none_or(|via| entry.via.as_ref() == Some(via))
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
    }
}

/// Where a reader of the journal begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After this position, oldest first.
    After(i64),
    /// Before this position, newest first.
    Before(i64),
}

impl Start {
    /// From the first entry that is kept.
    pub const OLDEST: Self = Self::After(0);
    /// From the last entry, backwards.
    pub const NEWEST: Self = Self::Before(i64::MAX);
}

/// A page of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPage {
    /// The entries, in the order that was asked for.
    pub entries: Vec<Placed>,
    /// The last position that was looked at: the next page starts there. A page may end early, because a reader who looks for rare
    /// entries does not make the store look at all of them at once.
    pub reached: i64,
    /// Whether nothing is left in this direction, for now.
    pub is_last: bool,
    /// The last position there is; 0 when nothing has happened.
    pub head: i64,
    /// The oldest position that is kept; one after the head when none is.
    pub first: i64,
}

/// How many entries a page of the journal looks at, at most.
pub const LOOKED_AT_MAX: usize = 200_000;

/// Work that one node does at a time, such as telling a subscriber: a right that ends unless it is kept, with the position up to
/// which the journal is dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// Which time it was taken: an earlier holder is refused.
    pub lease: u64,
    /// How far its work has come.
    pub position: i64,
    /// What an operator should know of it.
    pub note: Option<String>,
}

/// A duty as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDuty {
    /// Which duty.
    pub name: String,
    /// The node that has it, if one has.
    pub node: Option<String>,
    /// [`Duty::position`].
    pub position: i64,
    /// [`Duty::note`].
    pub note: Option<String>,
}

/// How far the work of a duty has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDuty {
    /// Which duty.
    pub name: String,
    /// [`Duty::lease`].
    pub lease: u64,
    /// [`Duty::position`].
    pub position: i64,
    /// [`Duty::note`].
    pub note: Option<String>,
    /// The present, for a store without a clock of its own.
    pub now: Timestamp,
}

/// How long a node has a duty unless it keeps it. A node stops its work a second earlier.
pub const DUTY_FOR: jiff::SignedDuration = jiff::SignedDuration::from_secs(5);

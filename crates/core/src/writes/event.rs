//! What planning events asks a store to write.

use jiff::Timestamp;

use crate::event::{Event, Slot};
use crate::id::ReminderId;
use crate::model::scope::{Path, Scope};

/// What is written of events and scopes.
#[derive(Debug, Clone, Default)]
pub struct EventWrites {
    /// Events that were not there. A store that finds one there after all, because another has written it at the same moment, lets core decide
    /// anew. They are to be planned.
    pub new: Vec<Event>,
    /// Events as somebody put them, over what was there. They are to be planned: what was asked for since the last planning counts from then.
    pub put: Vec<Event>,
    /// Events that are to be planned, though nothing about them was changed. One that somebody removed is planned all the same.
    pub marked: Vec<Marked>,
    /// How far planning existing events has come. It is written after `put`.
    pub stands: Vec<Stands>,
    /// Events that are no more.
    pub gone: Vec<String>,
    /// Slots that have no reminder any more. They are written before `links`.
    pub unlinked: Vec<Slot>,
    /// Slots with their reminders, over those that they had.
    pub links: Vec<Link>,
    /// Scopes, over those of the same path.
    pub scopes: Vec<Scope>,
    /// Scopes that are no more.
    pub scopes_gone: Vec<Path>,
}

/// How far planning an event has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stands {
    /// The event's key.
    pub key: String,
    /// Somebody removed it; it is gone when nothing of it is on its way.
    pub removed: bool,
    /// Its reminders are what they should be.
    pub planned: bool,
    /// When the planner must look at it; none: never by itself.
    pub plan_at: Option<Timestamp>,
    /// Until when the instances of a series have been planned.
    pub planned_until: Option<Timestamp>,
    /// Why it cannot be planned.
    pub error: Option<String>,
}

/// An event that is to be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The event's key.
    pub key: String,
    /// When that was asked for.
    pub at: Timestamp,
}

impl Stands {
    /// Marks the event to be planned. What it is planned for was asked for now, or at `asked_at` if it was not planned since.
    pub fn mark(&mut self, asked_at: &mut Option<Timestamp>, now: Timestamp) {
        if self.planned || asked_at.is_none() {
            *asked_at = Some(now);
        }
        (self.planned, self.plan_at) = (false, Some(now));
    }
}

/// A slot that has a reminder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The slot.
    pub slot: Slot,
    /// The instant that the reminder was planned for, also when a person has put it off since.
    pub due_at: Timestamp,
    /// The reminder.
    pub reminder: ReminderId,
}

impl EventWrites {
    /// Adds what another decision of the same transaction writes.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { new, put, marked, stands, gone, unlinked, links, scopes, scopes_gone } = other;
        self.new.extend(new);
        self.put.extend(put);
        self.marked.extend(marked);
        self.stands.extend(stands);
        self.gone.extend(gone);
        self.unlinked.extend(unlinked);
        self.links.extend(links);
        self.scopes.extend(scopes);
        self.scopes_gone.extend(scopes_gone);
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        let Self { new, put, marked, stands, gone, unlinked, links, scopes, scopes_gone } = self;
        new.is_empty()
            && put.is_empty()
            && marked.is_empty()
            && stands.is_empty()
            && gone.is_empty()
            && unlinked.is_empty()
            && links.is_empty()
            && scopes.is_empty()
            && scopes_gone.is_empty()
    }
}

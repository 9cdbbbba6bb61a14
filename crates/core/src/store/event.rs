//! Events of applications, scopes and the reminders that follow them.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::DateTime;

use super::{Answered, ChangeError, StoreError};
use crate::alarm::NextRun;
use crate::event::{Event, Instance, Slot};
use crate::id::ReminderId;
use crate::journal::Who;
use crate::model::scope::{Path, Scope};
use crate::occurrence::StateKind;
use crate::zone::Zone;

/// How many events are planned in one transaction. More of them that are put together are written first and planned afterwards.
pub const PLANNED_AT_ONCE: usize = 256;
/// How many reminders planning makes, changes and withdraws in one transaction. An event that needs more is planned in parts.
pub const REMINDERS_AT_ONCE: usize = 2000;
/// How many slots of one event are shown.
pub const SLOTS_SHOWN_MAX: usize = 1000;

/// Events of applications, scopes and the reminders that follow them.
#[async_trait]
pub trait Events: Send + Sync + 'static {
    /// Writes or replaces events, all or none, as [`crate::decide::event::put`] decides. Up to [`PLANNED_AT_ONCE`] of them are planned in the
    /// same transaction; more are planned by [`Events::plan_events`]. `answered` is kept with them, as [`super::Store::create`] keeps it.
    async fn put_events(
        &self,
        put: Vec<PutEvent>,
        answered: Option<(String, Answered)>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError>;

    /// Removes events of `source` (none: those that follow no calendar) and withdraws their reminders; those that there are not are left out.
    async fn remove_events(&self, keys: Vec<String>, source: Option<String>, by: ByPlanner)
    -> Result<Put, ChangeError>;

    /// Changes one instance of a series, by its original local start, or with `following` that and all later ones; `change` is `None` where it
    /// is to be as its series says again. [`ChangeError::NotFound`]: there is no such event.
    async fn put_instance(&self, key: &str, change: PutInstance, by: ByPlanner) -> Result<Put, ChangeError>;

    /// Makes the reminders of events what they should be, as [`crate::decide::event::planned`] decides: of these events, or else of those whose
    /// moment has come, stepping around what others are just planning.
    async fn plan_events(&self, keys: Option<Vec<String>>, by: ByPlanner) -> Result<PlannedEvents, StoreError>;

    /// Writes or replaces a scope, and marks the events that depend on it to be planned.
    async fn put_scope(&self, scope: Scope, who: Who) -> Result<PutScope, StoreError>;

    /// Removes a scope: what depended on it depends on the next one up. Returns how many events are to be planned; `None`: there was none.
    async fn remove_scope(&self, path: &Path, who: Who, now: Timestamp) -> Result<Option<u64>, StoreError>;

    /// One event with its reminders.
    async fn event(&self, key: &str) -> Result<Option<EventView>, StoreError>;

    /// Events in the order of their keys, without their reminders.
    async fn events(&self, query: EventQuery) -> Result<Vec<Event>, StoreError>;

    /// One scope.
    async fn scope(&self, path: &Path) -> Result<Option<Scope>, StoreError>;

    /// Scopes in the order of their paths, after `after`: those at `under` and below it, or all.
    async fn scopes(&self, under: Option<Path>, after: Option<Path>, limit: usize) -> Result<Vec<Scope>, StoreError>;
}

/// Who has events planned, and with what.
#[derive(Debug, Clone)]
pub struct ByPlanner {
    /// Who.
    pub who: Who,
    /// The server's zone, for people and series that have none.
    pub zone: Zone,
    /// The present.
    pub now: Timestamp,
}

/// An event as somebody puts it.
#[derive(Debug, Clone)]
pub struct PutEvent {
    /// The event.
    pub event: Event,
    /// What was different about instances of its series stays so, where the series still has them.
    pub keeps_instances: bool,
}

/// What somebody wants of an instance of a series.
#[derive(Debug, Clone)]
pub struct PutInstance {
    /// Its original local start.
    pub at: DateTime,
    /// All later ones, too.
    pub following: bool,
    /// What is different; `None`: nothing any more.
    pub change: Option<Instance>,
}

/// What writing events led to.
#[derive(Debug, Clone, Default)]
pub struct Put {
    /// Of each event in turn, what became of it. Of events that were removed, those that there were.
    pub done: Vec<PutDone>,
    /// What planning those led to that were planned with it.
    pub planned: PlannedEvents,
}

/// What became of an event that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutDone {
    /// Its key.
    pub key: String,
    /// It was not there before.
    pub is_new: bool,
    /// It is not as it was.
    pub is_changed: bool,
    /// Instances that something was different about, and that the series does not have any more.
    pub dropped: Vec<DateTime>,
}

/// What planning events led to.
#[derive(Debug, Clone, Default)]
pub struct PlannedEvents {
    /// The events that were looked at, each with what was done. One that is not finished is looked at again.
    pub events: Vec<PlannedEvent>,
    /// The instants at which the engine must look because of it.
    pub wakes: Vec<Timestamp>,
    /// The runs that were planned here.
    pub next_runs: Vec<NextRun>,
    /// Reminders that must change, and of which a node has just leased a run.
    pub busy: Vec<ReminderId>,
    /// An event is not finished, or was not looked at because others needed so many reminders. It is planned when somebody asks for it again.
    pub is_unfinished: bool,
    /// When an event must be looked at next, of all that there are. Only [`Events::plan_events`] without keys says it.
    pub next_at: Option<Timestamp>,
}

/// What planning one event led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Its key.
    pub key: String,
    /// Reminders that are to come.
    pub n_planned: u32,
    /// Reminders that were made,
    pub n_made: u32,
    /// changed or moved,
    pub n_moved: u32,
    /// and withdrawn.
    pub n_withdrawn: u32,
    /// Instances that passed while nobody could plan them.
    pub n_missed: u32,
    /// It is not finished: it has very many reminders, or one of them is just being sent.
    pub is_unfinished: bool,
    /// Why it cannot be planned.
    pub error: Option<String>,
}

impl PlannedEvent {
    /// Whether the journal tells of it.
    pub fn is_told(&self) -> bool {
        let Self { n_made, n_moved, n_withdrawn, n_missed, error, .. } = self;
        n_made + n_moved + n_withdrawn + n_missed > 0 || error.is_some()
    }
}

/// What writing a scope led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutScope {
    /// It was not there before.
    pub is_new: bool,
    /// How many events are to be planned because of it.
    pub n_events: u64,
}

/// An event with its reminders.
#[derive(Debug, Clone, PartialEq)]
pub struct EventView {
    /// The event.
    pub event: Event,
    /// Its slots with their reminders by their instants, at most [`SLOTS_SHOWN_MAX`].
    pub slots: Vec<SlotView>,
    /// How many those are in all.
    pub n_slots: u64,
    /// Its reminders are what they should be.
    pub is_planned: bool,
    /// Why it cannot be planned.
    pub error: Option<String>,
}

/// A slot with its reminder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotView {
    /// The slot.
    pub slot: Slot,
    /// The instant that the reminder was planned for.
    pub due_at: Timestamp,
    /// The reminder.
    pub reminder: ReminderId,
    /// How its last run stands; none once it is forgotten.
    pub state: Option<StateKind>,
}

/// Which events to list.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only those at this path and below it.
    pub scope: Option<Path>,
    /// Only those that name this user, or a group with them.
    pub user: Option<String>,
    /// Only those that start then or later, or repeat.
    pub from: Option<Timestamp>,
    /// Only those that start before then.
    pub to: Option<Timestamp>,
    /// Only those of this calendar.
    pub source: Option<String>,
    /// Only those after this key.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

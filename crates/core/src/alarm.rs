//! The promise of a timer outside this process.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::id::ReminderId;
use crate::reminder::Reminder;

/// A timer outside this process that rings at a reminder's instant.
///
/// It never holds the truth and may forget, ring late, twice, or not at all: the engine's own timer runs beside it and needs
/// none of it. It is a second way to be woken, for what that timer does not know of: a reminder that another node wrote, or
/// plain SQL, where nobody can be notified.
#[async_trait]
pub trait Alarm: Send + Sync + 'static {
    /// Rings at each of `next_runs`, in place of what was set for the same reminder. Never waits: what cannot be taken is
    /// dropped and counted, and asked for again as [`Ring::Forgotten`].
    fn set(&self, next_runs: Vec<NextRun>);

    /// Does not ring for these.
    fn clear(&self, reminders: Vec<ReminderId>);

    /// Waits for the next ring.
    async fn rung(&self) -> Ring;

    /// Asks for the right to set all that is to come, which one node has at a time. `None`: another has it, or the timer is out
    /// of reach; ask again later.
    async fn begin_fill(&self) -> Option<Filled>;

    /// Sets `next_runs` and waits until they are set, which prolongs the right. False: they are not; begin again later.
    async fn fill(&self, next_runs: Vec<NextRun>) -> bool;

    /// Gives the right back: everything before `until` is set.
    async fn end_fill(&self, until: Timestamp);

    /// How it is.
    fn health(&self) -> AlarmHealth;
}

/// The next run of a reminder: when to ring, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextRun {
    /// For which reminder.
    pub reminder: ReminderId,
    /// Whose it is.
    pub user: String,
    /// The channel it first goes to; empty where only its user's addresses say.
    pub channel: String,
    /// When.
    pub at: Timestamp,
}

impl NextRun {
    /// For `reminder`, at `at`.
    pub fn of(reminder: &Reminder, at: Timestamp) -> Self {
        let channel = reminder.to.first().map(|to| to.channel.clone()).unwrap_or_default();
        Self { reminder: reminder.id, user: reminder.user.clone(), channel, at }
    }
}

/// A message from an alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ring {
    /// The instants of these have come.
    Due(Vec<ReminderId>),
    /// It may have lost what was set: all that is to come must be set again.
    Forgotten,
}

/// How far the runs to come have been set already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filled {
    /// Everything before this is set; `None`: who knows.
    pub until: Option<Timestamp>,
}

/// How an alarm is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlarmHealth {
    /// Why it does not ring, in words, if it does not.
    pub problem: Option<String>,
    /// How many runs are set, as last seen.
    pub armed: u64,
    /// How many runs could not be taken since the start.
    pub dropped: u64,
}

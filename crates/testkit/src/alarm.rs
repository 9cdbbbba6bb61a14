//! An alarm that a test rings.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::{Alarm, AlarmHealth, Filled, NextRun, Ring};
use punctual_core::id::ReminderId;
use tokio::sync::Notify;

/// Takes down what is set, and rings when it is told to. Clones are the same alarm.
#[derive(Clone, Default)]
pub struct FakeAlarm {
    kept: Arc<Mutex<Kept>>,
    rung: Arc<Notify>,
}

#[derive(Default)]
struct Kept {
    set: BTreeMap<ReminderId, NextRun>,
    rings: VecDeque<Ring>,
    filled: Filled,
    is_away: bool,
    n_fills: usize,
}

impl FakeAlarm {
    /// The run that is set for a reminder.
    pub fn entry(&self, id: ReminderId) -> Option<NextRun> {
        self.lock().set.get(&id).cloned()
    }

    /// When it would ring for a reminder.
    pub fn at(&self, id: ReminderId) -> Option<Timestamp> {
        self.entry(id).map(|entry| entry.at)
    }

    /// Rings.
    pub fn ring(&self, ring: Ring) {
        self.lock().rings.push_back(ring);
        self.rung.notify_one();
    }

    /// Forgets everything, and says so.
    pub fn forget(&self) {
        let mut kept = self.lock();
        kept.set.clear();
        kept.filled = Filled::default();
        drop(kept);
        self.ring(Ring::Forgotten);
    }

    /// Cannot be reached, or can again.
    pub fn set_away(&self, is_away: bool) {
        self.lock().is_away = is_away;
    }

    /// How many times everything was set to the end.
    pub fn n_fills(&self) -> usize {
        self.lock().n_fills
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Alarm for FakeAlarm {
    fn set(&self, entries: Vec<NextRun>) {
        let mut kept = self.lock();
        if !kept.is_away {
            kept.set.extend(entries.into_iter().map(|entry| (entry.reminder, entry)));
        }
    }

    fn clear(&self, reminders: Vec<ReminderId>) {
        let mut kept = self.lock();
        reminders.iter().for_each(|id| drop(kept.set.remove(id)));
    }

    async fn rung(&self) -> Ring {
        loop {
            let notified = self.rung.notified();
            if let Some(ring) = self.lock().rings.pop_front() {
                return ring;
            }
            notified.await;
        }
    }

    async fn begin_fill(&self) -> Option<Filled> {
        let kept = self.lock();
        (!kept.is_away).then_some(kept.filled)
    }

    async fn fill(&self, entries: Vec<NextRun>) -> bool {
        let is_away = self.lock().is_away;
        self.set(entries);
        !is_away
    }

    async fn end_fill(&self, until: Timestamp) {
        let mut kept = self.lock();
        kept.filled.until = Some(until);
        kept.n_fills += 1;
    }

    fn health(&self) -> AlarmHealth {
        let kept = self.lock();
        let problem = kept.is_away.then(|| "it is away".into());
        AlarmHealth { problem, armed: kept.set.len() as u64, dropped: 0 }
    }
}

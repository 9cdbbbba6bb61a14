//! Breaks that one node is enough for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::change::Change;
use punctual_core::clock::{BoxFuture, Clock};
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::Who;
use punctual_core::occurrence::State;
use punctual_core::reminder::{OnUnknown, ReminderStatus};
use punctual_core::silence::Silence;
use punctual_core::store::{
    By, Came, ChangeError, Changed, Claim, Claims, Create, Released, Settled, Settlement, Store, StoreError,
};
use punctual_core::user::User;
use punctual_core::writes::Writes;
use punctual_engine::Runtime;

use crate::sim::Sabotage;
use crate::tap::Tap;

/// Sends before the instant: the engine's clock runs ahead of the world's.
pub(super) struct EarlyClock(pub(super) SignedDuration);

impl Sabotage for EarlyClock {
    fn clock(&self, world: Arc<dyn Clock>) -> Arc<dyn Clock> {
        Arc::new(Ahead { world, by: self.0 })
    }
}

struct Ahead {
    world: Arc<dyn Clock>,
    by: SignedDuration,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.world.now() + self.by
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()> {
        self.world.sleep_until(at - self.by)
    }

    fn pause(&self, span: Duration) -> BoxFuture<()> {
        self.world.pause(span)
    }

    fn run_for(&self) -> Duration {
        self.world.run_for()
    }
}

/// Acknowledges before the commit: the create is written a little later, if the process lives.
pub(super) struct WriteLater {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) runtime: Arc<dyn Runtime>,
}

#[async_trait]
impl Tap for WriteLater {
    async fn create(&self, store: &Arc<dyn Store>, new: Create) -> Result<(), StoreError> {
        let (store, clock) = (store.clone(), self.clock.clone());
        self.runtime.spawn(Box::pin(async move {
            clock.pause(Duration::from_secs(5)).await;
            while store.create(new.clone()).await.is_err() {
                clock.pause(Duration::from_secs(1)).await;
            }
        }));
        Ok(())
    }
}

/// Takes the end of a silence, and does not write it.
pub(super) struct EndlessSilence;

#[async_trait]
impl Tap for EndlessSilence {
    async fn end_silence(
        &self,
        _store: &Arc<dyn Store>,
        _id: SilenceId,
        _after: Option<OccurrenceId>,
        _who: Who,
        _now: Timestamp,
    ) -> Result<Option<Released>, StoreError> {
        Ok(Some(Released { wakes: Vec::new(), more_after: None }))
    }
}

/// Changes what a node settles.
pub(super) struct Settling(pub(super) fn(&mut Settlement));

#[async_trait]
impl Tap for Settling {
    async fn settle(
        &self,
        store: &Arc<dyn Store>,
        mut settlements: Vec<Settlement>,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        settlements.iter_mut().for_each(self.0);
        store.settle(settlements, now).await
    }
}

/// Puts a run that is to be tried again off for ever.
pub(super) fn drop_retry(settlement: &mut Settlement) {
    if let State::PendingRetry { retry_at, .. } = &mut settlement.occurrence.state {
        *retry_at += SignedDuration::from_hours(24 * 365);
    }
}

/// Lets the run's new state be written without the attempt that led to it.
pub(super) fn lose_attempt(settlement: &mut Settlement) {
    settlement.attempt = None;
}

/// Lets the next run of a series be planned as if this one had been due two minutes later.
pub(super) fn move_series(settlement: &mut Settlement) {
    if settlement.attempt.is_some() {
        settlement.occurrence.due_at += SignedDuration::from_mins(2);
    }
}

/// Forgets who is asked when nobody answers.
pub(super) fn ask_nobody_else(settlement: &mut Settlement) {
    settlement.occurrence.escalation = None;
}

/// Keeps from the admins what became of critical reminders.
pub(super) fn tell_nobody(settlement: &mut Settlement) {
    settlement.news = None;
}

/// Sends after a cancel: the cancel is answered and not done.
pub(super) struct IgnoredCancel;

#[async_trait]
impl Tap for IgnoredCancel {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        if !matches!(change, Change::Cancel) {
            return store.change(id, change, by).await;
        }
        let view = store.reminder(id).await?.ok_or(ChangeError::NotFound)?;
        Ok(Changed::of(view, None, Writes::new(by.now)))
    }
}

/// Leaves a reminder cancelled: the undo is answered and not done.
pub(super) struct ForgottenUndo;

#[async_trait]
impl Tap for ForgottenUndo {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        let view = store.reminder(id).await?.ok_or(ChangeError::NotFound)?;
        if !matches!(change, Change::Undo) || view.reminder.status != ReminderStatus::Cancelled {
            return store.change(id, change, by).await;
        }
        Ok(Changed::of(view, None, Writes::new(by.now)))
    }
}

/// Asks again after an answer: the answer is taken and not written.
pub(super) struct IgnoredAnswer;

#[async_trait]
impl Tap for IgnoredAnswer {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        let asked = store.occurrences(id, None, 100).await?.into_iter().map(|trail| trail.occurrence);
        let asked = asked.filter(|run| matches!(run.state, State::AwaitingAck { .. })).last();
        if asked.is_none() || !matches!(change, Change::Ack | Change::Dismiss) {
            return store.change(id, change, by).await;
        }
        let view = store.reminder(id).await?.ok_or(ChangeError::NotFound)?;
        Ok(Changed::of(view, asked, Writes::new(by.now)))
    }
}

/// Claims late: only what has been due for two seconds.
pub(super) struct LateClaim;

#[async_trait]
impl Tap for LateClaim {
    async fn claim(&self, store: &Arc<dyn Store>, claim: Claim) -> Result<Claims, StoreError> {
        let until = claim.until - SignedDuration::from_secs(3);
        store.claim(Claim { until, ..claim }).await
    }
}

/// Sends what may have arrived again, whatever its owner said.
pub(super) struct AlwaysResend;

#[async_trait]
impl Tap for AlwaysResend {
    async fn create(&self, store: &Arc<dyn Store>, mut new: Create) -> Result<(), StoreError> {
        new.reminders.iter_mut().for_each(|new| new.reminder.on_unknown = OnUnknown::Resend);
        store.create(new).await
    }
}

/// Writes people without the times at which they want silence.
pub(super) struct NoQuiet;

#[async_trait]
impl Tap for NoQuiet {
    async fn put_user(&self, store: &Arc<dyn Store>, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        store.put_user(User { quiet_hours: None, paused_until: None, ..user }, who).await
    }
}

/// Takes silences, and does not write them.
pub(super) struct NoSilence;

#[async_trait]
impl Tap for NoSilence {
    async fn put_silence(&self, _store: &Arc<dyn Store>, _silence: Silence, _who: Who) -> Result<bool, StoreError> {
        Ok(true)
    }
}

/// Answers a press at once and writes the answer later, if the process is still there.
pub(super) struct AnswerLater {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) runtime: Arc<dyn Runtime>,
}

#[async_trait]
impl Tap for AnswerLater {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        let awaits = match by.came.seen.is_some().then(|| change.run()).flatten() {
            Some(run) => store.occurrence(OccurrenceId { reminder: id, run }).await?,
            None => None,
        };
        let awaits = awaits.filter(|trail| matches!(trail.occurrence.state, State::AwaitingAck { .. }));
        let (Some(trail), Some(view)) = (awaits, store.reminder(id).await?) else {
            return store.change(id, change, by).await;
        };
        let (store, clock, now) = (store.clone(), self.clock.clone(), by.now);
        self.runtime.spawn(Box::pin(async move {
            clock.pause(Duration::from_secs(5)).await;
            drop(store.change(id, change, by).await);
        }));
        Ok(Changed::of(view, Some(trail.occurrence), Writes::new(now)))
    }
}

/// Forgets by which event an answer came, and how far the connection was read.
pub(super) struct ForgottenEvent;

#[async_trait]
impl Tap for ForgottenEvent {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        store.change(id, change, By { came: Came::default(), ..by }).await
    }
}

//! The desk of the rules: a store, an instant to count from, and short ways to say things.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::{Change, Refused};
use punctual_core::channel::{Receipt, SendError};
use punctual_core::decide::decide;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::journal::Placed;
use punctual_core::occurrence::StateKind;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{AckPolicy, Address, Reminder, ReminderStatus};
use punctual_core::retry::RetryPolicy;
use punctual_core::shard::Shards;
use punctual_core::store::{
    By, ChangeError, Changed, Claim, Claimed, Claims, Create, JournalPage, JournalQuery, NewReminder, ReminderView,
    Settled, Settlement, Start, Store, StoreError, Trail,
};

use crate::sample;

/// How long a lease lasts at this desk.
pub(super) const LEASE: SignedDuration = SignedDuration::from_secs(15);

pub(super) struct Desk {
    pub(super) store: Arc<dyn Store>,
}

/// `second` seconds into the desk's day.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a small number of seconds")
}

/// A reminder, created at second 0, that is due once at `second`.
pub(super) fn once(number: u8, second: i64) -> Reminder {
    sample::once(number, at(second), at(0))
}

/// A reminder, created at second 0, that is due every `seconds`.
pub(super) fn every(number: u8, seconds: u64) -> Reminder {
    sample::every(number, Duration::from_secs(seconds), at(0))
}

/// Asks for an answer within a minute, and `again` more times.
pub(super) fn asking(reminder: Reminder, again: u32) -> Reminder {
    let ack = AckPolicy { prompt: None, timeout: Duration::from_secs(60), reminders_max: again };
    Reminder { ack: Some(ack), ..reminder }
}

pub(super) fn taken() -> Result<Receipt, SendError> {
    Ok(Receipt::of("m1"))
}

pub(super) fn failed() -> Result<Receipt, SendError> {
    Err(SendError::Unavailable("not now".into()))
}

impl Desk {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    pub(super) async fn create(&self, reminders: &[&Reminder]) {
        self.try_create(reminders).await.expect("the store takes it");
    }

    pub(super) async fn try_create(&self, reminders: &[&Reminder]) -> Result<(), StoreError> {
        let new = |reminder: &&Reminder| NewReminder {
            reminder: (*reminder).clone(),
            first_due_at: reminder.schedule.first_after(&reminder.timezone, at(0)).expect("it is due some time"),
        };
        let reminders = reminders.iter().map(new).collect();
        self.store.create(Create { reminders, who: "ann".into(), answered: None, now: at(0) }).await
    }

    /// Claims everything from the beginning until `now`.
    pub(super) async fn claim(&self, now: i64) -> Claims {
        self.claim_between(now, i64::MIN, now, 100).await
    }

    pub(super) async fn claim_between(&self, now: i64, from: i64, until: i64, limit: usize) -> Claims {
        self.store.claim(Self::claim_of(now, from, until, limit)).await.expect("the store works")
    }

    /// Claims what is due by `now` of these reminders.
    pub(super) async fn claim_only(&self, now: i64, only: Vec<ReminderId>, limit: usize) -> Claims {
        let claim = Claim { only: Some(only), ..Self::claim_of(now, i64::MIN, now, limit) };
        self.store.claim(claim).await.expect("the store works")
    }

    pub(super) fn claim_of(now: i64, from: i64, until: i64, limit: usize) -> Claim {
        let from = if from == i64::MIN { Timestamp::MIN } else { at(from) };
        Claim {
            now: at(now),
            from,
            until: at(until),
            limit,
            shards: Shards::ALL,
            node: "desk".into(),
            lease_until: at(now) + LEASE,
            default_channel: DefaultChannel::chosen(Address::new("console", "")),
            only: None,
            holding: Default::default(),
        }
    }

    /// Claims the one occurrence that is due by `now`.
    pub(super) async fn claim_one(&self, now: i64) -> Claimed {
        let mut claims = self.claim(now).await;
        assert_eq!(claims.to_send.len(), 1, "one occurrence is to be sent at second {now}");
        claims.to_send.remove(0)
    }

    /// The settlement when the channel said `said` about `claimed` at `now`.
    pub(super) fn settlement(claimed: &Claimed, said: Result<Receipt, SendError>, now: i64) -> Settlement {
        decide(claimed, said, &RetryPolicy::default(), 0.0, at(now), at(now))
    }

    pub(super) async fn settle(&self, claimed: &Claimed, said: Result<Receipt, SendError>, now: i64) -> Settled {
        self.write(vec![Self::settlement(claimed, said, now)], now).await
    }

    pub(super) async fn write(&self, settlements: Vec<Settlement>, now: i64) -> Settled {
        self.store.settle(settlements, at(now)).await.expect("the store works")
    }

    /// Delivers the one occurrence that is due by `now`.
    pub(super) async fn deliver(&self, now: i64) -> Claimed {
        let claimed = self.claim_one(now).await;
        let settled = self.settle(&claimed, taken(), now).await;
        assert!(settled.lost.is_empty(), "the lease was ours");
        claimed
    }

    pub(super) async fn change(&self, id: ReminderId, change: Change, now: i64) -> Changed {
        let verb = change.verb();
        self.try_change(id, change, now).await.unwrap_or_else(|error| panic!("{verb} at second {now}: {error}"))
    }

    pub(super) async fn try_change(&self, id: ReminderId, change: Change, now: i64) -> Result<Changed, ChangeError> {
        self.store.change(id, change, By::new("ann", at(now))).await
    }

    /// Asserts that the command is refused and leaves everything as it is; returns why.
    pub(super) async fn refused(&self, id: ReminderId, change: Change, now: i64) -> Refused {
        let verb = change.verb();
        let before = (self.view(id).await, self.runs(id).await);
        let refused = match self.try_change(id, change, now).await {
            Err(ChangeError::Refused(refused)) => refused,
            other => panic!("{verb} at second {now} should be refused, and led to {other:?}"),
        };
        assert_eq!((self.view(id).await, self.runs(id).await), before, "a refused {verb} changes nothing");
        refused
    }

    pub(super) async fn view(&self, id: ReminderId) -> ReminderView {
        self.store.reminder(id).await.expect("the store works").expect("the reminder is there")
    }

    pub(super) async fn status(&self, id: ReminderId) -> ReminderStatus {
        self.view(id).await.reminder.status
    }

    /// Every run of a reminder, oldest first.
    pub(super) async fn runs(&self, id: ReminderId) -> Vec<Trail> {
        let mut trails = self.store.occurrences(id, None, 1000).await.expect("the store works");
        trails.reverse();
        trails
    }

    /// The states of every run, with the second it is due at.
    pub(super) async fn states(&self, id: ReminderId) -> Vec<(StateKind, i64)> {
        let second = |due_at: Timestamp| due_at.as_second() - at(0).as_second();
        let trails = self.runs(id).await;
        trails.iter().map(|trail| (trail.occurrence.state.kind(), second(trail.occurrence.due_at))).collect()
    }

    pub(super) async fn trail(&self, id: OccurrenceId) -> Trail {
        self.store.occurrence(id).await.expect("the store works").expect("the occurrence is there")
    }

    /// Reads the journal, with everything in it that is committed.
    pub(super) async fn journal(&self, query: JournalQuery) -> JournalPage {
        self.store.place().await.expect("the store works");
        self.store.journal(query).await.expect("the store works")
    }

    /// The entries about a reminder, oldest first.
    pub(super) async fn entries(&self, id: ReminderId) -> Vec<Placed> {
        self.journal(JournalQuery { reminder: Some(id), ..JournalQuery::new(Start::OLDEST, 100) }).await.entries
    }

    /// The last words of the kinds of a reminder's entries, oldest first.
    pub(super) async fn kinds(&self, id: ReminderId) -> Vec<String> {
        let last = |entry: &Placed| entry.kind.rsplit('.').next().unwrap_or_default().to_owned();
        self.entries(id).await.iter().map(last).collect()
    }
}

/// Run `run` of a reminder.
pub(super) fn run(reminder: &Reminder, run: u32) -> OccurrenceId {
    OccurrenceId { reminder: reminder.id, run }
}

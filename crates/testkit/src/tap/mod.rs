//! A store with something between it and its caller.
//!
//! A `Tap` sees every call before and after it reaches the store behind, and may answer the writing ones itself. The
//! simulator taps stores to delay and fail them; the broken guarantees tap them to lie.

/// Passes a call on, with the tap before and after it.
macro_rules! pass {
    ($self:ident, $call:literal, $work:expr) => {{
        $self.tap.before($call).await?;
        let answer = $work.await?;
        $self.tap.after($call).await?;
        Ok(answer)
    }};
}

mod event;
mod feed;
mod overview;
mod search;
mod watch;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::change::Change;
use punctual_core::channel::Rate;
use punctual_core::group::Group;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::{Entry, Who};
use punctual_core::key::{ApiKey, Rotation};
use punctual_core::reminder::Address;
use punctual_core::silence::Silence;
use punctual_core::store::{
    Answer, Answered, Beat, By, ByPlanner, ChangeError, Changed, Claim, Claims, Create, DeadAddress, Duty, Ears,
    HeldConnection, Imported, ImportedQuery, JournalPage, JournalQuery, KeptDuty, KnownDuty, PlannedEvents, Pulse,
    Question, Released, ReminderQuery, ReminderView, Report, Reported, RunLease, Settled, Settlement, SilenceQuery,
    Store, StoreError, StoreStats, Throttle, Trail, Upcoming, UpcomingQuery,
};
use punctual_core::user::User;
use punctual_core::watch::Intent;

/// Stands between a caller and a store. Every call passes unless a method says otherwise.
#[async_trait]
#[expect(unused_variables, reason = "the defaults pass everything")]
pub trait Tap: Send + Sync + 'static {
    /// Called before the store is. An error is answered instead, and nothing is done.
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Called after the store has done it. An error is answered instead, although it was done.
    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        Ok(())
    }

    /// As [`Store::create`].
    async fn create(&self, store: &Arc<dyn Store>, new: Create) -> Result<(), StoreError> {
        store.create(new).await
    }

    /// As [`Store::change`].
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        store.change(id, change, by).await
    }

    /// As [`Store::claim`].
    async fn claim(&self, store: &Arc<dyn Store>, claim: Claim) -> Result<Claims, StoreError> {
        store.claim(claim).await
    }

    /// As [`Store::settle`].
    async fn settle(
        &self,
        store: &Arc<dyn Store>,
        settlements: Vec<Settlement>,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        store.settle(settlements, now).await
    }

    /// As [`Store::renew`].
    async fn renew(
        &self,
        store: &Arc<dyn Store>,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
        store.renew(leases, until).await
    }

    /// As [`Store::rescue`].
    async fn rescue(&self, store: &Arc<dyn Store>, node: &str, now: Timestamp) -> Result<usize, StoreError> {
        store.rescue(node, now).await
    }

    /// As [`Store::write_message_id`].
    async fn write_message_id(
        &self,
        store: &Arc<dyn Store>,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError> {
        store.write_message_id(occurrence, lease, attempt, message_id).await
    }

    /// As [`punctual_core::store::Events::plan_events`].
    async fn plan_events(
        &self,
        store: &Arc<dyn Store>,
        keys: Option<Vec<String>>,
        by: ByPlanner,
    ) -> Result<PlannedEvents, StoreError> {
        store.plan_events(keys, by).await
    }

    /// As [`Store::put_user`].
    async fn put_user(&self, store: &Arc<dyn Store>, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        store.put_user(user, who).await
    }

    /// As [`Store::journal`].
    async fn journal(&self, store: &Arc<dyn Store>, query: JournalQuery) -> Result<JournalPage, StoreError> {
        store.journal(query).await
    }

    /// As [`punctual_core::store::Watches::intend`].
    async fn intend(
        &self,
        store: &Arc<dyn Store>,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        store.intend(lease, watch, intents, now).await
    }

    /// As [`Store::put_silence`].
    async fn put_silence(&self, store: &Arc<dyn Store>, silence: Silence, who: Who) -> Result<bool, StoreError> {
        store.put_silence(silence, who).await
    }

    /// As [`Store::end_silence`].
    async fn end_silence(
        &self,
        store: &Arc<dyn Store>,
        id: SilenceId,
        after: Option<OccurrenceId>,
        who: Who,
        now: Timestamp,
    ) -> Result<Option<Released>, StoreError> {
        store.end_silence(id, after, who, now).await
    }

    /// As [`Store::take_duty`].
    async fn take_duty(
        &self,
        store: &Arc<dyn Store>,
        name: &str,
        node: &str,
        now: Timestamp,
    ) -> Result<Option<Duty>, StoreError> {
        store.take_duty(name, node, now).await
    }

    /// As [`Store::keep_duty`].
    async fn keep_duty(&self, store: &Arc<dyn Store>, kept: KeptDuty) -> Result<bool, StoreError> {
        store.keep_duty(kept).await
    }

    /// As [`Store::recalled`].
    async fn recalled(&self, store: &Arc<dyn Store>) -> Result<Vec<ReminderId>, StoreError> {
        store.recalled().await
    }

    /// As [`Store::listen`].
    async fn listen(&self, store: &Arc<dyn Store>) -> Result<Option<Box<dyn Ears>>, StoreError> {
        store.listen().await
    }
}

/// A store behind a [`Tap`].
pub struct Tapped<T> {
    /// The tap in between.
    pub tap: T,
    /// The store behind.
    pub store: Arc<dyn Store>,
}

impl<T: Tap> Tapped<T> {
    /// Puts `tap` before `store`.
    pub fn before(store: Arc<dyn Store>, tap: T) -> Arc<dyn Store> {
        Arc::new(Self { tap, store })
    }
}

#[async_trait]
impl<T: Tap> Store for Tapped<T> {
    async fn create(&self, new: Create) -> Result<(), StoreError> {
        pass!(self, "create", self.tap.create(&self.store, new))
    }

    async fn answered(&self, key: &str) -> Result<Option<Answered>, StoreError> {
        pass!(self, "answered", self.store.answered(key))
    }

    async fn begin_answer(&self, key: &str, request: [u8; 32], now: Timestamp) -> Result<(), StoreError> {
        pass!(self, "begin_answer", self.store.begin_answer(key, request, now))
    }

    async fn finish_answer(&self, key: &str, answer: Option<Answer>) -> Result<(), StoreError> {
        pass!(self, "finish_answer", self.store.finish_answer(key, answer))
    }

    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        pass!(self, "change", self.tap.change(&self.store, id, change, by))
    }

    async fn reminder(&self, id: ReminderId) -> Result<Option<ReminderView>, StoreError> {
        pass!(self, "reminder", self.store.reminder(id))
    }

    async fn existing(&self, ids: Vec<ReminderId>) -> Result<Vec<ReminderView>, StoreError> {
        pass!(self, "existing", self.store.existing(ids))
    }

    async fn imported(&self, query: ImportedQuery) -> Result<Vec<Imported>, StoreError> {
        pass!(self, "imported", self.store.imported(query))
    }

    async fn reminders(&self, query: ReminderQuery) -> Result<Vec<ReminderView>, StoreError> {
        pass!(self, "reminders", self.store.reminders(query))
    }

    async fn occurrences(&self, id: ReminderId, before: Option<u32>, limit: usize) -> Result<Vec<Trail>, StoreError> {
        pass!(self, "occurrences", self.store.occurrences(id, before, limit))
    }

    async fn occurrence(&self, id: OccurrenceId) -> Result<Option<Trail>, StoreError> {
        pass!(self, "occurrence", self.store.occurrence(id))
    }

    async fn place(&self) -> Result<i64, StoreError> {
        pass!(self, "place", self.store.place())
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage, StoreError> {
        pass!(self, "journal", self.tap.journal(&self.store, query))
    }

    async fn record(&self, entry: Entry) -> Result<(), StoreError> {
        pass!(self, "record", self.store.record(entry))
    }

    async fn prune_journal(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        pass!(self, "prune_journal", self.store.prune_journal(before, limit))
    }

    async fn take_duty(&self, name: &str, node: &str, now: Timestamp) -> Result<Option<Duty>, StoreError> {
        pass!(self, "take_duty", self.tap.take_duty(&self.store, name, node, now))
    }

    async fn keep_duty(&self, kept: KeptDuty) -> Result<bool, StoreError> {
        pass!(self, "keep_duty", self.tap.keep_duty(&self.store, kept))
    }

    async fn leave_duty(&self, name: &str, lease: u64) -> Result<(), StoreError> {
        pass!(self, "leave_duty", self.store.leave_duty(name, lease))
    }

    async fn duties(&self) -> Result<Vec<KnownDuty>, StoreError> {
        pass!(self, "duties", self.store.duties())
    }

    async fn tagged(&self, tag: &str, reminders: Vec<ReminderId>) -> Result<Vec<ReminderId>, StoreError> {
        pass!(self, "tagged", self.store.tagged(tag, reminders))
    }

    async fn upcoming(&self, window: UpcomingQuery) -> Result<Upcoming, StoreError> {
        pass!(self, "upcoming", self.store.upcoming(window))
    }

    async fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, OccurrenceId)>,
        limit: usize,
    ) -> Result<Vec<(OccurrenceId, NextRun)>, StoreError> {
        pass!(self, "coming", self.store.coming(from, until, after, limit))
    }

    async fn claim(&self, claim: Claim) -> Result<Claims, StoreError> {
        pass!(self, "claim", self.tap.claim(&self.store, claim))
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
        pass!(self, "settle", self.tap.settle(&self.store, settlements, now))
    }

    async fn renew(
        &self,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
        pass!(self, "renew", self.tap.renew(&self.store, leases, until))
    }

    async fn rescue(&self, node: &str, now: Timestamp) -> Result<usize, StoreError> {
        pass!(self, "rescue", self.tap.rescue(&self.store, node, now))
    }

    async fn write_message_id(
        &self,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError> {
        pass!(self, "write_message_id", self.tap.write_message_id(&self.store, occurrence, lease, attempt, message_id))
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        pass!(self, "prune", self.store.prune(before, limit))
    }

    async fn forget_answered(&self, now: Timestamp) -> Result<(), StoreError> {
        pass!(self, "forget_answered", self.store.forget_answered(now))
    }

    async fn put_user(&self, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        pass!(self, "put_user", self.tap.put_user(&self.store, user, who))
    }

    async fn user(&self, id: &str) -> Result<Option<User>, StoreError> {
        pass!(self, "user", self.store.user(id))
    }

    async fn users(&self, after: Option<String>, limit: usize) -> Result<Vec<User>, StoreError> {
        pass!(self, "users", self.store.users(after, limit))
    }

    async fn delete_user(&self, id: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        pass!(self, "delete_user", self.store.delete_user(id, who, now))
    }

    async fn asked(&self, users: Vec<String>, ended_since: Option<Timestamp>) -> Result<Vec<Question>, StoreError> {
        pass!(self, "asked", self.store.asked(users, ended_since))
    }

    async fn put_group(&self, group: Group, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        pass!(self, "put_group", self.store.put_group(group, who))
    }

    async fn groups_of(&self, names: Vec<String>) -> Result<Vec<Group>, StoreError> {
        pass!(self, "groups_of", self.store.groups_of(names))
    }

    async fn groups(&self, after: Option<String>, limit: usize) -> Result<Vec<Group>, StoreError> {
        pass!(self, "groups", self.store.groups(after, limit))
    }

    async fn delete_group(&self, name: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        pass!(self, "delete_group", self.store.delete_group(name, who, now))
    }

    async fn put_silence(&self, silence: Silence, who: Who) -> Result<bool, StoreError> {
        pass!(self, "put_silence", self.tap.put_silence(&self.store, silence, who))
    }

    async fn silences(&self, query: SilenceQuery) -> Result<Vec<Silence>, StoreError> {
        pass!(self, "silences", self.store.silences(query))
    }

    async fn end_silence(
        &self,
        id: SilenceId,
        after: Option<OccurrenceId>,
        who: Who,
        now: Timestamp,
    ) -> Result<Option<Released>, StoreError> {
        pass!(self, "end_silence", self.tap.end_silence(&self.store, id, after, who, now))
    }

    async fn users_at(&self, channel: &str, addresses: Vec<String>) -> Result<Vec<User>, StoreError> {
        pass!(self, "users_at", self.store.users_at(channel, addresses))
    }

    async fn question(&self, run: OccurrenceId) -> Result<Option<Question>, StoreError> {
        pass!(self, "question", self.store.question(run))
    }

    async fn hold(&self, node: &str, channels: Vec<String>) -> Result<Vec<HeldConnection>, StoreError> {
        pass!(self, "hold", self.store.hold(node, channels))
    }

    async fn report(&self, report: Report, now: Timestamp) -> Result<(Reported, Vec<Timestamp>), StoreError> {
        pass!(self, "report", self.store.report(report, now))
    }

    async fn dead_addresses(&self, after: Option<Address>, limit: usize) -> Result<Vec<DeadAddress>, StoreError> {
        pass!(self, "dead_addresses", self.store.dead_addresses(after, limit))
    }
    async fn mark_dead(&self, dead: DeadAddress) -> Result<(), StoreError> {
        pass!(self, "mark_dead", self.store.mark_dead(dead))
    }
    async fn revive(&self, address: &Address) -> Result<bool, StoreError> {
        pass!(self, "revive", self.store.revive(address))
    }
    async fn end_sessions(&self, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), StoreError> {
        pass!(self, "end_sessions", self.store.end_sessions(name, at, forgotten))
    }
    async fn sessions_ended(&self, names: Vec<String>) -> Result<Option<Timestamp>, StoreError> {
        pass!(self, "sessions_ended", self.store.sessions_ended(names))
    }
    async fn put_key(&self, key: ApiKey, who: Who) -> Result<(), StoreError> {
        pass!(self, "put_key", self.store.put_key(key, who))
    }

    async fn key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError> {
        pass!(self, "key", self.store.key(hash))
    }

    async fn key_named(&self, id: &str) -> Result<Option<ApiKey>, StoreError> {
        pass!(self, "key_named", self.store.key_named(id))
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        pass!(self, "keys", self.store.keys())
    }

    async fn rotate_key(&self, id: &str, rotation: Rotation, who: Who) -> Result<Option<ApiKey>, StoreError> {
        pass!(self, "rotate_key", self.store.rotate_key(id, rotation, who))
    }

    async fn keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        pass!(self, "keys_used", self.store.keys_used(uses))
    }

    async fn delete_key(&self, id: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        pass!(self, "delete_key", self.store.delete_key(id, who, now))
    }

    async fn stats(&self, now: Timestamp) -> Result<StoreStats, StoreError> {
        pass!(self, "stats", self.store.stats(now))
    }

    async fn failed_since(&self, since: Timestamp, limit: usize) -> Result<usize, StoreError> {
        pass!(self, "failed_since", self.store.failed_since(since, limit))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        pass!(self, "probe", self.store.probe())
    }

    fn queries(&self) -> u64 {
        self.store.queries()
    }

    async fn beat(&self, beat: Beat) -> Result<Option<Pulse>, StoreError> {
        pass!(self, "beat", self.store.beat(beat))
    }

    async fn leave(&self, node: &str) -> Result<(), StoreError> {
        pass!(self, "leave", self.store.leave(node))
    }

    async fn listen(&self) -> Result<Option<Box<dyn Ears>>, StoreError> {
        pass!(self, "listen", self.tap.listen(&self.store))
    }

    async fn recall(&self, reminder: ReminderId) -> Result<(), StoreError> {
        pass!(self, "recall", self.store.recall(reminder))
    }

    async fn recalled(&self) -> Result<Vec<ReminderId>, StoreError> {
        pass!(self, "recalled", self.tap.recalled(&self.store))
    }

    async fn take_turns(&self, limits: Vec<(String, Rate)>) -> Result<Vec<Duration>, StoreError> {
        pass!(self, "take_turns", self.store.take_turns(limits))
    }

    async fn tell_throttle(&self, throttle: Throttle) -> Result<(), StoreError> {
        pass!(self, "tell_throttle", self.store.tell_throttle(throttle))
    }

    async fn throttles(&self, since: Option<Timestamp>) -> Result<Vec<Throttle>, StoreError> {
        pass!(self, "throttles", self.store.throttles(since))
    }
}

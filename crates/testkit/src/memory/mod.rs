//! A store in memory, for many nodes: it locks, loads, asks core, and writes into maps.
//!
//! It keeps to the rules of a database that nodes share: its own clock leads all of theirs, they live as long as they beat, and what
//! one plans for another is told. Delays, failures and lost answers come from a [`crate::tap::Tap`] before it.

mod load;
mod nodes;
mod read;
mod tables;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::change::Change;
use punctual_core::channel::Rate;
use punctual_core::clock::Clock;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::reminder::Address;
use punctual_core::store::*;
use punctual_core::user::{ApiKey, User};
use punctual_core::writes::{Deed, Writes};

use crate::clock::ManualClock;
use tables::Tables;

/// One node's connection to a database in memory.
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    clock: Arc<dyn Clock>,
    /// Which connection this is.
    number: u32,
    queries: AtomicU64,
}

impl MemoryStore {
    /// An empty database that goes by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { tables: Arc::default(), clock, number: 0, queries: AtomicU64::new(0) }
    }

    /// An empty database whose clock shows an instant after all that a test of rules does.
    pub fn empty() -> Arc<dyn Store> {
        let after_all = Timestamp::from_second(4_000_000_000).expect("a year that jiff knows");
        Arc::new(Self::new(Arc::new(ManualClock::at(after_all))))
    }

    /// A connection of another node's.
    pub fn connect(&self) -> Self {
        let mut tables = self.lock();
        tables.last_connection += 1;
        let (tables, number) = (self.tables.clone(), tables.last_connection);
        Self { tables, clock: self.clock.clone(), number, queries: AtomicU64::new(0) }
    }

    /// Nobody else sees the tables or changes them until this is dropped.
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        (tables.now, tables.connection) = (self.clock.now(), self.number);
        tables
    }
}

/// Makes a store of what each method does with the locked tables.
macro_rules! store {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty { |$tables:ident| $work:expr })+) => {
        #[async_trait]
        impl Store for MemoryStore {
            $(async fn $name(&self, $($argument: $type),*) -> $answer {
                let $tables = &mut *self.lock();
                $work
            })+

            fn queries(&self) -> u64 {
                self.queries.load(Ordering::Relaxed)
            }
        }
    };
}

type Done<T> = Result<T, StoreError>;
type Leases = Vec<(OccurrenceId, u64)>;
type Coming = Vec<(OccurrenceId, NextRun)>;

store! {
    fn create(new: Create) -> Done<()> { |t| {
        let mut writes = Writes::new(new.now);
        writes.answered.extend(new.answered);
        writes.create(new.reminders, &new.actor.into());
        t.write(writes).map(drop)
    } }
    fn answered(key: &str) -> Done<Option<Answered>> { |t| Ok(t.answered.get(key).map(|(_, kept)| kept.clone())) }
    fn begin_answer(key: &str, request: [u8; 32], now: Timestamp) -> Done<()> { |t| {
        let mut writes = Writes::new(now);
        writes.answered.push((key.to_owned(), Answered { request, answer: None }));
        t.write(writes).map(drop)
    } }
    fn finish_answer(key: &str, answer: Option<Answer>) -> Done<()> { |t| {
        let kept = t.answered.remove(key).filter(|_| answer.is_some());
        t.answered.extend(kept.map(|(at, kept)| (key.to_owned(), (at, Answered { answer, ..kept }))));
        Ok(())
    } }
    fn change(id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> { |t|
        t.change(id, &change, &by)
    }
    fn reminder(id: ReminderId) -> Done<Option<ReminderView>> { |t| Ok(t.view(id)) }
    fn existing(ids: Vec<ReminderId>) -> Done<Vec<ReminderView>> { |t|
        Ok(ids.into_iter().filter_map(|id| t.view(id)).collect())
    }
    fn imported(query: ImportedQuery) -> Done<Vec<Imported>> { |t| Ok(t.imported(&query)) }
    fn reminders(query: ReminderQuery) -> Done<Vec<ReminderView>> { |t| Ok(t.views(&query)) }
    fn occurrences(id: ReminderId, before: Option<u32>, limit: usize) -> Done<Vec<Trail>> { |t| {
        let older = t.runs_of(id).rev().filter(|run| before.is_none_or(|before| run.occurrence.id.run < before));
        Ok(older.take(limit).map(|run| t.trail(run)).collect())
    } }
    fn occurrence(id: OccurrenceId) -> Done<Option<Trail>> { |t| Ok(t.runs.get(&id).map(|run| t.trail(run))) }
    fn audit(query: AuditQuery) -> Done<Vec<AuditEntry>> { |t| {
        let AuditQuery { reminder, before, limit } = query;
        let older = t.audit.iter().rev().filter(|entry| before.is_none_or(|before| entry.number < before));
        Ok(older.filter(|entry| reminder.is_none_or(|id| id == entry.reminder)).take(limit).cloned().collect())
    } }
    fn record_test(test: ChannelTest) -> Done<()> { |t| {
        let ChannelTest { message: reminder, actor, detail, at } = test;
        t.note(Deed { at, actor: actor.into(), action: CHANNEL_TEST, reminder, run: None, detail: Some(detail) });
        Ok(())
    } }
    fn upcoming(window: UpcomingQuery) -> Done<Upcoming> { |t| Ok(t.upcoming(&window)) }
    fn coming(from: Timestamp, until: Timestamp, after: Option<(Timestamp, OccurrenceId)>, limit: usize) -> Done<Coming> {
        |t| Ok(t.coming(from, until, after).take(limit).collect())
    }
    fn claim(claim: Claim) -> Done<Claims> { |t| t.claim(claim) }
    fn settle(settlements: Vec<Settlement>, now: Timestamp) -> Done<Settled> { |t|
        t.settle(settlements, now)
    }
    fn renew(leases: Leases, until: Timestamp) -> Done<Leases> { |t| Ok(t.renew(leases, until)) }
    fn note_sent(id: OccurrenceId, lease: u64, attempt: u32, message_id: &str) -> Done<bool> { |t|
        Ok(t.note_sent(id, lease, attempt, message_id))
    }
    fn rescue(node: &str, now: Timestamp) -> Done<usize> { |t| Ok(t.rescue(node, now)) }
    fn prune(before: Timestamp, limit: usize) -> Done<usize> { |t| Ok(t.prune(before, limit)) }
    fn forget_answered(now: Timestamp) -> Done<()> { |t| {
        t.forget_answered(now);
        Ok(())
    } }
    fn put_user(user: User) -> Done<Vec<Timestamp>> { |t| {
        let (id, now) = (user.id.clone(), user.updated_at);
        t.put_user(&id, Some(user), now)
    } }
    fn user(id: &str) -> Done<Option<User>> { |t| Ok(t.users.get(id).cloned()) }
    fn users(after: Option<String>, limit: usize) -> Done<Vec<User>> { |t| {
        let users = t.users.values().filter(|user| after.as_ref().is_none_or(|after| user.id > *after));
        Ok(users.take(limit).cloned().collect())
    } }
    fn delete_user(id: &str, now: Timestamp) -> Done<Option<Vec<Timestamp>>> { |t|
        t.users.contains_key(id).then(|| t.put_user(id, None, now)).transpose()
    }
    fn dead_addresses(after: Option<Address>, limit: usize) -> Done<Vec<DeadAddress>> { |t| {
        let dead = t.dead.values().filter(|dead| after.as_ref().is_none_or(|after| dead.address > *after));
        Ok(dead.take(limit).cloned().collect())
    } }
    fn mark_dead(dead: DeadAddress) -> Done<()> { |t| {
        let mut writes = Writes::new(t.now);
        writes.dead.push(dead);
        t.write(writes).map(drop)
    } }
    fn revive(address: &Address) -> Done<bool> { |t| Ok(t.dead.remove(address).is_some()) }
    fn put_key(key: ApiKey) -> Done<()> { |t| match t.keys.contains_key(&key.hash) {
        true => Err(StoreError::Broken("a hash belongs to one key".into())),
        false => {
            t.keys.insert(key.hash, key);
            Ok(())
        }
    } }
    fn key(hash: [u8; 32]) -> Done<Option<ApiKey>> { |t| Ok(t.keys.get(&hash).cloned()) }
    fn keys() -> Done<Vec<ApiKey>> { |t| {
        let mut keys: Vec<ApiKey> = t.keys.values().cloned().collect();
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    } }
    fn delete_key(id: &str) -> Done<bool> { |t| Ok(t.keys.extract_if(.., |_, key| key.id == id).count() > 0) }
    fn stats(_now: Timestamp) -> Done<StoreStats> { |t| Ok(t.stats()) }
    fn failed_since(since: Timestamp, limit: usize) -> Done<usize> { |t| Ok(t.failed_since(since).take(limit).count()) }
    fn probe() -> Done<()> { |_t| Ok(()) }
    fn beat(beat: Beat) -> Done<Option<Pulse>> { |t| Ok(Some(t.beat(beat))) }
    fn leave(node: &str) -> Done<()> { |t| {
        t.leave(node);
        Ok(())
    } }
    fn listen() -> Done<Option<Box<dyn Ears>>> { |t| Ok(Some(t.listen())) }
    fn recall(reminder: ReminderId) -> Done<()> { |t| {
        t.recall(reminder);
        Ok(())
    } }
    fn recalled() -> Done<Vec<ReminderId>> { |t| Ok(t.recalled()) }
    fn take_turns(limits: Vec<(String, Rate)>) -> Done<Vec<Duration>> { |t| Ok(t.take_turns(&limits)) }
    fn tell_throttle(throttle: Throttle) -> Done<()> { |t| {
        t.tell_throttle(throttle);
        Ok(())
    } }
    fn throttles(since: Option<Timestamp>) -> Done<Vec<Throttle>> { |t| Ok(t.throttles(since)) }
}

//! A store in memory, for many nodes: it locks, loads, asks core, and writes into maps.
//!
//! It keeps to the rules of a database that nodes share: its own clock leads all of theirs, they live as long as they beat, and what
//! one plans for another is told. Delays, failures and lost answers come from a [`crate::tap::Tap`] before it.

mod decide;
mod event;
mod feed;
mod journal;
mod nodes;
mod overview;
mod read;
mod search;
mod tables;
mod watch;
mod whole;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::NextRun;
use punctual_core::change::{self, Besides, Cancelled, Change, changed};
use punctual_core::channel::{Rate, receive};
use punctual_core::clock::{Clock, kept_micros};
use punctual_core::decide::claim::{Due, Found, Known, Locked, look};
use punctual_core::decide::family::{Family, Kin, family_of};
use punctual_core::decide::group::group_changed;
use punctual_core::decide::key::{key_created, key_deleted, key_rotated};
use punctual_core::decide::person::{Before, Difference, OpenRun, entry, person_changed};
use punctual_core::decide::report::reported;
use punctual_core::decide::settle::{Counted, Leased, settled};
use punctual_core::decide::silence::{Beside, SilencedRun, released, silenced};
use punctual_core::decide::tell::{Newsworthy, People, alerts_about, groups_of, people_of, told};
use punctual_core::event::Slot;
use punctual_core::feed::{Feed, FeedKey};
use punctual_core::group::Group;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::{Ended, Entry, Kind, Placed, Who};
use punctual_core::key::{ApiKey, Rotation};
use punctual_core::occurrence::{Attempt, AttemptStatus, Lease, Occurrence, State, StateKind, Why};
use punctual_core::reminder::{Address, Reminder, ReminderStatus};
use punctual_core::rules::course::{Course, Progress, Series, Tally};
use punctual_core::scope::{Path, Scope};
use punctual_core::shard::Shards;
use punctual_core::silence::{Silence, Silences, Silent};
use punctual_core::store::*;
use punctual_core::user::{Person, User};
use punctual_core::writes::{EndedAttempt, Moved, Planned, Writes};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use tables::{Run, Tables};

/// One node's connection to a database in memory.
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    clock: Arc<dyn Clock>,
    /// Which connection this is.
    number: usize,
}

impl MemoryStore {
    /// An empty database that goes by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { tables: Arc::default(), clock, number: 0 }.connect()
    }

    /// A connection of another node's.
    pub fn connect(&self) -> Self {
        let shares = &mut self.lock().shares;
        shares.push((Vec::new(), Shards::ALL));
        Self { tables: self.tables.clone(), clock: self.clock.clone(), number: shares.len() - 1 }
    }

    /// Nobody else sees the tables or changes them until this is dropped.
    fn lock(&self) -> MutexGuard<'_, Tables> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        (tables.now, tables.connection) = (self.clock.now(), self.number);
        tables.n_queries += 1;
        tables
    }
}

type Done<T> = Result<T, StoreError>;
type Leases = Vec<(OccurrenceId, u64)>;
/// Where the reader of a list has come to.
type Place = Option<(Timestamp, OccurrenceId)>;

/// Makes a store of what each method does with the locked tables.
macro_rules! store {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty { |$tables:ident| $work:expr })+) => {
        #[async_trait]
        impl Store for MemoryStore {
            $(async fn $name(&self, $($argument: $type),*) -> $answer {
                let $tables = &mut *self.lock();
                Ok($work)
            })+

            fn queries(&self) -> u64 {
                self.lock().n_queries
            }
        }
    };
}

store! {
    fn create(new: Create) -> Done<()> { |t| drop(t.write(new.writes())?) }
    fn answered(key: &str) -> Done<Option<Answered>> { |t| t.answered.get(key).map(|(_, kept)| kept.clone()) }
    fn begin_answer(key: &str, request: [u8; 32], now: Timestamp) -> Done<()> { |t| {
        let answered = vec![(key.to_owned(), Answered { request, answer: None })];
        t.write(Writes { answered, ..Writes::new(now) })?;
    } }
    fn finish_answer(key: &str, answer: Option<Answer>) -> Done<()> { |t| match (answer, t.answered.get_mut(key)) {
        (Some(answer), Some((_, kept))) => kept.answer = Some(answer),
        _ => drop(t.answered.remove(key)),
    } }
    fn forget_answered(now: Timestamp) -> Done<()> { |t| t.forget_answered(now) }
    fn change(id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> { |t| t.change(id, &change, &by)? }
    fn reminder(id: ReminderId) -> Done<Option<ReminderView>> { |t| t.view(id) }
    fn existing(ids: Vec<ReminderId>) -> Done<Vec<ReminderView>> { |t| ids.iter().filter_map(|id| t.view(*id)).collect() }
    fn imported(query: ImportedQuery) -> Done<Vec<Imported>> { |t| t.imported(&query) }
    fn reminders(query: ReminderQuery) -> Done<Vec<ReminderView>> { |t| t.views(&query) }
    fn occurrences(id: ReminderId, before: Option<u32>, limit: usize) -> Done<Vec<Trail>> { |t| {
        let older = t.runs_of(id).rev().filter(|run| before.is_none_or(|before| run.occurrence.id.run < before));
        older.take(limit).map(|run| t.trail(run)).collect()
    } }
    fn occurrence(id: OccurrenceId) -> Done<Option<Trail>> { |t| t.runs.get(&id).map(|run| t.trail(run)) }
    fn place() -> Done<i64> { |t| t.place() }
    fn journal(query: JournalQuery) -> Done<JournalPage> { |t| t.read_journal(&query) }
    fn record(entry: Entry) -> Done<()> { |t| {
        let now = entry.at;
        t.write(Writes { entries: vec![entry], ..Writes::new(now) })?;
    } }
    fn prune_journal(before: Timestamp, limit: usize) -> Done<usize> { |t| t.prune_journal(before, limit) }
    fn take_duty(name: &str, node: &str, _now: Timestamp) -> Done<Option<Duty>> { |t| t.take_duty(name, node) }
    fn keep_duty(kept: KeptDuty) -> Done<bool> { |t| t.keep_duty(kept) }
    fn leave_duty(name: &str, lease: u64) -> Done<()> { |t| t.leave_duty(name, lease) }
    fn duties() -> Done<Vec<KnownDuty>> { |t| t.duties() }
    fn tagged(tag: &str, reminders: Vec<ReminderId>) -> Done<Vec<ReminderId>> {
        |t| reminders.into_iter().filter(|id| t.has_tag(*id, tag)).collect()
    }
    fn upcoming(query: UpcomingQuery) -> Done<Upcoming> { |t| t.upcoming(&query) }
    fn coming(from: Timestamp, until: Timestamp, after: Place, limit: usize) -> Done<Vec<(OccurrenceId, NextRun)>> {
        |t| t.coming(from, until, after).take(limit).collect()
    }
    fn claim(claim: Claim) -> Done<Claims> { |t| t.claim(claim)? }
    fn settle(settlements: Vec<Settlement>, now: Timestamp) -> Done<Settled> { |t| t.settle(&settlements, now)? }
    fn renew(leases: Leases, until: Timestamp) -> Done<Leases> { |t| {
        let kept = t.end_leases(until, |id, lease| leases.contains(&(id, lease.number)));
        leases.into_iter().filter(|lease| !kept.contains(lease)).collect()
    } }
    fn write_message_id(id: OccurrenceId, lease: u64, attempt: u32, message_id: &str) -> Done<bool> {
        |t| t.write_message_id(id, lease, attempt, message_id)
    }
    fn rescue(node: &str, now: Timestamp) -> Done<usize> { |t| t.end_leases(now, |_, lease| *lease.node == *node).len() }
    fn prune(before: Timestamp, limit: usize) -> Done<usize> { |t| t.prune(before, limit) }
    fn put_user(user: User, who: Who) -> Done<Vec<Timestamp>> {
        |t| t.put_user(&user.id.clone(), user.updated_at, Some(user), who)?
    }
    fn user(id: &str) -> Done<Option<User>> { |t| t.users.get(id).cloned() }
    fn users(after: Option<String>, limit: usize) -> Done<Vec<User>> { |t| page(&t.users, after, limit) }
    fn delete_user(id: &str, who: Who, now: Timestamp) -> Done<Option<Vec<Timestamp>>> {
        |t| t.users.contains_key(id).then(|| t.put_user(id, now, None, who)).transpose()?
    }
    fn asked(users: Vec<String>, ended_since: Option<Timestamp>) -> Done<Vec<Question>> { |t| t.asked(&users, ended_since) }
    fn put_group(group: Group, who: Who) -> Done<Vec<Timestamp>> {
        |t| t.put_group(&group.name.clone(), group.updated_at, Some(group), who)?
    }
    fn groups_of(names: Vec<String>) -> Done<Vec<Group>> { |t| names.iter().filter_map(|name| t.groups.get(name).cloned()).collect() }
    fn groups(after: Option<String>, limit: usize) -> Done<Vec<Group>> { |t| page(&t.groups, after, limit) }
    fn delete_group(name: &str, who: Who, now: Timestamp) -> Done<Option<Vec<Timestamp>>> {
        |t| t.groups.contains_key(name).then(|| t.put_group(name, now, None, who)).transpose()?
    }
    fn put_silence(silence: Silence, who: Who) -> Done<bool> { |t| {
        let kept = || t.silences.values().filter(|kept| kept.until > silence.created_at);
        let n_of_user = kept().filter(|kept| silence.user.is_some() && kept.user == silence.user).count();
        let writes = silenced(&silence, Beside { all: kept().count(), of_user: n_of_user }, who);
        let has_room = writes.is_some();
        if let Some(writes) = writes {
            t.write(writes)?;
            t.silences.insert(silence.id, silence);
        }
        has_room
    } }
    fn silences(query: SilenceQuery) -> Done<Vec<Silence>> { |t| {
        let is_wanted = |silence: &&Silence| {
            silence.until > query.now
                && query.id.is_none_or(|id| silence.id == id)
                && query.after.is_none_or(|after| silence.id > after)
                && (query.user.is_none() || silence.user == query.user)
                && (query.tag.is_none() || silence.tag == query.tag)
        };
        t.silences.values().filter(is_wanted).take(query.limit).cloned().collect()
    } }
    fn end_silence(id: SilenceId, _after: Option<OccurrenceId>, who: Who, now: Timestamp) -> Done<Option<Released>> {
        |t| t.end_silence(id, who, now)?
    }
    fn users_at(channel: &str, addresses: Vec<String>) -> Done<Vec<User>> { |t| {
        let is_theirs = |known: &Address| known.channel == channel && addresses.contains(&known.address);
        t.users.values().filter(|user| user.addresses.iter().any(is_theirs)).cloned().collect()
    } }
    fn question(run: OccurrenceId) -> Done<Option<Question>> { |t| t.question(run) }
    fn hold(node: &str, channels: Vec<String>) -> Done<Vec<HeldConnection>> { |t| t.hold(node, channels) }
    fn report(report: Report, now: Timestamp) -> Done<(Reported, Vec<Timestamp>)> { |t| t.report(&report, now)? }
    fn dead_addresses(after: Option<Address>, limit: usize) -> Done<Vec<DeadAddress>> { |t| page(&t.dead, after, limit) }
    fn mark_dead(dead: DeadAddress) -> Done<()> { |t| {
        t.dead.entry(dead.address.clone()).or_insert(dead);
    } }
    fn revive(address: &Address) -> Done<bool> { |t| t.dead.remove(address).is_some() }
    fn end_sessions(name: &str, at: Timestamp, forgotten: Timestamp) -> Done<()> { |t| {
        let ended = t.sessions_ended.entry(name.to_owned()).or_insert(at);
        *ended = at.max(*ended);
        t.sessions_ended.retain(|_, ended| *ended >= forgotten);
    } }
    fn sessions_ended(names: Vec<String>) -> Done<Option<Timestamp>> { |t| {
        names.iter().filter_map(|name| t.sessions_ended.get(name)).max().copied()
    } }
    fn put_key(key: ApiKey, who: Who) -> Done<()> { |t| {
        if t.keys.iter().any(|kept| kept.hash == key.hash) {
            return Err(StoreError::Broken("a hash belongs to one key".into()));
        }
        t.write(key_created(&key, who))?;
        t.keys.push(key);
    } }
    fn key(hash: [u8; 32]) -> Done<Option<ApiKey>> { |t| {
        let is_old = |key: &ApiKey| key.replaced.as_ref().is_some_and(|replaced| replaced.hash == hash);
        t.keys.iter().find(|key| key.hash == hash).or_else(|| t.keys.iter().find(|key| is_old(key))).cloned()
    } }
    fn key_named(id: &str) -> Done<Option<ApiKey>> { |t| t.keys.iter().find(|key| key.id == id).cloned() }
    fn keys() -> Done<Vec<ApiKey>> { |t| {
        t.keys.sort_by_key(|key| key.created_at);
        t.keys.clone()
    } }
    fn rotate_key(id: &str, rotation: Rotation, who: Who) -> Done<Option<ApiKey>> { |t| {
        let Some(index) = t.keys.iter().position(|key| key.id == id) else { return Ok(None) };
        who.expects.check(|| Some(t.keys[index].version()))?;
        let (key, writes) = key_rotated(t.keys[index].clone(), &rotation, who);
        t.write(writes)?;
        t.keys[index] = key.clone();
        Some(key)
    } }
    fn keys_used(uses: Vec<(String, Timestamp)>) -> Done<()> { |t| {
        for (id, at) in uses {
            if let Some(key) = t.keys.iter_mut().find(|key| key.id == id) {
                key.used_at = key.used_at.max(Some(at));
            }
        }
    } }
    fn delete_key(id: &str, who: Who, now: Timestamp) -> Done<bool> { |t| {
        let Some(index) = t.keys.iter().position(|key| key.id == id) else { return Ok(false) };
        who.expects.check(|| Some(t.keys[index].version()))?;
        let key = t.keys.remove(index);
        t.write(key_deleted(&key, who, now))?;
        true
    } }
    fn stats(_now: Timestamp) -> Done<StoreStats> { |t| t.stats() }
    fn failed_since(since: Timestamp, limit: usize) -> Done<usize> { |t| t.failed_since(since).take(limit).count() }
    fn probe() -> Done<()> { |_t| () }
    fn beat(beat: Beat) -> Done<Option<Pulse>> { |t| Some(t.beat(beat)) }
    fn leave(node: &str) -> Done<()> { |t| t.leave(node) }
    fn listen() -> Done<Option<Box<dyn Ears>>> { |t| Some(t.listen()) }
    fn recall(reminder: ReminderId) -> Done<()> { |t| t.recall(reminder) }
    fn recalled() -> Done<Vec<ReminderId>> { |t| t.recalled() }
    fn take_turns(limits: Vec<(String, Rate)>) -> Done<Vec<Duration>> { |t| t.take_turns(&limits) }
    fn tell_throttle(throttle: Throttle) -> Done<()> { |t| t.tell_throttle(throttle) }
    fn throttles(since: Option<Timestamp>) -> Done<Vec<Throttle>> { |t| t.throttles(since) }
}

/// Up to `limit` values in the order of their keys, after `after`.
fn page<K: Ord, V: Clone>(map: &BTreeMap<K, V>, after: Option<K>, limit: usize) -> Vec<V> {
    let after = after.map_or(Bound::Unbounded, Bound::Excluded);
    map.range((after, Bound::Unbounded)).take(limit).map(|(_, value)| value.clone()).collect()
}

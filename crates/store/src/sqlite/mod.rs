//! One embedded file.
//!
//! SQLite in WAL mode with `synchronous = FULL`: a commit that has returned survives power loss. One thread writes, and
//! whatever waits when it begins shares its commit, so that durable does not mean slow; other threads read beside it.
//!
//! Which clock judges leases: the only process there is. A lock file keeps a second one out, so a lease found at
//! start-up belongs to a process that is gone.

mod answered;
mod asked;
mod change;
mod check;
mod claim;
mod coming;
mod commits;
mod dead;
mod duty;
mod erase;
mod event;
mod export;
mod feed;
mod foreign;
mod group;
mod imported;
mod inbound;
mod journal;
mod keep;
mod lateness;
mod migrate;
mod open;
mod overview;
mod person;
mod prune;
mod read;
mod row;
mod search;
mod session;
mod settle;
mod silence;
mod values;
mod watch;
mod watched;
mod whole;
mod worker;
mod write;

use std::path::Path;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::change::Change;
use punctual_core::decide::key::{key_created, key_deleted, key_rotated};
use punctual_core::group::Group;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::{Entry, Who};
use punctual_core::key::{ApiKey, Rotation};
use punctual_core::reminder::Address;
use punctual_core::silence::Silence;
use punctual_core::store::{
    Answer, Answered, By, ChangeError, Changed, Claim, Claims, Create, DeadAddress, Duty, HeldConnection, Imported,
    ImportedQuery, JournalPage, JournalQuery, KeptDuty, KnownDuty, Question, Released, ReminderQuery, ReminderView,
    Report, Reported, Settled, Settlement, SilenceQuery, Store, StoreError, StoreStats, Trail, Upcoming, UpcomingQuery,
};
use punctual_core::user::User;
use punctual_core::writes::Writes;
use rusqlite::Connection;

pub use check::{CheckReport, check};
pub(crate) use export::Export;
pub use export::is_ours;
pub(crate) use foreign::Foreign;
#[cfg(test)]
pub(crate) use migrate::all_versions;
pub use migrate::{MigrateReport, migrate};
pub use open::OpenError;
pub(crate) use watched::Watched;
use worker::{Readers, Urgency, Writer};

/// More reminders than this in one create have a commit of their own.
const BULK_FROM: usize = 2048;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Run statements on the caller's thread. The simulator does, so that every run is the same.
    pub inline: bool,
    /// Wait for the disk at every commit. Only the simulator does without, and crashes processes, not machines.
    pub durable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { inline: false, durable: true }
    }
}

/// The version of SQLite inside this binary.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// The latest schema version of a file that this program knows.
pub(crate) fn schema_known() -> u32 {
    migrate::known()
}

/// Reminders in one file.
pub struct SqliteStore {
    writer: Writer,
    readers: Readers,
    /// HeldConnection as long as the store is: keeps a second server away from the file.
    _lock: open::Lock,
}

impl SqliteStore {
    /// Opens the file, making it if there is none, and brings its schema up to date.
    ///
    /// Refuses a file that another server has open, and one whose schema is newer than this program.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        open::open(path, &options)
    }

    /// How many rows this store has inserted, updated and deleted since it was opened: what `bench cost` counts.
    pub fn n_changes(&self) -> u64 {
        self.writer.changes()
    }

    async fn write<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.run(urgency, work).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.run(work).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, new: Create) -> Result<(), StoreError> {
        let urgency = if new.reminders.len() > BULK_FROM { Urgency::Bulk } else { Urgency::Normal };
        let writes = new.writes();
        self.write(urgency, move |db| write::write(db, &writes)).await.map(drop)
    }

    async fn answered(&self, key: &str) -> Result<Option<Answered>, StoreError> {
        let key = key.to_owned();
        self.read(move |db| answered::read(db, &key)).await
    }

    async fn begin_answer(&self, key: &str, request: [u8; 32], now: Timestamp) -> Result<(), StoreError> {
        let key = key.to_owned();
        let begun = Answered { request, answer: None };
        self.write(Urgency::Normal, move |db| answered::insert(db, &key, &begun, now)).await
    }

    async fn finish_answer(&self, key: &str, answer: Option<Answer>) -> Result<(), StoreError> {
        let key = key.to_owned();
        self.write(Urgency::Normal, move |db| answered::finish(db, &key, answer.as_ref())).await
    }

    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        // The refusal is a value here, not an error: it must not be mistaken for a failure of the database.
        self.write(Urgency::Normal, move |db| change::change(db, id, &change, &by)).await?
    }

    async fn reminder(&self, id: ReminderId) -> Result<Option<ReminderView>, StoreError> {
        self.read(move |db| read::reminder(db, id)).await
    }

    async fn existing(&self, ids: Vec<ReminderId>) -> Result<Vec<ReminderView>, StoreError> {
        self.read(move |db| read::existing(db, &ids)).await
    }

    async fn imported(&self, query: ImportedQuery) -> Result<Vec<Imported>, StoreError> {
        self.read(move |db| imported::imported(db, &query)).await
    }

    async fn reminders(&self, query: ReminderQuery) -> Result<Vec<ReminderView>, StoreError> {
        self.read(move |db| read::reminders(db, &query)).await
    }

    async fn occurrences(&self, id: ReminderId, before: Option<u32>, limit: usize) -> Result<Vec<Trail>, StoreError> {
        self.read(move |db| read::occurrences(db, id, before, limit)).await
    }

    async fn occurrence(&self, id: OccurrenceId) -> Result<Option<Trail>, StoreError> {
        self.read(move |db| read::occurrence(db, id)).await
    }

    async fn place(&self) -> Result<i64, StoreError> {
        // One writer commits one after the other, so an entry's number is its place.
        self.read(journal::head).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage, StoreError> {
        self.read(move |db| journal::journal(db, &query)).await
    }

    async fn record(&self, entry: Entry) -> Result<(), StoreError> {
        let writes = Writes { entries: vec![entry.clone()], ..Writes::new(entry.at) };
        self.write(Urgency::Normal, move |db| write::write(db, &writes)).await.map(drop)
    }

    async fn prune_journal(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.write(Urgency::Normal, move |db| journal::prune(db, before, limit)).await
    }

    async fn take_duty(&self, name: &str, node: &str, _now: Timestamp) -> Result<Option<Duty>, StoreError> {
        let (name, node) = (name.to_owned(), node.to_owned());
        self.write(Urgency::Normal, move |db| duty::take(db, &name, &node)).await.map(Some)
    }

    async fn keep_duty(&self, kept: KeptDuty) -> Result<bool, StoreError> {
        let now = kept.clone();
        // Nothing to write is no reason for a commit.
        match self.read(move |db| duty::is_as(db, &now)).await? {
            duty::Is::AsKept => Ok(true),
            duty::Is::Anothers => Ok(false),
            duty::Is::Behind => self.write(Urgency::Normal, move |db| duty::keep(db, &kept)).await,
        }
    }

    async fn leave_duty(&self, _name: &str, _lease: u64) -> Result<(), StoreError> {
        // Whoever asks for it next gets it.
        Ok(())
    }

    async fn duties(&self) -> Result<Vec<KnownDuty>, StoreError> {
        self.read(duty::all).await
    }

    async fn tagged(&self, tag: &str, reminders: Vec<ReminderId>) -> Result<Vec<ReminderId>, StoreError> {
        let tag = tag.to_owned();
        self.read(move |db| journal::tagged(db, &tag, &reminders)).await
    }

    async fn upcoming(&self, window: UpcomingQuery) -> Result<Upcoming, StoreError> {
        self.read(move |db| read::upcoming(db, &window)).await
    }

    async fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, OccurrenceId)>,
        limit: usize,
    ) -> Result<Vec<(OccurrenceId, NextRun)>, StoreError> {
        self.read(move |db| coming::coming(db, from, until, after, limit)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claims, StoreError> {
        self.write(Urgency::Urgent, move |db| claim::claim(db, &claim)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
        self.write(Urgency::Urgent, move |db| settle::settle(db, settlements, now)).await
    }

    async fn renew(
        &self,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
        self.write(Urgency::Urgent, move |db| claim::renew(db, &leases, until)).await
    }

    async fn write_message_id(
        &self,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError> {
        let message_id = message_id.to_owned();
        self.write(Urgency::Urgent, move |db| claim::write_message_id(db, occurrence, lease, attempt, &message_id))
            .await
    }

    async fn rescue(&self, _node: &str, now: Timestamp) -> Result<usize, StoreError> {
        self.write(Urgency::Urgent, move |db| claim::rescue(db, now)).await
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.write(Urgency::Normal, move |db| prune::prune(db, before, limit)).await
    }

    async fn forget_answered(&self, now: Timestamp) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| {
            prune::forget_answered(db, now)?;
            inbound::forget_seen(db, now)
        })
        .await
    }

    async fn put_user(&self, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        self.write(Urgency::Normal, move |db| person::put_user(db, &user, who)).await
    }

    async fn user(&self, id: &str) -> Result<Option<User>, StoreError> {
        let id = id.to_owned();
        self.read(move |db| read::user(db, &id)).await
    }

    async fn users(&self, after: Option<String>, limit: usize) -> Result<Vec<User>, StoreError> {
        self.read(move |db| read::users(db, after.as_deref(), limit)).await
    }

    async fn delete_user(&self, id: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        let id = id.to_owned();
        self.write(Urgency::Normal, move |db| person::delete_user(db, &id, who, now)).await
    }

    async fn asked(&self, users: Vec<String>, ended_since: Option<Timestamp>) -> Result<Vec<Question>, StoreError> {
        self.read(move |db| asked::asked(db, &users, ended_since)).await
    }

    async fn put_group(&self, group: Group, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        self.write(Urgency::Normal, move |db| group::put(db, &group, who)).await
    }

    async fn groups_of(&self, names: Vec<String>) -> Result<Vec<Group>, StoreError> {
        self.read(move |db| group::of_names(db, &names)).await
    }

    async fn groups(&self, after: Option<String>, limit: usize) -> Result<Vec<Group>, StoreError> {
        self.read(move |db| group::groups(db, after.as_deref(), limit)).await
    }

    async fn delete_group(&self, name: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        let name = name.to_owned();
        self.write(Urgency::Normal, move |db| group::delete(db, &name, who, now)).await
    }

    async fn put_silence(&self, silence: Silence, who: Who) -> Result<bool, StoreError> {
        self.write(Urgency::Normal, move |db| silence::put(db, &silence, who)).await
    }

    async fn silences(&self, query: SilenceQuery) -> Result<Vec<Silence>, StoreError> {
        self.read(move |db| silence::silences(db, &query)).await
    }

    async fn end_silence(
        &self,
        id: SilenceId,
        after: Option<OccurrenceId>,
        who: Who,
        now: Timestamp,
    ) -> Result<Option<Released>, StoreError> {
        self.write(Urgency::Normal, move |db| silence::end(db, id, after, who, now)).await
    }

    async fn users_at(&self, channel: &str, addresses: Vec<String>) -> Result<Vec<User>, StoreError> {
        let channel = channel.to_owned();
        self.read(move |db| inbound::users_at(db, &channel, &addresses)).await
    }

    async fn question(&self, run: OccurrenceId) -> Result<Option<Question>, StoreError> {
        self.read(move |db| inbound::question(db, run)).await
    }

    async fn hold(&self, node: &str, channels: Vec<String>) -> Result<Vec<HeldConnection>, StoreError> {
        let node = node.to_owned();
        self.write(Urgency::Normal, move |db| inbound::hold(db, &node, &channels)).await
    }

    async fn report(&self, report: Report, now: Timestamp) -> Result<(Reported, Vec<Timestamp>), StoreError> {
        self.write(Urgency::Normal, move |db| inbound::report(db, &report, now)).await
    }

    async fn dead_addresses(&self, after: Option<Address>, limit: usize) -> Result<Vec<DeadAddress>, StoreError> {
        self.read(move |db| dead::dead_addresses(db, after.as_ref(), limit)).await
    }

    async fn mark_dead(&self, dead: DeadAddress) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| dead::mark_dead(db, &dead)).await
    }

    async fn revive(&self, address: &Address) -> Result<bool, StoreError> {
        let address = address.clone();
        self.write(Urgency::Normal, move |db| dead::revive(db, &address)).await
    }

    async fn end_sessions(&self, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(Urgency::Normal, move |db| session::end(db, &name, at, forgotten)).await
    }

    async fn sessions_ended(&self, names: Vec<String>) -> Result<Option<Timestamp>, StoreError> {
        self.read(move |db| session::ended(db, &names)).await
    }

    async fn put_key(&self, key: ApiKey, who: Who) -> Result<(), StoreError> {
        let writes = key_created(&key, who);
        self.write(Urgency::Normal, move |db| {
            keep::put_key(db, &key)?;
            write::write(db, &writes).map(drop)
        })
        .await
    }

    async fn key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError> {
        self.read(move |db| read::key(db, &hash)).await
    }

    async fn key_named(&self, id: &str) -> Result<Option<ApiKey>, StoreError> {
        let id = id.to_owned();
        self.read(move |db| read::key_named(db, &id)).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(read::keys).await
    }

    async fn rotate_key(&self, id: &str, rotation: Rotation, who: Who) -> Result<Option<ApiKey>, StoreError> {
        let id = id.to_owned();
        self.write(Urgency::Normal, move |db| {
            let Some(key) = read::key_named(db, &id)? else { return Ok(None) };
            who.expects.check(|| Some(key.version()))?;
            let (key, writes) = key_rotated(key, &rotation, who);
            keep::put_secrets(db, &key)?;
            write::write(db, &writes)?;
            Ok(Some(key))
        })
        .await
    }

    async fn keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| keep::put_uses(db, &uses)).await
    }

    async fn delete_key(&self, id: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(Urgency::Normal, move |db| {
            let Some(key) = keep::delete_key(db, &id)? else { return Ok(false) };
            who.expects.check(|| Some(key.version()))?;
            write::write(db, &key_deleted(&key, who, now))?;
            Ok(true)
        })
        .await
    }

    async fn stats(&self, _now: Timestamp) -> Result<StoreStats, StoreError> {
        self.read(read::stats).await
    }

    async fn failed_since(&self, since: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.read(move |db| read::failed_since(db, since, limit)).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.write(Urgency::Normal, |db| {
            db.prepare_cached("UPDATE probe SET value = value + 1")
                .map_err(row::broken)?
                .execute([])
                .map_err(row::broken)?;
            Ok(())
        })
        .await
    }

    fn queries(&self) -> u64 {
        self.writer.queries() + self.readers.queries()
    }
}

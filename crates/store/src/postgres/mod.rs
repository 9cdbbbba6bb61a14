//! One PostgreSQL, for any number of nodes.
//!
//! Everything is in a schema of its own, `punctual`. Statements take arrays and never loop; they are never prepared and
//! leave nothing behind in a session, so that PgBouncer in transaction mode may stand between. Statements of one transaction
//! are sent together wherever one does not need another's answer.
//!
//! Which clock judges leases: the database's, which nodes also set their own by; and above all the lease's number.

// `on!` is for the modules below.
#[macro_use]
mod on;

mod adopt;
mod alert;
mod answered;
mod asked;
mod batch;
mod change;
mod check;
mod claim;
mod coming;
mod create;
mod dead;
mod duty;
mod ended;
mod erase;
mod event;
mod fault;
mod feed;
mod foreign;
mod functions;
mod group;
mod imported;
mod inbound;
mod journal;
mod keep;
mod lateness;
mod lease;
mod listen;
mod migrate;
mod node;
mod open;
mod overview;
mod person;
mod pipeline;
mod pool;
mod prune;
mod publish;
mod reach;
mod read;
mod row;
mod search;
mod session;
mod settle;
mod share;
mod shared_commit;
mod silence;
mod stream;
mod tell;
mod tls;
mod turn;
mod url;
mod watch;
mod watched;
mod way;
mod whole;
mod write;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::change::Change;
use punctual_core::channel::Rate;
use punctual_core::clock::Machine;
use punctual_core::decide::key::{key_created, key_deleted, key_rotated};
use punctual_core::group::Group;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::{Entry, Who};
use punctual_core::key::{ApiKey, Rotation};
use punctual_core::reminder::Address;
use punctual_core::shard::Shards;
use punctual_core::silence::Silence;
use punctual_core::store::{
    Answer, Answered, Beat, By, ChangeError, Changed, Claim, Claims, Create, DeadAddress, Duty, Ears, HeldConnection,
    Imported, ImportedQuery, JournalPage, JournalQuery, KeptDuty, KnownDuty, Pulse, Question, Released, ReminderQuery,
    ReminderView, Report, Reported, Settled, Settlement, SilenceQuery, Store, StoreError, StoreStats, Throttle, Trail,
    Upcoming, UpcomingQuery,
};
use punctual_core::user::User;
use punctual_core::writes::Writes;

pub use adopt::{AdoptError, Adoption, TableCount};
pub use check::{CheckReport, check};
pub(crate) use foreign::Foreign;
pub use migrate::MigrateReport;
pub use open::OpenError;
pub use publish::{Published, PublishedChannel};
pub use session::Session;
pub use url::Url;
pub(crate) use watched::Watched;

use batch::BEGIN;
use fault::Fault;
use on::TRIES_MAX;
use pool::{Connection, Pool, Retry, Urgency};

macro_rules! read {
    ($self:ident, $urgency:ident, $db:ident => $work:expr) => {
        on!($self, $urgency, reads: true, $db => $work)
    };
    ($self:ident, $db:ident => $work:expr) => {
        on!($self, Normal, reads: true, $db => $work)
    };
}

macro_rules! write {
    ($self:ident, $urgency:ident, $db:ident => $work:expr) => {
        on!($self, $urgency, reads: false, $db => $work)
    };
}

/// Reminders in one PostgreSQL database.
pub struct PostgresStore {
    pool: Pool,
    /// The shards whose moments this node needs to tell nobody of, as of its last beat.
    own: Mutex<Shards>,
    /// A claim that may have been written although its answer was lost.
    unsure: Mutex<Option<Claims>>,
    /// Creates that wait to share a transaction.
    shared_commits: shared_commit::SharedCommits,
}

impl PostgresStore {
    /// Connects to the database at `url` and brings its schema up to date.
    ///
    /// Refuses a server older than PostgreSQL 14, and a schema newer than this program. Several may open it at once.
    pub async fn open(url: &str, machine: &Machine) -> Result<Self, OpenError> {
        open::open(url, machine).await
    }

    /// Tells the functions that other clients call in SQL what this node would accept. The last node to say so counts.
    pub async fn publish(&self, published: &Published) -> Result<(), StoreError> {
        write!(self, Normal, db => publish::publish(&db, published))
    }

    /// The secret of this name that all nodes use: what is kept, else `seed`, which is then kept. With `wins`, `seed` whatever is
    /// kept.
    pub async fn shared_secret(&self, name: &str, seed: &str, wins: bool) -> Result<String, StoreError> {
        // The same again leads to the same.
        on!(self, Normal, reads: true, db => share::secret(&db, name, seed, wins))
    }

    /// Lets the admin key with this hash, which `node` uses, work on every node for a day. With `alone`, admin keys that no living
    /// node uses stop working.
    pub async fn share_admin_key(&self, hash: &[u8; 32], node: &str, alone: bool) -> Result<(), StoreError> {
        on!(self, Normal, reads: true, db => share::admin_key(&db, hash, node, alone))
    }

    fn own(&self) -> Shards {
        *lock(&self.own)
    }

    /// Writes new reminders, all of them or none. `unsure`: an earlier try may have been written although its answer was lost.
    async fn write_new(&self, writes: &Writes, mut unsure: bool) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            let db = self.pool.get(Urgency::Normal).await.map_err(StoreError::from)?;
            let result = create::create(&db, self.own(), writes).await;
            let error = match db.end(result).await {
                Ok(()) => return Ok(()),
                Err((_, Retry::Safe)) => continue,
                Err((_, Retry::SafeForReads)) => {
                    // Its ids make it safe to repeat: if it was written, they are taken.
                    unsure = true;
                    continue;
                }
                Err((fault, Retry::Useless)) => StoreError::from(fault),
            };
            let refused = matches!(error, StoreError::KeyUsed | StoreError::Broken(_));
            if unsure
                && refused
                && let Some(first) = writes.created.first()
                && self.reminder(first.reminder.id).await?.is_some()
            {
                return Ok(());
            }
            return Err(error);
        }
        Err(StoreError::Unavailable("the connection is lost again and again".into()))
    }

    /// A claim whose answer was lost, if it was written: what of it nobody else has taken meanwhile, with new leases. Nothing of
    /// it was begun, however long ago that was, so nobody need think that it may have arrived.
    async fn found_again(&self, claim: &Claim) -> Result<Option<Claims>, StoreError> {
        let Some(mut claims) = lock(&self.unsure).clone() else { return Ok(None) };
        // The same leases until the same instant: doing it twice is doing it once.
        let kept = read!(self, Urgent, db => claim::prolong_claimed(&db, claim, &claims))?;
        *lock(&self.unsure) = None;
        claims.to_send.retain(|claimed| kept.contains(&claimed.before.id));
        claims.to_send.iter_mut().for_each(|claimed| claimed.lease_until = claim.lease_until);
        // As full as can be: it says nothing about what this claim asks for.
        claims.n_taken = claims.n_taken.max(claim.limit);
        Ok(Some(claims).filter(|claims| !claims.to_send.is_empty()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a key, and that it was made.
async fn put_key(db: &Connection<'_>, key: &ApiKey, writes: &Writes) -> Result<(), Fault> {
    pipeline::all4(db.begin(BEGIN), keep::put_key(db, key), write::write(db, Shards::ALL, writes), db.commit()).await?;
    Ok(())
}

/// Gives a key another secret, and writes down that it was done; returns the key as it is then.
async fn rotate_key(db: &Connection<'_>, id: &str, rotation: &Rotation, who: &Who) -> Result<Option<ApiKey>, Fault> {
    let ((), key) = pipeline::both(db.begin(BEGIN), keep::key_for_update(db, id)).await?;
    let Some(key) = key else {
        db.rollback().await?;
        return Ok(None);
    };
    who.expects.check(|| Some(key.version()))?;
    let (key, writes) = key_rotated(key, rotation, who.clone());
    keep::put_secrets(db, &key).await?;
    pipeline::both(write::write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(Some(key))
}

/// Removes a key, and writes down that it was; returns whether there was one.
async fn delete_key(db: &Connection<'_>, id: &str, who: &Who, now: Timestamp) -> Result<bool, Fault> {
    let ((), key) = pipeline::both(db.begin(BEGIN), keep::delete_key(db, id)).await?;
    let Some(key) = key else {
        db.rollback().await?;
        return Ok(false);
    };
    who.expects.check(|| Some(key.version()))?;
    let writes = key_deleted(&key, who.clone(), now);
    pipeline::both(write::write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(true)
}

/// Brings the database at `url` up to date without serving it.
pub async fn migrate(url: &str, machine: &Machine) -> Result<MigrateReport, OpenError> {
    migrate::up(&open::pool(url, machine)?).await
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, new: Create) -> Result<(), StoreError> {
        self.create_shared(new).await
    }

    async fn answered(&self, key: &str) -> Result<Option<Answered>, StoreError> {
        read!(self, db => answered::read(&db, key))
    }

    async fn begin_answer(&self, key: &str, request: [u8; 32], now: Timestamp) -> Result<(), StoreError> {
        let begun = [(key.to_owned(), Answered { request, answer: None })];
        write!(self, Normal, db => answered::insert(&db, &begun, now))
    }

    async fn finish_answer(&self, key: &str, answer: Option<Answer>) -> Result<(), StoreError> {
        // The same answer twice is one answer.
        on!(self, Normal, reads: true, db => answered::finish(&db, key, answer.as_ref()))
    }

    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        // The refusal is a value here, not an error: it must not be mistaken for a failure of the database.
        write!(self, Normal, db => change::change(&db, self.own(), id, &change, &by))?
    }

    async fn reminder(&self, id: ReminderId) -> Result<Option<ReminderView>, StoreError> {
        read!(self, db => read::reminder(&db, id))
    }

    async fn existing(&self, ids: Vec<ReminderId>) -> Result<Vec<ReminderView>, StoreError> {
        read!(self, db => read::existing(&db, &ids))
    }

    async fn imported(&self, query: ImportedQuery) -> Result<Vec<Imported>, StoreError> {
        read!(self, db => imported::imported(&db, &query))
    }

    async fn reminders(&self, query: ReminderQuery) -> Result<Vec<ReminderView>, StoreError> {
        read!(self, db => read::reminders(&db, &query))
    }

    async fn occurrences(&self, id: ReminderId, before: Option<u32>, limit: usize) -> Result<Vec<Trail>, StoreError> {
        read!(self, db => read::occurrences(&db, id, before, limit))
    }

    async fn occurrence(&self, id: OccurrenceId) -> Result<Option<Trail>, StoreError> {
        read!(self, db => read::occurrence(&db, id))
    }

    async fn place(&self) -> Result<i64, StoreError> {
        // What has its place keeps it.
        read!(self, db => journal::place(&db))
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage, StoreError> {
        read!(self, db => journal::journal(&db, &query))
    }

    async fn record(&self, entry: Entry) -> Result<(), StoreError> {
        let writes = Writes { entries: vec![entry.clone()], ..Writes::new(entry.at) };
        write!(self, Normal, db => write::write(&db, self.own(), &writes))
    }

    async fn prune_journal(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        write!(self, Normal, db => journal::prune(&db, before, limit))
    }

    async fn take_duty(&self, name: &str, node: &str, _now: Timestamp) -> Result<Option<Duty>, StoreError> {
        // Whoever has it may take it once more.
        read!(self, db => duty::take(&db, name, node))
    }

    async fn keep_duty(&self, kept: KeptDuty) -> Result<bool, StoreError> {
        // The same position twice is the same position.
        read!(self, db => duty::keep(&db, &kept))
    }

    async fn leave_duty(&self, name: &str, lease: u64) -> Result<(), StoreError> {
        read!(self, db => duty::leave(&db, name, lease))
    }

    async fn duties(&self) -> Result<Vec<KnownDuty>, StoreError> {
        read!(self, db => duty::all(&db))
    }

    async fn tagged(&self, tag: &str, reminders: Vec<ReminderId>) -> Result<Vec<ReminderId>, StoreError> {
        read!(self, db => journal::tagged(&db, tag, &reminders))
    }

    async fn upcoming(&self, window: UpcomingQuery) -> Result<Upcoming, StoreError> {
        // The timer waits for it.
        read!(self, Urgent, db => read::upcoming(&db, &window))
    }

    async fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, OccurrenceId)>,
        limit: usize,
    ) -> Result<Vec<(OccurrenceId, NextRun)>, StoreError> {
        read!(self, db => coming::coming(&db, from, until, after, limit))
    }

    async fn claim(&self, claim: Claim) -> Result<Claims, StoreError> {
        if let Some(claims) = self.found_again(&claim).await? {
            return Ok(claims);
        }
        let (own, mut unsure) = (self.own(), None);
        let claimed = write!(self, Urgent, db => claim::claim(&db, own, &claim, &mut unsure));
        if claimed.is_err() {
            *lock(&self.unsure) = unsure.filter(|claims| !claims.to_send.is_empty());
        }
        claimed
    }

    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
        write!(self, Urgent, db => settle::settle(&db, self.own(), &settlements, now))
    }

    async fn renew(
        &self,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
        // The same leases until the same instant: doing it twice is doing it once.
        on!(self, Urgent, reads: true, db => lease::renew(&db, &leases, until))
    }

    async fn write_message_id(
        &self,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError> {
        // The same words twice are the same words.
        on!(self, Urgent, reads: true, db => lease::write_message_id(&db, occurrence, lease, attempt, message_id))
    }

    async fn rescue(&self, node: &str, now: Timestamp) -> Result<usize, StoreError> {
        write!(self, Urgent, db => lease::rescue(&db, node, now))
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        write!(self, Normal, db => prune::prune(&db, before, limit))
    }

    async fn forget_answered(&self, now: Timestamp) -> Result<(), StoreError> {
        write!(self, Normal, db => prune::forget_answered(&db, now))
    }

    async fn put_user(&self, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        write!(self, Normal, db => person::put_user(&db, self.own(), &user, &who))
    }

    async fn user(&self, id: &str) -> Result<Option<User>, StoreError> {
        read!(self, db => keep::user(&db, id))
    }

    async fn users_of(&self, ids: Vec<String>) -> Result<Vec<User>, StoreError> {
        read!(self, db => keep::users_of(&db, &ids))
    }

    async fn users(&self, after: Option<String>, limit: usize) -> Result<Vec<User>, StoreError> {
        read!(self, db => keep::users(&db, after.as_deref(), limit))
    }

    async fn delete_user(&self, id: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        write!(self, Normal, db => person::delete_user(&db, self.own(), id, &who, now))
    }

    async fn asked(&self, users: Vec<String>, ended_since: Option<Timestamp>) -> Result<Vec<Question>, StoreError> {
        read!(self, db => asked::asked(&db, &users, ended_since))
    }

    async fn put_group(&self, group: Group, who: Who) -> Result<Vec<Timestamp>, StoreError> {
        write!(self, Normal, db => group::put(&db, self.own(), &group, who.clone()))
    }

    async fn groups_of(&self, names: Vec<String>) -> Result<Vec<Group>, StoreError> {
        read!(self, db => group::of_names(&db, &names))
    }

    async fn groups(&self, after: Option<String>, limit: usize) -> Result<Vec<Group>, StoreError> {
        read!(self, db => group::groups(&db, after.as_deref(), limit))
    }

    async fn delete_group(&self, name: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
        write!(self, Normal, db => group::delete(&db, self.own(), name, who.clone(), now))
    }

    async fn put_silence(&self, silence: Silence, who: Who) -> Result<bool, StoreError> {
        write!(self, Normal, db => silence::put(&db, self.own(), &silence, who.clone()))
    }

    async fn silences(&self, query: SilenceQuery) -> Result<Vec<Silence>, StoreError> {
        read!(self, db => silence::silences(&db, &query))
    }

    async fn end_silence(
        &self,
        id: SilenceId,
        after: Option<OccurrenceId>,
        who: Who,
        now: Timestamp,
    ) -> Result<Option<Released>, StoreError> {
        write!(self, Normal, db => silence::end(&db, self.own(), id, after, who.clone(), now))
    }

    async fn users_at(&self, channel: &str, addresses: Vec<String>) -> Result<Vec<User>, StoreError> {
        read!(self, db => inbound::users_at(&db, channel, &addresses))
    }

    async fn question(&self, run: OccurrenceId) -> Result<Option<Question>, StoreError> {
        read!(self, db => inbound::question(&db, run))
    }

    async fn hold(&self, node: &str, channels: Vec<String>) -> Result<Vec<HeldConnection>, StoreError> {
        // Who has one already takes nothing anew.
        read!(self, Urgent, db => inbound::hold(&db, node, &channels))
    }

    async fn report(&self, report: Report, now: Timestamp) -> Result<(Reported, Vec<Timestamp>), StoreError> {
        write!(self, Normal, db => inbound::report(&db, self.own(), &report, now))
    }

    async fn dead_addresses(&self, after: Option<Address>, limit: usize) -> Result<Vec<DeadAddress>, StoreError> {
        read!(self, db => dead::dead_addresses(&db, after.as_ref(), limit))
    }

    async fn mark_dead(&self, dead: DeadAddress) -> Result<(), StoreError> {
        // The first one stays, so doing it twice is doing it once.
        let mut writes = Writes::new(dead.since);
        writes.dead.push(dead);
        on!(self, Normal, reads: true, db => write::write(&db, self.own(), &writes))
    }

    async fn revive(&self, address: &Address) -> Result<bool, StoreError> {
        write!(self, Normal, db => dead::revive(&db, address))
    }

    async fn end_sessions(&self, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), StoreError> {
        write!(self, Normal, db => ended::end(&db, name, at, forgotten))
    }

    async fn sessions_ended(&self, names: Vec<String>) -> Result<Option<Timestamp>, StoreError> {
        read!(self, db => ended::ended(&db, &names))
    }

    async fn put_key(&self, key: ApiKey, who: Who) -> Result<(), StoreError> {
        let writes = key_created(&key, who);
        write!(self, Normal, db => put_key(&db, &key, &writes))
    }

    async fn key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError> {
        read!(self, db => keep::key(&db, &hash))
    }

    async fn key_named(&self, id: &str) -> Result<Option<ApiKey>, StoreError> {
        read!(self, db => keep::key_named(&db, id))
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        read!(self, db => keep::keys(&db))
    }

    async fn rotate_key(&self, id: &str, rotation: Rotation, who: Who) -> Result<Option<ApiKey>, StoreError> {
        write!(self, Normal, db => rotate_key(&db, id, &rotation, &who))
    }

    async fn keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        write!(self, Brief, db => keep::put_uses(&db, &uses))
    }

    async fn delete_key(&self, id: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        write!(self, Normal, db => delete_key(&db, id, &who, now))
    }

    async fn stats(&self, _now: Timestamp) -> Result<StoreStats, StoreError> {
        read!(self, db => read::stats(&db))
    }

    async fn failed_since(&self, since: Timestamp, limit: usize) -> Result<usize, StoreError> {
        read!(self, db => read::failed_since(&db, since, limit))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        // The value that it writes means nothing.
        on!(self, Normal, reads: true, db => read::probe(&db))
    }

    fn queries(&self) -> u64 {
        self.pool.queries()
    }

    async fn beat(&self, beat: Beat) -> Result<Option<Pulse>, StoreError> {
        // The same beat twice is one beat.
        let pulse = read!(self, Urgent, db => node::beat(&db, &beat))?;
        *lock(&self.own) = pulse.shards;
        self.pool.is_used_by(&beat.node);
        Ok(Some(pulse))
    }

    async fn leave(&self, node: &str) -> Result<(), StoreError> {
        // From now on others are told of everything.
        *lock(&self.own) = Shards::NONE;
        read!(self, db => node::leave(&db, node))
    }

    async fn listen(&self) -> Result<Option<Box<dyn Ears>>, StoreError> {
        Ok(Some(Box::new(listen::listen(&self.pool).await.map_err(StoreError::from)?)))
    }

    async fn recall(&self, reminder: ReminderId) -> Result<(), StoreError> {
        read!(self, db => node::recall(&db, &[reminder]))
    }

    async fn recalled(&self) -> Result<Vec<ReminderId>, StoreError> {
        // Somebody waits for it, and not for long.
        read!(self, Urgent, db => node::recalled(&db))
    }

    async fn take_turns(&self, limits: Vec<(String, Rate)>) -> Result<Vec<Duration>, StoreError> {
        // A turn that is taken twice is one that nobody uses.
        read!(self, Brief, db => turn::take(&db, &limits))
    }

    async fn tell_throttle(&self, throttle: Throttle) -> Result<(), StoreError> {
        read!(self, Urgent, db => turn::tell_throttle(&db, &throttle))
    }

    async fn throttles(&self, since: Option<Timestamp>) -> Result<Vec<Throttle>, StoreError> {
        read!(self, Urgent, db => turn::throttles(&db, since))
    }
}

//! The promise a store makes.
//!
//! One method is one transaction. A store locks and loads, lets the pure code of this crate decide ([`crate::decide`],
//! [`crate::change`]) and writes the [`crate::writes::Writes`] that comes back. It decides nothing itself.

/// What was answered to a request.
mod answer;
/// Who changes a reminder, and what it led to.
mod change;
/// What a claim asks for, and what was leased.
mod claim;
/// Events of applications, scopes and the reminders that follow them.
mod event;
/// Foreign calendars that are read every so often.
mod feed;
/// Reminders that came from another system.
mod imported;
/// What answers from the platforms need.
mod inbound;
/// Reading the journal, and the work whose place in it is kept.
mod journal;
/// What nodes say of themselves and hear of each other.
mod nodes;
/// What people see who look at their day, or who look after a server.
mod overview;
/// Reminders as people see them, what is to come, and counts.
mod read;
/// Finding reminders by words in their text.
mod search;
/// How leases end, and what that led to.
mod settle;
/// Silences as they are listed and ended.
mod silence;
/// Standing queries over an application's own table, their runs and what they have reminded of.
mod watch;
/// Everything there is, out and in; and one person, out for ever.
mod whole;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

pub use self::answer::{ANSWERED_KEPT_FOR, Answer, Answered, Repeat};
pub use self::change::{Answerer, By, ChangeError, Changed};
pub use self::claim::{Claim, Claimed, Claims};
pub use self::event::{
    ByPlanner, EventQuery, EventView, Events, PLANNED_AT_ONCE, PlannedEvent, PlannedEvents, Put, PutDone, PutEvent,
    PutInstance, PutScope, REMINDERS_AT_ONCE, SLOTS_SHOWN_MAX, SlotView,
};
pub use self::feed::{FeedEnd, Feeds, TakenFeed};
pub use self::imported::{IMPORTED_RUNS_MAX, Imported, ImportedQuery, ImportedRun};
pub use self::inbound::{ASKED_MAX, Came, HeldConnection, PlaceMove, Question, Report, Reported, Seen};
pub use self::journal::{DUTY_FOR, Duty, JournalPage, JournalQuery, KeptDuty, KnownDuty, LOOKED_AT_MAX, Start};
pub use self::nodes::{About, Beat, Ears, Follows, Heard, KnownNode, KnownNodes, NodeState, Pulse, Shared, Throttle};
pub use self::overview::{
    COUNTED_MAX, DatabaseState, DuePlace, HowMany, Overview, RUNS_LOOKED_AT_MAX, RunView, RunsPage, RunsQuery,
};
pub use self::read::{
    CHANNEL_LOOKED_AT_MAX, ReminderQuery, ReminderView, StatusFilter, StoreStats, Upcoming, UpcomingQuery, id_end,
};
pub use self::search::{FailedQuery, FailedRun, Filled, FindQuery, Hits, Index, IndexText, Search};
pub use self::settle::{Settled, Settlement};
pub use self::silence::{Released, SilenceQuery};
pub use self::watch::{
    BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, INTENTS_MAX, KnownWatch, RUN_FOR, RunLease, TakenRun,
    Watches,
};
pub use self::whole::{ERASED_AT_ONCE, Record, Redacted, Removed, Which, WholeQuery, Wholes, Wholly};
pub use crate::decide::create::{Create, NewReminder};
pub use crate::model::address::DeadAddress;
pub use crate::model::trail::{Escalated, Response, Said, Trail};

use crate::alarm::NextRun;
use crate::change::Change;
use crate::channel::Rate;
use crate::group::Group;
use crate::id::{OccurrenceId, ReminderId, SilenceId};
use crate::journal::{Entry, Who};
use crate::key::{ApiKey, Rotation};
use crate::reminder::Address;
use crate::silence::Silence;
use crate::user::User;

/// Where reminders live, and what belongs to them: each noun's promises stand in a file of their own.
#[async_trait]
pub trait Store: Events + Feeds + Overview + Search + Watches + Wholes + Send + Sync + 'static {
    /// Writes all of `new` or nothing. When it has returned, they survive power loss.
    async fn create(&self, new: Create) -> Result<(), StoreError>;

    /// The answer to the request with this idempotency key, if there was one.
    async fn answered(&self, key: &str) -> Result<Option<Answered>, StoreError>;

    /// Remembers that a request with this idempotency key has begun. [`StoreError::KeyUsed`]: one has already.
    async fn begin_answer(&self, key: &str, request: [u8; 32], now: Timestamp) -> Result<(), StoreError>;

    /// Keeps what was answered to a request that has begun; `None`: nothing was done, and its key is free again.
    async fn finish_answer(&self, key: &str, answer: Option<Answer>) -> Result<(), StoreError>;

    /// Applies one command, as [`crate::change::changed`] decides, to a reminder of `by.user`'s, and keeps what is answered to it in
    /// the same transaction (`by.repeat`).
    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError>;

    /// One reminder.
    async fn reminder(&self, id: ReminderId) -> Result<Option<ReminderView>, StoreError>;

    /// Those of `ids` that are there, in no order.
    async fn existing(&self, ids: Vec<ReminderId>) -> Result<Vec<ReminderView>, StoreError>;

    /// Reminders that were imported from one source, in the order of their ids, and what became of their runs. It may read
    /// every reminder once: it is for people who compare two systems, not for the engine.
    async fn imported(&self, query: ImportedQuery) -> Result<Vec<Imported>, StoreError>;

    /// Reminders, newest first.
    async fn reminders(&self, query: ReminderQuery) -> Result<Vec<ReminderView>, StoreError>;

    /// A reminder's occurrences with their trail, newest first, below run `before`.
    async fn occurrences(&self, id: ReminderId, before: Option<u32>, limit: usize) -> Result<Vec<Trail>, StoreError>;

    /// One occurrence with its trail.
    async fn occurrence(&self, id: OccurrenceId) -> Result<Option<Trail>, StoreError>;

    /// Gives every entry that is committed its place in the journal; returns the last position there is. A reader who wants to see what
    /// was written a moment ago calls this first.
    async fn place(&self) -> Result<i64, StoreError>;

    /// Reads entries that have their place. A page looks at no more than [`LOOKED_AT_MAX`] of them.
    async fn journal(&self, query: JournalQuery) -> Result<JournalPage, StoreError>;

    /// Writes down something that changes nothing else.
    async fn record(&self, entry: Entry) -> Result<(), StoreError>;

    /// Removes entries that were placed before `before`, about `limit` of them, and never the last; returns how many.
    async fn prune_journal(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// Takes a duty for `node`, for [`DUTY_FOR`] by the store's clock, unless another node has it. A new one begins at the end of the
    /// journal. A store that one process alone uses gives it to whoever asks: the one who had it before is gone.
    async fn take_duty(&self, name: &str, node: &str, now: Timestamp) -> Result<Option<Duty>, StoreError>;

    /// Keeps a duty for another [`DUTY_FOR`], and writes down how far its work has come. `false`: it is another's by now, and nothing was
    /// written.
    async fn keep_duty(&self, kept: KeptDuty) -> Result<bool, StoreError>;

    /// Gives a duty back, so that another node can take it at once.
    async fn leave_duty(&self, name: &str, lease: u64) -> Result<(), StoreError>;

    /// Every duty there is, by name.
    async fn duties(&self) -> Result<Vec<KnownDuty>, StoreError>;

    /// Those of these reminders that have the tag, in no order.
    async fn tagged(&self, tag: &str, reminders: Vec<ReminderId>) -> Result<Vec<ReminderId>, StoreError>;

    /// The earliest instants from `query.from` to `query.until` at which something must be looked at, in order; and the earliest of
    /// all before them, of whatever shard, if there is one.
    async fn upcoming(&self, query: UpcomingQuery) -> Result<Upcoming, StoreError>;

    /// The runs to be sent after `from` and until `until`, in order, beginning after `after`, at most `limit`: for an alarm that sets
    /// timers for it elsewhere. Returns each with its place, for asking on.
    async fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, OccurrenceId)>,
        limit: usize,
    ) -> Result<Vec<(OccurrenceId, NextRun)>, StoreError>;

    /// Leases up to `limit` occurrences whose moment lies in `claim.from..=claim.until`, most urgent first, and
    /// writes an attempt for each that is to be sent. Never returns one whose lease another holds.
    ///
    /// What the moment means is decided by [`crate::decide::claim`]: occurrences that end without a send are ended here and not
    /// returned.
    async fn claim(&self, claim: Claim) -> Result<Claims, StoreError>;

    /// Ends leases with what became of their attempts and plans what comes next, all in one transaction. A settlement
    /// whose lease is lost changes nothing and is reported as lost. An address that is gone is written down as
    /// dead.
    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError>;

    /// Prolongs leases; returns those that are lost. A lease is named by its number too: the same node may have a
    /// later lease of the same occurrence.
    async fn renew(
        &self,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError>;

    /// Writes the platform's own id on an attempt that is under way, so that a node that takes over can ask what became of it.
    /// Returns whether it was written: not when the lease is lost, or the attempt has ended.
    async fn write_message_id(
        &self,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError>;

    /// Ends the leases that `node` left behind when it died, so that they are looked at now and not when they expire.
    async fn rescue(&self, node: &str, now: Timestamp) -> Result<usize, StoreError>;

    /// Removes history that ended before `before`, at most `limit` occurrences; returns how many.
    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// Forgets answered requests older than any client repeats, and events of which no copy would be taken any more.
    async fn forget_answered(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Writes or replaces a user, as `who` asked. When they may be disturbed at other times than before, what waits for them is looked at again:
    /// returns when, as often as there are occurrences.
    async fn put_user(&self, user: User, who: Who) -> Result<Vec<Timestamp>, StoreError>;
    /// One user.
    async fn user(&self, id: &str) -> Result<Option<User>, StoreError>;
    /// Those of `ids` that have an entry, in no order. One that cannot be read is left out.
    async fn users_of(&self, ids: Vec<String>) -> Result<Vec<User>, StoreError> {
        let mut found = Vec::new();
        for id in ids {
            match self.user(&id).await {
                Ok(user) => found.extend(user),
                Err(StoreError::Broken(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
    /// Users by name, after `after`.
    async fn users(&self, after: Option<String>, limit: usize) -> Result<Vec<User>, StoreError>;
    /// Removes a user's entry, as `who` asked; their reminders stay, and what waits for them is looked at again: returns when. `None`:
    /// there was none.
    async fn delete_user(&self, id: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError>;

    /// Writes or replaces a group. Runs of users who have left it are looked at again if they wait because of a silence: returns when, as
    /// often as there are occurrences.
    async fn put_group(&self, group: Group, who: Who) -> Result<Vec<Timestamp>, StoreError>;
    /// Those of `names` that there are, in no order.
    async fn groups_of(&self, names: Vec<String>) -> Result<Vec<Group>, StoreError>;
    /// Groups by name, after `after`.
    async fn groups(&self, after: Option<String>, limit: usize) -> Result<Vec<Group>, StoreError>;
    /// Removes a group; its users' runs are looked at again, as in [`Store::put_group`]. `None`: there was none.
    async fn delete_group(&self, name: &str, who: Who, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError>;

    /// Writes a new silence; returns whether there was room for it: a store keeps at most [`crate::silence::SILENCES_MAX`] that have not ended,
    /// and of those for one user at most [`crate::silence::SILENCES_OF_USER_MAX`].
    async fn put_silence(&self, silence: Silence, who: Who) -> Result<bool, StoreError>;
    /// Silences that have not ended, oldest first.
    async fn silences(&self, query: SilenceQuery) -> Result<Vec<Silence>, StoreError>;
    /// Ends a silence. Up to [`crate::decide::silence::RELEASED_AT_ONCE`] of the runs that wait because of it, after run `after`, are looked at
    /// again in the same transaction. It is forgotten with the last of them. `None`: there is no such silence.
    async fn end_silence(
        &self,
        id: SilenceId,
        after: Option<OccurrenceId>,
        who: Who,
        now: Timestamp,
    ) -> Result<Option<Released>, StoreError>;

    /// The users who have one of these addresses in `channel`, in the order of their ids. One that cannot be read is left out.
    async fn users_at(&self, channel: &str, addresses: Vec<String>) -> Result<Vec<User>, StoreError>;

    /// The runs that were said to these users and wait for an answer, and with `ended_since` also those that have ended since then: at most
    /// [`ASKED_MAX`], the one that was said last first.
    async fn asked(&self, users: Vec<String>, ended_since: Option<Timestamp>) -> Result<Vec<Question>, StoreError>;
    /// A run with its reminder and its person, for judging an answer to it.
    async fn question(&self, run: OccurrenceId) -> Result<Option<Question>, StoreError>;
    /// Takes those connections of `channels` for `node` that no living node has, and lets go of its others; returns who has which, of all
    /// channels. Taking one raises its number, so that the node which had it writes nothing through it any more
    /// ([`StoreError::LeaseLost`]).
    async fn hold(&self, node: &str, channels: Vec<String>) -> Result<Vec<HeldConnection>, StoreError>;

    /// Writes what a platform says about a message, as [`crate::decide::report::reported`] decides; returns when to look at its run again.
    async fn report(&self, report: Report, now: Timestamp) -> Result<(Reported, Vec<Timestamp>), StoreError>;

    /// Addresses that are known to be dead, in order, after `after`.
    async fn dead_addresses(&self, after: Option<Address>, limit: usize) -> Result<Vec<DeadAddress>, StoreError>;
    /// Writes down that an address is dead; an earlier reason stays.
    async fn mark_dead(&self, dead: DeadAddress) -> Result<(), StoreError>;
    /// Takes an address to be alive again; returns whether it was known to be dead.
    async fn revive(&self, address: &Address) -> Result<bool, StoreError>;

    /// Writes a key's hash, as `who` asked.
    async fn put_key(&self, key: ApiKey, who: Who) -> Result<(), StoreError>;
    /// The key whose secret has this hash, or whose secret before the last rotation had it. Whether that one still works, core says
    /// ([`ApiKey::works_until`]).
    async fn key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError>;
    /// The key with this id.
    async fn key_named(&self, id: &str) -> Result<Option<ApiKey>, StoreError>;
    /// All keys, oldest first.
    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError>;
    /// Gives a key another secret, as [`crate::decide::key::key_rotated`] decides; returns the key as it is then, if there is one.
    async fn rotate_key(&self, id: &str, rotation: Rotation, who: Who) -> Result<Option<ApiKey>, StoreError>;
    /// Writes when keys were last used, by their ids. A later instant that is written already stays; keys that are gone stay gone.
    async fn keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError>;
    /// Removes a key, as `who` asked; returns whether there was one.
    async fn delete_key(&self, id: &str, who: Who, now: Timestamp) -> Result<bool, StoreError>;

    /// Remembers that the sessions of the page under this name, a key's or one session's own, have ended at `at`. What ended before
    /// `forgotten` may be forgotten.
    async fn end_sessions(&self, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), StoreError>;
    /// The last time at which sessions under one of these names were ended.
    async fn sessions_ended(&self, names: Vec<String>) -> Result<Option<Timestamp>, StoreError>;

    /// Counts for people and dashboards. It may cost a scan of what is pending; callers cache it.
    async fn stats(&self, now: Timestamp) -> Result<StoreStats, StoreError>;

    /// How many runs have ended as `failed` since then, on whichever node and for whatever reason, counted up to `limit`.
    async fn failed_since(&self, since: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// Whether a write works now: it writes and commits one row.
    async fn probe(&self) -> Result<(), StoreError>;

    /// How many statements have been run since the store was opened.
    fn queries(&self) -> u64;

    /// Says that `beat.node` lives, and learns who else does. `None`: no other node can use this store.
    async fn beat(&self, beat: Beat) -> Result<Option<Pulse>, StoreError> {
        let _ = beat;
        Ok(None)
    }

    /// Says that `node` claims nothing any more, so that the others divide its shards at once.
    async fn leave(&self, node: &str) -> Result<(), StoreError> {
        let _ = node;
        Ok(())
    }

    /// A connection on which the store tells what others change. `None`: nobody else can.
    async fn listen(&self) -> Result<Option<Box<dyn Ears>>, StoreError> {
        Ok(None)
    }

    /// Asks whichever node has claimed a run of this reminder, and has not begun to send it, to give it back.
    async fn recall(&self, reminder: ReminderId) -> Result<(), StoreError> {
        let _ = reminder;
        Ok(())
    }

    /// Reminders that a node has asked for with [`Store::recall`] a moment ago.
    async fn recalled(&self) -> Result<Vec<ReminderId>, StoreError> {
        Ok(Vec::new())
    }

    /// Takes a turn under every limit that the nodes share, by name, or none of them; returns how long each has to be waited for.
    /// All zero, or nothing: taken. In no stretch of a limit's time do the nodes together take more turns than it allows.
    async fn take_turns(&self, limits: Vec<(String, Rate)>) -> Result<Vec<Duration>, StoreError> {
        let _ = limits;
        Ok(Vec::new())
    }

    /// Tells the other nodes that somebody asked to be left alone, for at most [`Throttle::wait_max`]. A store keeps a bounded number
    /// of throttles, and only until they end.
    async fn tell_throttle(&self, throttle: Throttle) -> Result<(), StoreError> {
        let _ = throttle;
        Ok(())
    }

    /// The throttles that have not ended and were told after `since`; a bounded number. Each says how long it lasts from now on.
    async fn throttles(&self, since: Option<Timestamp>) -> Result<Vec<Throttle>, StoreError> {
        let _ = since;
        Ok(Vec::new())
    }
}

/// Why a store did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The same idempotency key was used meanwhile: look it up and answer the same.
    #[error("this idempotency key has been used")]
    KeyUsed,
    /// An event of a platform was taken before; nothing was written.
    #[error("this event has been taken")]
    Seen,
    /// Another node has the connection that it came by; nothing was written.
    #[error("another node has the connection")]
    LeaseLost,
    /// The caller said what it takes to be there, and something else is; nothing was written.
    #[error("it is not as the caller has seen it")]
    Unexpected,
    /// The store lacks something that its owner must give it, which the text says.
    #[error("{0}")]
    Missing(String),
    /// The store cannot write now: it is full, locked or unreachable. Trying later may work.
    #[error("the database cannot be used now: {0}")]
    Unavailable(String),
    /// The database says something that should be impossible.
    #[error("database: {0}")]
    Broken(String),
}

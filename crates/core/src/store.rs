//! The promise a store makes.
//!
//! One method is one transaction. A store locks and loads, lets the pure code of this crate decide ([`crate::decide`],
//! [`crate::change`]) and writes the [`crate::writes::Writes`] that comes back. It decides nothing itself.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::alarm::NextRun;
use crate::alert::News;
use crate::change::{Change, Refused};
use crate::channel::{Rate, WAIT_MAX};
use crate::id::{OccurrenceId, ReminderId};
use crate::invalid::Invalid;
use crate::occurrence::{Attempt, AttemptStatus, Occurrence, State, StateKind};
use crate::reach::Fallback;
use crate::reminder::{Address, Reminder, ReminderStatus};
use crate::shard::{Shards, shard_of};
use crate::user::{ApiKey, Person, User};
use crate::writes::{Deed, Planned, Writes};

/// Where reminders live.
#[async_trait]
pub trait Store: Send + Sync + 'static {
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

    /// What was done, newest first, below entry `before`.
    async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, StoreError>;

    /// Writes down that somebody tested a channel.
    async fn record_test(&self, test: ChannelTest) -> Result<(), StoreError>;

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
    /// whose lease is no longer held changes nothing and is reported as lost. An address that is gone is written down as
    /// dead.
    async fn settle(&self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError>;

    /// Prolongs leases; returns those that are no longer held. A lease is named by its number too: the same node may hold a
    /// later lease of the same occurrence.
    async fn renew(
        &self,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError>;

    /// Writes the platform's own id on an attempt that is under way, so that a node that takes over can ask what became of it.
    /// Returns whether it was written: not when the lease is lost, or the attempt has ended.
    async fn note_sent(
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

    /// Forgets answered requests older than any client repeats.
    async fn forget_answered(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Writes or replaces a user. When they may be disturbed at other times than before, what waits for them is looked at again:
    /// returns when, as often as there are occurrences.
    async fn put_user(&self, user: User) -> Result<Vec<Timestamp>, StoreError>;
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
    /// Removes a user's entry; their reminders stay, and what waits for them is looked at again: returns when. `None`: there
    /// was none.
    async fn delete_user(&self, id: &str, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError>;

    /// Addresses that are known to be dead, in order, after `after`.
    async fn dead_addresses(&self, after: Option<Address>, limit: usize) -> Result<Vec<DeadAddress>, StoreError>;
    /// Writes down that an address is dead; an earlier reason stays.
    async fn mark_dead(&self, dead: DeadAddress) -> Result<(), StoreError>;
    /// Takes an address to be alive again; returns whether it was known to be dead.
    async fn revive(&self, address: &Address) -> Result<bool, StoreError>;

    /// Writes a key's hash.
    async fn put_key(&self, key: ApiKey) -> Result<(), StoreError>;
    /// The key with this hash.
    async fn key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, StoreError>;
    /// All keys, oldest first.
    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError>;
    /// Removes a key; returns whether there was one.
    async fn delete_key(&self, id: &str) -> Result<bool, StoreError>;

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

/// Hears what others change.
#[async_trait]
pub trait Ears: Send {
    /// Waits for the next news. An error means that none will come any more.
    async fn hear(&mut self) -> Result<Heard, StoreError>;
}

/// What a store tells its nodes. Others may be able to say the same, so each is a reason to look, and none is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something must be looked at, at these instants.
    Wake(Vec<(u8, Timestamp)>),
    /// The moments to come have changed in ways too many to tell: read them afresh.
    Look,
    /// A node has left.
    Left,
    /// A node asks for something back: [`Store::recalled`] says what.
    Recalled,
    /// The word that a node sent along with a beat ([`Beat::echo`]) has come back: notifications arrive.
    Beat(String),
    /// A receiver or an address asked a node to be left alone: [`Store::throttles`] says which.
    Throttled,
    /// No node says this.
    Nonsense,
}

/// A wait that a platform asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// Which channel.
    pub channel: String,
    /// The receiver, or the fingerprint of the address's bucket: whoever may connect to the store may listen, and an address may
    /// be a secret.
    pub name: String,
    /// Whether it is the address alone.
    pub is_address: bool,
    /// How long from now.
    pub wait: Duration,
}

impl Throttle {
    /// The longest wait that nodes believe each other. Many people may share a receiver, so its wait is renewed by whoever is asked
    /// for it again.
    pub fn wait_max(is_address: bool) -> Duration {
        if is_address { WAIT_MAX } else { Duration::from_secs(60) }
    }
}

/// A node that says it lives.
#[derive(Debug, Clone)]
pub struct Beat {
    /// Who.
    pub node: String,
    /// The word that it wants to hear back through [`Ears`], if any: random, so that nobody else can say it first.
    pub echo: Option<String>,
    /// Fingerprints of the secrets that it uses, as [`Shared`] writes them.
    pub shared: String,
}

/// What a node learns when it says that it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The time of the store's clock, by which all nodes go.
    pub now: Timestamp,
    /// Every node that lives, itself among them.
    pub nodes: Vec<String>,
    /// The shards that are this node's.
    pub shards: Shards,
    /// The earliest instant at which anything must be looked at, whosever it is. It may have passed.
    pub first_at: Option<Timestamp>,
    /// The fingerprints of the secrets that living nodes use, each once ([`Beat::shared`]).
    pub shared: Vec<String>,
}

/// Fingerprints of what all nodes should have alike, by name: written as `name=fingerprint`, with spaces between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared(Vec<(String, String)>);

impl Shared {
    /// With one more.
    #[must_use]
    pub fn with(mut self, name: &str, fingerprint: &str) -> Self {
        self.0.push((name.to_owned(), fingerprint.to_owned()));
        self
    }

    /// The names of what is not alike in one of `others`. What only one of them has is no difference.
    pub fn differing(&self, others: &[String]) -> Vec<String> {
        let differs = |(name, own): &&(String, String)| {
            let said = others.iter().flat_map(|other| other.split(' ')).filter_map(|pair| pair.split_once('='));
            said.filter(|(other, _)| other == name).any(|(_, fingerprint)| fingerprint != own)
        };
        self.0.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, fingerprint)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{name}={fingerprint}")?;
        }
        Ok(())
    }
}

/// Reminders to write together.
#[derive(Debug, Clone)]
pub struct Create {
    /// The reminders, each with its first instant.
    pub reminders: Vec<NewReminder>,
    /// Who asks.
    pub actor: String,
    /// What to answer when the same request comes again.
    pub answered: Option<(String, Answered)>,
    /// The present.
    pub now: Timestamp,
}

impl Create {
    /// What is written.
    pub fn writes(self) -> Writes {
        let mut writes = Writes::new(self.now);
        writes.answered.extend(self.answered);
        writes.create(self.reminders, &self.actor.into());
        writes
    }
}

/// A reminder and the instant of its first run.
#[derive(Debug, Clone)]
pub struct NewReminder {
    /// The reminder.
    pub reminder: Reminder,
    /// When it is first due.
    pub first_due_at: Timestamp,
}

impl NewReminder {
    /// Its first run, as it is written.
    pub fn first(&self) -> Planned {
        let Reminder { priority, user, .. } = &self.reminder;
        Planned { occurrence: self.first_run(), priority: *priority, shard: shard_of(user) }
    }

    /// Its first run. One that is paused from the start has it waiting.
    pub fn first_run(&self) -> Occurrence {
        let id = OccurrenceId { reminder: self.reminder.id, run: 1 };
        let mut first = Occurrence::scheduled(id, self.first_due_at);
        if self.reminder.status == ReminderStatus::Paused {
            first.state = State::Paused;
        }
        first
    }
}

/// The answer to a request, kept so that the same request is answered the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// SHA-256 of the request.
    pub request: [u8; 32],
    /// The answer; `None`: the request has begun, and has not ended or was cut off.
    pub answer: Option<Answer>,
}

/// An answer as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A command that may come again under its idempotency key.
#[derive(Clone)]
pub struct Repeat {
    /// The key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: [u8; 32],
    /// Makes the answer from the changed reminder. The store calls it, because the answer is written in the transaction
    /// of the change: a command that was done has been answered, whatever crashes next.
    pub answer: Arc<dyn Fn(&ReminderView) -> Answer + Send + Sync>,
}

impl Repeat {
    /// The answer to keep of a command that led to `view`.
    pub fn answered(&self, view: &ReminderView) -> Answered {
        Answered { request: self.request, answer: Some((self.answer)(view)) }
    }
}

impl fmt::Debug for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeat").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Who changes something, and when.
#[derive(Debug, Clone)]
pub struct By {
    /// Who, for the audit trail.
    pub actor: String,
    /// The only user whose reminders may be touched. Others' are reported as not found.
    pub user: Option<String>,
    /// What the person said, if the command is an answer.
    pub said: Said,
    /// How the same request is answered when it comes again.
    pub repeat: Option<Repeat>,
    /// The present.
    pub now: Timestamp,
}

impl By {
    /// Somebody who may touch everybody's reminders and says nothing.
    pub fn new(actor: impl Into<String>, now: Timestamp) -> Self {
        Self { actor: actor.into(), user: None, said: Said::default(), repeat: None, now }
    }
}

/// A person's answer in their own words, and where they gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The words, if there were any.
    pub text: Option<String>,
    /// The channel, if it is known.
    pub channel: Option<String>,
}

/// What a change led to.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The reminder as it is now.
    pub view: ReminderView,
    /// The occurrence the command was about, if it was about one.
    pub occurrence: Option<Occurrence>,
    /// The instants at which the engine must look again because of it: all of them, because it keeps what it knows and does
    /// not ask again.
    pub wakes: Vec<Timestamp>,
}

/// A reminder with what its runs have led to.
#[derive(Debug, Clone, PartialEq)]
pub struct ReminderView {
    /// The reminder.
    pub reminder: Reminder,
    /// When it is due next.
    pub next_run_at: Option<Timestamp>,
    /// Until when its next snoozed run is put off; none while no run is.
    pub snoozed_until: Option<Timestamp>,
    /// When something was last sent, or failed.
    pub last_run_at: Option<Timestamp>,
    /// What that led to.
    pub last_status: Option<StateKind>,
    /// Runs that have reached the person or failed.
    pub total_runs: u32,
    /// Runs that have failed since one worked.
    pub consecutive_errors: u32,
}

impl ReminderView {
    /// A reminder that has just been created and is first due at `first_due_at`.
    pub fn fresh(reminder: Reminder, first_due_at: Timestamp) -> Self {
        Self {
            reminder,
            next_run_at: Some(first_due_at),
            snoozed_until: None,
            last_run_at: None,
            last_status: None,
            total_runs: 0,
            consecutive_errors: 0,
        }
    }
}

/// A status that narrows a list: that of the reminder, or how its last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// Reminders of this status.
    Is(ReminderStatus),
    /// Reminders whose last run ended so, whether more are to come or not.
    LastRun(StateKind),
}

impl StatusFilter {
    /// The ends of a last run that can be asked for: those in which the person was not reached, or did not answer.
    const ENDS: [StateKind; 3] = [StateKind::Failed, StateKind::Missed, StateKind::Unanswered];
}

impl FromStr for StatusFilter {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(end) = Self::ENDS.into_iter().find(|end| end.as_str() == text) {
            return Ok(Self::LastRun(end));
        }
        text.parse().map(Self::Is).map_err(|invalid: Invalid| {
            let ends: Vec<&str> = Self::ENDS.iter().map(StateKind::as_str).collect();
            Invalid::new("status", format!("{}, {}", invalid.problem, ends.join(", ")))
        })
    }
}

/// Which reminders to list.
#[derive(Debug, Clone, Default)]
pub struct ReminderQuery {
    /// Only this user's.
    pub user: Option<String>,
    /// Only with this status.
    pub status: Option<StatusFilter>,
    /// Only those due next at or after this.
    pub from: Option<Timestamp>,
    /// Only those due next before this.
    pub to: Option<Timestamp>,
    /// Only those of this name or message, or whose id ends with this.
    pub matching: Option<String>,
    /// Only older than this one.
    pub before: Option<ReminderId>,
    /// At most so many.
    pub limit: usize,
}

/// Which imported reminders to list.
#[derive(Debug, Clone)]
pub struct ImportedQuery {
    /// From where: what `imported.from` in their metadata says.
    pub source: String,
    /// Only with a larger id than this one.
    pub after: Option<ReminderId>,
    /// Only runs due at or after this.
    pub from: Timestamp,
    /// Only runs due before this.
    pub to: Timestamp,
    /// At most so many reminders.
    pub limit: usize,
}

/// The most runs of one imported reminder that are listed: the latest.
pub const IMPORTED_RUNS_MAX: usize = 1000;

/// An imported reminder and what became of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The reminder.
    pub reminder: Reminder,
    /// Its runs, oldest first, at most [`IMPORTED_RUNS_MAX`].
    pub runs: Vec<ImportedRun>,
}

/// One run of an imported reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedRun {
    /// Which run.
    pub run: u32,
    /// When it was due.
    pub due_at: Timestamp,
    /// Where it stands.
    pub state: StateKind,
    /// When the first send that worked began.
    pub sent_at: Option<Timestamp>,
}

/// An occurrence and how it got where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Trail {
    /// The occurrence.
    pub occurrence: Occurrence,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// What people answered, in order.
    pub responses: Vec<Response>,
}

impl Trail {
    /// An occurrence with its attempts that have ended; the one that is under way stands in the occurrence.
    pub fn new(occurrence: Occurrence, mut attempts: Vec<Attempt>, responses: Vec<Response>) -> Self {
        if let Some(sending) = occurrence.state.sending() {
            let number = occurrence.tries.attempts;
            attempts.push(Attempt {
                number,
                channel: sending.to.channel.clone(),
                address: sending.to.address.clone(),
                status: AttemptStatus::Sending,
                started_at: sending.since,
                ended_at: None,
                error: None,
                message_id: sending.message_id.clone(),
                key: None,
                attempt_key: Some(occurrence.id.attempt_key(&sending.to, number)),
            });
        }
        Self { occurrence, attempts, responses }
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// To which occurrence.
    pub occurrence: OccurrenceId,
    /// `ack`, `snooze` or `dismiss`.
    pub kind: &'static str,
    /// When.
    pub at: Timestamp,
    /// Through whom.
    pub actor: String,
    /// Until when it was put off.
    pub until: Option<Timestamp>,
    /// By how many minutes.
    pub snooze_minutes: Option<u32>,
    /// Who answered: the user the caller acts for, else the reminder's.
    pub user: Option<String>,
    /// What they said and where.
    pub said: Said,
}

/// Which audit entries to list.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only of this reminder.
    pub reminder: Option<ReminderId>,
    /// Only older than this entry.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Rises with time.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: String,
    /// What, as a verb: `create`, `cancel`, `missed`, …
    pub action: String,
    /// To which reminder.
    pub reminder: ReminderId,
    /// To which run of it.
    pub run: Option<u32>,
    /// More words.
    pub detail: Option<String>,
}

/// The audit trail's word for a [`ChannelTest`].
pub const CHANNEL_TEST: &str = "channel.test";

/// A message that somebody sent to see whether a channel and an address work.
#[derive(Debug, Clone)]
pub struct ChannelTest {
    /// The id that the message carried; there is no such reminder.
    pub message: ReminderId,
    /// Who asked for it.
    pub actor: String,
    /// Which channel, for whom, and what became of it. It has no address: that may be a secret.
    pub detail: String,
    /// When.
    pub at: Timestamp,
}

impl ChannelTest {
    /// What is written.
    pub fn writes(self) -> Writes {
        let mut writes = Writes::new(self.at);
        writes.audit.push(Deed {
            at: self.at,
            actor: self.actor.into(),
            action: CHANNEL_TEST,
            reminder: self.message,
            run: None,
            detail: Some(self.detail),
        });
        writes
    }
}

/// Which part of what is to come.
#[derive(Debug, Clone, Copy)]
pub struct UpcomingQuery {
    /// Then or later.
    pub from: Timestamp,
    /// Then or earlier.
    pub until: Timestamp,
    /// Of these shards. A store that one node alone uses need not look.
    pub shards: Shards,
    /// At most so many.
    pub limit: usize,
}

/// What is to come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upcoming {
    /// Instants, in order; each stands for one occurrence.
    pub instants: Vec<Timestamp>,
    /// The oldest moment that has already passed.
    pub overdue_since: Option<Timestamp>,
}

/// What to lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The present.
    pub now: Timestamp,
    /// Only what must be looked at then or later.
    pub from: Timestamp,
    /// Only what must be looked at then or earlier.
    pub until: Timestamp,
    /// Only of these shards. A store that one node alone uses need not look.
    pub shards: Shards,
    /// At most so many.
    pub limit: usize,
    /// Who leases.
    pub node: Arc<str>,
    /// Until when.
    pub lease_until: Timestamp,
    /// Where to send when neither the reminder nor its user says.
    pub fallback: Fallback,
    /// Only occurrences of these reminders.
    pub only: Option<Vec<ReminderId>>,
    /// The channels on which a message that may have arrived is held and not sent again, unless its reminder says otherwise.
    pub holding: BTreeSet<String>,
}

impl Claim {
    /// Whether a message that may have arrived at this place of a route is held by default.
    pub fn holds_at(&self, route: &[Address], position: u32) -> bool {
        route.get(position as usize).is_some_and(|address| self.holding.contains(&address.channel))
    }
}

/// What was leased.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    /// To be sent, each with its attempt written down.
    pub to_send: Vec<Claimed>,
    /// How many occurrences were taken in all, also those that ended without a send.
    pub n_taken: usize,
    /// The instants at which what was planned here must be looked at, all of them.
    pub wakes: Vec<Timestamp>,
    /// The moments within the claim that are not to be acted on before they have come: ends of leases, and of the time given
    /// to answer. All of them, also if the claim was full.
    pub not_before: Vec<Timestamp>,
    /// The runs that ended without a send, each by the state it ended in.
    pub ended: Vec<StateKind>,
    /// The runs that were planned here.
    pub next_runs: Vec<NextRun>,
}

/// An occurrence that this node may send.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The occurrence as it was before, for giving it back.
    pub before: Occurrence,
    /// The lease number.
    pub lease: u64,
    /// Until when it holds.
    pub lease_until: Timestamp,
    /// When the send may begin.
    pub wake_at: Timestamp,
    /// Its reminder.
    pub reminder: Arc<Reminder>,
    /// The person it is for.
    pub person: Arc<Person>,
    /// All addresses to try, in order.
    pub route: Vec<Address>,
    /// Which of them to try now.
    pub position: u32,
    /// Whether its channel does not repeat what may have arrived, unless the reminder says otherwise.
    pub holds_unknown: bool,
    /// The platform's own id of what another process sent and did not see the end of. It must not be sent again: this lease
    /// goes on with the same attempt, and asks the channel what became of it.
    pub noted: Option<String>,
}

impl Claimed {
    /// The number of the attempt that was written down for it.
    pub fn attempt(&self) -> u32 {
        self.before.tries.attempts + u32::from(self.noted.is_none())
    }

    /// The key of that attempt alone.
    pub fn attempt_key(&self) -> String {
        self.before.id.attempt_key(self.to(), self.attempt())
    }

    /// Where to send now.
    pub fn to(&self) -> &Address {
        &self.route[self.position as usize]
    }
}

/// The end of one lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The occurrence as it is from now on.
    pub occurrence: Occurrence,
    /// Which lease.
    pub lease: u64,
    /// The attempt that ended; `None`: it never began and is taken back.
    pub attempt: Option<Attempt>,
    /// The platform says that the attempt's address is dead.
    pub gone: bool,
    /// Whether this counts as a run: the person was reached for the first time, or never will be.
    pub counts: bool,
    /// What the admins hear of it, if its reminder is critical.
    pub news: Option<News>,
}

impl Settlement {
    /// Which occurrence's lease it ends.
    pub fn id(&self) -> OccurrenceId {
        self.occurrence.id
    }

    /// When the occurrence must be looked at again, if ever.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.occurrence.state.wake_at(self.occurrence.due_at)
    }
}

/// An address that its platform calls dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadAddress {
    /// Which.
    pub address: Address,
    /// Since when that is known.
    pub since: Timestamp,
    /// What the platform said.
    pub reason: String,
}

/// What a settle led to.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Settlements refused because the lease was lost.
    pub lost: Vec<OccurrenceId>,
    /// The instants at which what was written must be looked at, all of them.
    pub wakes: Vec<Timestamp>,
    /// The runs that were planned here.
    pub next_runs: Vec<NextRun>,
}

/// Counts over the whole store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStats {
    /// Occurrences still to be looked at.
    pub pending: u64,
    /// When the oldest of them was, or is, to be looked at.
    pub oldest_at: Option<Timestamp>,
    /// Reminders by status.
    pub reminders: Vec<(ReminderStatus, u64)>,
}

/// Why a store did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The same idempotency key was used meanwhile: look it up and answer the same.
    #[error("this idempotency key has been used")]
    KeyUsed,
    /// The store cannot write now: it is full, locked or unreachable. Trying later may work.
    #[error("the database cannot be used now: {0}")]
    Unavailable(String),
    /// The database says something that should be impossible.
    #[error("database: {0}")]
    Broken(String),
}

/// Why a change was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// There is no such reminder, or not one that may be seen.
    #[error("no such reminder")]
    NotFound,
    /// The reminder's state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_differ_in_what_both_have_otherwise() {
        let own = Shared::default().with("webhook_secret", "a1").with("link_secret", "b2");
        assert_eq!(own.to_string(), "webhook_secret=a1 link_secret=b2");
        let check = |others: &[&str], expect: &[&str]| {
            let others: Vec<String> = others.iter().map(|other| (*other).to_owned()).collect();
            assert_eq!(own.differing(&others), expect, "{others:?}");
        };
        check(&[], &[]);
        check(&["webhook_secret=a1 link_secret=b2"], &[]);
        check(&["webhook_secret=a1 link_secret=b2", "link_secret=x webhook_secret=a1"], &["link_secret"]);
        check(&["webhook_secret=y", "link_secret=z other=1"], &["webhook_secret", "link_secret"]);
        check(&["", "nonsense", "other=1"], &[]);
    }
}

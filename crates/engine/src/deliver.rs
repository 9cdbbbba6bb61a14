//! Holding until the instant, then sending.
//!
//! Flights wait in [`Hold`] until their instant and then in a lane of their receiver until it is their turn.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, Followed, Held, Message, Receipt, SendError};
use punctual_core::decide::{decide, not_tried as decide_not_tried, sent_under, withdraw};
use punctual_core::digest;
use punctual_core::rules::route::Trouble;
use punctual_core::store::Claimed;
use punctual_core::wake::text;
use tokio::sync::Notify;

use crate::claim::plus;
use crate::command::Inner;
use crate::dead::not_called;
use crate::flight::Flight;
use crate::gate::Fate;
use crate::lanes::{self, Sent};
use crate::say::Kind;

/// A lease that ends sooner than this is not used any more: the store's clock may run a little ahead of ours.
pub(crate) const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(1);
/// How long it is asked what became of a message that a platform took. No phone call takes longer.
const FOLLOW_FOR: SignedDuration = SignedDuration::from_mins(15);

/// Flights whose instant has not come.
#[derive(Default)]
pub(crate) struct Hold {
    held: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    by_instant: BTreeMap<(Timestamp, u64), Arc<Flight>>,
    last_number: u64,
}

impl Hold {
    pub(crate) fn add(&self, flights: Vec<Arc<Flight>>) {
        if flights.is_empty() {
            return;
        }
        let mut held = lock(&self.held);
        let before = held.by_instant.first_key_value().map(|(key, _)| key.0);
        for flight in flights {
            held.last_number += 1;
            let key = (flight.instant(), held.last_number);
            held.by_instant.insert(key, flight);
        }
        let first = held.by_instant.first_key_value().map(|(key, _)| key.0);
        drop(held);
        if first != before {
            self.changed.notify_one();
        }
    }

    fn first(&self) -> Option<Timestamp> {
        lock(&self.held).by_instant.first_key_value().map(|(key, _)| key.0)
    }

    fn take_due(&self, now: Timestamp) -> Vec<Arc<Flight>> {
        let mut held = lock(&self.held);
        let mut due = Vec::new();
        while let Some(entry) = held.by_instant.first_entry() {
            if entry.key().0 > now {
                break;
            }
            due.push(entry.remove());
        }
        due
    }
}

/// Sends every flight on its instant, for as long as the engine runs.
pub(crate) async fn run(inner: Arc<Inner>) {
    while !inner.stopping() {
        let due = inner.hold.take_due(inner.clock.now());
        for flight in due {
            lanes::enter(&inner, flight);
        }
        match inner.hold.first() {
            Some(at) => tokio::select! { biased;
                () = inner.clock.sleep_until(at) => {}
                () = inner.hold.changed.notified() => {}
                () = inner.stopped() => {}
            },
            None => tokio::select! { biased;
                () = inner.hold.changed.notified() => {}
                () = inner.stopped() => {}
            },
        }
    }
}

/// Sends, and settles what became of it. Returns what its gates should learn; nothing if it never began.
pub(crate) async fn send(inner: &Arc<Inner>, flight: Arc<Flight>) -> Option<(Fate, Held)> {
    let claimed = &flight.claimed;
    let begun_at = inner.clock.now();
    if !flight.holds_at(plus(begun_at, LEASE_MARGIN)) {
        // Another may have it by now. It is given back, which is refused if so; nobody need think that it was sent.
        if flight.withdraw() {
            inner.settle_later(withdraw(claimed, begun_at), None);
        }
        go_on_without(inner, &flight);
        return None;
    }
    if begun_at < flight.instant() {
        // The clock was set back while it waited for its turn.
        inner.hold.add(vec![flight]);
        return None;
    }
    let to = claimed.to();
    let channel = match inner.channels.get(&to.channel) {
        // What the platform has is only asked about.
        Some(channel) if inner.dead.get(to).is_none() || claimed.noted.is_some() => channel,
        // Nobody is called, so nothing is learnt about whoever would have answered.
        known => {
            let error = match inner.dead.get(to).filter(|_| known.is_some()) {
                Some(dead) => not_called(&dead),
                // Whoever looks after it may bring it back.
                None => SendError::Unavailable(format!("there is no channel named `{}`", to.channel)),
            };
            fail(inner, &flight, error, begun_at);
            return None;
        }
    };
    let along = begin(inner, &flight, begun_at)?;
    let late = begun_at.duration_since(claimed.wake_at);
    inner.metrics.lateness_seconds.observe(late.as_secs_f64().max(0.0));
    if claimed.attempt() > 1 {
        inner.metrics.retries.inc();
    }

    let message = message(inner, &flight, &along, begun_at);
    if inner.says(Kind::Processing) {
        let (occurrence, channel, attempt) = (message.occurrence, &message.to.channel, message.attempt);
        let of = attempts_max(claimed);
        tracing::info!(%occurrence, %channel, attempt, of, "processing (attempt {attempt} of {of})");
    }
    let (said, fate) = send_or_follow(inner, &flight, &**channel, &message).await;
    log(inner, &message, &said);
    if let Err(SendError::Gone(reason)) = &said {
        inner.dead.note(&message.to, reason, begun_at);
    }
    settle_said(inner, &flight, &along, &message, said);
    fate
}

/// What became of a message, and what its gates should learn from that.
async fn send_or_follow(
    inner: &Inner,
    flight: &Flight,
    channel: &dyn Channel,
    message: &Message,
) -> (Result<Receipt, SendError>, Option<(Fate, Held)>) {
    if let Some(id) = &flight.claimed.noted {
        // Another process sent it and did not see the end.
        return (follow(inner, channel, id.clone(), FOLLOW_FOR).await, None);
    }
    match within_time(inner, channel.send(message)).await {
        Ok(Receipt { pending: true, message_id: Some(id), .. }) => {
            // The platform has answered; what becomes of the message, such as that nobody picks up, is not about it.
            let sent = Sent { to: &message.to, user: &message.reminder.user, number: Some(flight.number()) };
            lanes::learn(inner, sent, (Fate::Answered, Held::Receiver));
            note_id(inner, flight, &id).await;
            (follow(inner, channel, id, FOLLOW_FOR).await, None)
        }
        Err(error @ SendError::Throttled { .. }) if lanes::is_too_long(inner, flight, inner.clock.now()) => {
            let fate = fate_of(&error);
            let why = format!("it has done nothing but ask to wait for a whole day: {error}");
            (Err(SendError::Unavailable(why)), Some(fate))
        }
        said => {
            let fate = fate(&said);
            (said, Some(fate))
        }
    }
}

/// Ends a flight that nobody was called for with why, as if it had been tried.
fn fail(inner: &Arc<Inner>, flight: &Flight, error: SendError, now: Timestamp) {
    let Some(along) = begin(inner, flight, now) else { return };
    let said = Err(error);
    let message = message(inner, flight, &along, now);
    log(inner, &message, &said);
    settle_said(inner, flight, &along, &message, said);
}

/// The same for one that cannot be sent because of `trouble` with its receiver.
pub(crate) fn not_tried(inner: &Arc<Inner>, flight: &Flight, trouble: Trouble, now: Timestamp) {
    let Some(along) = begin(inner, flight, now) else { return };
    let claimed = &flight.claimed;
    let (occurrence, attempt, channel) = (claimed.before.id, claimed.attempt(), &claimed.to().channel);
    let error = trouble.why_not_tried(claimed, now);
    tracing::warn!(%occurrence, attempt, %channel, %error, "not sent");
    let (jitter, now) = (inner.random.unit(), inner.clock.now());
    for run in along.iter().map(|other| &**other).chain([flight]) {
        let settlement = decide_not_tried(&run.claimed, trouble, &inner.settings.retry, jitter, now);
        inner.settle_later(settlement, Some(run));
    }
}

/// Begins a flight; returns those that go with it. `None` if it was withdrawn: they go on without it.
fn begin(inner: &Arc<Inner>, flight: &Flight, now: Timestamp) -> Option<Vec<Arc<Flight>>> {
    if !flight.begin() {
        go_on_without(inner, flight);
        return None;
    }
    Some(companions(inner, flight, now))
}

/// Those that go out in the same message, begun. One whose lease has run out is given back.
fn companions(inner: &Inner, flight: &Flight, now: Timestamp) -> Vec<Arc<Flight>> {
    let (ours, lost): (Vec<_>, Vec<_>) =
        flight.part().into_iter().partition(|other| other.holds_at(plus(now, LEASE_MARGIN)));
    for other in lost.into_iter().filter(|other| other.withdraw()) {
        inner.settle_later(withdraw(&other.claimed, now), None);
    }
    ours.into_iter().filter(|other| other.begin()).collect()
}

/// Lets those that a flight was to take along go out without it.
pub(crate) fn go_on_without(inner: &Arc<Inner>, flight: &Flight) {
    let mut others = flight.part().into_iter();
    if let Some(next) = others.next() {
        others.for_each(|other| next.take_along(other));
        inner.hold.add(vec![next]);
    }
}

/// Settles a flight, and those that went with it, with what the channel said.
fn settle_said(
    inner: &Inner,
    flight: &Flight,
    along: &[Arc<Flight>],
    message: &Message,
    said: Result<Receipt, SendError>,
) {
    // The same for all, so that what goes out together is also tried again together.
    let (jitter, now) = (inner.random.unit(), inner.clock.now());
    let settle = |run: &Flight, said| {
        let settlement = decide(&run.claimed, said, &inner.settings.retry, jitter, message.sent_at, now);
        let settlement = if along.is_empty() { settlement } else { sent_under(settlement, &message.idempotency_key) };
        inner.settle_later(settlement, Some(run));
    };
    along.iter().for_each(|other| settle(other, said.clone()));
    settle(flight, said);
}

/// What a channel says, or that it said nothing in time.
pub(crate) async fn within_time<T>(
    inner: &Inner,
    asking: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    let asking = AssertUnwindSafe(asking).catch_unwind();
    tokio::select! { biased;
        said = asking => said.unwrap_or_else(|_| Err(SendError::Unknown("the channel panicked".into()))),
        () = inner.clock.pause(inner.settings.send_timeout) => {
            let seconds = inner.settings.send_timeout.as_secs();
            Err(SendError::Unknown(format!("no answer within {seconds} s; it may have arrived")))
        }
    }
}

/// Writes down the platform's id of a message that is under way: whatever happens to this process, it can be found in the
/// platform's own books.
async fn note_id(inner: &Inner, flight: &Flight, id: &str) {
    let claimed = &flight.claimed;
    if let Err(error) = inner.store.note_sent(claimed.before.id, claimed.lease, claimed.attempt(), id).await {
        tracing::warn!(occurrence = %claimed.before.id, %error, "the platform's id could not be written down yet");
    }
}

/// Asks what became of a message that was taken, until it is known or `ask_for` has passed.
pub(crate) async fn follow(
    inner: &Inner,
    channel: &dyn Channel,
    id: String,
    ask_for: SignedDuration,
) -> Result<Receipt, SendError> {
    let give_up_at = plus(inner.clock.now(), ask_for);
    loop {
        match within_time(inner, channel.follow(&id)).await? {
            Followed::Reached => return Ok(Receipt::of(id)),
            Followed::AskAgain(_) if inner.clock.now() >= give_up_at => {
                let minutes = ask_for.as_mins();
                return Err(SendError::Unknown(format!("nothing is known of {id} after {minutes} minutes")));
            }
            Followed::AskAgain(after) => inner.clock.pause(after).await,
        }
    }
}

/// What the gates should learn from it.
pub(crate) fn fate(said: &Result<Receipt, SendError>) -> (Fate, Held) {
    said.as_ref().map_or_else(fate_of, |_| (Fate::Answered, Held::Receiver))
}

fn fate_of(error: &SendError) -> (Fate, Held) {
    match error {
        SendError::Refused(_) | SendError::Gone(_) => (Fate::Answered, Held::Receiver),
        SendError::Throttled { wait, held } => (Fate::Throttled(*wait), *held),
        SendError::Unavailable(_) | SendError::Unknown(_) => (Fate::Failed, Held::Receiver),
    }
}

fn message(inner: &Inner, flight: &Flight, along: &[Arc<Flight>], sent_at: Timestamp) -> Message {
    let claimed = &flight.claimed;
    let occurrence = &claimed.before;
    let to = claimed.to().clone();
    // Asking once more is not late, however long ago it was first due.
    let due_at = if occurrence.tries.reached > 0 { claimed.wake_at } else { occurrence.due_at };
    let language = claimed.person.language.unwrap_or(inner.settings.language);
    let mut idempotency_key = occurrence.id.idempotency_key(&to, occurrence.tries.reached);
    let mut said = text(&claimed.reminder, due_at, sent_at);
    if !along.is_empty() {
        let all = || std::iter::once(claimed).chain(along.iter().map(|other| &other.claimed));
        let texts: Vec<_> = all().map(|claimed| text(&claimed.reminder, claimed.before.due_at, sent_at)).collect();
        let ids: Vec<_> = all().map(|claimed| claimed.before.id).collect();
        idempotency_key = digest::key(&idempotency_key, &ids);
        said = digest::text(language, &texts);
    }
    Message {
        occurrence: occurrence.id,
        attempt: claimed.attempt(),
        reminder: claimed.reminder.clone(),
        idempotency_key,
        attempt_key: claimed.attempt_key(),
        language,
        text: said,
        to,
        due_at,
        dated: occurrence.said_from(claimed.reminder.ack.as_ref()).min(sent_at),
        sent_at,
    }
}

/// How many attempts a run can take: every address once, and again with each retry.
fn attempts_max(claimed: &Claimed) -> u32 {
    let n_addresses = u32::try_from(claimed.route.len()).unwrap_or(u32::MAX);
    let n_in_all = claimed.reminder.retries_max.saturating_add(1).saturating_mul(n_addresses);
    // What is asked again for an answer goes on counting.
    n_in_all.max(claimed.attempt())
}

fn log(inner: &Inner, message: &Message, said: &Result<Receipt, SendError>) {
    let (occurrence, attempt, channel) = (message.occurrence, message.attempt, &message.to.channel);
    match said {
        Ok(_) if inner.says(Kind::Sent) => tracing::info!(%occurrence, attempt, %channel, "sent"),
        Ok(_) => tracing::debug!(%occurrence, attempt, %channel, "sent"),
        Err(error) => tracing::warn!(%occurrence, attempt, %channel, %error, "not sent"),
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Holding until the instant, then sending.
//!
//! Flights wait in [`Hold`] until their instant and then in a lane of their receiver until it is their turn. A lane runs at most
//! as many sends at once as its channel allows, so a receiver that hangs fills its own lane and delays nobody else.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Message, Receipt, SendError};
use punctual_core::decide::{decide, postpone, withdraw};
use punctual_core::phrase::Lang;
use punctual_core::reminder::Address;
use punctual_core::wake::text;
use tokio::sync::Notify;

use crate::claim::plus;
use crate::command::Inner;
use crate::flight::Flight;

/// A lease that ends sooner than this is not used any more: the store's clock may run a little ahead of ours.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(1);
/// A lane is slow when nothing has landed from it for this long.
const SLOW_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// How long what is shed from a slow lane stays away.
const SHED_FOR: SignedDuration = SignedDuration::from_secs(5);

/// Flights whose instant has not come.
#[derive(Default)]
pub(crate) struct Hold {
    held: Mutex<Held>,
    changed: Notify,
}

#[derive(Default)]
struct Held {
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
            enter_lane(&inner, flight);
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

/// Who waits for which receiver.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Arc<str>, Lane>,
    /// Lanes with something waiting that found every place taken.
    waiting: VecDeque<Arc<str>>,
    n_running: usize,
}

struct Lane {
    queue: VecDeque<Arc<Flight>>,
    n_running: usize,
    concurrency: usize,
    landed_at: Timestamp,
}

/// Sends now if the receiver has a place, else lets the flight wait for its turn.
fn enter_lane(inner: &Arc<Inner>, flight: Arc<Flight>) {
    let mut lanes = lock(&inner.lanes);
    let has_place = lanes.n_running < inner.settings.sends_max;
    let lane = lanes.lanes.entry(flight.lane.clone()).or_insert_with(|| Lane {
        queue: VecDeque::new(),
        n_running: 0,
        concurrency: inner.concurrency_of(flight.claimed.to()),
        landed_at: inner.clock.now(),
    });
    if has_place && lane.n_running < lane.concurrency {
        lane.n_running += 1;
        lanes.n_running += 1;
        drop(lanes);
        inner.runtime.spawn(Box::pin(work_lane(inner.clone(), flight)));
        return;
    }
    let stranded = !has_place && lane.n_running == 0 && lane.queue.is_empty();
    lane.queue.push_back(flight.clone());
    if stranded {
        lanes.waiting.push_back(flight.lane.clone());
    }
}

/// Sends one flight after another of a lane until none waits; then helps a lane that found no place.
async fn work_lane(inner: Arc<Inner>, first: Arc<Flight>) {
    let mut next = Some(first);
    while let Some(flight) = next {
        let name = flight.lane.clone();
        send(&inner, flight).await;
        next = leave_lane(&inner, &name);
    }
}

fn leave_lane(inner: &Inner, name: &Arc<str>) -> Option<Arc<Flight>> {
    let mut lanes = lock(&inner.lanes);
    let now = inner.clock.now();
    if let Some(lane) = lanes.lanes.get_mut(name) {
        lane.landed_at = now;
        if let Some(flight) = lane.queue.pop_front() {
            return Some(flight);
        }
        lane.n_running -= 1;
        if lane.n_running == 0 {
            lanes.lanes.remove(name);
        }
    }
    while let Some(stranded) = lanes.waiting.pop_front() {
        if let Some(lane) = lanes.lanes.get_mut(&stranded)
            && let Some(flight) = lane.queue.pop_front()
        {
            lane.n_running += 1;
            return Some(flight);
        }
    }
    lanes.n_running -= 1;
    None
}

async fn send(inner: &Arc<Inner>, flight: Arc<Flight>) {
    let claimed = &flight.claimed;
    let begun_at = inner.clock.now();
    if !flight.holds_at(plus(begun_at, LEASE_MARGIN)) {
        // Another may have it by now. It is given back, which is refused if so; nobody need think that it was sent.
        if flight.withdraw() {
            inner.settle_later(withdraw(claimed, begun_at), None);
        }
        return;
    }
    if begun_at < flight.instant() {
        // The clock was set back while it waited for its turn.
        inner.hold.add(vec![flight]);
        return;
    }
    if !flight.begin() {
        return;
    }
    let late = begun_at.duration_since(claimed.wake_at);
    inner.metrics.lateness_seconds.observe(late.as_secs_f64().max(0.0));
    if claimed.attempt() > 1 {
        inner.metrics.retries.inc();
    }

    let message = message(&flight, begun_at);
    let said = match inner.channels.get(&message.to.channel) {
        None => Err(SendError::Refused(format!("there is no channel named `{}`", message.to.channel))),
        Some(channel) => {
            let sending = AssertUnwindSafe(channel.send(&message)).catch_unwind();
            tokio::select! { biased;
                said = sending => said.unwrap_or_else(|_| Err(SendError::Unknown("the channel panicked".into()))),
                () = inner.clock.pause(inner.settings.send_timeout) => {
                    let seconds = inner.settings.send_timeout.as_secs();
                    Err(SendError::Unknown(format!("no answer within {seconds} s; it may have arrived")))
                }
            }
        }
    };
    log(&message, &said);
    let settlement = decide(claimed, said, &inner.settings.retry, inner.random.unit(), begun_at, inner.clock.now());
    inner.settle_later(settlement, Some(&flight));
}

fn message(flight: &Flight, sent_at: Timestamp) -> Message {
    let claimed = &flight.claimed;
    let occurrence = &claimed.before;
    let to = claimed.to().clone();
    // Asking once more is not late, however long ago it was first due.
    let due_at = if occurrence.tries.reached > 0 { claimed.wake_at } else { occurrence.due_at };
    Message {
        occurrence: occurrence.id,
        attempt: claimed.attempt(),
        reminder: claimed.reminder.clone(),
        idempotency_key: occurrence.id.idempotency_key(&to, occurrence.tries.reached),
        attempt_key: occurrence.id.attempt_key(&to, claimed.attempt()),
        language: Lang::En,
        text: text(&claimed.reminder, due_at, sent_at),
        to,
        due_at,
        sent_at,
    }
}

fn log(message: &Message, said: &Result<Receipt, SendError>) {
    let (occurrence, attempt, channel) = (message.occurrence, message.attempt, &message.to.channel);
    match said {
        Ok(_) => tracing::debug!(%occurrence, attempt, %channel, "sent"),
        Err(error) => tracing::warn!(%occurrence, attempt, %channel, %error, "not sent"),
    }
}

impl Inner {
    /// Which lane leads to an address.
    pub(crate) fn lane_of(&self, to: &Address) -> Arc<str> {
        let receiver = self.channels.get(&to.channel).map(|channel| channel.receiver(&to.address));
        format!("{} {}", to.channel, receiver.unwrap_or_default()).into()
    }

    fn concurrency_of(&self, to: &Address) -> usize {
        self.channels.get(&to.channel).map_or(1, |channel| channel.limits().concurrency).max(1)
    }

    /// Gives back half of what waits for slow receivers, so that their messages do not take the room of others'.
    pub(crate) fn shed_slow_lanes(&self) {
        let now = self.clock.now();
        let mut shed = Vec::new();
        {
            let mut lanes = lock(&self.lanes);
            for lane in lanes.lanes.values_mut() {
                if now.duration_since(lane.landed_at) > SLOW_AFTER && lane.queue.len() > lane.concurrency {
                    let keep = lane.queue.len() / 2;
                    shed.extend(lane.queue.split_off(keep));
                }
            }
        }
        for flight in shed {
            if flight.withdraw() {
                self.settle_later(postpone(&flight.claimed, plus(now, SHED_FOR)), None);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

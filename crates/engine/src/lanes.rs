//! Whose turn it is.
//!
//! What is due enters the lane of its receiver and leaves it when the receiver may be called: never more at once than its channel
//! allows, never faster than its rates, not while it asked to be left alone, and not while it only fails. So a receiver that hangs
//! or fails fills its own lane and delays nobody else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, Held, Limits, Receipt, SendError};
use punctual_core::decide::{THROTTLED_MAX, postpone};
use punctual_core::reminder::Address;

use crate::claim::{plus, signed};
use crate::command::Inner;
use crate::deliver::{self, lock};
use crate::flight::Flight;
use crate::gate::{Admit, Closed, FAILURES_MAX, Fate, Gate, Learnt};
use crate::metrics::ChannelLabel;

/// A lane is slow when nothing has landed from it for this long.
const SLOW_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// A lane moves when something has landed from it within this.
const MOVING: SignedDuration = SignedDuration::from_millis(100);
/// How long what is shed from a slow lane stays away.
const SHED_FOR: SignedDuration = SignedDuration::from_secs(5);
/// A lane waits this long with all that is in it; what would have to wait longer goes back to the store.
const STAY_FOR: SignedDuration = SignedDuration::from_secs(2);
/// What an address can take within this stays in memory; more goes back to the store.
const NEAR: Duration = Duration::from_secs(5);

/// Who waits for which receiver.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Arc<str>, Lane>,
    /// Addresses that have a rate or were told to wait, by channel and address.
    addresses: BTreeMap<Address, Gate>,
    /// Lanes with something waiting that found every place taken.
    waiting: VecDeque<Arc<str>>,
    n_running: usize,
}

struct Lane {
    channel: String,
    queue: VecDeque<Arc<Flight>>,
    n_running: usize,
    limits: Limits,
    gate: Gate,
    landed_at: Timestamp,
    /// Somebody sleeps until the lane may go on.
    is_paced: bool,
    /// It stands among those that found no place.
    is_stranded: bool,
}

/// What may go on now.
#[derive(Default)]
struct Moves {
    /// To be sent, each by a task of its own.
    starts: Vec<Arc<Flight>>,
    /// Not now.
    aside: Vec<(Arc<Flight>, Aside)>,
    /// When to look at the lane again.
    again: Option<(Arc<str>, Timestamp)>,
}

/// Why something is not sent now.
#[derive(Debug, Clone, Copy)]
enum Aside {
    /// It has to wait.
    Until(Timestamp),
    /// Its receiver fails, and is not called before this.
    Broken(Timestamp),
}

impl Lanes {
    /// Takes from a lane what may be sent now.
    fn pump(&mut self, name: &Arc<str>, now: Timestamp, sends_max: usize, moves: &mut Moves) {
        let Some(lane) = self.lanes.get_mut(name) else { return };
        while lane.n_running < lane.gate.allows(lane.limits.concurrency, now)
            && let Some(flight) = lane.queue.front()
        {
            if self.n_running >= sends_max {
                if !lane.is_stranded {
                    lane.is_stranded = true;
                    self.waiting.push_back(name.clone());
                }
                return;
            }
            let mut address = gate_of(&mut self.addresses, &lane.limits, flight.claimed.to());
            if let Some(until) = address.as_mut().and_then(|gate| wait_for(gate, now)) {
                moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Until(until))));
                continue;
            }
            match lane.gate.admit(now) {
                Admit::Go => {
                    if let Some(gate) = address {
                        // It said that it would.
                        gate.admit(now);
                    }
                    lane.n_running += 1;
                    self.n_running += 1;
                    moves.starts.extend(lane.queue.pop_front());
                }
                Admit::Wait(until) if until.duration_since(now) <= STAY_FOR => {
                    if !lane.is_paced {
                        lane.is_paced = true;
                        moves.again = Some((name.clone(), until));
                    }
                    return;
                }
                Admit::Wait(until) => {
                    moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Until(until))));
                }
                Admit::Broken(until) => {
                    moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Broken(until))));
                }
            }
        }
    }

    /// Forgets what holds back nothing.
    fn tidy(&mut self, now: Timestamp) {
        self.addresses.retain(|_, gate| !gate.is_idle(now));
        self.lanes.retain(|_, lane| lane.n_running > 0 || !lane.queue.is_empty() || !lane.is_forgettable(now));
    }
}

impl Lane {
    /// A lane that fails is remembered for a while, so that it need not be learnt anew with every message.
    fn is_forgettable(&self, now: Timestamp) -> bool {
        !self.is_paced && (self.gate.is_idle(now) || plus(self.landed_at, SignedDuration::from_mins(10)) < now)
    }
}

/// When an address that cannot be sent to now may be.
fn wait_for(gate: &mut Gate, now: Timestamp) -> Option<Timestamp> {
    match gate.closed() {
        Closed::Held(until) | Closed::Broken(until) if until > now => return Some(until),
        _ => {}
    }
    let pace = gate.pace()?;
    (pace.ready_at() > now).then(|| pace.promise(now))
}

/// The gate of an address, if it has one: made for those whose channel has a rate for each.
fn gate_of<'a>(addresses: &'a mut BTreeMap<Address, Gate>, limits: &Limits, to: &Address) -> Option<&'a mut Gate> {
    if limits.address_rate.is_none() && addresses.is_empty() {
        return None;
    }
    if limits.address_rate.is_some() && !addresses.contains_key(to) {
        addresses.insert(to.clone(), Gate::new(limits.address_rate));
    }
    addresses.get_mut(to)
}

/// Sends now if the receiver may be called, else lets the flight wait for its turn.
pub(crate) fn enter(inner: &Arc<Inner>, flight: Arc<Flight>) {
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        let lane = lanes.lanes.entry(flight.lane.clone()).or_insert_with(|| {
            let to = flight.claimed.to();
            let limits = inner.limits_of(to);
            Lane {
                channel: to.channel.clone(),
                queue: VecDeque::new(),
                n_running: 0,
                limits,
                gate: Gate::new(limits.rate),
                landed_at: now,
                is_paced: false,
                is_stranded: false,
            }
        });
        let n_waiting = lane.queue.len();
        match lane.gate.pace() {
            // It would only take the room of others until its turn comes.
            Some(pace) if n_waiting >= pace.within(NEAR).max(1) => {
                let until = pace.promise(plus(now, signed(NEAR)));
                moves.aside.push((flight, Aside::Until(until)));
            }
            _ => {
                let name = flight.lane.clone();
                lane.queue.push_back(flight);
                lanes.pump(&name, now, inner.settings.sends_max, &mut moves);
            }
        }
    }
    carry_out(inner, moves, now);
}

/// Sends one flight after another of a lane until none may be sent; then helps a lane that found no place.
async fn work(inner: Arc<Inner>, first: Arc<Flight>) {
    let mut next = Some(first);
    while let Some(flight) = next {
        let fate = deliver::send(&inner, flight.clone()).await;
        next = leave(&inner, &flight, fate.as_ref());
    }
}

fn leave(inner: &Arc<Inner>, flight: &Flight, fate: Option<&(Fate, Held)>) -> Option<Arc<Flight>> {
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        lanes.n_running -= 1;
        if let Some(fate) = fate {
            lanes.learn(inner, &flight.lane, flight.claimed.to(), *fate, now);
        }
        if let Some(lane) = lanes.lanes.get_mut(&flight.lane) {
            lane.landed_at = now;
            lane.n_running -= 1;
            if lane.n_running == 0 && lane.queue.is_empty() && lane.is_forgettable(now) {
                lanes.lanes.remove(&flight.lane);
            }
        }
        lanes.pump(&flight.lane, now, inner.settings.sends_max, &mut moves);
        while moves.starts.is_empty()
            && let Some(stranded) = lanes.waiting.pop_front()
        {
            if let Some(lane) = lanes.lanes.get_mut(&stranded) {
                lane.is_stranded = false;
            }
            lanes.pump(&stranded, now, inner.settings.sends_max, &mut moves);
        }
    }
    let next = moves.starts.pop();
    carry_out(inner, moves, now);
    next
}

/// Why nothing may be sent to an address right now, if that is so.
pub(crate) fn must_wait(inner: &Inner, to: &Address, now: Timestamp) -> Option<SendError> {
    let (name, limits) = (inner.lane_of(to), inner.limits_of(to));
    let mut lanes = lock(&inner.lanes);
    let address = gate_of(&mut lanes.addresses, &limits, to).and_then(|gate| wait_for(gate, now));
    let receiver = lanes.lanes.get(&name).and_then(|lane| match lane.gate.closed() {
        Closed::Held(until) => Some(until),
        _ => None,
    });
    let until = address.into_iter().chain(receiver).max().filter(|until| *until > now)?;
    let held = if receiver == Some(until) { Held::Receiver } else { Held::Address };
    Some(SendError::Throttled { wait: until.duration_since(now).unsigned_abs(), held })
}

/// Tells the gates what became of a send that did not go through a lane.
pub(crate) fn learn(inner: &Inner, to: &Address, said: &Result<Receipt, SendError>) {
    let name = inner.lane_of(to);
    lock(&inner.lanes).learn(inner, &name, to, deliver::fate(said), inner.clock.now());
}

impl Lanes {
    /// Tells the gates what became of a send.
    fn learn(&mut self, inner: &Inner, name: &Arc<str>, to: &Address, (fate, held): (Fate, Held), now: Timestamp) {
        let limits = self.lanes.get(name).map(|lane| lane.limits).unwrap_or_default();
        let label = || ChannelLabel { channel: to.channel.clone() };
        if let (Fate::Throttled(_), Held::Address) = (fate, held) {
            inner.metrics.throttled.get_or_create(&label()).inc();
            self.addresses.entry(to.clone()).or_insert_with(|| Gate::new(limits.address_rate)).learn(fate, now);
            // The receiver answered.
            if let Some(lane) = self.lanes.get_mut(name) {
                lane.gate.learn(Fate::Answered, now);
            }
            return;
        }
        if fate == Fate::Answered
            && let Some(gate) = self.addresses.get_mut(to)
        {
            gate.learn(fate, now);
        }
        let Some(lane) = self.lanes.get_mut(name) else { return };
        match lane.gate.learn(fate, now) {
            Learnt::Nothing => {}
            Learnt::Held => {
                inner.metrics.throttled.get_or_create(&label()).inc();
            }
            Learnt::Broken => {
                inner.metrics.broken.get_or_create(&label()).inc();
                let n_failed = lane.gate.n_failed();
                tracing::warn!(receiver = %name, n_failed, "nothing works there; it is left alone for a while");
            }
        }
    }
}

fn carry_out(inner: &Arc<Inner>, moves: Moves, now: Timestamp) {
    for flight in moves.starts {
        inner.runtime.spawn(Box::pin(work(inner.clone(), flight)));
    }
    for (flight, aside) in moves.aside {
        put_aside(inner, flight, aside, now);
    }
    if let Some((name, at)) = moves.again {
        inner.runtime.spawn(Box::pin(pace(inner.clone(), name, at)));
    }
}

/// Looks at a lane again at `at`.
async fn pace(inner: Arc<Inner>, name: Arc<str>, at: Timestamp) {
    tokio::select! { biased;
        () = inner.clock.sleep_until(at) => {}
        () = inner.stopped() => {}
    }
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        if let Some(lane) = lanes.lanes.get_mut(&name) {
            lane.is_paced = false;
        }
        lanes.pump(&name, now, inner.settings.sends_max, &mut moves);
    }
    carry_out(&inner, moves, now);
}

/// Lets a flight wait, here or in the store, or fails it where waiting has no end.
fn put_aside(inner: &Arc<Inner>, flight: Arc<Flight>, aside: Aside, now: Timestamp) {
    let claimed = &flight.claimed;
    match aside {
        Aside::Broken(until) => {
            let seconds = until.duration_since(now).as_secs() + 1;
            let error = SendError::Unavailable(format!(
                "not tried: at least {FAILURES_MAX} sends in a row have failed there; it is called again in {seconds} s"
            ));
            deliver::fail(inner, &flight, error, now);
        }
        Aside::Until(_) if now.duration_since(claimed.before.due_at) > THROTTLED_MAX => {
            let error = SendError::Unavailable("its turn has not come for a whole day".into());
            deliver::fail(inner, &flight, error, now);
        }
        Aside::Until(until) if until.duration_since(now) <= signed(NEAR) => {
            flight.wait_until(until);
            inner.hold.add(vec![flight]);
        }
        Aside::Until(until) => {
            let why = || format!("waits for its turn: {} takes no more now", claimed.to().channel);
            inner.postpone(&flight, until, why);
        }
    }
}

impl Inner {
    /// Which lane leads to an address.
    pub(crate) fn lane_of(&self, to: &Address) -> Arc<str> {
        let receiver = self.channels.get(&to.channel).map(|channel| channel.receiver(&to.address));
        format!("{} {}", to.channel, receiver.unwrap_or_default()).into()
    }

    /// Whether more is due than can be sent at once.
    pub(crate) fn is_burst(&self) -> bool {
        let now = self.clock.now();
        // A receiver that hangs makes no burst.
        let is_moving = |lane: &Lane| now.duration_since(lane.landed_at) < MOVING;
        let is_full = |lane: &Lane| lane.n_running >= lane.limits.concurrency && !lane.queue.is_empty();
        lock(&self.lanes).lanes.values().any(|lane| is_full(lane) && is_moving(lane))
    }

    fn limits_of(&self, to: &Address) -> Limits {
        let limits = self.channels.get(&to.channel).map(|channel| channel.limits()).unwrap_or_default();
        Limits { concurrency: limits.concurrency.max(1), ..limits }
    }

    /// Gives back half of what waits for slow receivers, so that their messages do not take the room of others'.
    pub(crate) fn shed_slow_lanes(&self) {
        let now = self.clock.now();
        let mut shed = Vec::new();
        {
            let mut lanes = lock(&self.lanes);
            for lane in lanes.lanes.values_mut() {
                if now.duration_since(lane.landed_at) > SLOW_AFTER && lane.queue.len() > lane.limits.concurrency {
                    let keep = lane.queue.len() / 2;
                    shed.extend(lane.queue.split_off(keep));
                }
            }
        }
        for flight in shed {
            let why = || format!("waits for its turn: {} is slow", flight.claimed.to().channel);
            self.postpone(&flight, plus(now, SHED_FOR), why);
        }
    }

    /// Gives a flight back to the store until `until`, with all that it takes along.
    fn postpone(&self, flight: &Flight, until: Timestamp, why: impl Fn() -> String) {
        for other in flight.part() {
            if other.withdraw() {
                self.settle_later(postpone(&other.claimed, until, why()), None);
            }
        }
        if flight.withdraw() {
            self.settle_later(postpone(&flight.claimed, until, why()), None);
        }
    }

    /// Forgets lanes and addresses that hold back nothing.
    pub(crate) fn tidy_lanes(&self) {
        lock(&self.lanes).tidy(self.clock.now());
    }
}

/// How a channel is used and what holds it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelStanding {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
    /// How much may be sent.
    pub limits: Limits,
    /// Sends under way.
    pub n_sending: usize,
    /// Messages that wait for their turn.
    pub n_waiting: usize,
    /// Receivers and addresses that are left alone now.
    pub closed: Vec<ClosedGate>,
}

/// A receiver or an address that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedGate {
    /// Which.
    pub to: String,
    /// Why: `throttled` or `broken`, or `trying` while one send shows whether it works again.
    pub why: &'static str,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Sends in a row that have failed.
    pub n_failed: u32,
}

impl crate::Engine {
    /// How each channel stands, by name.
    pub fn channel_standings(&self) -> Vec<ChannelStanding> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let lanes = lock(&inner.lanes);
        let standing = |(name, channel): (&String, &Arc<dyn Channel>)| {
            let own = || lanes.lanes.iter().filter(|(_, lane)| lane.channel == *name);
            let receivers = own().filter_map(|(lane_name, lane)| {
                let receiver = lane_name.strip_prefix(name.as_str()).unwrap_or_default().trim_start();
                closed_gate(receiver, &lane.gate, now)
            });
            let addresses = lanes.addresses.iter().filter(|(to, _)| to.channel == *name);
            let addresses = addresses.filter_map(|(to, gate)| closed_gate(&to.address, gate, now));
            ChannelStanding {
                name: name.clone(),
                kind: channel.kind(),
                limits: channel.limits(),
                n_sending: own().map(|(_, lane)| lane.n_running).sum(),
                n_waiting: own().map(|(_, lane)| lane.queue.len()).sum(),
                closed: receivers.chain(addresses).collect(),
            }
        };
        inner.channels.iter().map(standing).collect()
    }
}

fn closed_gate(to: &str, gate: &Gate, now: Timestamp) -> Option<ClosedGate> {
    let (why, until) = match gate.closed() {
        Closed::No => return None,
        Closed::Held(until) if until > now => ("throttled", Some(until)),
        Closed::Broken(until) if until > now => ("broken", Some(until)),
        Closed::Held(_) => return None,
        Closed::Broken(_) | Closed::Trying => ("trying", None),
    };
    Some(ClosedGate { to: to.to_owned(), why, until, n_failed: gate.n_failed() })
}

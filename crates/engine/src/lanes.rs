//! Whose turn it is.
//!
//! What is due enters the lane of its receiver and leaves it when the receiver may be called: never more at once than its channel
//! allows, never faster than its rates, not while it asked to be left alone, and not while it only fails. So a receiver that hangs
//! or fails fills its own lane and delays nobody else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Bucket, Channel, Held, Limits, Rate, SendError};
use punctual_core::decide::{postpone, postpone_in_trouble};
use punctual_core::id::fingerprint;
use punctual_core::reminder::{Address, Priority};
use punctual_core::rules::route::{Trouble, WayOn, is_out_of_patience, way_on};
use punctual_core::store::{Claimed, Settlement};

use crate::claim::{plus, signed};
use crate::command::Inner;
use crate::crowd::Crowd;
use crate::deliver::{self, lock};
use crate::flight::Flight;
use crate::gate::{Admit, Closed, Fate, Gate, Learnt};
use crate::metrics::ChannelLabel;
use crate::together;

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
/// How long others wait for the one that shows whether an address may be called again.
const TRY_FOR: Duration = Duration::from_millis(250);
/// How long a send that does not wait in a lane is told to wait when every place is taken.
const BUSY_FOR: Duration = Duration::from_secs(1);
/// Who waits for which receiver.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) lanes: BTreeMap<Arc<str>, Lane>,
    /// Addresses that have a rate or were told to wait, by channel and the name of their bucket.
    pub(crate) addresses: BTreeMap<Address, Gate>,
    /// Until when other nodes were asked to leave addresses alone, by fingerprint, until this node sends there.
    pub(crate) told: BTreeMap<String, Timestamp>,
    /// Lanes with something waiting that found every place taken.
    waiting: VecDeque<Arc<str>>,
    n_running: usize,
}

pub(crate) struct Lane {
    pub(crate) channel: String,
    /// What sends, if there is such a channel.
    adapter: Option<Arc<dyn Channel>>,
    pub(crate) queue: VecDeque<Arc<Flight>>,
    pub(crate) n_running: usize,
    limits: Limits,
    pub(crate) gate: Gate,
    /// Whose addresses there were asked to wait lately.
    crowd: Crowd,
    landed_at: Timestamp,
    /// When the lane is looked at again, if somebody sleeps until then.
    look_at: Option<Timestamp>,
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
    /// When to look at a lane again.
    again: Vec<(Arc<str>, Timestamp)>,
}

/// Why something is not sent now.
#[derive(Debug, Clone, Copy)]
enum Aside {
    /// Its address or receiver cannot be sent to.
    Trouble(Trouble),
    /// It was withdrawn while it waited.
    Withdrawn,
}

impl Lanes {
    /// Takes from a lane what may be sent now.
    fn pump(&mut self, name: &Arc<str>, now: Timestamp, sends_max: usize, moves: &mut Moves) {
        let Some(lane) = self.lanes.get_mut(name) else { return };
        while lane.n_running < lane.limits.concurrency
            && let Some(flight) = lane.queue.front()
        {
            if let Some(until) = lane.gate.is_tried_until(now) {
                lane.look_again(name, until, moves);
                return;
            }
            if !flight.is_waiting() {
                // It takes nobody's turn.
                moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Withdrawn)));
                continue;
            }
            if self.n_running >= sends_max {
                self.strand(name);
                return;
            }
            let to = flight.claimed.to();
            let known = (&mut self.addresses, &mut self.told);
            let mut address = address_gate(known, lane.adapter.as_deref(), &lane.limits, to, now);
            if let Some(aside) = address.as_mut().and_then(|gate| not_now(gate, now)) {
                moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Trouble(aside))));
                continue;
            }
            match lane.gate.admit(now) {
                Admit::Go => {
                    if let Some(gate) = address {
                        // It said that it would.
                        gate.admit(now);
                    }
                    flight.admitted(lane.gate.last_begun());
                    lane.n_running += 1;
                    self.n_running += 1;
                    moves.starts.extend(lane.queue.pop_front());
                }
                Admit::Wait(until) | Admit::Held(until) if until.duration_since(now) <= STAY_FOR => {
                    lane.look_again(name, until, moves);
                    // The others would only take the room of those who need not wait.
                    let n_stay = lane.limits.concurrency.max(lane.gate.pace().map_or(0, |pace| pace.within(NEAR)));
                    while lane.queue.len() > n_stay {
                        let last = lane.queue.pop_back();
                        moves.aside.extend(last.map(|flight| lane.gate.put_off(flight, until)));
                    }
                    return;
                }
                Admit::Wait(until) => {
                    let trouble = Aside::Trouble(Trouble::Full { until });
                    moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, trouble)));
                }
                Admit::Held(until) => {
                    moves.aside.extend(lane.queue.pop_front().map(|flight| lane.gate.put_off(flight, until)));
                }
                Admit::Broken(until) => {
                    let (until, n_failed) = (lane.gate.come_back_at(until), lane.gate.n_failed());
                    let trouble = Aside::Trouble(Trouble::OnlyFails { until, n_failed });
                    moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, trouble)));
                }
            }
        }
    }

    /// Lets a lane wait for a place, behind those that wait already.
    fn strand(&mut self, name: &Arc<str>) {
        if let Some(lane) = self.lanes.get_mut(name)
            && !lane.queue.is_empty()
            && !lane.is_stranded
        {
            lane.is_stranded = true;
            self.waiting.push_back(name.clone());
        }
    }

    /// Forgets what holds back nothing.
    fn tidy(&mut self, now: Timestamp) {
        self.addresses.retain(|_, gate| !gate.is_idle(now));
        self.told.retain(|_, until| *until > now);
        self.lanes.retain(|_, lane| lane.n_running > 0 || !lane.queue.is_empty() || !lane.is_forgettable(now));
    }
}

impl Lane {
    /// Lets somebody look at it again at `at`, unless somebody does so before.
    fn look_again(&mut self, name: &Arc<str>, at: Timestamp, moves: &mut Moves) {
        if self.look_at.is_none_or(|look_at| look_at > at) {
            self.look_at = Some(at);
            moves.again.push((name.clone(), at));
        }
    }

    /// A lane that fails is remembered for a while, so that it need not be learnt anew with every message.
    fn is_forgettable(&self, now: Timestamp) -> bool {
        let is_old = plus(self.landed_at, SignedDuration::from_mins(10)) < now;
        self.look_at.is_none()
            && !self.gate.is_closed(now)
            && self.crowd.is_idle(now)
            && (self.gate.is_idle(now) || is_old)
    }
}

impl Gate {
    /// A flight with when it comes back, where everything waits until `until` because that was asked for. What is urgent is the
    /// first to come back.
    fn put_off(&mut self, flight: Arc<Flight>, until: Timestamp) -> (Arc<Flight>, Aside) {
        let is_urgent = flight.claimed.reminder.priority >= Priority::High;
        let until = if is_urgent { until } else { self.come_back_at(until) };
        (flight, Aside::Trouble(Trouble::AskedToWait { until, since: self.waits_since() }))
    }
}

/// Why an address cannot be sent to now, if that is so.
fn not_now(gate: &mut Gate, now: Timestamp) -> Option<Trouble> {
    let is_open = gate.closed() == Closed::No;
    let since = gate.waits_since().filter(|_| gate.is_closed(now));
    let until = wait_for(gate, now)?;
    Some(if is_open { Trouble::Full { until } } else { Trouble::AskedToWait { until, since } })
}

/// When an address that cannot be sent to now may be.
fn wait_for(gate: &mut Gate, now: Timestamp) -> Option<Timestamp> {
    match gate.closed() {
        Closed::Held(until) | Closed::Broken(until) if until > now => return Some(gate.come_back_at(until)),
        // One shows whether it may be called again; the others wait for what that one learns.
        Closed::Trying if gate.is_tried_until(now).is_some() => {
            return Some(gate.come_back_at(plus(now, signed(TRY_FOR))));
        }
        _ => {}
    }
    let pace = gate.pace()?;
    (pace.ready_at() > now).then(|| pace.promise(now))
}

/// The gate of an address, if it has one: made for those whose channel has a rate for each.
fn address_gate<'a>(
    (addresses, told): (&'a mut BTreeMap<Address, Gate>, &mut BTreeMap<String, Timestamp>),
    adapter: Option<&dyn Channel>,
    limits: &Limits,
    to: &Address,
    now: Timestamp,
) -> Option<&'a mut Gate> {
    if limits.address_rate.is_none() && addresses.is_empty() && told.is_empty() {
        return None;
    }
    let Bucket { name, rate } = adapter?.bucket(&to.address);
    let key = Address::new(to.channel.clone(), name);
    if !told.is_empty()
        && let Some(until) = told.remove(&fingerprint(&key))
        && until > now
    {
        let wait = until.duration_since(now).unsigned_abs();
        addresses.entry(key.clone()).or_insert_with(|| Gate::new(rate)).learn(Fate::Throttled(wait), None, now);
    }
    match rate {
        Some(rate) => Some(addresses.entry(key).or_insert_with(|| Gate::new(Some(rate)))),
        None => addresses.get_mut(&key),
    }
}

/// Sends now if the receiver may be called, else lets the flight wait for its turn.
pub(crate) fn enter(inner: &Arc<Inner>, flight: Arc<Flight>) {
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        let lane = lane_in(&mut lanes.lanes, inner, &flight.lane, flight.claimed.to(), now);
        let n_waiting = lane.queue.len();
        let n_stay = lane.gate.pace().map_or(usize::MAX, |pace| pace.within(NEAR).max(1));
        // It would only take the room of others until its turn comes.
        if n_waiting >= n_stay {
            let until = lane.gate.pace().map_or(now, |pace| pace.promise(plus(now, signed(NEAR))));
            moves.aside.push((flight, Aside::Trouble(Trouble::Full { until })));
        } else {
            let name = flight.lane.clone();
            lane.queue.push_back(flight);
            lanes.pump(&name, now, inner.settings.sends_max, &mut moves);
        }
    }
    carry_out(inner, moves, now);
}

/// Sends one flight after another of a lane until none may be sent; then helps a lane that found no place.
async fn work(inner: Arc<Inner>, first: Arc<Flight>) {
    let mut next = Some(first);
    while let Some(flight) = next {
        let fate = match together::must_wait(&inner, &flight.lane, flight.claimed.to()).await {
            None => deliver::send(&inner, flight.clone()).await,
            Some(until) => {
                put_aside(&inner, flight.clone(), Aside::Trouble(Trouble::Full { until }), inner.clock.now());
                None
            }
        };
        let (to, user) = (flight.claimed.to(), flight.claimed.reminder.user.as_str());
        next = leave(&inner, &flight.lane, Sent { to, user, number: Some(flight.number()) }, fate.as_ref());
    }
}

fn leave(inner: &Arc<Inner>, name: &Arc<str>, sent: Sent<'_>, fate: Option<&(Fate, Held)>) -> Option<Arc<Flight>> {
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        lanes.n_running -= 1;
        match fate {
            Some(fate) => lanes.learn(inner, name, sent, *fate, now),
            // If it was to show whether its address or receiver may be called again, it did not.
            None => {
                let gate = inner.bucket_of(sent.to).and_then(|(key, _)| lanes.addresses.get_mut(&key));
                gate.into_iter().for_each(|gate| gate.not_tried(None, now));
                let lane = lanes.lanes.get_mut(name).filter(|_| sent.number.is_some());
                lane.into_iter().for_each(|lane| lane.gate.not_tried(sent.number, now));
            }
        }
        if let Some(lane) = lanes.lanes.get_mut(name) {
            lane.landed_at = now;
            lane.n_running -= 1;
            if lane.n_running == 0 && lane.queue.is_empty() && lane.is_forgettable(now) {
                lanes.lanes.remove(name);
            }
        }
        if lanes.waiting.is_empty() {
            lanes.pump(name, now, inner.settings.sends_max, &mut moves);
        } else {
            // Others wait for a place, so this lane stands in line behind them.
            lanes.strand(name);
        }
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

/// The lane of this name, which leads to `to`.
pub(crate) fn lane_in<'a>(
    lanes: &'a mut BTreeMap<Arc<str>, Lane>,
    inner: &Inner,
    name: &Arc<str>,
    to: &Address,
    now: Timestamp,
) -> &'a mut Lane {
    lanes.entry(name.clone()).or_insert_with(|| {
        let adapter = inner.channels.get(&to.channel).cloned();
        let limits = adapter.as_ref().map(|channel| channel.limits()).unwrap_or_default();
        // However many a channel allows, it leaves places to others.
        let concurrency = limits.concurrency.min(inner.settings.sends_max / 2).max(1);
        Lane {
            channel: to.channel.clone(),
            adapter,
            queue: VecDeque::new(),
            n_running: 0,
            limits: Limits { concurrency, ..limits },
            gate: Gate::new(limits.rate),
            crowd: Crowd::default(),
            landed_at: now,
            look_at: None,
            is_stranded: false,
        }
    })
}

/// Takes a turn and a place for a send that does not wait in a lane, or says why it has to wait. A receiver that only fails may be
/// tried: that is what such a send is for. [`end_turn`] gives the place back.
pub(crate) async fn take_turn(inner: &Arc<Inner>, sent: Sent<'_>, now: Timestamp) -> Result<(), SendError> {
    let to = sent.to;
    take_place(inner, to, now)?;
    match together::must_wait(inner, &inner.lane_of(to), to).await {
        None => Ok(()),
        Some(until) => {
            if let Some(next) = leave(inner, &inner.lane_of(to), sent, None) {
                carry_on(inner, next);
            }
            Err(SendError::Throttled { wait: until.duration_since(now).unsigned_abs(), held: Held::Receiver })
        }
    }
}

/// Gives back the place of a send that did not wait in a lane, and tells the gates what became of it.
pub(crate) fn end_turn(inner: &Arc<Inner>, sent: Sent<'_>, fate: (Fate, Held)) {
    if let Some(next) = leave(inner, &inner.lane_of(sent.to), sent, Some(&fate)) {
        carry_on(inner, next);
    }
}

fn carry_on(inner: &Arc<Inner>, next: Arc<Flight>) {
    inner.runtime.spawn(Box::pin(work(inner.clone(), next)));
}

fn take_place(inner: &Inner, to: &Address, now: Timestamp) -> Result<(), SendError> {
    let mut lanes = lock(&inner.lanes);
    let lanes = &mut *lanes;
    let lane = lane_in(&mut lanes.lanes, inner, &inner.lane_of(to), to, now);
    if lane.n_running >= lane.limits.concurrency || lanes.n_running >= inner.settings.sends_max {
        return Err(SendError::Throttled { wait: BUSY_FOR, held: Held::Receiver });
    }
    let known = (&mut lanes.addresses, &mut lanes.told);
    let mut address = address_gate(known, lane.adapter.as_deref(), &lane.limits, to, now);
    let ready_at = |gate: &mut Gate| match gate.closed() {
        Closed::Held(until) if until > now => until,
        _ => gate.pace().map_or(now, |pace| pace.ready_at()),
    };
    let by_address = address.as_mut().map_or(now, |gate| ready_at(gate));
    let by_receiver = ready_at(&mut lane.gate);
    let until = by_address.max(by_receiver);
    if until > now {
        let held = if by_receiver == until { Held::Receiver } else { Held::Address };
        return Err(SendError::Throttled { wait: until.duration_since(now).unsigned_abs(), held });
    }
    for gate in address.into_iter().chain([&mut lane.gate]) {
        if let Some(pace) = gate.pace() {
            pace.note(now);
        }
    }
    lane.n_running += 1;
    lanes.n_running += 1;
    Ok(())
}

/// Whether a wait that a receiver or an address asks for is one too many.
pub(crate) fn is_too_long(inner: &Inner, flight: &Flight, now: Timestamp) -> bool {
    let to = flight.claimed.to();
    let lanes = lock(&inner.lanes);
    let address = inner.bucket_of(to).and_then(|(key, _)| lanes.addresses.get(&key));
    let lane = lanes.lanes.get(&flight.lane).map(|lane| &lane.gate);
    address.into_iter().chain(lane).any(|gate| is_out_of_patience(&flight.claimed, gate.waits_since(), now))
}

/// A send, as far as the gates care.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) to: &'a Address,
    pub(crate) user: &'a str,
    /// Which send of its lane it was, if it went through it.
    pub(crate) number: Option<u64>,
}

/// Tells the gates what became of a send, other than by leaving its lane.
pub(crate) fn learn(inner: &Inner, sent: Sent<'_>, fate: (Fate, Held)) {
    let name = inner.lane_of(sent.to);
    lock(&inner.lanes).learn(inner, &name, sent, fate, inner.clock.now());
}

impl Lanes {
    /// Tells the gates what became of a send.
    fn learn(
        &mut self,
        inner: &Inner,
        name: &Arc<str>,
        Sent { to, user, number }: Sent<'_>,
        (fate, held): (Fate, Held),
        now: Timestamp,
    ) {
        let label = || ChannelLabel { channel: to.channel.clone() };
        let bucket = inner.bucket_of(to);
        let lane = self.lanes.get_mut(name);
        let fate = match fate {
            Fate::Throttled(wait) if held != Held::Receiver => {
                inner.metrics.throttled.get_or_create(&label()).inc();
                if let Some((key, rate)) = bucket {
                    together::tell(inner, &key.channel, &fingerprint(&key), true, wait);
                    self.addresses.entry(key).or_insert_with(|| Gate::new(rate)).learn(fate, None, now);
                }
                let crowd = lane.filter(|_| held == Held::Shared);
                // Where not all are meant, the receiver answered.
                crowd.and_then(|lane| lane.crowd.meet(user, wait, now)).map_or(Fate::Answered, Fate::Throttled)
            }
            _ => {
                if let Some(gate) = bucket.and_then(|(key, _)| self.addresses.get_mut(&key)) {
                    // Whatever else it was, it was not about this address.
                    gate.learn(Fate::Answered, None, now);
                }
                fate
            }
        };
        let Some(lane) = self.lanes.get_mut(name) else { return };
        match lane.gate.learn(fate, number, now) {
            Learnt::Nothing => {}
            Learnt::Held => {
                inner.metrics.throttled.get_or_create(&label()).inc();
                if let Fate::Throttled(wait) = fate {
                    together::tell(inner, &to.channel, receiver(name, &to.channel), false, wait);
                }
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
    for (name, at) in moves.again {
        inner.runtime.spawn(Box::pin(pace(inner.clone(), name, at)));
    }
}

/// Looks at a lane again at `at`.
async fn pace(inner: Arc<Inner>, name: Arc<str>, at: Timestamp) {
    tokio::select! { biased;
        () = inner.clock.sleep_until(at) => {}
        // What waits is given back.
        () = inner.stopped() => return,
    }
    let now = inner.clock.now();
    let mut moves = Moves::default();
    {
        let mut lanes = lock(&inner.lanes);
        if let Some(lane) = lanes.lanes.get_mut(&name) {
            lane.look_at.take_if(|look_at| *look_at == at);
        }
        lanes.pump(&name, now, inner.settings.sends_max, &mut moves);
    }
    carry_out(&inner, moves, now);
}

/// Lets a flight wait, here or in the store, or fails it where waiting is of no use.
fn put_aside(inner: &Arc<Inner>, flight: Arc<Flight>, aside: Aside, now: Timestamp) {
    let Aside::Trouble(trouble) = aside else { return deliver::go_on_without(inner, &flight) };
    // Whether it waits does not depend on the jitter.
    match way_on(&flight.claimed, trouble, &inner.settings.retry, 0.0, now) {
        WayOn::Wait { until, is_news: false } if until.duration_since(now) <= signed(NEAR) => {
            flight.wait_until(until);
            inner.hold.add(vec![flight]);
        }
        WayOn::Wait { until, .. } => {
            let why = trouble.why_it_waits(&flight.claimed.to().channel);
            let is_broken = matches!(trouble, Trouble::OnlyFails { .. });
            let postpone = if is_broken { postpone_in_trouble } else { postpone };
            inner.postpone(&flight, |run| postpone(run, until, why.clone()));
        }
        _ => deliver::not_tried(inner, &flight, trouble, now),
    }
}

/// What the lane of a channel and a receiver is called.
pub(crate) fn lane_name(channel: &str, receiver: &str) -> Arc<str> {
    format!("{channel} {receiver}").into()
}

/// The receiver that a lane of `channel` leads to.
pub(crate) fn receiver<'a>(name: &'a str, channel: &str) -> &'a str {
    name.strip_prefix(channel).and_then(|rest| rest.strip_prefix(' ')).unwrap_or_default()
}

impl Inner {
    /// Which lane leads to an address.
    pub(crate) fn lane_of(&self, to: &Address) -> Arc<str> {
        let receiver = self.channels.get(&to.channel).map(|channel| channel.receiver(&to.address));
        lane_name(&to.channel, &receiver.unwrap_or_default())
    }

    /// Whether more is due than can be sent at once.
    pub(crate) fn is_burst(&self) -> bool {
        let now = self.clock.now();
        // A receiver that hangs makes no burst.
        let is_moving = |lane: &Lane| now.duration_since(lane.landed_at) < MOVING;
        let is_full = |lane: &Lane| lane.n_running >= lane.limits.concurrency && !lane.queue.is_empty();
        lock(&self.lanes).lanes.values().any(|lane| is_full(lane) && is_moving(lane))
    }

    /// Which limit an address falls under, if its channel is known: the key of its gate, and how fast.
    pub(crate) fn bucket_of(&self, to: &Address) -> Option<(Address, Option<Rate>)> {
        let Bucket { name, rate } = self.channels.get(&to.channel)?.bucket(&to.address);
        Some((Address::new(to.channel.clone(), name), rate))
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
            let why = format!("waits for its turn: {} is slow", flight.claimed.to().channel);
            self.postpone(&flight, |run| postpone(run, plus(now, SHED_FOR), why.clone()));
        }
    }

    /// Gives a flight back to the store, with all that it takes along.
    fn postpone(&self, flight: &Flight, postpone: impl Fn(&Claimed) -> Settlement) {
        for run in flight.part().iter().map(|other| &**other).chain([flight]).filter(|run| run.withdraw()) {
            self.settle_later(postpone(&run.claimed), None);
        }
    }

    /// Forgets lanes and addresses that hold back nothing.
    pub(crate) fn tidy_lanes(&self) {
        lock(&self.lanes).tidy(self.clock.now());
    }
}

//! Whose turn it is.
//!
//! A flight that is due enters the lane of its receiver and leaves it when the receiver may be called: never more at once than its
//! channel allows, never faster than its rates, not while it asked to be left alone, and not while it only fails. So a receiver
//! that hangs or fails fills its own lane and delays nobody else.
//!
//! Lanes send nothing and write nothing: they return [`Moves`], which the dispatcher carries out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{SendError, Whom};
use punctual_core::id::fingerprint;
use punctual_core::reminder::Address;
use punctual_core::rules::route::{Trouble, is_out_of_patience};
use punctual_core::store::Throttle;

use super::Channels;
use super::addresses::{Addresses, bucket_of, not_now};
use super::gate::{Admit, Closed, Fate, Gate, Learnt};
use super::lane::Lane;
use crate::flight::Flight;
use crate::instant::{plus, signed};

/// A lane keeps all its flights when it waits this long; if it has to wait longer, they go back to the store.
const STAY_FOR: SignedDuration = SignedDuration::from_secs(2);
/// As many flights as a receiver or an address can take within this stay in memory; more go back to the store.
pub(super) const NEAR: Duration = Duration::from_secs(5);
/// How long a send that does not wait in a lane is told to wait when every place is taken.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// The lanes of all receivers, and the places for sends.
pub(super) struct Lanes {
    channels: Arc<Channels>,
    sends_max: usize,
    lanes: BTreeMap<Arc<str>, Lane>,
    pub(super) addresses: Addresses,
    /// Lanes with something waiting that found every place taken.
    stranded: VecDeque<Arc<str>>,
    n_running: usize,
}

/// The moves that the dispatcher has to carry out.
#[derive(Default)]
pub(super) struct Moves {
    /// Send these, each by a task of its own.
    pub(super) starts: Vec<Arc<Flight>>,
    /// Do not send these now.
    pub(super) aside: Vec<(Arc<Flight>, Aside)>,
    /// Look at these lanes again, then.
    pub(super) again: Vec<(Arc<str>, Timestamp)>,
    /// Say that these have closed.
    pub(super) closed: Vec<Closing>,
}

/// Why a flight is not sent now.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aside {
    /// Its address or receiver cannot be sent to.
    Trouble(Trouble),
    /// It was withdrawn while it waited.
    Withdrawn,
}

/// A gate that has closed.
pub(super) enum Closing {
    /// A receiver or an address asked to be left alone.
    Throttled(Throttle),
    /// A receiver only fails.
    Broken {
        /// Which channel leads there.
        channel: String,
        /// The receiver's lane.
        lane: Arc<str>,
        /// How many sends in a row have failed.
        n_failed: u32,
    },
}

/// A send, as far as the gates care.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) to: &'a Address,
    pub(crate) user: &'a str,
    /// Which send of its lane it was, if it went through it.
    pub(crate) number: Option<u64>,
}

impl<'a> Sent<'a> {
    pub(super) fn of(flight: &'a Flight) -> Self {
        let claimed = &flight.claimed;
        Self { to: claimed.to(), user: &claimed.reminder.user, number: Some(flight.number()) }
    }
}

/// The name of the lane that leads to an address.
pub(super) fn lane_of(channels: &Channels, to: &Address) -> Arc<str> {
    let receiver = channels.get(&to.channel).map(|channel| channel.receiver(&to.address));
    lane_name(&to.channel, &receiver.unwrap_or_default())
}

fn lane_name(channel: &str, receiver: &str) -> Arc<str> {
    format!("{channel} {receiver}").into()
}

/// The receiver that a lane of `channel` leads to.
pub(super) fn receiver_of<'a>(name: &'a str, channel: &str) -> &'a str {
    name.strip_prefix(channel).and_then(|rest| rest.strip_prefix(' ')).unwrap_or_default()
}

impl Lanes {
    pub(super) fn new(channels: Arc<Channels>, sends_max: usize) -> Self {
        let (lanes, addresses, stranded) = (BTreeMap::new(), Addresses::default(), VecDeque::new());
        Self { channels, sends_max, lanes, addresses, stranded, n_running: 0 }
    }

    /// Lets a flight that is due wait for its turn, which may be now.
    pub(super) fn enter(&mut self, flight: Arc<Flight>, now: Timestamp, moves: &mut Moves) {
        let lane = self.open(&flight.lane, flight.claimed.to(), now);
        let n_stay = lane.gate.pace().map_or(usize::MAX, |pace| pace.within(NEAR).max(1));
        // It would only take the room of others until its turn comes.
        if lane.queue.len() >= n_stay {
            let until = lane.gate.pace().map_or(now, |pace| pace.promise(plus(now, signed(NEAR))));
            moves.aside.push((flight, Aside::Trouble(Trouble::Full { until })));
            return;
        }
        let name = flight.lane.clone();
        lane.queue.push_back(flight);
        self.pump(&name, now, moves);
    }

    /// A send of this lane has ended, and its gates learn its fate; `None`: it was not made. Returns the flight that goes next.
    pub(super) fn leave(
        &mut self,
        name: &Arc<str>,
        sent: Sent<'_>,
        fate: Option<(Fate, Whom)>,
        now: Timestamp,
        moves: &mut Moves,
    ) -> Option<Arc<Flight>> {
        self.n_running -= 1;
        match fate {
            Some(fate) => self.learn(name, sent, fate, now, moves),
            // If it was to show whether its address or receiver may be called again, it did not.
            None => {
                let gate = self.addresses.known(&self.channels, sent.to);
                gate.into_iter().for_each(|gate| gate.not_tried(None, now));
                let lane = self.lanes.get_mut(name).filter(|_| sent.number.is_some());
                lane.into_iter().for_each(|lane| lane.gate.not_tried(sent.number, now));
            }
        }
        if let Some(lane) = self.lanes.get_mut(name) {
            lane.landed_at = now;
            lane.n_running -= 1;
            if lane.is_forgettable(now) {
                self.lanes.remove(name);
            }
        }
        if self.stranded.is_empty() {
            self.pump(name, now, moves);
        } else {
            // Others wait for a place, so this lane stands in line behind them.
            self.strand(name);
        }
        while moves.starts.is_empty()
            && let Some(stranded) = self.stranded.pop_front()
        {
            if let Some(lane) = self.lanes.get_mut(&stranded) {
                lane.is_stranded = false;
            }
            self.pump(&stranded, now, moves);
        }
        moves.starts.pop()
    }

    /// Looks at a lane again, as was asked for `at`.
    pub(super) fn look_again(&mut self, name: &Arc<str>, at: Timestamp, now: Timestamp, moves: &mut Moves) {
        if let Some(lane) = self.lanes.get_mut(name) {
            lane.look_at.take_if(|look_at| *look_at == at);
        }
        self.pump(name, now, moves);
    }

    /// The lane of this name, which leads to `to`; made if there is none.
    fn open(&mut self, name: &Arc<str>, to: &Address, now: Timestamp) -> &mut Lane {
        let (channels, sends_max) = (&self.channels, self.sends_max);
        let make = || Lane::new(&to.channel, channels.get(&to.channel).cloned(), sends_max, now);
        self.lanes.entry(name.clone()).or_insert_with(make)
    }

    /// Takes from a lane the flights that may be sent now.
    pub(super) fn pump(&mut self, name: &Arc<str>, now: Timestamp, moves: &mut Moves) {
        let Some(lane) = self.lanes.get_mut(name) else { return };
        while lane.n_running < lane.limits.concurrency
            && let Some(flight) = lane.queue.front()
        {
            if let Some(until) = lane.gate.is_tried_until(now) {
                lane.look_at(name, until, moves);
                return;
            }
            if !flight.is_waiting() {
                // It takes nobody's turn.
                moves.aside.extend(lane.queue.pop_front().map(|flight| (flight, Aside::Withdrawn)));
                continue;
            }
            if self.n_running >= self.sends_max {
                self.strand(name);
                return;
            }
            let mut address = self.addresses.gate(lane.adapter.as_deref(), &lane.limits, flight.claimed.to(), now);
            if let Some(trouble) = address.as_mut().and_then(|gate| not_now(gate, now)) {
                lane.put_first_aside(trouble, moves);
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
                Admit::Wait(until) | Admit::Throttled(until) if until.duration_since(now) <= STAY_FOR => {
                    lane.look_at(name, until, moves);
                    // The others would only take the room of those who need not wait.
                    let n_stay = lane.limits.concurrency.max(lane.gate.pace().map_or(0, |pace| pace.within(NEAR)));
                    while lane.queue.len() > n_stay
                        && let Some(last) = lane.queue.pop_back()
                    {
                        let trouble = lane.gate.throttled_trouble(&last, until);
                        moves.aside.push((last, Aside::Trouble(trouble)));
                    }
                    return;
                }
                Admit::Wait(until) => lane.put_first_aside(Trouble::Full { until }, moves),
                Admit::Throttled(until) => {
                    let trouble = lane.gate.throttled_trouble(flight, until);
                    lane.put_first_aside(trouble, moves);
                }
                Admit::Broken(until) => {
                    let (until, n_failed) = (lane.gate.come_back_at(until), lane.gate.n_failed());
                    lane.put_first_aside(Trouble::OnlyFails { until, n_failed }, moves);
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
            self.stranded.push_back(name.clone());
        }
    }

    /// Takes a place for a send that does not wait in a lane, or says why it has to wait. A receiver that only fails may be tried:
    /// that is what such a send is for. [`Lanes::leave`] gives the place back.
    pub(super) fn take_place(&mut self, name: &Arc<str>, to: &Address, now: Timestamp) -> Result<(), SendError> {
        self.open(name, to, now);
        let Some(lane) = self.lanes.get_mut(name) else { return Ok(()) };
        if lane.n_running >= lane.limits.concurrency || self.n_running >= self.sends_max {
            return Err(SendError::Throttled { wait: BUSY_FOR, whom: Whom::Receiver });
        }
        let mut address = self.addresses.gate(lane.adapter.as_deref(), &lane.limits, to, now);
        let ready_at = |gate: &mut Gate| match gate.closed() {
            Closed::Throttled(until) if until > now => until,
            _ => gate.pace().map_or(now, |pace| pace.ready_at()),
        };
        let by_address = address.as_mut().map_or(now, |gate| ready_at(gate));
        let by_receiver = ready_at(&mut lane.gate);
        let until = by_address.max(by_receiver);
        if until > now {
            let whom = if by_receiver == until { Whom::Receiver } else { Whom::Address };
            return Err(SendError::Throttled { wait: until.duration_since(now).unsigned_abs(), whom });
        }
        for gate in address.into_iter().chain([&mut lane.gate]) {
            if let Some(pace) = gate.pace() {
                pace.began(now);
            }
        }
        lane.n_running += 1;
        self.n_running += 1;
        Ok(())
    }

    /// Tells the gates of a lane what became of a send.
    pub(super) fn learn(
        &mut self,
        name: &Arc<str>,
        Sent { to, user, number }: Sent<'_>,
        (fate, whom): (Fate, Whom),
        now: Timestamp,
        moves: &mut Moves,
    ) {
        let channel = || to.channel.clone();
        let fate = match fate {
            Fate::Throttled(wait) if whom != Whom::Receiver => {
                if let Some((key, rate)) = bucket_of(&self.channels, to) {
                    let throttle = Throttle { channel: channel(), name: fingerprint(&key), is_address: true, wait };
                    moves.closed.push(Closing::Throttled(throttle));
                    self.addresses.open(key, rate).learn(fate, None, now);
                }
                let crowd = self.lanes.get_mut(name).filter(|_| whom == Whom::Shared).map(|lane| &mut lane.crowd);
                // Where not all are meant, the receiver answered.
                crowd.and_then(|crowd| crowd.meet(user, wait, now)).map_or(Fate::Answered, Fate::Throttled)
            }
            _ => {
                if let Some(gate) = self.addresses.known(&self.channels, to) {
                    // Any other answer was not about this address.
                    gate.learn(Fate::Answered, None, now);
                }
                fate
            }
        };
        let Some(lane) = self.lanes.get_mut(name) else { return };
        match (lane.gate.learn(fate, number, now), fate) {
            (Learnt::Throttled, Fate::Throttled(wait)) => {
                let receiver = receiver_of(name, &to.channel).to_owned();
                let throttle = Throttle { channel: channel(), name: receiver, is_address: false, wait };
                moves.closed.push(Closing::Throttled(throttle));
            }
            (Learnt::Broken, _) => {
                let n_failed = lane.gate.n_failed();
                moves.closed.push(Closing::Broken { channel: channel(), lane: name.clone(), n_failed });
            }
            _ => {}
        }
    }

    /// Whether a flight whose receiver or address asks for yet another wait has waited long enough.
    pub(super) fn is_out_of_patience(&mut self, flight: &Flight, now: Timestamp) -> bool {
        let claimed = &flight.claimed;
        let address = self.addresses.known(&self.channels, claimed.to()).map(|gate| gate.throttled_since());
        let receiver = self.lanes.get(&flight.lane).map(|lane| lane.gate.throttled_since());
        address.into_iter().chain(receiver).any(|since| is_out_of_patience(claimed, since, now))
    }

    /// Leaves alone whom another node was asked to leave alone; returns whether it is an address that this node did not know of.
    pub(super) fn hear(&mut self, throttle: &Throttle, now: Timestamp) -> bool {
        // Whatever the store says.
        let wait = throttle.wait.min(Throttle::wait_max(throttle.is_address));
        if throttle.is_address {
            return self.addresses.hear(throttle, plus(now, signed(wait)), now);
        }
        let to = Address::new(throttle.channel.clone(), "");
        let lane = self.open(&lane_name(&throttle.channel, &throttle.name), &to, now);
        if !lane.gate.is_closed(now) {
            let (channel, receiver, seconds) = (&throttle.channel, &throttle.name, wait.as_secs());
            tracing::info!(%channel, %receiver, seconds, "another node was asked to leave a receiver alone; so does this one");
        }
        lane.gate.learn(Fate::Throttled(wait), None, now);
        false
    }

    /// Other nodes have taken all turns of a lane, or of an address's bucket, until then.
    pub(super) fn taken_until(&mut self, lane: &str, bucket: Option<&Address>, until: Timestamp) {
        let gate = match bucket {
            Some(key) => self.addresses.get(key),
            None => self.lanes.get_mut(lane).map(|lane| &mut lane.gate),
        };
        if let Some(pace) = gate.and_then(Gate::pace) {
            pace.taken_until(until);
        }
    }

    /// Takes half of the flights that wait for slow receivers, so that they do not take the room of others.
    pub(super) fn shed_slow(&mut self, now: Timestamp) -> Vec<Arc<Flight>> {
        self.lanes.values_mut().flat_map(|lane| lane.shed_if_slow(now)).collect()
    }

    /// Forgets lanes and addresses that hold back nothing.
    pub(super) fn tidy(&mut self, now: Timestamp) {
        self.addresses.tidy(now);
        self.lanes.retain(|_, lane| !lane.is_forgettable(now));
    }

    /// How many flights wait for their turn.
    pub(super) fn n_waiting(&self) -> u64 {
        self.lanes.values().map(|lane| lane.queue.len() as u64).sum()
    }

    /// The lanes of a channel, by name.
    pub(super) fn of_channel(&self, channel: &str) -> impl Iterator<Item = (&str, &Lane)> {
        let own = self.lanes.iter().filter(move |(_, lane)| lane.channel == channel);
        own.map(|(name, lane)| (&**name, lane))
    }
}

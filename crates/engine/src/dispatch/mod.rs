//! From the claim to the channel: flights in, settlements out.
//!
//! ```text
//! add ─▶ early ─ on the instant ─▶ lane ─ in its turn ─▶ attempt ─▶ settlements
//!          ▲                         │ gates: rate, throttled, broken
//!          └──── near waits ─────────┴─ far waits ─────────────────▶ settlements
//! ```
//!
//! The dispatcher alone moves flights from one to the next: lanes do not know how a flight is sent, and an attempt does not know whose
//! turn it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, SendError, Whom};
use punctual_core::clock::Random;
use punctual_core::decide::{postpone, postpone_in_trouble};
use punctual_core::reminder::Address;
use punctual_core::rules::route::{Trouble, WayOn, way_on};
use punctual_core::store::{Claimed, Settlement};

use self::early::Early;
use self::gate::Fate;
use self::lanes::{Aside, Closing, Lanes, Moves, NEAR, Sent};
use self::send::Sender;
use self::turns::Turns;
use crate::flight::Flight;
use crate::instant::{plus, signed};
use crate::metrics::ChannelLabel;
use crate::node::{Node, lock};
use crate::peers::Peers;
use crate::settle::Settlements;
use crate::system::Runtime;

/// Flights that wait for their instant.
mod early;

/// Runs that go out as one message.
mod digest;

/// Whose turn it is.
pub(crate) mod lanes;

/// The queue to one receiver.
mod lane;

/// The gates of single addresses.
mod addresses;

/// Whether a receiver, or an address, may be called.
mod gate;

/// Keeping to a rate.
mod pace;

/// Whether a wait is one address's or a whole host's.
mod crowd;

/// Limits that several nodes keep to together.
mod turns;

/// One attempt.
mod attempt;

/// The message of a flight.
mod message;

/// Calling a channel.
pub(crate) mod send;

/// Addresses that their platform calls dead.
pub(crate) mod dead;

/// How the channels stand, for those who look after them.
pub(crate) mod standing;

/// The channels, by name.
pub(crate) type Channels = BTreeMap<String, Arc<dyn Channel>>;

/// How long flights that are shed from a slow lane stay away.
const SHED_FOR: SignedDuration = SignedDuration::from_secs(5);
/// How often lanes and addresses are forgotten that hold back nothing.
const TIDY_EVERY: Duration = Duration::from_secs(2);

/// The place of a send that did not wait in a lane. It is given back when this is dropped.
pub(crate) struct Turn {
    dispatcher: Arc<Dispatcher>,
    lane: Arc<str>,
    to: Address,
    user: String,
    fate: Option<(Fate, Whom)>,
}

impl Turn {
    /// The send was made, and the gates learn its fate.
    pub(crate) fn end(mut self, fate: (Fate, Whom)) {
        self.fate = Some(fate);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Self { dispatcher, lane, to, user, fate } = self;
        if let Some(next) = dispatcher.leave(lane, Sent { to, user, number: None }, fate.take()) {
            dispatcher.runtime.spawn(Box::pin(dispatcher.clone().work(next)));
        }
    }
}

/// Sends every flight on its instant, in its turn.
pub(crate) struct Dispatcher {
    node: Node,
    channels: Arc<Channels>,
    runtime: Arc<dyn Runtime>,
    random: Arc<dyn Random>,
    settlements: Arc<Settlements>,
    dead: Arc<dead::Dead>,
    sender: Sender,
    turns: Turns,
    early: Early,
    lanes: Mutex<Lanes>,
}

impl Dispatcher {
    pub(crate) fn new(
        node: Node,
        channels: Arc<Channels>,
        runtime: Arc<dyn Runtime>,
        random: Arc<dyn Random>,
        settlements: Arc<Settlements>,
        dead: Arc<dead::Dead>,
        peers: Arc<Peers>,
    ) -> Self {
        let (sender, turns) = (Sender::new(node.clone()), Turns::new(node.clone(), peers, runtime.clone()));
        let lanes = Mutex::new(Lanes::new(channels.clone(), node.settings.sends_max));
        let early = Early::default();
        Self { node, channels, runtime, random, settlements, dead, sender, turns, early, lanes }
    }

    /// The name of the lane that leads to an address.
    pub(crate) fn lane_of(&self, to: &Address) -> Arc<str> {
        lanes::lane_of(&self.channels, to)
    }

    /// Takes flights, each of which is sent on its instant.
    pub(crate) fn add(&self, flights: Vec<Arc<Flight>>) {
        if !flights.is_empty() {
            self.early.add(digest::group(&self.channels, flights));
        }
    }

    /// Lets every flight into its lane on its instant, for as long as the engine runs.
    pub(crate) async fn run(self: Arc<Self>) {
        let clock = &self.node.clock;
        let mut tidy = clock.pause(TIDY_EVERY);
        while !self.node.stopping() {
            for flight in self.early.take_due(self.node.now()) {
                self.at_lanes(|lanes, now, moves| lanes.enter(flight, now, moves));
            }
            let first = self.early.first();
            tokio::select! { biased;
                () = clock.sleep_until(first.unwrap_or(Timestamp::MAX)), if first.is_some() => {}
                () = self.early.changed() => {}
                () = self.node.stopped() => {}
                () = &mut tidy => {
                    lock(&self.lanes).tidy(self.node.now());
                    tidy = clock.pause(TIDY_EVERY);
                }
            }
        }
    }

    /// Gives back half of the flights that wait for slow receivers, so that they do not take the room of others.
    pub(crate) fn shed_slow_lanes(&self) {
        let now = self.node.now();
        let shed = lock(&self.lanes).shed_slow(now);
        for flight in shed {
            let why = format!("waits for its turn: {} is slow", flight.claimed.to().channel);
            self.postpone(&flight, |run| postpone(run, plus(now, SHED_FOR), why.clone()));
        }
    }

    /// How each channel stands, by name.
    pub(crate) fn standings(&self) -> Vec<standing::ChannelStanding> {
        standing::of_all(&self.channels, &lock(&self.lanes), self.node.now())
    }

    /// How many messages wait for their turn.
    pub(crate) fn n_waiting(&self) -> u64 {
        lock(&self.lanes).n_waiting()
    }

    /// Calls channels.
    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Takes a turn and a place for a send for `user` to `to` that does not wait in a lane, or says why it has to wait.
    pub(crate) async fn take_turn(
        self: &Arc<Self>,
        to: Address,
        user: String,
        now: Timestamp,
    ) -> Result<Turn, SendError> {
        let lane = self.lane_of(&to);
        lock(&self.lanes).take_place(&lane, &to, now)?;
        let turn = Turn { dispatcher: self.clone(), lane, to, user, fate: None };
        match self.must_wait(&turn.lane, &turn.to).await {
            None => Ok(turn),
            Some(until) => {
                Err(SendError::Throttled { wait: until.duration_since(now).unsigned_abs(), whom: Whom::Receiver })
            }
        }
    }

    /// Learns which receivers and addresses other nodes were asked to leave alone.
    pub(crate) fn hear_waits(self: &Arc<Self>) {
        let this = self.clone();
        self.runtime.spawn(Box::pin(async move {
            let throttles = this.turns.read().await;
            let now = this.node.now();
            let known = throttles.iter().filter(|throttle| this.channels.contains_key(&throttle.channel));
            let n_addresses = known.filter(|throttle| lock(&this.lanes).hear(throttle, now)).count();
            if n_addresses > 0 {
                tracing::info!(n_addresses, "other nodes were asked to leave addresses alone; so does this one");
            }
        }));
    }

    /// Does something with the lanes, and then carries out the moves that they ask for.
    fn at_lanes<T>(self: &Arc<Self>, act: impl FnOnce(&mut Lanes, Timestamp, &mut Moves) -> T) -> T {
        let now = self.node.now();
        let mut moves = Moves::default();
        let answer = act(&mut lock(&self.lanes), now, &mut moves);
        self.carry_out(moves, now);
        answer
    }

    /// Sends one flight after another of a lane until none may be sent; then helps a lane that found no place.
    async fn work(self: Arc<Self>, first: Arc<Flight>) {
        let mut next = Some(first);
        while let Some(flight) = next {
            let fate = match self.must_wait(&flight.lane, flight.claimed.to()).await {
                None => self.attempt(&flight).await,
                Some(until) => {
                    self.put_aside(flight.clone(), Trouble::Full { until }, self.node.now());
                    None
                }
            };
            next = self.leave(&flight.lane, Sent::of(&flight), fate);
        }
    }

    /// A send has ended; returns the flight that goes next.
    fn leave(self: &Arc<Self>, lane: &Arc<str>, sent: Sent<'_>, fate: Option<(Fate, Whom)>) -> Option<Arc<Flight>> {
        self.at_lanes(|lanes, now, moves| lanes.leave(lane, sent, fate, now, moves))
    }

    /// Looks at a lane again at `at`.
    async fn look_again(self: Arc<Self>, lane: Arc<str>, at: Timestamp) {
        tokio::select! { biased;
            () = self.node.clock.sleep_until(at) => {}
            // The flights that wait are given back.
            () = self.node.stopped() => return,
        }
        self.at_lanes(|lanes, now, moves| lanes.look_again(&lane, at, now, moves));
    }

    fn carry_out(self: &Arc<Self>, moves: Moves, now: Timestamp) {
        for flight in moves.starts {
            self.runtime.spawn(Box::pin(self.clone().work(flight)));
        }
        for (flight, aside) in moves.aside {
            match aside {
                Aside::Trouble(trouble) => self.put_aside(flight, trouble, now),
                Aside::Withdrawn => self.go_without(&flight),
            }
        }
        for (lane, at) in moves.again {
            self.runtime.spawn(Box::pin(self.clone().look_again(lane, at)));
        }
        for closing in moves.closed {
            match closing {
                Closing::Throttled(throttle) => {
                    let channel = throttle.channel.clone();
                    self.node.metrics.throttled.get_or_create(&ChannelLabel { channel }).inc();
                    self.turns.tell(throttle);
                }
                Closing::Broken { channel, lane, n_failed } => {
                    self.node.metrics.broken.get_or_create(&ChannelLabel { channel }).inc();
                    tracing::warn!(receiver = %lane, n_failed, "nothing works there; it is left alone for a while");
                }
            }
        }
    }

    /// Takes a turn under the limits that other nodes share; when they have taken them all, says when to come back.
    async fn must_wait(&self, lane: &Arc<str>, to: &Address) -> Option<Timestamp> {
        if !self.turns.are_shared() {
            return None;
        }
        let limits = turns::limits_of(&self.channels, lane, to);
        if limits.is_empty() {
            return None;
        }
        let waits = self.turns.take(&limits).await;
        let longest = waits.iter().max().filter(|wait| !wait.is_zero())?;
        let now = self.node.now();
        let mut lanes = lock(&self.lanes);
        for (limit, wait) in limits.iter().zip(&waits) {
            lanes.taken_until(lane, limit.bucket.as_ref(), plus(now, signed(*wait)));
        }
        Some(plus(now, signed(*longest)))
    }

    /// Lets a flight wait, here or in the store, or fails it where waiting is of no use.
    fn put_aside(&self, flight: Arc<Flight>, trouble: Trouble, now: Timestamp) {
        // Whether a run waits does not depend on the jitter.
        let way_on = |run: &Flight| way_on(&run.claimed, trouble, &self.node.settings.retry, 0.0, now);
        if let WayOn::Wait { until, is_news: false } = way_on(&flight)
            && until.duration_since(now) <= signed(NEAR)
        {
            flight.wait_until(until);
            self.early.add([flight]);
            return;
        }
        // The runs of a digest are not held together: each may have other addresses.
        for run in flight.part().into_iter().chain([flight]) {
            let WayOn::Wait { until, .. } = way_on(&run) else {
                self.fail(&run, trouble, now);
                continue;
            };
            let why = trouble.why_it_waits(&run.claimed.to().channel);
            let is_broken = matches!(trouble, Trouble::OnlyFails { .. });
            let postpone = if is_broken { postpone_in_trouble } else { postpone };
            if run.withdraw() {
                self.settlements.hand(postpone(&run.claimed, until, why));
            }
        }
    }

    /// Gives a flight back to the store, with all that it takes along.
    fn postpone(&self, flight: &Flight, postpone: impl Fn(&Claimed) -> Settlement) {
        for run in flight.part().iter().map(|other| &**other).chain([flight]).filter(|run| run.withdraw()) {
            self.settlements.hand(postpone(&run.claimed));
        }
    }
}

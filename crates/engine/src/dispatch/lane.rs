//! The queue to one receiver.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, Limits};
use punctual_core::reminder::Priority;
use punctual_core::rules::route::Trouble;

use super::crowd::Crowd;
use super::gate::Gate;
use super::lanes::{Aside, Moves};
use crate::flight::Flight;
use crate::instant::plus;

/// A lane is slow when nothing has landed from it for this long.
const SLOW_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// How long a lane that fails is remembered, so that it need not be learnt anew with every message.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The queue to one receiver.
pub(super) struct Lane {
    pub(super) channel: String,
    /// The channel itself, if there is such a channel.
    pub(super) adapter: Option<Arc<dyn Channel>>,
    pub(super) queue: VecDeque<Arc<Flight>>,
    pub(super) n_running: usize,
    pub(super) limits: Limits,
    pub(super) gate: Gate,
    /// Whose addresses there were asked to wait lately.
    pub(super) crowd: Crowd,
    pub(super) landed_at: Timestamp,
    /// When the lane is looked at again, if somebody sleeps until then.
    pub(super) look_at: Option<Timestamp>,
    /// It stands among the lanes that found no place.
    pub(super) is_stranded: bool,
}

impl Lane {
    pub(super) fn new(channel: &str, adapter: Option<Arc<dyn Channel>>, sends_max: usize, now: Timestamp) -> Self {
        let limits = adapter.as_ref().map(|channel| channel.limits()).unwrap_or_default();
        // However many a channel allows, it leaves places to others.
        let concurrency = limits.concurrency.min(sends_max / 2).max(1);
        Self {
            channel: channel.to_owned(),
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
    }

    /// Takes half of the flights that wait, if the receiver is slow.
    pub(super) fn shed_if_slow(&mut self, now: Timestamp) -> VecDeque<Arc<Flight>> {
        let is_slow = now.duration_since(self.landed_at) > SLOW_AFTER && self.queue.len() > self.limits.concurrency;
        let n_stay = if is_slow { self.queue.len() / 2 } else { self.queue.len() };
        self.queue.split_off(n_stay)
    }

    /// Lets somebody look at it again at `at`, unless somebody does so before.
    pub(super) fn look_at(&mut self, name: &Arc<str>, at: Timestamp, moves: &mut Moves) {
        if self.look_at.is_none_or(|look_at| look_at > at) {
            self.look_at = Some(at);
            moves.again.push((name.clone(), at));
        }
    }

    /// The first flight cannot be sent now.
    pub(super) fn put_first_aside(&mut self, trouble: Trouble, moves: &mut Moves) {
        moves.aside.extend(self.queue.pop_front().map(|flight| (flight, Aside::Trouble(trouble))));
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_forgettable(&self, now: Timestamp) -> bool {
        let is_old = plus(self.landed_at, REMEMBERED_FOR) < now;
        self.n_running == 0
            && self.queue.is_empty()
            && self.look_at.is_none()
            && !self.gate.is_closed(now)
            && self.crowd.is_idle(now)
            && (self.gate.is_idle(now) || is_old)
    }
}

impl Gate {
    /// The trouble of a flight whose receiver asked to be left alone until `until`. An urgent flight is the first to come back.
    pub(super) fn throttled_trouble(&mut self, flight: &Flight, until: Timestamp) -> Trouble {
        let is_urgent = flight.claimed.reminder.priority >= Priority::High;
        let until = if is_urgent { until } else { self.come_back_at(until) };
        Trouble::AskedToWait { until, since: self.throttled_since() }
    }
}

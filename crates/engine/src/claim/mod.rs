//! Taking the right to deliver, a little ahead of time.
//!
//! A claim costs a commit. So a batch is claimed before it is due, by as much as recent claims took, and then waits for its
//! instant. One claim covers more than that lead, so that a steady stream of instants is claimed in batches and not one by
//! one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::id::ReminderId;
use punctual_core::shard::Shards;
use punctual_core::store::{Claim, Claimed, Claims, StoreError, UpcomingQuery};

use self::lead::{LEAD_MAX, Lead};
use crate::alarm::Alarms;
use crate::dispatch::Dispatcher;
use crate::events::Planner;
use crate::flight::{Fired, Flight, Flights, Via};
use crate::instant::{minus, plus, signed};
use crate::leases::Leases;
use crate::log::Kind;
use crate::node::Node;
use crate::peers::Peers;
use crate::peers::beat::{LATE_AFTER, TIMER_AHEAD};
use crate::timer::{Timer, WINDOW_MAX};

/// How far ahead to claim.
mod lead;

/// Claiming what an alarm rang for.
mod rung;

/// How often a part of the backlog is taken.
const BACKLOG_EVERY: Duration = Duration::from_millis(100);
/// One claim covers this much beyond the lead, or the lead once more if that is longer. A command still reaches a claimed run until
/// its send begins; but a longer stretch would leave more runs in doubt when a process dies.
const STRETCH: Duration = Duration::from_millis(100);
/// Runs that are due this close together are claimed together.
const TOGETHER: SignedDuration = SignedDuration::from_millis(20);
/// This close to a claim, nobody looks again whether more has been created for its moment.
const LOOK_AGAIN_MIN: SignedDuration = SignedDuration::from_millis(20);
/// A run that is late and could not be claimed is locked by somebody, who may have fallen silent: it is looked at again this often.
const LATE_AGAIN: Duration = Duration::from_millis(250);
/// So many looks: then the next beat says whether anything is still late.
const LATE_LOOKS: u32 = 4;
/// How long to wait after the store failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Claims runs and hands them to the dispatcher.
pub(crate) struct Claimer {
    pub(crate) node: Node,
    pub(crate) timer: Arc<Timer>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) fired: Arc<Fired>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) planner: Arc<Planner>,
    /// The channels on which a message that may have arrived is not sent again by itself.
    pub(crate) holding: BTreeSet<String>,
}

/// The state that one pass leaves for the next.
struct Pass {
    lead: Lead,
    /// When the backlog may be looked at again.
    backlog_at: Timestamp,
    /// How often the runs that others are late with are still looked at, and when next.
    late_looks: u32,
    late_at: Timestamp,
    /// The time of the last pass.
    looked_at: Timestamp,
    /// Moments that are known and must not be acted on before they come.
    not_before: BTreeSet<Timestamp>,
}

/// When to look again: at the instant, or after the span, whichever comes first. With neither, only a nudge helps.
struct Next {
    at: Option<Timestamp>,
    after: Option<Duration>,
}

impl Next {
    /// At once.
    const NOW: Self = Self { at: Some(Timestamp::MIN), after: None };
}

/// Which moments to claim, and who asked for it.
#[derive(Clone, Copy)]
struct Scope {
    from: Timestamp,
    until: Timestamp,
    shards: Shards,
    via: Via,
}

impl Claimer {
    /// Claims the runs that are about to be due, for as long as the engine runs.
    pub(crate) async fn run(self) {
        let node = &self.node;
        let mut pass = Pass {
            lead: Lead::new(),
            backlog_at: Timestamp::MIN,
            late_looks: 0,
            late_at: Timestamp::MIN,
            looked_at: Timestamp::MIN,
            not_before: BTreeSet::new(),
        };
        while !node.stopping() {
            let next = match self.run_once(&mut pass).await {
                Ok(next) => {
                    node.health.works();
                    next
                }
                Err(error) => {
                    node.health.failed(&error);
                    // Also if the timer is nudged meanwhile: the store would be asked again and again, as fast as it refuses.
                    node.pause(PAUSE_AFTER_FAILURE).await;
                    continue;
                }
            };
            if next.at.is_some_and(|at| at <= node.now()) {
                continue;
            }
            tokio::select! { biased;
                () = node.stopped() => {}
                () = self.timer.nudged() => {}
                () = node.clock.sleep_until(next.at.unwrap_or(Timestamp::MAX)), if next.at.is_some() => {}
                () = node.clock.pause(next.after.unwrap_or(Duration::MAX)), if next.after.is_some() => {}
            }
        }
    }

    /// One pass: claims the moments within the lead; returns when to look again.
    async fn run_once(&self, pass: &mut Pass) -> Result<Next, StoreError> {
        let Self { node, timer, peers, .. } = self;
        let mut now = node.now();
        if now < pass.looked_at {
            // The clock was set back: moments that had passed may be to come.
            timer.reset();
        }
        pass.looked_at = now;
        let boundary = minus(now, node.settings.backlog_after);
        if timer.needs_refill() {
            let until = if peers.is_shared() { plus(now, TIMER_AHEAD) } else { Timestamp::MAX };
            timer.begin_refill(until);
            let query = UpcomingQuery { from: boundary, until, shards: peers.own(), limit: WINDOW_MAX };
            match node.store.upcoming(query).await {
                Ok(upcoming) => timer.end_refill(upcoming, WINDOW_MAX),
                Err(error) => {
                    timer.reset();
                    return Err(error);
                }
            }
        }
        timer.demote(boundary);

        now = node.now();
        let mut after: Option<Duration> = None;
        if timer.has_backlog() {
            // A clock that was set back is no reason to wait longer.
            if pass.backlog_at <= now || pass.backlog_at > plus(now, signed(BACKLOG_EVERY)) {
                let limit = node.settings.backlog_batch;
                let until = minus(boundary, Duration::from_micros(1));
                let backlog = Scope { from: Timestamp::MIN, until, shards: Shards::ALL, via: timer.backlog_via() };
                let n_taken = self.take(pass, backlog, limit).await?;
                if n_taken < limit {
                    timer.end_backlog();
                }
                now = node.now();
                pass.backlog_at = plus(now, signed(BACKLOG_EVERY));
            }
            after = Some(BACKLOG_EVERY);
        }

        self.take_rung().await?;
        let limit = node.settings.batch_max;
        if peers.take_late() {
            (pass.late_looks, pass.late_at) = (LATE_LOOKS, Timestamp::MIN);
        }
        // A clock that was set back is no reason to wait longer.
        if pass.late_looks > 0 && (pass.late_at <= now || pass.late_at > plus(now, signed(LATE_AGAIN))) {
            // Also the runs of other nodes, which are late with them.
            let mut peer = Scope { from: boundary, until: plus(now, -LATE_AFTER), shards: Shards::ALL, via: Via::Peer };
            let mut n_taken = self.take(pass, peer, limit).await?;
            let is_first_look = pass.late_looks == LATE_LOOKS;
            if n_taken == 0 && is_first_look && peers.count() > 1 && !timer.has_backlog() {
                // The store said that something was late, and somebody else has it by now.
                self.found_elsewhere(1);
            }
            pass.late_looks = if n_taken == 0 { pass.late_looks - 1 } else { 0 };
            while n_taken >= limit && !node.stopping() {
                peer.until = plus(node.now(), -LATE_AFTER);
                n_taken = self.take(pass, peer, limit).await?;
            }
            now = node.now();
            pass.late_at = plus(now, signed(LATE_AGAIN));
        }
        if pass.late_looks > 0 {
            after = Some(after.map_or(LATE_AGAIN, |after| after.min(LATE_AGAIN)));
        }
        let own = peers.own();
        let not_before = pass.not_before.first().copied();
        if not_before.is_some_and(|at| at <= now) {
            let n_taken =
                self.take(pass, Scope { from: boundary, until: now, shards: own, via: Via::Timer }, limit).await?;
            if n_taken < limit {
                pass.not_before.retain(|at| *at > now);
            }
            return Ok(Next::NOW);
        }
        let Some(first) = timer.first() else {
            return Ok(Next { at: not_before, after });
        };
        let n_together = timer.count_until(plus(first, TOGETHER));
        let lead = pass.lead.lead(n_together, peers.count());
        if first > plus(now, signed(lead)) {
            return Ok(Next { at: earliest(not_before, Some(look_at(first, lead, now))), after });
        }
        let until = plus(now, signed(lead + lead.max(STRETCH)));
        self.take(pass, Scope { from: boundary, until, shards: own, via: Via::Timer }, limit).await?;
        // There may be more within the lead.
        Ok(Next::NOW)
    }

    /// Claims up to `limit` moments of `scope` and puts them in flight; returns how many there were.
    async fn take(&self, pass: &mut Pass, scope: Scope, limit: usize) -> Result<usize, StoreError> {
        let Self { node, flights, .. } = self;
        let in_flight_max = node.settings.in_flight_max;
        while flights.len() + limit > in_flight_max {
            if node.stopping() {
                return Ok(0);
            }
            let landed = flights.landed();
            if flights.len() + limit <= in_flight_max {
                break;
            }
            self.dispatcher.shed_slow_lanes();
            tokio::select! { biased;
                () = node.stopped() => return Ok(0),
                () = landed => {}
                () = node.clock.pause(PAUSE_AFTER_FAILURE) => {}
            }
        }
        self.leases.keep_own().await?;
        if node.stopping() {
            return Ok(0);
        }
        let now = node.now();
        self.timer.begin_claim();
        let claims = self.claim(scope, limit, None).await?;
        pass.lead.observe(node.now().duration_since(now).unsigned_abs(), claims.n_taken);
        let n_taken = claims.n_taken;
        self.fly(claims.to_send, scope.via);
        if n_taken < limit {
            self.timer.passed(scope.from, scope.until);
        }
        // A run that was planned while claiming may lie within what the timer has just forgotten.
        self.timer.wake_at(claims.wakes);
        self.alarms.planned(claims.next_runs);
        if !claims.events.is_empty() {
            // Their runs were left alone until they are planned.
            self.planner.nudge();
        }
        pass.not_before.extend(claims.not_before);
        Ok(n_taken)
    }

    /// Claims up to `limit` moments of `scope`, all or those of `only` some reminders, and counts those that ended without a send.
    async fn claim(&self, scope: Scope, limit: usize, only: Option<Vec<ReminderId>>) -> Result<Claims, StoreError> {
        let node = &self.node;
        let Scope { from, until, shards, via } = scope;
        let now = node.now();
        let claim = Claim {
            now,
            from,
            until,
            shards,
            limit,
            node: node.settings.node.as_str().into(),
            lease_until: plus(now, signed(node.settings.lease_for)),
            default_channel: node.settings.default_channel.clone(),
            only,
            holding: self.holding.clone(),
        };
        self.flights.begin_claim();
        let claims = node.store.claim(claim).await.inspect_err(|_| self.flights.end_claim())?;
        let is_cut_off = |claimed: &Claimed| claimed.before.state.sending().is_some();
        if !claims.ended.is_empty() || claims.to_send.iter().any(is_cut_off) {
            node.journal.written();
        }
        for state in &claims.ended {
            node.metrics.count_occurrence(state.as_str(), via);
        }
        Ok(claims)
    }

    /// Puts claimed runs in flight.
    fn fly(&self, to_send: Vec<Claimed>, via: Via) {
        self.alarms.claimed(to_send.iter().map(|claimed| claimed.before.id.reminder));
        let flight = |claimed: Claimed| {
            let lane = self.dispatcher.lane_of(claimed.to());
            let via = if self.fired.take(claimed.before.id) { Via::Manual } else { via };
            if via == Via::Recovery && self.node.says(Kind::Recovered) {
                let (occurrence, due_at) = (claimed.before.id, claimed.before.due_at);
                tracing::info!(%occurrence, %due_at, "recovered: it was overdue");
            }
            Flight::new(claimed, via, lane)
        };
        let flights: Vec<_> = to_send.into_iter().map(flight).collect();
        self.flights.add(&flights);
        self.dispatcher.add(flights);
    }

    /// Counts and says that `n` runs which this node came to claim were in another's hands.
    fn found_elsewhere(&self, n: usize) {
        if n == 0 {
            return;
        }
        self.node.metrics.claims_lost.inc_by(n as u64);
        if self.node.says(Kind::Elsewhere) {
            tracing::info!(n, "already claimed elsewhere");
        }
    }
}

/// When to look at `first` again, which is to be claimed by `lead` ahead.
///
/// More may be created for the same moment meanwhile. Nobody is woken for that, and the lead would be too short for
/// all of them: so it is looked at when the longest lead begins, and then halfway to the claim, again and again.
fn look_at(first: Timestamp, lead: Duration, now: Timestamp) -> Timestamp {
    let longest = minus(first, LEAD_MAX);
    if now < longest {
        return longest;
    }
    let claim_at = minus(first, lead);
    let left = claim_at.duration_since(now);
    if left < LOOK_AGAIN_MIN { claim_at } else { plus(now, left / 2) }
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_looked_at_ever_more_often_until_it_is_claimed() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let (first, lead) = (at(60_000), Duration::from_millis(100));
        let mut now = at(0);
        let mut looks = Vec::new();
        while now < minus(first, lead) {
            now = look_at(first, lead, now);
            looks.push(first.duration_since(now).as_millis());
        }
        assert_eq!(looks, [2000, 1050, 575, 337, 218, 159, 129, 114, 100]);
    }
}

//! Taking the right to deliver, a little ahead of time.
//!
//! A claim costs a commit. So a batch is claimed before it is due, by as much as recent claims took, and then held until
//! the instant. One claim covers twice that lead, so that a steady stream of instants is claimed in batches and not one by
//! one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::{Claim, Claimed, StoreError, Window};

use crate::command::Inner;
use crate::flight::Flight;
use crate::gather::gather;
use crate::peers::beat::{HORIZON, LATE_AFTER};
use crate::say::Kind;
use crate::timer::WINDOW_MAX;

/// The shortest lead: below it, claims would be too small to be cheap.
const LEAD_MIN: Duration = Duration::from_millis(40);
/// What a row of a claim takes, at the least.
const ROW_MIN: Duration = Duration::from_micros(20);
/// The longest lead: above it, too much would be in flight when a process dies.
const LEAD_MAX: Duration = Duration::from_secs(2);
/// How often a part of the backlog is taken.
const BACKLOG_EVERY: Duration = Duration::from_millis(100);
/// What is due this close together is claimed together.
const TOGETHER: SignedDuration = SignedDuration::from_millis(20);
/// This close to a claim, nobody looks again whether more has been created for its moment.
const LOOK_AGAIN_MIN: SignedDuration = SignedDuration::from_millis(20);
/// What is late and could not be claimed is locked by somebody, who may have fallen silent: it is looked at again this often.
const LATE_AGAIN: Duration = Duration::from_millis(250);
/// So many looks: then the next beat says whether anything is still late.
const LATE_LOOKS: u32 = 4;
/// How long to wait after the store failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);

/// What one pass leaves for the next.
struct Claimer {
    pace: Pace,
    /// When the backlog may be looked at again.
    backlog_at: Timestamp,
    /// How often what others are late with is still looked at, and when next.
    late_looks: u32,
    late_at: Timestamp,
    /// What the clock showed at the last pass.
    looked_at: Timestamp,
    /// Moments that are known and must not be acted on before they come.
    not_before: BTreeSet<Timestamp>,
}

/// How long claims have taken lately.
struct Pace {
    /// The slowest of recent claims, fading.
    claim: Duration,
    /// What one row adds.
    row: Duration,
}

impl Pace {
    fn new() -> Self {
        Self { claim: Duration::from_millis(10), row: ROW_MIN }
    }

    fn observe(&mut self, took: Duration, n_rows: usize) {
        // A clock that was set meanwhile says nothing about the store.
        let took = took.min(LEAD_MAX);
        self.claim = took.max(self.claim.mul_f64(0.98));
        if n_rows >= 64 {
            self.row = (self.row + took / n_rows as u32) / 2;
        }
    }

    /// How far ahead to claim when `n_rows` are due together, and all of `n_nodes` claim as many at the same time: one
    /// store serves them all, so a row takes each of them as long as it takes the store to serve everybody's.
    fn lead(&self, n_rows: usize, n_nodes: usize) -> Duration {
        let base = (self.claim * 3).max(LEAD_MIN);
        let row = self.row.max(ROW_MIN.saturating_mul(n_nodes as u32));
        (base + row.saturating_mul(n_rows as u32).saturating_mul(2)).min(LEAD_MAX)
    }
}

/// Claims what is about to be due, for as long as the engine runs.
pub(crate) async fn run(inner: Arc<Inner>) {
    let mut claimer = Claimer {
        pace: Pace::new(),
        backlog_at: Timestamp::MIN,
        late_looks: 0,
        late_at: Timestamp::MIN,
        looked_at: Timestamp::MIN,
        not_before: BTreeSet::new(),
    };
    while !inner.stopping() {
        let next = match run_once(&inner, &mut claimer).await {
            Ok(next) => {
                inner.store_works();
                next
            }
            Err(error) => {
                inner.store_failed(&error);
                // Whatever is noted meanwhile: the store would be asked again and again, as fast as it refuses.
                tokio::select! { biased;
                    () = inner.stopped() => {}
                    () = inner.clock.pause(PAUSE_AFTER_FAILURE) => {}
                }
                continue;
            }
        };
        if next.at.is_some_and(|at| at <= inner.clock.now()) {
            continue;
        }
        tokio::select! { biased;
            () = inner.stopped() => {}
            () = inner.timer.nudged() => {}
            () = inner.clock.sleep_until(next.at.unwrap_or(Timestamp::MAX)), if next.at.is_some() => {}
            () = inner.clock.pause(next.after.unwrap_or(Duration::MAX)), if next.after.is_some() => {}
        }
    }
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

/// One pass: claims what is within the lead; returns when to look again.
async fn run_once(inner: &Arc<Inner>, claimer: &mut Claimer) -> Result<Next, StoreError> {
    let timer = &inner.timer;
    let mut now = inner.clock.now();
    if now < claimer.looked_at {
        // The clock was set back: what had passed may be to come.
        timer.reset();
    }
    claimer.looked_at = now;
    let boundary = minus(now, inner.settings.backlog_after);
    if timer.needs_refill() {
        let until = if inner.peers.is_shared() { plus(now, HORIZON) } else { Timestamp::MAX };
        timer.begin_refill(until);
        let window = Window { from: boundary, until, shards: inner.peers.own(), limit: WINDOW_MAX };
        match inner.store.upcoming(window).await {
            Ok(upcoming) => timer.end_refill(upcoming, WINDOW_MAX),
            Err(error) => {
                timer.reset();
                return Err(error);
            }
        }
    }
    timer.demote(boundary);

    now = inner.clock.now();
    let mut after: Option<Duration> = None;
    if timer.has_backlog() {
        // A clock that was set back is no reason to wait longer.
        if claimer.backlog_at <= now || claimer.backlog_at > plus(now, signed(BACKLOG_EVERY)) {
            let limit = inner.settings.backlog_batch;
            let until = minus(boundary, Duration::from_micros(1));
            let n_taken = take(
                inner,
                claimer,
                Scope { from: Timestamp::MIN, until, shards: Shards::ALL, via: timer.backlog_via() },
                limit,
            )
            .await?;
            if n_taken < limit {
                timer.end_backlog();
            }
            now = inner.clock.now();
            claimer.backlog_at = plus(now, signed(BACKLOG_EVERY));
        }
        after = Some(BACKLOG_EVERY);
    }

    inner.take_rung().await?;
    let limit = inner.settings.batch_max;
    if inner.peers.take_late() {
        (claimer.late_looks, claimer.late_at) = (LATE_LOOKS, Timestamp::MIN);
    }
    // A clock that was set back is no reason to wait longer.
    if claimer.late_looks > 0 && (claimer.late_at <= now || claimer.late_at > plus(now, signed(LATE_AGAIN))) {
        // Also what is not this node's: whoever it belongs to is late.
        let mut peer = Scope { from: boundary, until: plus(now, -LATE_AFTER), shards: Shards::ALL, via: "peer" };
        let mut n_taken = take(inner, claimer, peer, limit).await?;
        let is_first_look = claimer.late_looks == LATE_LOOKS;
        if n_taken == 0 && is_first_look && inner.peers.count() > 1 && !timer.has_backlog() {
            // The store said that something was late, and somebody else has it by now.
            inner.found_elsewhere(1);
        }
        claimer.late_looks = if n_taken == 0 { claimer.late_looks - 1 } else { 0 };
        while n_taken >= limit && !inner.stopping() {
            peer.until = plus(inner.clock.now(), -LATE_AFTER);
            n_taken = take(inner, claimer, peer, limit).await?;
        }
        now = inner.clock.now();
        claimer.late_at = plus(now, signed(LATE_AGAIN));
    }
    if claimer.late_looks > 0 {
        after = Some(after.map_or(LATE_AGAIN, |after| after.min(LATE_AGAIN)));
    }
    let own = inner.peers.own();
    let not_before = claimer.not_before.first().copied();
    if not_before.is_some_and(|at| at <= now) {
        let n_taken =
            take(inner, claimer, Scope { from: boundary, until: now, shards: own, via: "timer" }, limit).await?;
        if n_taken < limit {
            claimer.not_before.retain(|at| *at > now);
        }
        return Ok(Next::NOW);
    }
    let Some(first) = timer.first() else {
        return Ok(Next { at: not_before, after });
    };
    let n_together = timer.count_until(plus(first, TOGETHER));
    let lead = claimer.pace.lead(n_together, inner.peers.count());
    if first > plus(now, signed(lead)) {
        return Ok(Next { at: earliest(not_before, Some(look_at(first, lead, now))), after });
    }
    let until = plus(now, signed(lead * 2));
    take(inner, claimer, Scope { from: boundary, until, shards: own, via: "timer" }, limit).await?;
    // There may be more within the lead.
    Ok(Next::NOW)
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

/// What to claim, and who asked for it.
#[derive(Clone, Copy)]
struct Scope {
    from: Timestamp,
    until: Timestamp,
    shards: Shards,
    via: &'static str,
}

/// Claims up to `limit` moments of `scope` and puts them in flight; returns how many there were.
async fn take(inner: &Arc<Inner>, claimer: &mut Claimer, scope: Scope, limit: usize) -> Result<usize, StoreError> {
    let Scope { from, until, shards, via } = scope;
    while inner.flights.len() + limit > inner.settings.in_flight_max {
        if inner.stopping() {
            return Ok(0);
        }
        let landed = inner.flights.landed();
        if inner.flights.len() + limit <= inner.settings.in_flight_max {
            break;
        }
        inner.shed_slow_lanes();
        tokio::select! { biased;
            () = inner.stopped() => return Ok(0),
            () = landed => {}
            () = inner.clock.pause(PAUSE_AFTER_FAILURE) => {}
        }
    }
    inner.keep_own().await?;
    if inner.stopping() {
        return Ok(0);
    }
    let now = inner.clock.now();
    let claim = Claim {
        now,
        from,
        until,
        shards,
        limit,
        node: inner.settings.node.clone(),
        lease_until: plus(now, signed(inner.settings.lease_for)),
        fallback: inner.settings.fallback.clone(),
        only: None,
        holding: inner.holding.clone(),
    };
    inner.claiming.store(true, Ordering::Release);
    inner.timer.begin_claim();
    let claims = inner.store.claim(claim).await;
    let claims = match claims {
        Ok(claims) => claims,
        Err(error) => {
            inner.claiming.store(false, Ordering::Release);
            return Err(error);
        }
    };
    claimer.pace.observe(inner.clock.now().duration_since(now).unsigned_abs(), claims.n_taken);
    for state in &claims.ended {
        inner.count_occurrence(state.as_str(), via);
    }
    fly(inner, claims.to_send, via);
    if claims.n_taken < limit {
        inner.timer.passed(from, until);
    }
    // What was planned while claiming may lie within what has just been forgotten.
    inner.timer.note(claims.wakes);
    inner.alarm_planned(claims.next_runs);
    claimer.not_before.extend(claims.not_before);
    Ok(claims.n_taken)
}

/// Puts what was claimed in flight.
pub(crate) fn fly(inner: &Arc<Inner>, to_send: Vec<Claimed>, via: &'static str) {
    inner.alarm_claimed(to_send.iter().map(|claimed| claimed.before.id.reminder));
    let flights: Vec<_> = to_send
        .into_iter()
        .map(|claimed| {
            let lane = inner.lane_of(claimed.to());
            let via = if inner.fired.take(claimed.before.id) { "manual" } else { via };
            if via == "recovery" && inner.says(Kind::Recovered) {
                let (occurrence, due_at) = (claimed.before.id, claimed.before.due_at);
                tracing::info!(%occurrence, %due_at, "recovered: it was overdue");
            }
            let flight = Flight::new(claimed, via, lane);
            inner.flights.add(&flight);
            flight
        })
        .collect();
    inner.claiming.store(false, Ordering::Release);
    inner.metrics.in_flight.set(inner.flights.len() as i64);
    inner.hold.add(gather(inner, flights));
}

pub(crate) fn signed(span: Duration) -> SignedDuration {
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}

pub(crate) fn plus(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

pub(crate) fn minus(at: Timestamp, span: Duration) -> Timestamp {
    at.checked_sub(signed(span)).unwrap_or(Timestamp::MIN)
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

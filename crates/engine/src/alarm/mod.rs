//! A second way to be woken: a timer outside this process.
//!
//! Every run that is planned within the horizon is also set there. Where the engine's own timer knows of a reminder, it has
//! claimed it ahead of time, and the ring is for nothing. Where it does not, because another node wrote it or somebody wrote
//! plain SQL and nobody could tell, the ring brings it to be claimed.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::{Alarm, NextRun, Ring};
use punctual_core::clock::Clock;
use punctual_core::id::ReminderId;
use punctual_core::store::{ReminderView, StoreError};
use tokio::sync::Notify;

use crate::flight::Flights;
use crate::instant::plus;
use crate::node::{Node, lock};
use crate::timer::Timer;

/// Setting the reminders that other programs write in the store itself.
mod follow;

pub(crate) use follow::follow;

/// The horizon: a run that is further ahead is set in the alarm when it comes within.
const HORIZON: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often runs that have come within the horizon are set.
const FILL_EVERY: Duration = Duration::from_secs(3600);
/// Every so many times everything is set again, in case something got lost unnoticed.
const AFRESH_EVERY: u32 = 24;
/// How long to wait when it cannot be done now.
const FILL_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How many are read at once.
const PAGE: usize = 10_000;
/// How many are set at once.
const BATCH: usize = 1000;
/// Rings within this of the first are one claim.
const RINGS_WITHIN: Duration = Duration::from_millis(25);
/// A reminder that this node has claimed so recently needs no ring.
const CLAIMED_LATELY: SignedDuration = SignedDuration::from_secs(2);

/// The reminders that rang, and those that need not have.
#[derive(Default)]
struct Rings {
    /// To be claimed.
    rung: Mutex<BTreeSet<ReminderId>>,
    claimed: Mutex<Claimed>,
    /// Everything must be set again.
    forgotten: Notify,
}

/// The reminders that were claimed lately, in two halves of which the older one is forgotten.
#[derive(Default)]
struct Claimed {
    now: HashSet<ReminderId>,
    before: HashSet<ReminderId>,
    turned_at: Timestamp,
}

impl Rings {
    /// Takes down which reminders this node has claimed.
    fn claimed(&self, reminders: impl Iterator<Item = ReminderId>, now: Timestamp) {
        let mut claimed = lock(&self.claimed);
        claimed.turn(now);
        claimed.now.extend(reminders);
    }

    fn is_claimed(&self, id: ReminderId, now: Timestamp) -> bool {
        let mut claimed = lock(&self.claimed);
        claimed.turn(now);
        claimed.now.contains(&id) || claimed.before.contains(&id)
    }
}

impl Claimed {
    fn turn(&mut self, now: Timestamp) {
        let since = now.duration_since(self.turned_at).abs();
        if since >= CLAIMED_LATELY {
            let now_before = std::mem::take(&mut self.now);
            // After a long silence nothing of it is recent.
            self.before = if since < CLAIMED_LATELY * 2 { now_before } else { HashSet::new() };
            self.turned_at = now;
        }
    }
}

/// The timer outside this process, if there is one, and what it rang for.
pub(crate) struct Alarms {
    alarm: Option<Arc<dyn Alarm>>,
    clock: Arc<dyn Clock>,
    /// The channel of reminders whose addresses are their user's.
    default_channel: String,
    rings: Rings,
}

impl Alarms {
    pub(crate) fn new(alarm: Option<Arc<dyn Alarm>>, clock: Arc<dyn Clock>, default_channel: String) -> Self {
        Self { alarm, clock, default_channel, rings: Rings::default() }
    }

    /// The timer outside, if there is one.
    pub(crate) fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.alarm.as_ref()
    }

    /// Sets reminders that were created.
    pub(crate) fn created(&self, views: &[ReminderView]) {
        if self.alarm.is_some() {
            let entry = |view: &ReminderView| Some(NextRun::of(&view.reminder, view.next_run_at?));
            self.set(views.iter().filter_map(entry));
        }
    }

    /// Sets the next run of a reminder that was changed, or clears it.
    pub(crate) fn changed(&self, view: &ReminderView) {
        let Some(alarm) = &self.alarm else { return };
        let reminder = &view.reminder;
        let now = self.clock.now();
        match view.next_run_at {
            // It is being claimed; and a later run that is set stays set.
            Some(at) if at <= now => {}
            Some(at) if at <= plus(now, HORIZON) => self.set([NextRun::of(reminder, at)]),
            _ => alarm.clear(vec![reminder.id]),
        }
    }

    /// Sets the runs that were planned.
    pub(crate) fn planned(&self, next_runs: Vec<NextRun>) {
        self.set(next_runs);
    }

    /// Takes down which reminders were claimed, so that no ring is needed for them.
    pub(crate) fn claimed(&self, reminders: impl Iterator<Item = ReminderId>) {
        if self.alarm.is_some() {
            self.rings.claimed(reminders, self.clock.now());
        }
    }

    fn set(&self, entries: impl IntoIterator<Item = NextRun>) {
        let Some(alarm) = &self.alarm else { return };
        let now = self.clock.now();
        let within = entries.into_iter().filter(|entry| entry.at > now && entry.at <= plus(now, HORIZON));
        let entries: Vec<_> = within.map(|entry| self.with_channel(entry)).collect();
        if !entries.is_empty() {
            alarm.set(entries);
        }
    }

    fn with_channel(&self, mut entry: NextRun) -> NextRun {
        if entry.channel.is_empty() {
            entry.channel.clone_from(&self.default_channel);
        }
        entry
    }

    /// Whether a reminder rang that this node has not claimed already. Those that it has are forgotten.
    fn is_rung(&self, flights: &Flights) -> bool {
        let now = self.clock.now();
        let mut rung = lock(&self.rings.rung);
        rung.retain(|id| !flights.has(*id) && !self.rings.is_claimed(*id, now));
        !rung.is_empty()
    }

    /// Takes up to `limit` reminders that rang and that this node has not claimed already.
    pub(crate) fn take_rung(&self, flights: &Flights, limit: usize) -> Vec<ReminderId> {
        if !self.is_rung(flights) {
            return Vec::new();
        }
        let mut rung = lock(&self.rings.rung);
        let first_left = rung.iter().nth(limit).copied();
        let rest = first_left.map(|first| rung.split_off(&first));
        std::mem::replace(&mut *rung, rest.unwrap_or_default()).into_iter().collect()
    }

    /// Reminders that rang could not be claimed yet.
    pub(crate) fn put_back(&self, rung: &[ReminderId]) {
        lock(&self.rings.rung).extend(rung);
    }
}

/// Waits for rings and hands them to the claimer.
pub(crate) async fn ring(node: Node, alarms: Arc<Alarms>, flights: Arc<Flights>, timer: Arc<Timer>) {
    let Some(alarm) = alarms.alarm() else { return };
    let hand = |ring: Ring| match ring {
        Ring::Due(ids) => {
            alarms.put_back(&ids);
            true
        }
        Ring::Forgotten => {
            alarms.rings.forgotten.notify_one();
            false
        }
    };
    while !node.stopping() {
        let is_due = tokio::select! { biased;
            () = node.stopped() => return,
            ring = alarm.rung() => hand(ring),
        };
        if !is_due {
            continue;
        }
        let mut within = node.clock.pause(RINGS_WITHIN);
        loop {
            tokio::select! { biased;
                () = node.stopped() => return,
                () = &mut within => break,
                ring = alarm.rung() => { hand(ring); }
            }
        }
        if alarms.is_rung(&flights) {
            timer.nudge();
        }
    }
}

/// Sets all runs within the horizon: at the start, when the alarm has forgotten them, and as the horizon moves on.
pub(crate) async fn fill(node: Node, alarms: Arc<Alarms>) {
    let Some(alarm) = alarms.alarm() else { return };
    let mut n_fills: u32 = 0;
    while !node.stopping() {
        let afresh = n_fills.is_multiple_of(AFRESH_EVERY);
        let next = match fill_once(&node, &alarms, &**alarm, afresh).await {
            Ok(true) => {
                n_fills = n_fills.wrapping_add(1);
                FILL_EVERY
            }
            Ok(false) => FILL_AGAIN_AFTER,
            Err(error) => {
                node.health.failed(&error);
                FILL_AGAIN_AFTER
            }
        };
        tokio::select! { biased;
            () = node.stopped() => return,
            () = alarms.rings.forgotten.notified() => {}
            () = node.clock.pause(next) => {}
        }
    }
}

/// Sets the runs that are not set yet; with `afresh`, all. Returns whether it is done.
async fn fill_once(node: &Node, alarms: &Alarms, alarm: &dyn Alarm, afresh: bool) -> Result<bool, StoreError> {
    let Some(filled) = alarm.begin_fill().await else { return Ok(false) };
    let now = node.now();
    let until = plus(now, HORIZON);
    let from = filled.until.filter(|_| !afresh).map_or(now, |until| until.max(now));
    let mut after = None;
    let mut n_set = 0;
    loop {
        let page = node.store.coming(from, until, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|(id, entry)| (entry.at, *id));
        let mut entries = page.into_iter().map(|(_, entry)| alarms.with_channel(entry)).peekable();
        while entries.peek().is_some() {
            let mut seen = HashSet::new();
            // Of two runs of one reminder the earlier one counts, and they come in order.
            let batch: Vec<_> = entries.by_ref().take(BATCH).filter(|entry| seen.insert(entry.reminder)).collect();
            n_set += batch.len();
            if node.stopping() || !alarm.fill(batch).await {
                return Ok(false);
            }
        }
        if is_last {
            break;
        }
    }
    alarm.end_fill(until).await;
    tracing::debug!(n_set, %until, "the runs to come are set in the alarm");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_reminder_is_known_for_two_seconds_and_not_for_long() {
        let at = |millis: i64| Timestamp::from_millisecond(100_000 + millis).unwrap();
        let id = |n| ReminderId::new(at(0), [n; 10]);
        let rings = Rings::default();
        rings.claimed([id(1)].into_iter(), at(0));
        rings.claimed([id(2)].into_iter(), at(1900));
        assert!(rings.is_claimed(id(1), at(1900)) && rings.is_claimed(id(2), at(3800)));
        assert!(!rings.is_claimed(id(3), at(3800)));
        assert!(!rings.is_claimed(id(1), at(5900)), "two turns later it is forgotten");
        rings.claimed([id(4)].into_iter(), at(6000));
        assert!(!rings.is_claimed(id(4), at(60_000)));
    }
}

//! A second way to be woken: a timer outside this process.
//!
//! Everything that is planned within the horizon is also set there. Where the engine's own timer knows of a reminder, it has
//! claimed it ahead of time, and the ring is for nothing. Where it does not, because another node wrote it or somebody wrote
//! plain SQL and nobody could tell, the ring brings it to be claimed.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::{Alarm, Entry, Ring};
use punctual_core::id::ReminderId;
use punctual_core::shard::Shards;
use punctual_core::store::{Changed, Claim, ReminderView, StoreError};
use tokio::sync::Notify;

use crate::claim::{fly, plus, signed};
use crate::command::Inner;
use crate::say::Kind;

/// Setting what other programs plan in the store itself.
mod follow;

pub(crate) use follow::follow;

/// What is further ahead is not set; it is when it comes within.
pub(crate) const HORIZON: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often what has come within the horizon is set.
const FILL_EVERY: Duration = Duration::from_secs(3600);
/// Every so many times everything is set again, in case something got lost unnoticed.
const AFRESH_EVERY: u32 = 24;
/// How long to wait when it cannot be done now.
const FILL_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How many are read at once.
const PAGE: usize = 10_000;
/// How many are set at once.
const BATCH: usize = 1000;
/// How long rings are gathered, so that a burst is one claim.
const GATHER: Duration = Duration::from_millis(25);
/// The other clock may be this much ahead of ours. What is claimed early is held until its instant.
const AHEAD: SignedDuration = SignedDuration::from_secs(1);
/// What this node has claimed so recently needs no ring.
const CLAIMED_LATELY: SignedDuration = SignedDuration::from_secs(2);

/// What rang, and what need not have.
#[derive(Default)]
pub(crate) struct Rings {
    /// To be claimed.
    rung: Mutex<BTreeSet<ReminderId>>,
    claimed: Mutex<Claimed>,
    /// Everything must be set again.
    forgotten: Notify,
}

/// What was claimed lately, in two halves of which the older one is forgotten.
#[derive(Default)]
struct Claimed {
    now: HashSet<ReminderId>,
    before: HashSet<ReminderId>,
    turned_at: Timestamp,
}

impl Rings {
    /// Takes down what this node has claimed.
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

impl Inner {
    /// Sets what was created.
    pub(crate) fn alarm_created(&self, views: &[ReminderView]) {
        if self.alarm.is_some() {
            let entry = |view: &ReminderView| Some(Entry::of(&view.reminder, view.next_run_at?));
            self.set_alarm(views.iter().filter_map(entry));
        }
    }

    /// Sets what a command has left to come, or clears it.
    pub(crate) fn alarm_changed(&self, changed: &Changed) {
        self.alarm_left(&changed.view);
    }

    /// Sets what is left to come of a reminder, or clears it.
    fn alarm_left(&self, view: &ReminderView) {
        let Some(alarm) = &self.alarm else { return };
        let reminder = &view.reminder;
        let now = self.clock.now();
        match view.next_run_at {
            // It is being claimed; and a later run that is set stays set.
            Some(at) if at <= now => {}
            Some(at) if at <= plus(now, HORIZON) => self.set_alarm([Entry::of(reminder, at)]),
            _ => alarm.clear(vec![reminder.id]),
        }
    }

    /// Sets the runs that were planned.
    pub(crate) fn alarm_planned(&self, next_runs: Vec<Entry>) {
        self.set_alarm(next_runs);
    }

    /// Takes down what was claimed, so that no ring is needed for it.
    pub(crate) fn alarm_claimed(&self, reminders: impl Iterator<Item = ReminderId>) {
        if self.alarm.is_some() {
            self.rings.claimed(reminders, self.clock.now());
        }
    }

    fn set_alarm(&self, entries: impl IntoIterator<Item = Entry>) {
        let Some(alarm) = &self.alarm else { return };
        let now = self.clock.now();
        let within = entries.into_iter().filter(|entry| entry.at > now && entry.at <= plus(now, HORIZON));
        let entries: Vec<_> = within.map(|entry| self.with_channel(entry)).collect();
        if !entries.is_empty() {
            alarm.set(entries);
        }
    }

    fn with_channel(&self, mut entry: Entry) -> Entry {
        if entry.channel.is_empty() {
            entry.channel.clone_from(&self.settings.fallback.address.channel);
        }
        entry
    }

    /// Whether anything rang that this node has not claimed already. What it has is forgotten.
    fn is_rung(&self) -> bool {
        let now = self.clock.now();
        let mut rung = lock(&self.rings.rung);
        rung.retain(|id| !self.flights.has(*id) && !self.rings.is_claimed(*id, now));
        !rung.is_empty()
    }

    /// Claims what rang; called by the one who claims.
    pub(crate) async fn take_rung(self: &Arc<Self>) -> Result<(), StoreError> {
        loop {
            let now = self.clock.now();
            let mut only: Vec<ReminderId> = std::mem::take(&mut *lock(&self.rings.rung)).into_iter().collect();
            only.retain(|id| !self.flights.has(*id) && !self.rings.is_claimed(*id, now));
            let limit = self.settings.batch_max;
            if only.len() > limit {
                lock(&self.rings.rung).extend(only.split_off(limit));
            }
            // What there is no room for now, its own timer or the sweep finds.
            if only.is_empty() || self.flights.len() + limit > self.settings.in_flight_max || self.stopping() {
                return Ok(());
            }
            self.keep_own().await.inspect_err(|_| lock(&self.rings.rung).extend(&only))?;
            if self.stopping() {
                return Ok(());
            }
            let now = self.clock.now();
            let n_rung = only.len();
            let claim = Claim {
                now,
                from: Timestamp::MIN,
                until: plus(now, AHEAD),
                shards: Shards::ALL,
                limit,
                node: self.settings.node.clone(),
                lease_until: plus(now, signed(self.settings.lease_for)),
                fallback: self.settings.fallback.clone(),
                only: Some(only),
                holding: self.holding.clone(),
            };
            self.claiming.store(true, Ordering::Release);
            let claims = self.store.claim(claim).await;
            let claims = claims.inspect_err(|_| self.claiming.store(false, Ordering::Release))?;
            for state in &claims.ended {
                self.count_occurrence(state.as_str(), "redis");
            }
            // Each ring was for a run that was to be claimed now: what was not there any more, another node has.
            self.found_elsewhere(n_rung.saturating_sub(claims.n_taken));
            if claims.n_taken > 0 && self.says(Kind::Woken) {
                tracing::info!(n = claims.n_taken, "woken by the timer outside, which knew of what this node did not");
            }
            fly(self, claims.to_send, "redis");
            self.timer.note(claims.wakes);
            self.alarm_planned(claims.next_runs);
        }
    }
}

/// Waits for rings and hands them to the one who claims.
pub(crate) async fn ring(inner: Arc<Inner>, alarm: Arc<dyn Alarm>) {
    let hand = |ring: Ring| match ring {
        Ring::Due(ids) => {
            let mut rung = lock(&inner.rings.rung);
            rung.extend(ids);
            true
        }
        Ring::Forgotten => {
            inner.rings.forgotten.notify_one();
            false
        }
    };
    while !inner.stopping() {
        let is_due = tokio::select! { biased;
            () = inner.stopped() => return,
            ring = alarm.rung() => hand(ring),
        };
        if !is_due {
            continue;
        }
        let mut gathered = inner.clock.pause(GATHER);
        loop {
            tokio::select! { biased;
                () = inner.stopped() => return,
                () = &mut gathered => break,
                ring = alarm.rung() => { hand(ring); }
            }
        }
        if inner.is_rung() {
            inner.timer.nudge();
        }
    }
}

/// Sets all that is to come within the horizon: at the start, when it was forgotten, and as the horizon moves on.
pub(crate) async fn fill(inner: Arc<Inner>, alarm: Arc<dyn Alarm>) {
    let mut n_fills: u32 = 0;
    while !inner.stopping() {
        let afresh = n_fills.is_multiple_of(AFRESH_EVERY);
        let next = match fill_once(&inner, &*alarm, afresh).await {
            Ok(true) => {
                n_fills = n_fills.wrapping_add(1);
                FILL_EVERY
            }
            Ok(false) => FILL_AGAIN_AFTER,
            Err(error) => {
                inner.store_failed(&error);
                FILL_AGAIN_AFTER
            }
        };
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.rings.forgotten.notified() => {}
            () = inner.clock.pause(next) => {}
        }
    }
}

/// Sets what is not set yet; with `afresh`, what is set as well. Returns whether it is done.
async fn fill_once(inner: &Inner, alarm: &dyn Alarm, afresh: bool) -> Result<bool, StoreError> {
    let Some(filled) = alarm.begin_fill().await else { return Ok(false) };
    let now = inner.clock.now();
    let until = plus(now, HORIZON);
    let from = filled.until.filter(|_| !afresh).map_or(now, |until| until.max(now));
    let mut after = None;
    let mut n_set = 0;
    loop {
        let page = inner.store.coming(from, until, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|(id, entry)| (entry.at, *id));
        let mut entries = page.into_iter().map(|(_, entry)| inner.with_channel(entry)).peekable();
        while entries.peek().is_some() {
            let mut seen = HashSet::new();
            // Of two runs of one reminder the earlier one counts, and they come in order.
            let batch: Vec<_> = entries.by_ref().take(BATCH).filter(|entry| seen.insert(entry.reminder)).collect();
            n_set += batch.len();
            if inner.stopping() || !alarm.fill(batch).await {
                return Ok(false);
            }
        }
        if is_last {
            break;
        }
    }
    alarm.end_fill(until).await;
    tracing::debug!(n_set, %until, "what is to come is set in the alarm");
    Ok(true)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_claimed_lately_is_known_for_two_seconds_and_not_for_long() {
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

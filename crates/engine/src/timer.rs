//! The moments that come soon, and sleeping until then.
//!
//! Memory holds only a window: the next instants at which something must be looked at, at most [`WINDOW_MAX`] of them,
//! complete up to an instant. A reminder that is created beyond that instant needs no attention: it is read from the store when the
//! window has been used up. So ten million reminders cost what ten thousand do, and an idle engine asks nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use punctual_core::store::Upcoming;
use tokio::sync::Notify;

use crate::flight::Via;
use crate::node::lock;

/// The most instants in memory; later ones stay in the store until their turn comes.
pub(crate) const WINDOW_MAX: usize = 16_384;

/// The near future of one node.
pub(crate) struct Timer {
    window: Mutex<Window>,
    nudged: Notify,
}

struct Window {
    /// How many occurrences have their moment at each instant. It may count too many, never too few.
    instants: BTreeMap<Timestamp, usize>,
    n_instants: usize,
    /// Every moment before this is in `instants`; `None`: the store must be asked.
    complete_until: Option<Timestamp>,
    /// Whether it ends there because it is full, and not because nobody asked further.
    is_full: bool,
    /// Runs are overdue by more than the engine keeps up with by itself.
    backlog: bool,
    /// And only the safety sweep found it.
    is_find: bool,
    /// The instants that were added since a claim began: the claim may have come too early to see them.
    during_claim: Option<Vec<Timestamp>>,
}

impl Timer {
    pub(crate) fn new() -> Self {
        let window = Window {
            instants: BTreeMap::new(),
            n_instants: 0,
            complete_until: None,
            is_full: false,
            backlog: false,
            is_find: false,
            during_claim: None,
        };
        Self { window: Mutex::new(window), nudged: Notify::new() }
    }

    /// A run must be looked at, at each of `wakes`. Wakes the sleeper only if one is earlier than all it knows.
    pub(crate) fn wake_at(&self, wakes: impl IntoIterator<Item = Timestamp>) {
        let mut window = self.lock();
        let before = window.instants.first_key_value().map(|(at, _)| *at);
        for wake_at in wakes {
            if window.complete_until.is_some_and(|until| wake_at >= until) {
                continue;
            }
            if let Some(added) = &mut window.during_claim {
                added.push(wake_at);
            }
            window.add(wake_at);
        }
        window.trim();
        let first = window.instants.first_key_value().map(|(at, _)| *at);
        drop(window);
        if first != before {
            self.nudged.notify_one();
        }
    }

    /// Wakes the sleeper, whatever it knows.
    pub(crate) fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Waits for an earlier moment than was known.
    pub(crate) async fn nudged(&self) {
        self.nudged.notified().await;
    }

    /// Whether the store must be asked what is to come.
    pub(crate) fn needs_refill(&self) -> bool {
        let window = self.lock();
        match window.complete_until {
            None => true,
            Some(_) => window.instants.is_empty() && window.is_full,
        }
    }

    /// Opens the window up to `until` before the store is asked, so that a moment that is added meanwhile is kept.
    pub(crate) fn begin_refill(&self, until: Timestamp) {
        let mut window = self.lock();
        window.complete_until = Some(until);
        window.is_full = false;
    }

    /// Up to when every moment is known, unless the window is full: then it is read on when it has been used up.
    pub(crate) fn knows_until(&self) -> Option<Timestamp> {
        let window = self.lock();
        window.complete_until.filter(|_| !window.is_full)
    }

    /// Opens the window further, up to `until`: nothing lies between, or the window is about to be forgotten.
    pub(crate) fn extend(&self, until: Timestamp) {
        let mut window = self.lock();
        if !window.is_full && window.complete_until.is_some_and(|at| at < until) {
            window.complete_until = Some(until);
        }
    }

    /// Takes the store's answer, which held at most `limit` instants.
    pub(crate) fn end_refill(&self, upcoming: Upcoming, limit: usize) {
        let mut window = self.lock();
        if upcoming.instants.len() == limit {
            window.complete_until = upcoming.instants.last().copied();
            window.is_full = true;
        }
        for instant in upcoming.instants {
            window.add(instant);
        }
        window.backlog |= upcoming.overdue_since.is_some();
        window.trim();
    }

    /// Forgets the window: the store is asked again.
    pub(crate) fn reset(&self) {
        let mut window = self.lock();
        window.instants.clear();
        window.n_instants = 0;
        window.complete_until = None;
        drop(window);
        self.nudged.notify_one();
    }

    /// A claim begins. Moments that are added from now on survive [`Timer::passed`].
    pub(crate) fn begin_claim(&self) {
        self.lock().during_claim = Some(Vec::new());
    }

    /// Forgets the moments in `from..=until`: they have been claimed.
    ///
    /// A moment before `from` was not: it may have been added since the claimer last looked for it.
    pub(crate) fn passed(&self, from: Timestamp, until: Timestamp) {
        let mut window = self.lock();
        let added = window.during_claim.take().unwrap_or_default();
        if from > until {
            // The clock was set back while the claim was being prepared; it found nothing.
            return;
        }
        let claimed: Vec<_> = window.instants.range(from..=until).map(|(at, _)| *at).collect();
        for at in claimed {
            let n = window.instants.remove(&at).unwrap_or(0);
            window.n_instants -= n;
        }
        for at in added.into_iter().filter(|at| (from..=until).contains(at)) {
            window.add(at);
        }
    }

    /// Moves the moments before `boundary` to the backlog.
    pub(crate) fn demote(&self, boundary: Timestamp) {
        let mut window = self.lock();
        while let Some(entry) = window.instants.first_entry() {
            if *entry.key() >= boundary {
                break;
            }
            let n = entry.remove();
            window.n_instants -= n;
            window.backlog = true;
        }
    }

    pub(crate) fn has_backlog(&self) -> bool {
        self.lock().backlog
    }

    /// How the backlog was noticed.
    pub(crate) fn backlog_via(&self) -> Via {
        if self.lock().is_find { Via::Fallback } else { Via::Recovery }
    }

    /// The safety sweep found something overdue.
    pub(crate) fn find(&self) {
        let mut window = self.lock();
        (window.backlog, window.is_find) = (true, true);
    }

    /// No overdue run is left.
    pub(crate) fn end_backlog(&self) {
        let mut window = self.lock();
        (window.backlog, window.is_find) = (false, false);
    }

    /// The next moment.
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.lock().instants.first_key_value().map(|(at, _)| *at)
    }

    /// How many moments there are up to `until`.
    pub(crate) fn count_until(&self, until: Timestamp) -> usize {
        self.lock().instants.range(..=until).map(|(_, n)| n).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        lock(&self.window)
    }
}

impl Window {
    fn add(&mut self, at: Timestamp) {
        *self.instants.entry(at).or_insert(0) += 1;
        self.n_instants += 1;
    }

    /// Keeps the window bounded: the furthest instants go back to being the store's business.
    fn trim(&mut self) {
        while self.n_instants > 2 * WINDOW_MAX && self.instants.len() > 1 {
            if let Some((at, n)) = self.instants.pop_last() {
                self.n_instants -= n;
                self.complete_until = Some(at);
                self.is_full = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn filled(seconds: &[i64], limit: usize) -> Timer {
        let timer = Timer::new();
        timer.begin_refill(Timestamp::MAX);
        let instants = seconds.iter().map(|s| at(*s)).collect();
        timer.end_refill(Upcoming { instants, overdue_since: None }, limit);
        timer
    }

    #[test]
    fn a_moment_beyond_the_window_is_left_to_the_store() {
        let timer = filled(&[10, 20], 2);
        timer.wake_at([at(30)]);
        assert_eq!(timer.count_until(at(100)), 2);
        timer.wake_at([at(15)]);
        assert_eq!(timer.count_until(at(100)), 3);
        timer.passed(at(0), at(20));
        assert!(timer.needs_refill(), "the window is used up and the store may know more");
    }

    #[test]
    fn a_window_that_holds_everything_never_asks_again() {
        let timer = filled(&[10], 2);
        timer.passed(at(0), at(10));
        assert!(!timer.needs_refill());
        timer.wake_at([at(1000)]);
        assert_eq!(timer.first(), Some(at(1000)));
    }

    #[test]
    fn a_moment_that_is_added_while_the_store_is_asked_is_kept() {
        let timer = Timer::new();
        timer.begin_refill(Timestamp::MAX);
        timer.wake_at([at(5)]);
        timer.end_refill(Upcoming { instants: vec![at(10), at(20)], overdue_since: None }, 2);
        assert_eq!(timer.first(), Some(at(5)));
    }

    #[test]
    fn a_moment_that_is_added_while_a_claim_is_under_way_is_not_taken_for_claimed() {
        let timer = filled(&[10], 2);
        timer.begin_claim();
        timer.wake_at([at(12)]);
        timer.passed(at(0), at(20));
        assert_eq!(timer.first(), Some(at(12)));
    }

    #[test]
    fn a_moment_before_a_claim_is_not_forgotten_by_it() {
        let timer = filled(&[50], 2);
        timer.wake_at([at(5)]);
        timer.passed(at(40), at(60));
        assert_eq!(timer.first(), Some(at(5)), "it was added when the backlog had just been looked at");
        timer.passed(at(90), at(60));
        assert_eq!(timer.first(), Some(at(5)));
    }

    #[test]
    fn the_window_stays_bounded_and_knows_where_it_ends() {
        let timer = filled(&[1], 2);
        for second in 0..3 * WINDOW_MAX as i64 {
            timer.wake_at([at(10 + second)]);
        }
        assert!(timer.count_until(Timestamp::MAX) <= 2 * WINDOW_MAX);
        timer.passed(at(0), Timestamp::MAX);
        assert!(timer.needs_refill(), "the moments that were trimmed are read back from the store");
    }
}

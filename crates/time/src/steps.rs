//! How much work somebody may ask for.
//!
//! A schedule of a few kilobytes can name rules that take millions of looks at the calendar, and a phrase can be read in many
//! ways. So this work is counted, in steps and not in seconds: a schedule that is refused on a slow machine is refused on a fast one. One
//! step is about one look at a month.
//!
//! A request has one count for all its parts, so that a batch cannot ask for a thousand times as much as a single request.
//! A schedule that is accepted has a next run that is cheap to find, because it has to be found again after every run.

use std::sync::atomic::{AtomicU64, Ordering};

/// One request may take so many. A rule that no day ever matches is known as such after fewer.
const REQUEST_STEPS: u64 = 400_000;
/// Each schedule of a request may take so many besides. A phrase takes a few hundred, a rule with `COUNT=100` as many.
const SCHEDULE_STEPS: u64 = 1000;

/// The problem of a part that would take more.
pub(crate) const TOO_MUCH: &str = "takes too long to work out; use fewer or simpler rules, a smaller COUNT, or a beginning \
    nearer to the present";

/// Steps that may still be taken.
///
/// Once they are spent they stay spent, and every search gives up. The caller that gave them asks [`Steps::are_spent`] before it
/// believes a search that found nothing.
#[derive(Debug)]
pub struct Steps {
    left: AtomicU64,
}

impl Steps {
    /// So many.
    pub fn new(n: u64) -> Self {
        Self { left: AtomicU64::new(n) }
    }

    /// For a request with `n_schedules`.
    pub fn of_request(n_schedules: usize) -> Self {
        let n_schedules = u64::try_from(n_schedules).unwrap_or(u64::MAX);
        Self::new(n_schedules.saturating_mul(SCHEDULE_STEPS).saturating_add(REQUEST_STEPS))
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether none are left.
    pub fn are_spent(&self) -> bool {
        self.left() == 0
    }

    /// Takes `n` steps; `None` when that was too many.
    pub(crate) fn take(&self, n: u64) -> Option<()> {
        let left = self.left().saturating_sub(n);
        // Only one thread uses them at a time, so no step is lost between reading and writing.
        self.left.store(left, Ordering::Relaxed);
        (left > 0).then_some(())
    }

    /// Does a part of the work with at most `most` of the steps. Returns what it led to, and whether it needed more.
    pub(crate) fn part<T>(&self, most: u64, work: impl FnOnce(&Self) -> T) -> (T, bool) {
        let given = most.min(self.left());
        let part = Self::new(given);
        let done = work(&part);
        let _ = self.take(given - part.left());
        (done, part.are_spent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_steps_stay_spent() {
        let steps = Steps::new(3);
        assert_eq!((steps.take(2), steps.left()), (Some(()), 1));
        assert_eq!((steps.take(1), steps.take(0), steps.are_spent()), (None, None, true));
    }

    #[test]
    fn a_part_takes_from_the_whole_and_no_more_than_it_may() {
        let steps = Steps::new(100);
        let (found, was_too_much) = steps.part(10, |part| part.take(4));
        assert_eq!((found, was_too_much, steps.left()), (Some(()), false, 96));
        let (found, was_too_much) = steps.part(10, |part| part.take(40));
        assert_eq!((found, was_too_much, steps.left()), (None, true, 86));
        let (_, was_too_much) = steps.part(1000, |part| part.take(500));
        assert_eq!((was_too_much, steps.are_spent()), (true, true));
    }
}

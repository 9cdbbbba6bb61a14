//! By how much Redis's clock is ahead of ours.
//!
//! A question about the time is answered somewhere between asking and the answer, so each answer says only that the
//! difference lies between two numbers. Several answers narrow it down. What is set is set by the higher number, so that it
//! never rings early; what is waited for is waited for by the lower one, so that nobody looks before it is time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// How many answers are remembered: a minute's, because clocks drift.
const ANSWERS_MAX: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Ahead {
    answers: Mutex<VecDeque<Bounds>>,
}

/// At least and at most so many microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Ahead {
    /// Redis said `redis_micros`, asked at `asked_at` and answered by `answered_at`.
    pub(super) fn answer(&self, redis_micros: i64, asked_at: Timestamp, answered_at: Timestamp) {
        let least = redis_micros - answered_at.as_microsecond();
        let most = redis_micros - asked_at.as_microsecond();
        if least > most {
            // Our clock was set back in between; the next answer will tell by how much.
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = narrow(&answers);
        if known.is_some_and(|known| least > known.most || most < known.least) {
            // One of the clocks has been set.
            answers.clear();
        }
        if answers.len() == ANSWERS_MAX {
            answers.pop_front();
        }
        answers.push_back(Bounds { least, most });
    }

    pub(super) fn bounds(&self) -> Bounds {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        narrow(&answers).unwrap_or(Bounds { least: 0, most: 0 })
    }
}

fn narrow(answers: &VecDeque<Bounds>) -> Option<Bounds> {
    let least = answers.iter().map(|bounds| bounds.least).max()?;
    let most = answers.iter().map(|bounds| bounds.most).min()?;
    // A clock that drifts may have left no room in between.
    Some(Bounds { least: least.min(most), most: most.max(least) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    fn bounds(least: i64, most: i64) -> Bounds {
        Bounds { least, most }
    }

    #[test]
    fn answers_narrow_it_down_and_a_clock_that_was_set_begins_anew() {
        let ahead = Ahead::default();
        assert_eq!(ahead.bounds(), bounds(0, 0));
        ahead.answer(10_500, at(10_000), at(10_900));
        assert_eq!(ahead.bounds(), bounds(-400, 500));
        ahead.answer(20_100, at(20_000), at(25_000));
        assert_eq!(ahead.bounds(), bounds(-400, 100), "a slow answer can still say something");
        ahead.answer(30_300, at(30_250), at(30_310));
        assert_eq!(ahead.bounds(), bounds(-10, 50));
        ahead.answer(5_040_000, at(40_000), at(40_100));
        assert_eq!(ahead.bounds(), bounds(4_999_900, 5_000_000), "Redis's clock was set forward");
        ahead.answer(5_050_000, at(60_000), at(50_000));
        assert_eq!(ahead.bounds(), bounds(4_999_900, 5_000_000), "ours was set back in between");
    }
}

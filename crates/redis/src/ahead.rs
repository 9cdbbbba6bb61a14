//! By how much Redis's clock is ahead of ours.
//!
//! A question about the time is answered somewhere between asking and the answer, so each answer says only that the
//! difference lies between two numbers. Several answers narrow it down. The higher number is used: a timer that is set by it never
//! rings early, and a task that wakes by it asks as much earlier as a question takes on its way.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// For how many seconds answers are remembered: not for ever, because clocks drift.
const SECONDS_MAX: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The bounds that all answers of one second give together, by that second.
    answers: Mutex<VecDeque<(i64, Bounds)>>,
}

/// At least and at most so many microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    least: i64,
    most: i64,
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
        let second = answered_at.as_second();
        match answers.back_mut() {
            Some((last, known)) if *last == second => {
                *known = Bounds { least: known.least.max(least), most: known.most.min(most) };
            }
            _ => answers.push_back((second, Bounds { least, most })),
        }
        if answers.len() > SECONDS_MAX {
            answers.pop_front();
        }
    }

    /// How many microseconds, at most.
    pub(super) fn most(&self) -> i64 {
        narrow(&self.answers.lock().unwrap_or_else(PoisonError::into_inner)).map_or(0, |bounds| bounds.most)
    }
}

fn narrow(answers: &VecDeque<(i64, Bounds)>) -> Option<Bounds> {
    let least = answers.iter().map(|(_, bounds)| bounds.least).max()?;
    let most = answers.iter().map(|(_, bounds)| bounds.most).min()?;
    // A clock that drifts may have left no room in between.
    Some(Bounds { least: least.min(most), most: most.max(least) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    #[test]
    fn answers_narrow_it_down_and_a_clock_that_was_set_begins_anew() {
        let ahead = Ahead::default();
        assert_eq!(ahead.most(), 0);
        ahead.answer(10_500, at(10_000), at(10_900));
        assert_eq!(ahead.most(), 500);
        ahead.answer(20_100, at(20_000), at(25_000));
        assert_eq!(ahead.most(), 100, "a slow answer can still say something");
        ahead.answer(2_030_300, at(2_030_250), at(2_030_310));
        assert_eq!(ahead.most(), 50);
        ahead.answer(2_041_000, at(2_040_000), at(2_041_500));
        assert_eq!(ahead.most(), 50);
        ahead.answer(7_040_000, at(2_040_000), at(2_040_100));
        assert_eq!(ahead.most(), 5_000_000, "Redis's clock was set forward");
        ahead.answer(7_050_000, at(2_060_000), at(2_050_000));
        assert_eq!(ahead.most(), 5_000_000, "ours was set back in between");
    }

    #[test]
    fn old_answers_are_forgotten() {
        let ahead = Ahead::default();
        ahead.answer(1_000_010, at(1_000_000), at(1_000_900));
        for second in 2..70 {
            let now = second * 1_000_000;
            ahead.answer(now + 300, at(now), at(now + 900));
        }
        assert_eq!(ahead.most(), 300, "the clocks may have drifted since");
    }
}

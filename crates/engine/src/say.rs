//! What a healthy system says, and how much of it.
//!
//! In any second the first lines of a kind are said one by one; the rest are counted and said as one.

use std::time::Duration;

use jiff::Timestamp;

use crate::command::Inner;
use crate::deliver::lock;

/// So many lines of a kind are said singly in a second.
const SINGLY_MAX: u32 = 50;
/// How long what was counted waits to be said.
const SUM_AFTER: Duration = Duration::from_secs(1);

/// A kind of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Created,
    Cancelled,
    Processing,
    Sent,
    Retrying,
    GaveUp,
    Elsewhere,
    Recovered,
    Woken,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Created,
        Self::Cancelled,
        Self::Processing,
        Self::Sent,
        Self::Retrying,
        Self::GaveUp,
        Self::Elsewhere,
        Self::Recovered,
        Self::Woken,
    ];

    /// What happened, as the end of "and 7 more".
    fn words(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Cancelled => "cancelled",
            Self::Processing => "processing",
            Self::Sent => "sent",
            Self::Retrying => "failed and retrying",
            Self::GaveUp => "given up",
            Self::Elsewhere => "already claimed elsewhere",
            Self::Recovered => "recovered",
            Self::Woken => "woken",
        }
    }
}

/// How many lines of each kind there were in this second.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    second: i64,
    n: [u32; Kind::ALL.len()],
}

/// What to do with a line.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    /// It is said by itself.
    singly: bool,
    /// It is the first that is not, so that somebody must say the sum.
    sum_is_due: bool,
    /// What was counted in an earlier second, to be said now.
    sums: Vec<(Kind, u32)>,
}

impl Counts {
    fn note(&mut self, kind: Kind, now: Timestamp) -> Noted {
        let sums = if now.as_second() == self.second { Vec::new() } else { self.take() };
        self.second = now.as_second();
        let n = &mut self.n[kind as usize];
        *n = n.saturating_add(1);
        Noted { singly: *n <= SINGLY_MAX, sum_is_due: *n == SINGLY_MAX + 1, sums }
    }

    /// What was counted and not said, and forgets it.
    fn take(&mut self) -> Vec<(Kind, u32)> {
        let n = std::mem::take(&mut self.n);
        let sums = Kind::ALL.into_iter().map(|kind| (kind, n[kind as usize].saturating_sub(SINGLY_MAX)));
        sums.filter(|(_, n_more)| *n_more > 0).collect()
    }
}

impl Inner {
    /// Counts and says that `n` runs which this node came to claim were in another's hands.
    pub(crate) fn found_elsewhere(&self, n: usize) {
        if n == 0 {
            return;
        }
        self.metrics.claims_lost.inc_by(n as u64);
        if self.says(Kind::Elsewhere) {
            tracing::info!(n, "already claimed elsewhere");
        }
    }

    /// Whether a line of this kind is said by itself; if not, it is counted.
    pub(crate) fn says(&self, kind: Kind) -> bool {
        if !tracing::enabled!(tracing::Level::INFO) {
            // Only trouble is said, all of it.
            return true;
        }
        let Noted { singly, sum_is_due, sums } = lock(&self.said).note(kind, self.clock.now());
        say(&sums);
        if sum_is_due {
            let (said, clock) = (self.said.clone(), self.clock.clone());
            self.runtime.spawn(Box::pin(async move {
                clock.pause(SUM_AFTER).await;
                let sums = lock(&said).take();
                say(&sums);
            }));
        }
        singly
    }

    /// Says what was counted and not said, because the process ends.
    pub(crate) fn say_sums(&self) {
        let sums = lock(&self.said).take();
        say(&sums);
    }
}

fn say(sums: &[(Kind, u32)]) {
    for (kind, n_more) in sums {
        tracing::info!(n_more, "… and {n_more} more {} in this second", kind.words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fifty_lines_of_a_kind_in_a_second_are_said_and_the_rest_are_summed_up() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut counts = Counts::default();
        let singly = |counts: &mut Counts, n: u32, kind| (0..n).filter(|_| counts.note(kind, at(1)).singly).count();
        assert_eq!(singly(&mut counts, 50, Kind::Sent), 50);
        assert_eq!(counts.note(Kind::Sent, at(1)), Noted { singly: false, sum_is_due: true, sums: vec![] });
        assert_eq!(counts.note(Kind::Sent, at(1)), Noted { singly: false, sum_is_due: false, sums: vec![] });
        assert_eq!(singly(&mut counts, 60, Kind::Created), 50, "every kind has fifty of its own");
        let next = counts.note(Kind::Sent, at(2));
        assert_eq!(next, Noted { singly: true, sum_is_due: false, sums: vec![(Kind::Created, 10), (Kind::Sent, 2)] });
        assert_eq!(counts.note(Kind::Sent, at(3)).sums, vec![], "fifty or fewer leave nothing to sum up");
    }
}

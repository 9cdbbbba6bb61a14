//! The lines that a healthy system says, and how many of them.
//!
//! In any second the first lines of a kind are said one by one; the rest are counted and said as one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Clock;

use crate::node::lock;
use crate::system::Runtime;

/// So many lines of a kind are said singly in a second.
const SINGLY_MAX: u32 = 50;
/// How long a sum waits to be said.
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
    Planned,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Created,
        Self::Cancelled,
        Self::Processing,
        Self::Sent,
        Self::Retrying,
        Self::GaveUp,
        Self::Elsewhere,
        Self::Recovered,
        Self::Woken,
        Self::Planned,
    ];

    /// The event, as the end of "and 7 more".
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
            Self::Planned => "planned",
        }
    }
}

/// How many lines of each kind there were in this second.
#[derive(Debug, Default)]
struct Counts {
    second: i64,
    n: [u32; Kind::ALL.len()],
}

/// How a line is said.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    /// It is said by itself.
    singly: bool,
    /// It is the first that is not, so that somebody must say the sum.
    sum_is_due: bool,
    /// The lines that were counted in an earlier second, to be said now.
    sums: Vec<(Kind, u32)>,
}

impl Counts {
    fn count(&mut self, kind: Kind, now: Timestamp) -> Counted {
        let sums = if now.as_second() == self.second { Vec::new() } else { self.take() };
        self.second = now.as_second();
        let n = &mut self.n[kind as usize];
        *n = n.saturating_add(1);
        Counted { singly: *n <= SINGLY_MAX, sum_is_due: *n == SINGLY_MAX + 1, sums }
    }

    /// Takes the lines that were counted and not said.
    fn take(&mut self) -> Vec<(Kind, u32)> {
        let n = std::mem::take(&mut self.n);
        let sums = Kind::ALL.into_iter().map(|kind| (kind, n[kind as usize].saturating_sub(SINGLY_MAX)));
        sums.filter(|(_, n_more)| *n_more > 0).collect()
    }
}

/// The lines of a healthy system.
pub(crate) struct Log {
    clock: Arc<dyn Clock>,
    runtime: Arc<dyn Runtime>,
    counts: Arc<Mutex<Counts>>,
}

impl Log {
    pub(crate) fn new(clock: Arc<dyn Clock>, runtime: Arc<dyn Runtime>) -> Self {
        Self { clock, runtime, counts: Arc::default() }
    }

    /// Whether a line of this kind is said by itself; if not, it is counted.
    pub(crate) fn says(&self, kind: Kind) -> bool {
        if !tracing::enabled!(tracing::Level::INFO) {
            // Only trouble is said, all of it.
            return true;
        }
        let Counted { singly, sum_is_due, sums } = lock(&self.counts).count(kind, self.clock.now());
        say(&sums);
        if sum_is_due {
            let (counts, clock) = (self.counts.clone(), self.clock.clone());
            self.runtime.spawn(Box::pin(async move {
                clock.pause(SUM_AFTER).await;
                let sums = lock(&counts).take();
                say(&sums);
            }));
        }
        singly
    }

    /// Says the sums that were not said, because the process ends.
    pub(crate) fn say_sums(&self) {
        let sums = lock(&self.counts).take();
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
        let singly = |counts: &mut Counts, n: u32, kind| (0..n).filter(|_| counts.count(kind, at(1)).singly).count();
        assert_eq!(singly(&mut counts, 50, Kind::Sent), 50);
        assert_eq!(counts.count(Kind::Sent, at(1)), Counted { singly: false, sum_is_due: true, sums: vec![] });
        assert_eq!(counts.count(Kind::Sent, at(1)), Counted { singly: false, sum_is_due: false, sums: vec![] });
        assert_eq!(singly(&mut counts, 60, Kind::Created), 50, "every kind has fifty of its own");
        let next = counts.count(Kind::Sent, at(2));
        assert_eq!(next, Counted { singly: true, sum_is_due: false, sums: vec![(Kind::Created, 10), (Kind::Sent, 2)] });
        assert_eq!(counts.count(Kind::Sent, at(3)).sums, vec![], "fifty or fewer leave nothing to sum up");
    }
}

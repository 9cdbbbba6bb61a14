//! How late sends were: counts, small enough to be kept for weeks.
//!
//! A node counts in memory and writes what it has counted every few seconds: one row for each stretch of five minutes. No reminder costs a write of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;

/// How long a stretch is, in seconds.
pub const STRETCH_SECONDS: i64 = 300;
/// How long stretches are kept.
pub const KEPT_FOR: Duration = Duration::from_secs(35 * 86_400);
/// Each doubling of a lateness has so many steps: a percentile is right to an eighth.
const STEPS_OF_OCTAVE: u64 = 8;

/// The begin of the stretch in which `at` lies.
pub fn stretch_of(at: Timestamp) -> Timestamp {
    let second = at.as_second();
    // It is not before the first instant there is but for the first five minutes of time.
    Timestamp::from_second(second - second.rem_euclid(STRETCH_SECONDS)).unwrap_or(Timestamp::MIN)
}

/// What one run of one node has sent in one stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Its begin.
    pub at: Timestamp,
    /// Which node.
    pub node: String,
    /// When the node was started: it writes the row again and again, and after a restart another one.
    pub since: Timestamp,
    /// How late the sends were that have begun.
    pub late: Histogram,
    /// Attempts that have failed.
    pub failed: u64,
    /// Runs that were given up.
    pub given_up: u64,
    /// The most messages that were seen to wait for their turn.
    pub waiting: u64,
}

impl Stretch {
    /// An empty one.
    pub fn new(at: Timestamp, node: String, since: Timestamp) -> Self {
        Self { at, node, since, late: Histogram::default(), failed: 0, given_up: 0, waiting: 0 }
    }
}

/// Counts by how late.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many there are in each step that has any.
    counts: BTreeMap<u16, u64>,
    /// The latest of all.
    max: Duration,
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, late: Duration) {
        *self.counts.entry(step_of(late)).or_default() += 1;
        self.max = self.max.max(late);
    }

    /// Counts all that another has.
    pub fn merge(&mut self, other: &Self) {
        for (step, n) in &other.counts {
            *self.counts.entry(*step).or_default() += n;
        }
        self.max = self.max.max(other.max);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The latest of all.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// So many of a hundred were not later than this; none where there are none. It is up to an eighth too much, never too little.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut n_before = 0;
        for (step, n) in &self.counts {
            n_before += n;
            if n_before >= wanted {
                return Some(end_of(*step).min(self.max));
            }
        }
        None
    }

    /// How many there are until each of `ends`, and after the one before; and at last how many are later than all of them. A step that has an end
    /// within it counts to the part before it.
    pub fn between(&self, ends: &[Duration]) -> Vec<u64> {
        let mut parts = vec![0; ends.len() + 1];
        for (step, n) in &self.counts {
            let part = ends.iter().position(|end| begin_of(*step) < *end).unwrap_or(ends.len());
            parts[part] += n;
        }
        parts
    }

    /// What a store keeps beside the text of the counts.
    pub fn from_kept(counts: &str, max: Duration) -> Self {
        // A pair that cannot be read was written by a later version, and nothing hangs on it.
        let pair = |pair: &str| {
            let (step, n) = pair.split_once(':')?;
            Some((u16::from_str(step).ok()?, u64::from_str(n).ok()?))
        };
        Self { counts: counts.split(' ').filter_map(pair).collect(), max }
    }
}

/// The counts as a store keeps them: pairs of a step and how many are in it.
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (step, n)) in self.counts.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{step}:{n}")?;
        }
        Ok(())
    }
}

/// The step of a lateness: one for each microsecond up to eight, and then eight for each doubling.
fn step_of(late: Duration) -> u16 {
    let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
    if micros < STEPS_OF_OCTAVE {
        return micros as u16;
    }
    let octave = u64::from(micros.ilog2());
    ((octave - 2) * STEPS_OF_OCTAVE + ((micros >> (octave - 3)) & (STEPS_OF_OCTAVE - 1))) as u16
}

/// The shortest lateness of a step.
fn begin_of(step: u16) -> Duration {
    let step = u64::from(step);
    if step < STEPS_OF_OCTAVE {
        return Duration::from_micros(step);
    }
    let (octave, part) = (step / STEPS_OF_OCTAVE + 2, step % STEPS_OF_OCTAVE);
    // A step that nothing has written is no reason to stop.
    let micros = u32::try_from(octave - 3).ok().and_then(|shift| (STEPS_OF_OCTAVE + part).checked_shl(shift));
    Duration::from_micros(micros.unwrap_or(u64::MAX))
}

/// The end of a step: the begin of the next.
fn end_of(step: u16) -> Duration {
    begin_of(step.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn every_lateness_is_within_its_step_and_a_step_is_no_wider_than_an_eighth() {
        for micros in (0..5000).chain((0..60).map(|n| 1_u64 << n)).chain([3_600_000_000, 17_000_123]) {
            let late = Duration::from_micros(micros);
            let step = step_of(late);
            let (begin, end) = (begin_of(step), end_of(step));
            assert!(begin <= late && late < end, "{late:?} is in {begin:?} to {end:?}");
            assert!(end - begin <= (begin / 8).max(Duration::from_micros(1)), "{begin:?} to {end:?}");
        }
    }

    #[test]
    fn percentiles_are_right_to_an_eighth() {
        let mut late = Histogram::default();
        assert_eq!((late.count(), late.percentile(50.0)), (0, None));
        (1..=1000).for_each(|n| late.add(millis(n)));
        for (percent, expect) in [(50.0, 500), (90.0, 900), (99.0, 990), (100.0, 1000)] {
            let found = late.percentile(percent).expect("there are some");
            assert!(found >= millis(expect) && found <= millis(expect + expect / 8 + 1), "{percent}: {found:?}");
        }
        assert_eq!((late.count(), late.max(), late.percentile(100.0)), (1000, millis(1000), Some(millis(1000))));
        let parts = late.between(&[millis(10), millis(100), millis(5000)]);
        assert_eq!(parts.iter().sum::<u64>(), 1000);
        assert!((9..=12).contains(&parts[0]) && parts[3] == 0, "{parts:?}");
    }

    #[test]
    fn counts_are_kept_as_text_and_merged() {
        let mut one = Histogram::default();
        [0, 1, 1, 900].map(millis).into_iter().for_each(|late| one.add(late));
        let kept = Histogram::from_kept(&one.to_string(), one.max());
        assert_eq!(kept, one);
        let mut both = one.clone();
        both.merge(&kept);
        assert_eq!((both.count(), both.max()), (8, millis(900)));
        assert_eq!(Histogram::from_kept("", Duration::ZERO), Histogram::default());
        assert_eq!(Histogram::from_kept("nonsense 7:x 5:2", millis(1)).count(), 2);
    }

    #[test]
    fn a_stretch_begins_every_five_minutes() {
        let at = |text: &str| text.parse::<Timestamp>().expect("an instant");
        assert_eq!(stretch_of(at("2026-03-01T10:04:59.9Z")), at("2026-03-01T10:00:00Z"));
        assert_eq!(stretch_of(at("2026-03-01T10:05:00Z")), at("2026-03-01T10:05:00Z"));
        assert_eq!(stretch_of(at("1969-12-31T23:59:59Z")), at("1969-12-31T23:55:00Z"));
    }
}

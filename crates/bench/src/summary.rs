//! Many measurements in a few numbers.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::report::milliseconds;

/// The distribution of a number of spans.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    sorted: Vec<SignedDuration>,
}

impl Summary {
    /// The headers above [`Summary::cells`].
    pub(super) const COLUMNS: [&str; 4] = ["p50", "p90", "p99", "max"];

    pub(super) fn of(mut spans: Vec<SignedDuration>) -> Self {
        spans.sort_unstable();
        Self { sorted: spans }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The smallest span that at least `percent` of all do not exceed: a span that was measured, never one between two.
    pub(super) fn percentile(&self, percent: f64) -> Option<SignedDuration> {
        let rank = (percent / 100.0 * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.max(1) - 1).copied()
    }

    pub(super) fn max(&self) -> Option<SignedDuration> {
        self.sorted.last().copied()
    }

    /// How many are below zero.
    pub(super) fn n_negative(&self) -> usize {
        self.sorted.partition_point(SignedDuration::is_negative)
    }

    fn numbers(&self) -> [Option<SignedDuration>; 4] {
        [self.percentile(50.0), self.percentile(90.0), self.percentile(99.0), self.max()]
    }

    /// One text for each of [`Summary::COLUMNS`].
    pub(super) fn cells(&self) -> [String; 4] {
        self.numbers().map(|span| span.map_or_else(|| "–".into(), milliseconds))
    }

    /// The same in milliseconds.
    pub(super) fn json(&self) -> Value {
        let [p50, p90, p99, max] = self.numbers().map(|span| span.map(|span| span.as_secs_f64() * 1e3));
        json!({ "p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "max_ms": max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_millis(millis: impl IntoIterator<Item = i64>) -> Summary {
        Summary::of(millis.into_iter().map(SignedDuration::from_millis).collect())
    }

    #[track_caller]
    fn check(summary: &Summary, percent: f64, expect_millis: i64) {
        assert_eq!(summary.percentile(percent), Some(SignedDuration::from_millis(expect_millis)), "p{percent}");
    }

    #[test]
    fn a_percentile_is_the_measured_span_of_that_rank() {
        let hundred = of_millis((1..=100).rev());
        check(&hundred, 50.0, 50);
        check(&hundred, 90.0, 90);
        check(&hundred, 99.0, 99);
        check(&hundred, 100.0, 100);
        check(&hundred, 0.0, 1);
        let four = of_millis([4, 1, 3, 2]);
        check(&four, 50.0, 2);
        check(&four, 51.0, 3);
        check(&four, 99.0, 4);
        assert_eq!(four.max(), Some(SignedDuration::from_millis(4)));
    }

    #[test]
    fn one_span_is_every_percentile_and_none_is_none() {
        let one = of_millis([7]);
        check(&one, 1.0, 7);
        check(&one, 99.0, 7);
        let none = of_millis([]);
        assert_eq!(none.percentile(50.0), None);
        assert_eq!(none.max(), None);
        assert_eq!(none.cells(), ["–"; 4]);
    }

    #[test]
    fn a_message_that_came_early_is_counted() {
        assert_eq!(of_millis([-2, 0, -1, 5]).n_negative(), 2);
        assert_eq!(of_millis([0, 1]).n_negative(), 0);
        assert_eq!(of_millis([0, 1]).len(), 2);
    }
}

//! Compares the reminders that were asked for with those that arrived.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::receiver::Arrival;

/// The reminders that a node has acknowledged, and when each is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    pub(crate) due: BTreeMap<String, Timestamp>,
}

impl Books {
    pub(crate) fn ids(&self) -> impl Iterator<Item = &String> {
        self.due.keys()
    }

    pub(crate) fn add(&mut self, reminders: impl IntoIterator<Item = (String, Timestamp)>) {
        self.due.extend(reminders);
    }

    /// Compares them with what arrived.
    pub(crate) fn compare(&self, arrivals: &[Arrival]) -> Verdict {
        let mut first: HashMap<&str, &Arrival> = HashMap::new();
        let mut keys_of: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        let mut verdict = Verdict::default();
        for arrival in arrivals {
            match self.due.get(&arrival.reminder) {
                None => verdict.n_others += 1,
                Some(due_at) => assert_eq!(arrival.due_at, *due_at, "a message names an instant nobody asked for"),
            }
            verdict.n_early += usize::from(arrival.late().is_negative());
            keys_of.entry(&arrival.reminder).or_default().insert(&arrival.key);
            // In the order in which they came.
            if first.contains_key(arrival.key.as_str()) {
                verdict.n_repeats += 1;
            } else {
                first.insert(&arrival.key, arrival);
            }
        }
        verdict.missing = self.due.keys().filter(|id| !keys_of.contains_key(id.as_str())).cloned().collect();
        verdict.n_extra_effects = keys_of.values().map(|keys| keys.len() - 1).sum();
        verdict.n_effects = first.len();
        verdict.late = first.values().map(|arrival| arrival.late()).collect();
        verdict.late.sort_unstable();
        verdict
    }
}

/// What became of the reminders.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// Acknowledged and never seen.
    pub(crate) missing: Vec<String>,
    /// Different keys that came: what a receiver that honours keys has seen.
    pub(crate) n_effects: usize,
    /// Keys beyond the first of a reminder: what it would have seen twice.
    pub(crate) n_extra_effects: usize,
    /// Requests under a key that had come before.
    pub(crate) n_repeats: usize,
    /// Requests before their instant.
    pub(crate) n_early: usize,
    /// Arrived though never acknowledged: the answer to their creation was lost.
    pub(crate) n_others: usize,
    /// How late each effect was, in order.
    late: Vec<SignedDuration>,
}

impl Verdict {
    /// Everything that must hold whatever happens.
    #[track_caller]
    pub(crate) fn holds(&self) -> &Self {
        assert!(self.missing.is_empty(), "{} are missing, such as {}: {self}", self.missing.len(), self.missing[0]);
        assert_eq!(self.n_extra_effects, 0, "some were sent under two keys: {self}");
        assert_eq!(self.n_early, 0, "some came early: {self}");
        self
    }

    #[track_caller]
    pub(crate) fn late_at_most(&self, most: Duration) -> &Self {
        let max = self.percentile(100.0);
        assert!(max <= SignedDuration::try_from(most).unwrap(), "later than {most:?}: {self}");
        self
    }

    pub(crate) fn percentile(&self, percent: f64) -> SignedDuration {
        let rank = (percent / 100.0 * self.late.len() as f64).ceil() as usize;
        self.late.get(rank.max(1) - 1).copied().unwrap_or_default()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |percent| self.percentile(percent).as_secs_f64() * 1e3;
        write!(
            f,
            "{} effects, {} missing, {} under a second key, {} repeats under the same key, {} early; late min {:.1} ms, p50 \
             {:.1} ms, p99 {:.1} ms, max {:.1} ms",
            self.n_effects,
            self.missing.len(),
            self.n_extra_effects,
            self.n_repeats,
            self.n_early,
            millis(0.0),
            millis(50.0),
            millis(99.0),
            millis(100.0)
        )
    }
}

#[test]
fn the_books_see_every_kind_of_failure() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let came = |key: &str, reminder: &str, second| Arrival {
        key: key.into(),
        reminder: reminder.into(),
        due_at: at(10),
        at: at(second),
        sent_at: at(second),
    };
    let mut books = Books::default();
    books.add(["a", "b", "c", "d"].map(|id| (id.to_owned(), at(10))));
    let verdict = books.compare(&[
        came("a1", "a", 10),
        came("a1", "a", 30),
        came("b1", "b", 9),
        came("c1", "c", 12),
        came("c2", "c", 13),
        came("x1", "x", 11),
    ]);
    assert_eq!(verdict.missing, ["d"]);
    assert_eq!((verdict.n_effects, verdict.n_extra_effects, verdict.n_repeats), (5, 1, 1));
    assert_eq!((verdict.n_early, verdict.n_others), (1, 1));
    assert_eq!(verdict.percentile(100.0), SignedDuration::from_secs(3));
    assert_eq!(verdict.percentile(0.0), SignedDuration::from_secs(-1));
}

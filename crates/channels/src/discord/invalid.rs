//! Stopping before Discord shuts the door.
//!
//! Discord bans an address of the internet that makes 10,000 invalid requests (401, 403, 429) within 10 minutes. All bots of this
//! process call from one address, so they are counted together.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::common::http::{Answer, origin};

/// Where to stop, unless the settings say otherwise: a good way before 10,000, since requests under way still count.
pub(super) const INVALID_MAX: u64 = 8_000;
/// The ten minutes, and one more: a request is counted from when its send began, and was answered a little later.
pub(super) const COUNTED_FOR: SignedDuration = SignedDuration::from_mins(11);
/// More is never remembered; it is past every limit.
const REMEMBERED_MAX: usize = 10_000;

/// The invalid requests of the last minutes.
#[derive(Debug, Default)]
pub(super) struct Invalids {
    at: Mutex<VecDeque<Timestamp>>,
}

impl Invalids {
    /// The ones that all channels which call `api_url` share.
    pub(super) fn of(api_url: &str) -> Arc<Self> {
        static ALL: Mutex<BTreeMap<String, Arc<Invalids>>> = Mutex::new(BTreeMap::new());
        ALL.lock().unwrap_or_else(PoisonError::into_inner).entry(origin(api_url)).or_default().clone()
    }

    /// How long to wait until fewer than `max` are counted; `None` if there are fewer.
    pub(super) fn wait(&self, now: Timestamp, max: usize) -> Option<Duration> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        while at.front().is_some_and(|first| now.duration_since(*first) >= COUNTED_FOR) {
            at.pop_front();
        }
        let has_to_go = at.len().checked_sub(max)?;
        let wait = COUNTED_FOR - now.duration_since(at[has_to_go]);
        Some(wait.unsigned_abs().max(Duration::from_millis(1)))
    }

    /// Counts `answer` if it is invalid.
    pub(super) fn count_if_invalid(&self, answer: &Answer, sent_at: Timestamp) {
        if is_invalid(answer) {
            self.count(sent_at);
        }
    }

    fn count(&self, sent_at: Timestamp) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        // Sends end in another order than they began.
        let latest = at.back().copied().unwrap_or(sent_at);
        at.push_back(sent_at.max(latest));
        if at.len() > REMEMBERED_MAX {
            at.pop_front();
        }
    }
}

/// A limit that others share is nobody's fault and not counted.
fn is_invalid(answer: &Answer) -> bool {
    match answer.status.as_u16() {
        401 | 403 => true,
        429 => answer.headers.get("x-ratelimit-scope").is_none_or(|scope| scope != "shared"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_772_434_800 + second).unwrap()
    }

    #[test]
    fn it_stops_at_the_limit_and_goes_on_when_the_count_has_fallen() {
        let invalids = Invalids::default();
        for n in 0..7_999 {
            assert_eq!(invalids.wait(at(n / 100), 8_000), None);
            invalids.count(at(n / 100));
        }
        assert_eq!(invalids.wait(at(79), 8_000), None, "7,999 are one less");
        invalids.count(at(79));
        // The first 100 were counted at second 0, and are forgotten 11 minutes later.
        assert_eq!(invalids.wait(at(79), 8_000), Some(Duration::from_secs(660 - 79)));
        assert_eq!(invalids.wait(at(659), 8_000), Some(Duration::from_secs(1)));
        assert_eq!(invalids.wait(at(660), 8_000), None);
        assert_eq!(invalids.at.lock().unwrap().len(), 7_900);
    }

    #[test]
    fn requests_under_way_beyond_the_limit_are_waited_for_too() {
        let invalids = Invalids::default();
        for second in 0..13 {
            invalids.count(at(second));
        }
        // Four must leave before there are fewer than ten.
        assert_eq!(invalids.wait(at(20), 10), Some(Duration::from_secs(660 + 3 - 20)));
        for _ in 0..20_000 {
            invalids.count(at(0));
        }
        assert_eq!(invalids.at.lock().unwrap().len(), REMEMBERED_MAX);
        assert!(invalids.wait(at(30), 10).is_some_and(|wait| wait <= COUNTED_FOR.unsigned_abs()));
    }

    #[test]
    fn bots_of_one_api_are_counted_together() {
        let (one, other) = (Invalids::of("http://a.example/api/v10"), Invalids::of("http://b.example/api/v10"));
        one.count(at(0));
        assert!(Invalids::of("http://a.example/api/v9").wait(at(0), 1).is_some());
        assert_eq!(other.wait(at(0), 1), None);
    }
}

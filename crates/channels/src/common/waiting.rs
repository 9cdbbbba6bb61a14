//! Telling a platform that throttles one address from one that throttles all.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Whom;

/// So many addresses that wait at once are no coincidence: then the whole platform is meant.
const CROWD: usize = 10;

/// Some platforms ask for a wait and do not say of whom. It is taken to be meant for the address; when many addresses wait at the
/// same time it is meant for all, and asking on from each of them would only make it worse.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    waiting: Mutex<Vec<(String, Timestamp)>>,
}

impl Crowd {
    /// `address` was asked at `now` to wait. What has to wait?
    pub(crate) fn whom(&self, address: &str, now: Timestamp, wait: Duration) -> Whom {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(other, until)| *until > now && other != address);
        // What is past the crowd changes nothing, so no more is remembered.
        waiting.truncate(CROWD - 1);
        waiting.push((address.to_owned(), now.saturating_add(wait).unwrap_or(now)));
        if waiting.len() >= CROWD { Whom::Receiver } else { Whom::Address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_wait_at_once_hold_all() {
        let crowd = Crowd::default();
        let now: Timestamp = "2026-03-02T07:00:00Z".parse().unwrap();
        let wait = Duration::from_secs(5);
        for _ in 0..100 {
            assert_eq!(crowd.whom("one", now, wait), Whom::Address, "one address, however often, is no crowd");
        }
        for n in 1..9 {
            assert_eq!(crowd.whom(&n.to_string(), now, wait), Whom::Address, "{n}");
        }
        assert_eq!(crowd.whom("9", now, wait), Whom::Receiver);
        assert_eq!(crowd.whom("10", now, wait), Whom::Receiver);
        let later = now.checked_add(wait).unwrap();
        assert_eq!(crowd.whom("11", later, wait), Whom::Address, "their waits are over");
    }
}

//! Telling a platform that throttles one address from one that throttles all.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Whom;

/// So many addresses that wait at once are no coincidence: then the whole platform is meant.
const ALL_MEANT: usize = 10;

/// Some platforms ask for a wait and do not say of whom. It is taken to be meant for the address; when many addresses wait at the
/// same time it is meant for all, and asking on from each of them would only make it worse.
#[derive(Debug, Default)]
pub(crate) struct WaitingAddresses {
    waiting: Mutex<Vec<(String, Timestamp)>>,
}

impl WaitingAddresses {
    /// `address` was asked at `now` to wait. Says who has to wait.
    pub(crate) fn whom(&self, address: &str, now: Timestamp, wait: Duration) -> Whom {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(other, until)| *until > now && other != address);
        // More than so many change nothing, so no more are remembered.
        waiting.truncate(ALL_MEANT - 1);
        waiting.push((address.to_owned(), now.saturating_add(wait).unwrap_or(now)));
        if waiting.len() >= ALL_MEANT { Whom::Receiver } else { Whom::Address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_addresses_that_wait_at_once_mean_the_whole_platform() {
        let addresses = WaitingAddresses::default();
        let now: Timestamp = "2026-03-02T07:00:00Z".parse().unwrap();
        let wait = Duration::from_secs(5);
        for _ in 0..100 {
            assert_eq!(
                addresses.whom("one", now, wait),
                Whom::Address,
                "one address, however often, is not all of them"
            );
        }
        for n in 1..9 {
            assert_eq!(addresses.whom(&n.to_string(), now, wait), Whom::Address, "{n}");
        }
        assert_eq!(addresses.whom("9", now, wait), Whom::Receiver);
        assert_eq!(addresses.whom("10", now, wait), Whom::Receiver);
        let later = now.checked_add(wait).unwrap();
        assert_eq!(addresses.whom("11", later, wait), Whom::Address, "their waits are over");
    }
}

//! Keeping a bot's requests, and not only its messages, within its rate.
//!
//! A message to a person may be two requests, because the channel to that person is opened first; a count of messages would let
//! twice as many requests through as Discord takes. So each request waits here for its place.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_core::channel::{Rate, SendError, Whom};
use tokio::time::Instant;

/// The longest wait in here. A request that would wait for longer fails as throttled, and the whole bot waits.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The places of the last requests, and of those that wait.
#[derive(Debug)]
pub(super) struct Places {
    rate: Option<Rate>,
    taken: Mutex<VecDeque<Instant>>,
}

impl Places {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self { rate, taken: Mutex::default() }
    }

    /// Returns when a request may be made.
    #[expect(clippy::disallowed_methods, reason = "a request's time is real: it cannot be simulated past its socket")]
    pub(super) async fn wait(&self) -> Result<(), SendError> {
        let now = Instant::now();
        let place = self.place(now).map_err(|wait| SendError::Throttled { wait, whom: Whom::Receiver })?;
        if place > now {
            tokio::time::sleep_until(place).await;
        }
        Ok(())
    }

    /// The next free place, which is then taken; or how long that is away, if it is too long.
    fn place(&self, now: Instant) -> Result<Instant, Duration> {
        let Some(Rate { n, per }) = self.rate else { return Ok(now) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        // As many are remembered as the rate allows, so the first of them is the one that has to be past.
        let place = match taken.front() {
            Some(first) if taken.len() >= n as usize => now.max(*first + per),
            _ => now,
        };
        let wait = place - now;
        if wait > WAIT_MAX {
            return Err(wait);
        }
        taken.push_back(place);
        if taken.len() > n as usize {
            taken.pop_front();
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "an instant to count from")]
    fn in_no_second_are_there_more() {
        let bot = Places::new(Some(Rate::per_second(50)));
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut places: Vec<Instant> = (0..50).map(|n| bot.place(at(n)).unwrap()).collect();
        assert_eq!(places, (0..50).map(at).collect::<Vec<_>>(), "within the rate nobody waits");
        places.extend((0..100).map(|_| bot.place(at(60)).unwrap()));
        assert_eq!((places[50], places[149]), (at(1000), at(2049)), "each a second after the fiftieth before it");
        places.extend((0..50).map(|_| bot.place(at(200)).unwrap()));
        assert_eq!(bot.place(at(0)), Err(Duration::from_millis(4000)), "too long for here");
        assert_eq!(bot.place(at(1000)), Ok(at(4000)), "and no place was taken by it");
        assert!(places.windows(51).all(|some| some[50] - some[0] >= Duration::from_secs(1)));
        assert_eq!(Places::new(None).place(at(7)), Ok(at(7)));
    }
}

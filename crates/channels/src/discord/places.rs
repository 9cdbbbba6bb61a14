//! Keeping a bot's requests, and not only its messages, within its rate.
//!
//! A message to a person may be two requests, because the channel to that person is opened first; a count of messages would let
//! twice as many requests through as Discord takes. So each request waits here for its place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_core::channel::{Rate, SendError, Whom};
use punctual_core::clock::Clock;

/// The longest wait in here. A request that would wait for longer fails as throttled, and the whole bot waits.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The places of the last requests, and of those that wait.
#[derive(Debug)]
pub(super) struct Places {
    rate: Option<Rate>,
    clock: Arc<dyn Clock>,
    /// By how long the clock had run.
    taken: Mutex<VecDeque<Duration>>,
}

impl Places {
    pub(super) fn new(rate: Option<Rate>, clock: Arc<dyn Clock>) -> Self {
        Self { rate, clock, taken: Mutex::default() }
    }

    /// Returns when a request may be made.
    pub(super) async fn wait(&self) -> Result<(), SendError> {
        let now = self.clock.run_for();
        let place = self.place(now).map_err(|wait| SendError::Throttled { wait, whom: Whom::Receiver })?;
        if place > now {
            self.clock.pause(place - now).await;
        }
        Ok(())
    }

    /// The next free place, which is then taken; or how long that is away, if it is too long.
    fn place(&self, now: Duration) -> Result<Duration, Duration> {
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
    use futures_util::FutureExt;
    use jiff::{SignedDuration, Timestamp};
    use punctual_testkit::clock::ManualClock;

    use super::*;

    fn places(n: Option<u32>) -> (ManualClock, Places) {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let places = Places::new(n.map(Rate::per_second), Arc::new(clock.clone()));
        (clock, places)
    }

    #[test]
    fn a_request_waits_for_its_place_whatever_the_clock_is_set_to() {
        let (clock, bot) = places(Some(1));
        let mut requests: Vec<_> = (0..5).map(|_| Box::pin(bot.wait())).collect();
        let said: Vec<_> = requests.iter_mut().map(FutureExt::now_or_never).collect();
        let too_far = SendError::Throttled { wait: Duration::from_secs(4), whom: Whom::Receiver };
        assert_eq!(said, [Some(Ok(())), None, None, None, Some(Err(too_far))]);
        for request in &mut requests[1..4] {
            clock.advance(SignedDuration::from_millis(999));
            clock.set(Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1));
            assert_eq!(request.now_or_never(), None);
            clock.advance(SignedDuration::from_millis(1));
            assert_eq!(request.now_or_never(), Some(Ok(())));
        }
    }

    #[test]
    fn in_no_second_are_there_more() {
        let (_, bot) = places(Some(50));
        let at = Duration::from_millis;
        let mut places: Vec<Duration> = (0..50).map(|n| bot.place(at(n)).unwrap()).collect();
        assert_eq!(places, (0..50).map(at).collect::<Vec<_>>(), "within the rate nobody waits");
        places.extend((0..100).map(|_| bot.place(at(60)).unwrap()));
        assert_eq!((places[50], places[149]), (at(1000), at(2049)), "each a second after the fiftieth before it");
        places.extend((0..50).map(|_| bot.place(at(200)).unwrap()));
        assert_eq!(bot.place(at(0)), Err(Duration::from_millis(4000)), "too long for here");
        assert_eq!(bot.place(at(1000)), Ok(at(4000)), "and no place was taken by it");
        assert!(places.windows(51).all(|some| some[50] - some[0] >= Duration::from_secs(1)));
        assert_eq!(self::places(None).1.place(at(7)), Ok(at(7)));
    }
}

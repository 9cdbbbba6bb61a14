//! When open pages look again: they take turns, so that very many of them cost nobody a late reminder.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_core::clock::Clock;

/// The pages of this node look again at most this often, all together,
const TURN: Duration = Duration::from_millis(5);
/// after so many that may do it at once.
const TURNS_AT_ONCE: u32 = 50;
/// The longest that a page waits for its turn. Where more wait than have a turn by then, the last are shown together.
const WAIT_MAX: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Turns {
    /// Up to when turns are taken, on a clock that is never set.
    taken_until: Mutex<Duration>,
}

impl Turns {
    /// Waits for a turn. It is taken at once: whoever goes away meanwhile leaves a gap.
    pub(super) async fn wait(&self, clock: &dyn Clock) {
        let wait = self.take(clock.run_for());
        if !wait.is_zero() {
            clock.pause(wait).await;
        }
    }

    /// How long the next page waits.
    fn take(&self, now: Duration) -> Duration {
        let mut taken_until = self.taken_until.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (*taken_until).max(now.saturating_sub(TURN * TURNS_AT_ONCE));
        *taken_until = (at + TURN).min(now + WAIT_MAX);
        at.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pages_take_turns_and_none_waits_for_ever() {
        let (turns, minute) = (Turns::default(), Duration::from_secs(60));
        let wait = || turns.take(minute).as_millis();
        assert!((0..=TURNS_AT_ONCE).all(|_| wait() == 0));
        assert_eq!([wait(), wait(), wait()], [5, 10, 15]);
        assert_eq!((0..1_000_000).map(|_| wait()).max(), Some(10_000));
        assert_eq!(turns.take(2 * minute), Duration::ZERO);
    }
}

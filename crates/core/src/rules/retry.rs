//! How long to wait before trying again.

use std::time::Duration;

use crate::reminder::Priority;

/// The longest wait between two tries.
pub const DELAY_MAX: Duration = Duration::from_secs(3600);

/// The first delay of each priority; it doubles with every failed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// By rank: low, normal, high, critical.
    pub base: [Duration; 4],
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { base: [300, 60, 30, 10].map(Duration::from_secs) }
    }
}

impl RetryPolicy {
    /// The wait after `rounds` failed rounds (1 after the first), with up to a tenth added by `jitter` in
    /// `0.0..1.0`, so that what failed together does not come back together.
    pub fn delay(&self, priority: Priority, rounds: u32, jitter: f64) -> Duration {
        let base = self.base[usize::from(priority.rank())];
        let doubled = base.saturating_mul(1u32.checked_shl(rounds.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(DELAY_MAX).mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_from_the_priority_base_up_to_an_hour() {
        let policy = RetryPolicy::default();
        for (priority, rounds, seconds) in [
            (Priority::Critical, 1, 10),
            (Priority::Critical, 2, 20),
            (Priority::High, 1, 30),
            (Priority::Normal, 1, 60),
            (Priority::Normal, 3, 240),
            (Priority::Low, 1, 300),
            (Priority::Low, 9, 3600),
            (Priority::Low, 100, 3600),
        ] {
            assert_eq!(policy.delay(priority, rounds, 0.0).as_secs(), seconds, "{priority} after {rounds}");
        }
        assert!(policy.delay(Priority::Normal, 1, 0.999) < Duration::from_secs(67));
    }
}

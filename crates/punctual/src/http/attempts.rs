//! How often somebody may show a wrong key to the page.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// Wrong keys in a minute, from one address and in all.
const PER_ADDRESS_MAX: u32 = 10;
const IN_ALL_MAX: u32 = 200;
const PER_SECONDS: i64 = 60;
/// How many addresses are remembered. More are counted together.
const ADDRESSES_MAX: usize = 10_000;

/// The wrong keys of the minute that runs.
#[derive(Default)]
pub(super) struct Attempts(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    begun: i64,
    in_all: u32,
    by_address: HashMap<Option<IpAddr>, u32>,
}

impl Attempts {
    /// Lets somebody at `from` try, or says in how many seconds they may.
    pub(super) fn admit(&self, from: Option<IpAddr>, now: Timestamp) -> Result<(), u32> {
        let minute = self.at(now);
        let own = minute.by_address.get(&network(from)).copied().unwrap_or_default();
        if own < PER_ADDRESS_MAX && minute.in_all < IN_ALL_MAX {
            return Ok(());
        }
        Err(u32::try_from(minute.begun + PER_SECONDS - now.as_second()).unwrap_or(1).max(1))
    }

    /// Counts a wrong key.
    pub(super) fn failed(&self, from: Option<IpAddr>, now: Timestamp) {
        let mut minute = self.at(now);
        minute.in_all += 1;
        let is_full = minute.by_address.len() >= ADDRESSES_MAX;
        let from = if is_full { None } else { network(from) };
        *minute.by_address.entry(from).or_default() += 1;
    }

    /// Somebody there has a right key.
    pub(super) fn worked(&self, from: Option<IpAddr>) {
        self.lock().by_address.remove(&network(from));
    }

    fn at(&self, now: Timestamp) -> MutexGuard<'_, Minute> {
        let mut minute = self.lock();
        // A clock that was set back begins another minute as well.
        if !(0..PER_SECONDS).contains(&(now.as_second() - minute.begun)) {
            *minute = Minute { begun: now.as_second(), ..Minute::default() };
        }
        minute
    }

    fn lock(&self) -> MutexGuard<'_, Minute> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One customer has a whole network of IPv6 addresses: the first half is who they are.
fn network(from: Option<IpAddr>) -> Option<IpAddr> {
    match from {
        Some(IpAddr::V6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => Some(ip.into()),
            None => Some(IpAddr::V6((u128::from(ip) >> 64 << 64).into())),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn wrong_keys_from_one_address_are_limited_and_cost_nobody_else() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_second(1000).unwrap());
        for _ in 0..PER_ADDRESS_MAX {
            assert_eq!(attempts.admit(ip("2001:db8::1"), now), Ok(()));
            attempts.failed(ip("2001:db8::1"), now);
        }
        assert_eq!(attempts.admit(ip("2001:db8::2"), now), Err(60), "it is the same customer");
        assert_eq!(attempts.admit(ip("2001:db8:0:1::1"), now), Ok(()));
        assert_eq!(attempts.admit(ip("127.0.0.1"), now), Ok(()));
        let later = Timestamp::from_second(1060).unwrap();
        assert_eq!(attempts.admit(ip("2001:db8::1"), later), Ok(()), "a minute has passed");
    }

    #[test]
    fn wrong_keys_from_everywhere_are_limited_in_all() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_second(1000).unwrap());
        for n in 0..IN_ALL_MAX {
            attempts.failed(ip(&format!("10.0.{}.{}", n / 250, n % 250)), now);
        }
        assert_eq!(attempts.admit(ip("127.0.0.1"), now), Err(60));
    }
}

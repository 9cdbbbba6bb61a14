//! Telling one address that is to wait from a whole host that is overrun.
//!
//! A web host is shared by strangers and does not say whom it means by `Retry-After`. So a wait holds the address that met it. Only
//! when several users' addresses meet one within a short while is it the host's, and then for a minute at a time: nobody's
//! receiver closes a host for others.

use std::time::Duration;

use jiff::Timestamp;

use crate::instant::{minus, plus, signed};

/// So many users that met a wait are no coincidence.
const USERS: usize = 3;
/// Within so long.
const WITHIN: Duration = Duration::from_secs(60);
/// How long a host is left alone at most, whatever it asked for.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The users whose addresses met a wait of one host lately, at most [`USERS`].
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    met: Vec<(String, Timestamp)>,
}

impl Crowd {
    /// An address of `user`'s was asked to wait; returns how long the whole host is to be left alone, if it is.
    pub(crate) fn meet(&mut self, user: &str, wait: Duration, now: Timestamp) -> Option<Duration> {
        let since = minus(now, WITHIN);
        self.met.retain(|(other, at)| *at > since && other != user);
        if self.met.len() == USERS {
            self.met.remove(0);
        }
        self.met.push((user.to_owned(), now));
        (self.met.len() == USERS).then_some(wait.min(WAIT_MAX))
    }

    /// Whether nobody met a wait lately.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        self.met.last().is_none_or(|(_, at)| plus(*at, signed(WITHIN)) <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn three_users_within_a_minute_are_a_crowd_and_one_user_never_is() {
        let mut crowd = Crowd::default();
        let hour = Duration::from_secs(3600);
        for second in 0..100 {
            assert_eq!(crowd.meet("ann", hour, at(second)), None);
        }
        assert_eq!(crowd.meet("bob", hour, at(100)), None);
        assert_eq!(crowd.meet("cleo", hour, at(161)), None, "the others met it more than a minute ago");
        assert_eq!(crowd.meet("ann", hour, at(162)), None);
        assert_eq!(crowd.meet("bob", hour, at(163)), Some(WAIT_MAX), "never longer than a minute");
        assert_eq!(crowd.meet("dora", Duration::from_secs(5), at(164)), Some(Duration::from_secs(5)));
        assert_eq!(crowd.met.len(), USERS, "no more is remembered");
        assert!(!crowd.is_idle(at(223)) && crowd.is_idle(at(224)));
        assert_eq!(crowd.meet("ann", hour, at(230)), None, "and then it begins anew");
    }
}

//! Wait, go another way, or fail: one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{at, claimed, once, reminder};
use punctual_core::channel::{SendError, Whom};
use punctual_core::occurrence::Tries;
use punctual_core::reminder::{OnUnknown, Priority, Reminder};
use punctual_core::retry::RetryPolicy;
use punctual_core::rules::route::{Trouble, WayOn, is_out_of_patience, way_on};
use punctual_core::store::Claimed;

const DAY: i64 = 24 * 3600;

/// A run on its way: which of how many addresses it tries, and what it has tried before. It was due at second 0, its priority is
/// normal, and it has three retries: after 60, 120 and 240 seconds.
#[derive(Clone, Copy)]
struct Run {
    n_addresses: usize,
    position: u32,
    refused: u64,
    rounds: u32,
}

/// A run that tries the first of so many addresses for the first time.
fn first_of(n_addresses: usize) -> Run {
    Run { n_addresses, position: 0, refused: 0, rounds: 0 }
}

impl Run {
    fn claimed(self, change: impl FnOnce(&mut Reminder)) -> Claimed {
        let mut wanted = reminder(once());
        change(&mut wanted);
        let mut claimed = claimed(wanted, self.n_addresses);
        claimed.position = self.position;
        claimed.before.tries =
            Tries { position: self.position, refused: self.refused, rounds: self.rounds, ..Tries::default() };
        claimed
    }

    /// Which way it goes on at second 2.
    fn check(self, trouble: Trouble, expect: WayOn) {
        let Self { position, refused, rounds, n_addresses } = self;
        let found = way_on(&self.claimed(|_| {}), trouble, &RetryPolicy::default(), 0.0, at(2));
        assert_eq!(found, expect, "{trouble:?} at {position} of {n_addresses}, refused {refused:b}, round {rounds}");
    }
}

fn full(until: i64) -> Trouble {
    Trouble::Full { until: at(until) }
}

fn asked(until: i64) -> Trouble {
    Trouble::AskedToWait { until: at(until), since: None }
}

fn only_fails(until: i64) -> Trouble {
    Trouble::OnlyFails { until: at(until), n_failed: 10 }
}

fn wait(until: i64) -> WayOn {
    WayOn::Wait { until: at(until), is_news: false }
}

fn other(position: u32) -> WayOn {
    WayOn::OtherAddress { position }
}

fn again(second: i64, position: u32) -> WayOn {
    WayOn::Again { at: at(second), position }
}

#[test]
fn a_run_waits_for_its_rate_however_long_that_takes() {
    for n_addresses in [1, 3] {
        first_of(n_addresses).check(full(5), wait(5));
        first_of(n_addresses).check(full(DAY), wait(DAY));
    }
}

#[test]
fn a_run_goes_another_way_when_a_wait_is_longer_than_a_retry() {
    let one = first_of(1);
    let two = first_of(2);
    // A normal run is tried again after a minute.
    two.check(asked(60), wait(60));
    two.check(asked(61), other(1));
    one.check(asked(61), wait(61));
    one.check(asked(DAY), wait(DAY));
    // An address that has refused is no other way.
    Run { refused: 0b10, ..two }.check(asked(61), wait(61));
    // The other way was tried first in this round, so the next round begins with it.
    Run { position: 1, ..two }.check(asked(61), again(62, 0));
    Run { position: 1, rounds: 3, ..two }.check(asked(61), WayOn::Fail);
}

#[test]
fn a_run_with_one_address_left_waits_for_a_failing_receiver_as_long_as_its_retries_would_take() {
    let one = first_of(1);
    let two = first_of(2);
    // 60 + 120 + 240 seconds.
    one.check(only_fails(420), wait(420));
    Run { rounds: 3, ..one }.check(only_fails(420), wait(420));
    Run { refused: 0b10, ..two }.check(only_fails(420), wait(420));
    // Then it fails there, as if it had been tried; no retry comes before the receiver is called again.
    one.check(only_fails(421), again(421, 0));
    Run { rounds: 3, ..one }.check(only_fails(421), WayOn::Fail);
    // Another address is tried at once.
    two.check(only_fails(3), other(1));
    Run { position: 1, ..two }.check(only_fails(3), again(62, 0));
    Run { position: 1, ..two }.check(only_fails(500), again(500, 0));
    Run { position: 1, rounds: 3, ..two }.check(only_fails(3), WayOn::Fail);
}

#[test]
fn a_failed_send_goes_to_the_next_address_then_into_the_next_round_and_then_fails() {
    let three = first_of(3);
    for (run, trouble, expect) in [
        (three, Trouble::Unavailable, other(1)),
        (Run { position: 2, ..three }, Trouble::Unavailable, again(62, 0)),
        (Run { position: 2, rounds: 1, ..three }, Trouble::Unavailable, again(122, 0)),
        (Run { position: 2, rounds: 2, ..three }, Trouble::Unavailable, again(242, 0)),
        (Run { position: 2, rounds: 3, ..three }, Trouble::Unavailable, WayOn::Fail),
        (Run { position: 1, refused: 0b101, ..three }, Trouble::Unavailable, again(62, 1)),
        (three, Trouble::Refused, other(1)),
        (Run { position: 2, ..three }, Trouble::Refused, again(62, 0)),
        (Run { position: 2, refused: 0b011, ..three }, Trouble::Refused, WayOn::Fail),
        (first_of(1), Trouble::Refused, WayOn::Fail),
    ] {
        run.check(trouble, expect);
    }
}

#[test]
fn a_run_that_may_have_arrived_is_sent_again_unless_its_reminder_or_its_channel_holds_it() {
    use OnUnknown::{Auto, Hold, Resend};
    let two = first_of(2);
    let rows = [
        (two, Resend, true, other(1)),
        (two, Auto, false, other(1)),
        // The channel holds it: no more there, and another way is free.
        (two, Auto, true, other(1)),
        (Run { position: 1, ..two }, Auto, true, again(62, 0)),
        (Run { position: 1, refused: 0b01, ..two }, Auto, true, WayOn::Hold),
        (first_of(1), Auto, true, WayOn::Hold),
        // With another address left but no round, it has failed.
        (Run { position: 1, rounds: 3, ..two }, Auto, true, WayOn::Fail),
        // The reminder holds it: nowhere.
        (two, Hold, false, WayOn::Hold),
    ];
    for (run, on_unknown, channel_holds, expect) in rows {
        let mut claimed = run.claimed(|reminder| reminder.on_unknown = on_unknown);
        claimed.holds_unknown = channel_holds;
        let found = way_on(&claimed, Trouble::MayHaveArrived, &RetryPolicy::default(), 0.0, at(2));
        assert_eq!(found, expect, "{on_unknown:?}, channel holds: {channel_holds}, at {}", run.position);
    }
}

#[test]
fn a_receiver_that_only_asks_to_wait_is_given_up_after_a_day() {
    let claimed = first_of(1).claimed(|_| {});
    let policy = RetryPolicy::default();
    let asked = |since: Option<i64>| Trouble::AskedToWait { until: at(2 * DAY), since: since.map(at) };
    for (since, now, gives_up) in [
        (Some(10), DAY + 10, true),
        (Some(10), DAY + 9, false),
        (Some(-DAY), DAY, false),
        (Some(-DAY), DAY + 1, true),
        (None, 9 * DAY, false),
    ] {
        assert_eq!(is_out_of_patience(&claimed, since.map(at), at(now)), gives_up, "{since:?} {now}");
        let found = way_on(&claimed, asked(since), &policy, 0.0, at(now));
        let expect = if gives_up { again(now + 60, 0) } else { wait(2 * DAY) };
        assert_eq!(found, expect, "{since:?} {now}");
    }
}

#[test]
fn the_admins_hear_once_that_the_only_way_of_a_critical_run_fails() {
    let is_news = |run: Run, change: fn(&mut Claimed)| {
        let mut claimed = run.claimed(|reminder| reminder.priority = Priority::Critical);
        change(&mut claimed);
        let way_on = way_on(&claimed, only_fails(3), &RetryPolicy::default(), 0.0, at(2));
        matches!(way_on, WayOn::Wait { is_news: true, .. })
    };
    let one = first_of(1);
    assert!(is_news(one, |_| {}));
    assert!(!is_news(Run { rounds: 1, ..one }, |_| {}), "they heard of the first round");
    assert!(!is_news(one, |claimed| claimed.before.tries.reached = 1), "the person was reached");
    assert!(!is_news(one, |claimed| claimed.message_id = Some("sid".into())), "the platform has it");
    let normal = |claimed: &mut Claimed| Arc::make_mut(&mut claimed.reminder).priority = Priority::Normal;
    assert!(!is_news(one, normal));
}

#[test]
fn a_channel_s_error_says_which_trouble_it_is() {
    let throttled = |wait| SendError::Throttled { wait, whom: Whom::Receiver };
    for (error, expect) in [
        (throttled(Duration::from_secs(7)), asked(9)),
        (throttled(Duration::from_secs(3 * DAY as u64)), asked(2 + DAY)),
        (SendError::Unavailable("503".into()), Trouble::Unavailable),
        (SendError::Unknown("cut off".into()), Trouble::MayHaveArrived),
        (SendError::Refused("400".into()), Trouble::Refused),
        (SendError::Gone("410".into()), Trouble::Refused),
    ] {
        assert_eq!(Trouble::of(&error, at(2)), expect, "{error:?}");
    }
}

//! A checker that never complains proves nothing. Here five guarantees are broken on purpose: each must be noticed, by the
//! checker whose business it is, within a few seeds; and the same worlds without the sabotage must pass.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_testkit::broken::{AckBeforeCommit, DroppedRetry, EarlyClock, ForgedLease, IgnoredCancel};
use punctual_testkit::sim::check::{CANCELLED, NEVER_EARLY, NEVER_LOST, NO_LIMBO, SENT_ONCE};
use punctual_testkit::sim::{self, Options, Sabotage};

/// No guarantee takes more worlds to be seen broken.
const SEEDS_MAX: u64 = 40;

/// Breaks the world with `sabotage` until one of `checkers` complains; then runs the same seeds unbroken.
#[track_caller]
fn check_noticed(sabotage: impl Sabotage + 'static, world: Options, checkers: &[&str]) {
    let broken = Options { sabotage: Some(Arc::new(sabotage)), ..world.clone() };
    let mut others = Vec::new();
    for seed in 1..=SEEDS_MAX {
        // The same seed passes without the sabotage, so it is the sabotage that was noticed.
        if let Err(failure) = sim::run(seed, &world) {
            panic!("not even broken: {failure}");
        }
        match sim::run(seed, &broken) {
            Err(failure) if checkers.iter().any(|checker| failure.is_by(checker)) => {
                println!("noticed: {failure}");
                return;
            }
            Err(failure) => others.push(failure.to_string()),
            Ok(_) => {}
        }
    }
    panic!("none of {checkers:?} noticed within {SEEDS_MAX} seeds; what others said:\n{}", others.join("\n"));
}

#[test]
fn a_send_before_its_instant_is_noticed() {
    check_noticed(EarlyClock(SignedDuration::from_millis(200)), Options::calm(), &[NEVER_EARLY]);
}

#[test]
fn a_forgotten_lease_check_is_noticed() {
    // Two engines on one store, one of which stands still past its lease while the other takes over.
    let world = Options { n_engines: 2, stalls: Some(60), receivers_hang: true, ..Options::calm() };
    check_noticed(ForgedLease, world, &[SENT_ONCE, NO_LIMBO]);
}

#[test]
fn an_acknowledgement_before_the_commit_is_noticed() {
    check_noticed(AckBeforeCommit, Options { crashes: true, ..Options::calm() }, &[NEVER_LOST]);
}

#[test]
fn a_dropped_retry_is_noticed() {
    check_noticed(DroppedRetry, Options { receivers_fail: true, ..Options::calm() }, &[NEVER_LOST]);
}

#[test]
fn a_send_after_a_cancel_is_noticed() {
    check_noticed(IgnoredCancel, Options::calm(), &[CANCELLED]);
}

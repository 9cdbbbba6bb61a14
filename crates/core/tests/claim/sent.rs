//! What a claim leases, what it locks for that, and what it leaves alone.

use std::collections::HashMap;

use punctual_core::decide::claim::{Due, Found, TooEarly, look};
use punctual_core::occurrence::{Occurrence, State, Tries};
use punctual_core::reminder::{AckPolicy, Address, MisfirePolicy};
use punctual_core::silence::Silences;
use punctual_core::store::Claim;

use crate::common::{asked, at, every, occurrence, once, processing, reminder, retrying};
use crate::{broken, check_all, claim_at, given, misfire, quiet, web};

#[test]
fn what_is_sent() {
    check_all([
        (
            "a run that is due is leased, and its attempt is written with the lease; its series is left alone",
            given(every(60)),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
        (
            "a run that is claimed ahead is sent when it is due",
            given(once()).now(-5),
            &["send run 1 to web:a at 0, lease 1 until 10, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 10, to web:a since -5; attempts 1"],
        ),
        (
            "a retry goes to the address that comes next",
            given(once()).run(retrying(at(60), "500")).now(60).with(|given| {
                given.addresses = Ok(vec![web("b")]);
                given.due[0].tries.position = 1;
            }),
            &["send run 1 to web:b at 60, lease 1 until 75, attempt 2", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 75, to web:b since 60; attempts 2; position 1"],
        ),
        (
            "an address that has refused is passed over",
            given(once()).run(retrying(at(60), "500")).now(60).with(|given| {
                given.addresses = Ok(vec![web("b")]);
                given.due[0].tries.refused = 0b1;
            }),
            &["send run 1 to web:b at 60, lease 1 until 75, attempt 2", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 75, to web:b since 60; attempts 2; position 1; refused 0b1"],
        ),
        (
            "the caller hears that the channel holds what may have arrived",
            given(once()).with(|given| given.reminder.to = vec![Address::new("call", "+49")]),
            &["send run 1 to call:+49 at 0, lease 1 until 15, attempt 1, holds", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to call:+49 since 0; attempts 1"],
        ),
        (
            "a person who has not answered is asked again",
            given(once()).run(asked(at(0), at(600))).now(600).with(|given| {
                given.reminder.ack = Some(AckPolicy { reminders_max: 1, ..AckPolicy::default() });
                given.due[0].tries = Tries { attempts: 1, asks: 1, reached: 1, ..Tries::default() };
            }),
            &["send run 1 to web:a at 600, lease 1 until 615, attempt 2", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 615, to web:a since 600; attempts 2; asks 1; reached 1"],
        ),
        (
            "a reminder with an address of its own is sent though its person's cannot be read",
            given(once()).with(|given| given.addresses = Err("no JSON".into())),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
    ]);
}

#[test]
fn what_must_not_change_meanwhile() {
    let rows = [
        ("a run that is sent locks nothing", given(every(60)), false, false),
        (
            "a run that waits locks its reminder and its person",
            given(every(60)).with(|given| given.person = quiet()),
            true,
            true,
        ),
        ("a run that is missed locks its reminder", misfire(every(60), MisfirePolicy::Skip, 60).now(300), true, false),
        (
            "a reminder that cannot be read is locked",
            given(every(60)).with(|given| given.is_broken = true),
            true,
            false,
        ),
    ];
    for (name, given, reminder, person) in rows {
        let claim = claim_at(at(given.now));
        let id = given.reminder.id;
        let due = vec![Due { occurrence: given.due[0].clone(), lease: 0, wake_at: at(0) }];
        let known = if given.is_broken { broken() } else { Ok(given.known()) };
        let lock =
            look(Found { due, unreadable: Vec::new() }, HashMap::from([(id, known)]), &Silences::default(), &claim)
                .to_lock();
        assert_eq!((lock.reminders.contains(&id), lock.users.contains("alice")), (reminder, person), "{name}");
    }
}

#[test]
fn what_is_left_alone_until_its_moment() {
    let asking = || asked(at(0), at(10));
    let leased = || processing(1, at(10), &web("a"));
    // At second 5, with room for three runs. `only`: the claim is of certain reminders.
    let rows = [
        ("what is to be sent is taken ahead", vec![State::Scheduled], 0, false, 1, TooEarly::None),
        ("a retry is taken ahead", vec![retrying(at(10), "500")], 0, false, 1, TooEarly::None),
        ("a lease is left to its node until it ends", vec![leased()], 0, false, 0, TooEarly::Some),
        ("a person has all the time to answer", vec![asking()], 0, false, 0, TooEarly::Some),
        ("a lease that has ended is taken over", vec![processing(1, at(5), &web("a"))], 0, false, 1, TooEarly::None),
        ("the time to answer that has ended is acted on", vec![asked(at(0), at(5))], 0, false, 1, TooEarly::None),
        ("beside what is taken", vec![State::Scheduled, leased()], 0, false, 1, TooEarly::Some),
        ("so many that they may hide others", vec![asking(), leased(), asking()], 0, false, 0, TooEarly::Hiding),
        ("an unreadable run takes up room, too", vec![State::Scheduled, leased()], 1, false, 1, TooEarly::Hiding),
        ("unreadable runs alone hide nothing", vec![State::Scheduled, State::Scheduled], 1, false, 2, TooEarly::None),
        (
            "a claim of certain reminders waits for no moment",
            vec![leased(), leased(), leased()],
            0,
            true,
            0,
            TooEarly::None,
        ),
    ];
    for (name, states, n_unreadable, only, n_left, expect) in rows {
        let reminder = reminder(once());
        let due = states.into_iter().map(|state| {
            let wake_at = state.wake_at(at(10)).unwrap();
            Due { occurrence: Occurrence { state, ..occurrence(&reminder, 1, at(10)) }, lease: 0, wake_at }
        });
        let id = occurrence(&reminder, 1, at(0)).id;
        let mut found = Found { due: due.collect(), unreadable: vec![(id, "no such state".into()); n_unreadable] };
        let claim = Claim { only: only.then(Vec::new), ..claim_at(at(5)) };
        assert_eq!((found.leave_early(&claim), found.due.len()), (expect, n_left), "{name}");
    }
}

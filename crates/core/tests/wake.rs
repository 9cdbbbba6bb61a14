//! What a moment means, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{at, every, every_from, occurrence, once, processing, reminder, retrying};
use jiff::Timestamp;
use punctual_core::occurrence::{Occurrence, State, StateKind};
use punctual_core::reminder::{AckPolicy, Address, MisfirePolicy, OnUnknown, Reminder, ReminderStatus};
use punctual_core::rules::course::Series;
use punctual_core::schedule::Anchor;
use punctual_core::silence::Silences;
use punctual_core::user::Person;
use punctual_core::wake::{Moment, Wake, on_wake, text};

/// What a moment means for this run alone, at this time.
fn meaning_of(
    reminder: &Reminder,
    series: &Series,
    occurrence: &Occurrence,
    n_addresses: usize,
    now: Timestamp,
) -> Wake {
    let route: Vec<_> = (0..n_addresses).map(|n| Address::new("webhook", format!("https://{n}.example"))).collect();
    let (person, holding) = (Person::default(), BTreeSet::new());
    on_wake(&Moment {
        is_unplanned: false,
        reminder,
        series,
        occurrence,
        person: &person,
        silences: &Silences::default(),
        route: &route,
        holding: &holding,
        now,
    })
}

/// A run due at second 60 of a series that runs every minute, looked at `late` seconds later.
fn series_wake(policy: MisfirePolicy, within_s: u64, late_s: i64) -> Wake {
    let mut series = reminder(every(60));
    series.misfire.policy = policy;
    series.misfire.within = Duration::from_secs(within_s);
    meaning_of(&series, &Series::begun(true), &occurrence(&series, 1, at(60)), 1, at(60 + late_s))
}

fn ended(wake: Wake) -> (StateKind, Vec<i64>, Option<i64>) {
    let Wake::End { state, also_missed, next, .. } = wake else { panic!("expected an end, got {wake:?}") };
    let second = |instant: jiff::Timestamp| instant.as_second() - at(0).as_second();
    (state.kind(), also_missed.into_iter().map(second).collect(), next.map(second))
}

#[test]
fn on_time_is_sent() {
    for policy in [MisfirePolicy::Latest, MisfirePolicy::All, MisfirePolicy::Skip] {
        for late_s in [-1, 0, 5] {
            assert_eq!(series_wake(policy, 3600, late_s), Wake::Send { position: 0 }, "{policy} {late_s}");
        }
    }
}

#[test]
fn of_a_missed_series_only_the_latest_run_is_delivered() {
    let wake = series_wake(MisfirePolicy::Latest, 3600, 200);
    assert_eq!(ended(wake), (StateKind::Missed, vec![120, 180], Some(240)));
}

#[test]
fn a_latest_run_that_is_too_old_is_missed_too_and_the_series_goes_on() {
    let wake = series_wake(MisfirePolicy::Latest, 10, 200);
    assert_eq!(ended(wake), (StateKind::Missed, vec![120, 180, 240], Some(300)));
}

#[test]
fn every_run_is_delivered_when_asked_as_far_back_as_asked() {
    assert_eq!(series_wake(MisfirePolicy::All, 3600, 200), Wake::Send { position: 0 });
    let wake = series_wake(MisfirePolicy::All, 100, 200);
    assert_eq!(ended(wake), (StateKind::Missed, vec![120], Some(180)));
}

#[test]
fn a_series_that_is_counted_misses_no_more_runs_than_are_left() {
    let mut counted = reminder(every(60));
    counted.schedule.count = Some(3);
    let wake = meaning_of(&counted, &Series::begun(true), &occurrence(&counted, 1, at(60)), 1, at(3600));
    assert_eq!(ended(wake), (StateKind::Missed, vec![120], Some(180)), "the third is the latest");
    let over = Series { last_run: 3, carried_by: Some(3), planned: 3 };
    assert_eq!(meaning_of(&counted, &over, &occurrence(&counted, 3, at(180)), 1, at(3600)), Wake::Send { position: 0 });
}

#[test]
fn a_run_fired_by_hand_or_following_an_answer_is_not_replaced_by_a_later_run() {
    let series = reminder(every(60));
    let by_hand = occurrence(&series, 2, at(60));
    assert_eq!(meaning_of(&series, &Series::begun(true), &by_hand, 1, at(400)), Wake::Send { position: 0 });
    let answered = reminder(every_from(60, Anchor::Ack));
    let run = occurrence(&answered, 1, at(60));
    assert_eq!(meaning_of(&answered, &Series::begun(true), &run, 1, at(400)), Wake::Send { position: 0 });
}

#[test]
fn none_is_delivered_when_asked() {
    let wake = series_wake(MisfirePolicy::Skip, 3600, 200);
    assert_eq!(ended(wake), (StateKind::Missed, vec![120, 180, 240], Some(300)));
}

#[test]
fn a_single_reminder_is_late_rather_than_lost() {
    let mut single = reminder(once());
    let run = occurrence(&single, 1, at(0));
    assert_eq!(meaning_of(&single, &Series::begun(false), &run, 1, at(40 * 86_400)), Wake::Send { position: 0 });
    single.misfire.policy = MisfirePolicy::Skip;
    assert_eq!(ended(meaning_of(&single, &Series::begun(false), &run, 1, at(3600))), (StateKind::Missed, vec![], None));
}

#[test]
fn silence_is_asked_about_again_and_then_called_unanswered() {
    let mut asked = reminder(once());
    asked.ack = Some(AckPolicy { reminders_max: 2, ..AckPolicy::default() });
    let mut run = occurrence(&asked, 1, at(0));
    run.state = common::asked(at(0), at(600));
    for (asks, expected) in [(1, true), (2, true), (3, false)] {
        run.tries.asks = asks;
        let wake = meaning_of(&asked, &Series::begun(false), &run, 1, at(600));
        assert_eq!(wake == Wake::Send { position: 0 }, expected, "after {asks} askings");
    }
    run.tries.asks = 1;
    asked.status = ReminderStatus::Paused;
    assert_eq!(
        ended(meaning_of(&asked, &Series::begun(false), &run, 1, at(600))).0,
        StateKind::Unanswered,
        "a paused reminder does not nag"
    );
}

#[test]
fn a_send_that_was_cut_off_is_repeated_or_held_as_asked() {
    let mut cut_off = reminder(once());
    let mut run = occurrence(&cut_off, 1, at(0));
    run.state = processing(1, at(15), &Address::new("webhook", "https://a.example"));
    assert_eq!(meaning_of(&cut_off, &Series::begun(false), &run, 1, at(16)), Wake::Send { position: 0 });
    cut_off.on_unknown = OnUnknown::Hold;
    assert_eq!(ended(meaning_of(&cut_off, &Series::begun(false), &run, 1, at(16))).0, StateKind::Failed);
    assert_eq!(
        meaning_of(&cut_off, &Series::begun(false), &run, 1, at(-1)),
        Wake::Send { position: 0 },
        "before it is due nothing was sent"
    );
}

#[test]
fn a_send_that_was_cut_off_is_held_by_default_where_a_repeat_would_be_worse_than_silence() {
    let cut_off = Reminder { on_unknown: OnUnknown::Auto, ..reminder(once()) };
    let mut run = occurrence(&cut_off, 1, at(0));
    run.state = processing(1, at(15), &Address::new("webhook", "https://a.example"));
    let route = [Address::new("webhook", "https://a.example"), Address::new("vapi", "+49")];
    let holding = BTreeSet::from(["vapi".to_owned()]);
    let (series, person) = (Series::begun(false), Person::default());
    let meaning = |cut_off: &Reminder, run: &Occurrence| {
        let (reminder, occurrence) = (cut_off, run);
        let moment = Moment {
            is_unplanned: false,
            reminder,
            series: &series,
            occurrence,
            person: &person,
            silences: &Silences::default(),
            route: &route,
            holding: &holding,
            now: at(16),
        };
        on_wake(&moment)
    };
    assert_eq!(meaning(&cut_off, &run), Wake::Send { position: 0 }, "a webhook knows a repeat by its key");
    run.tries.position = 1;
    run.state = processing(1, at(15), &route[1]);
    assert_eq!(ended(meaning(&cut_off, &run)).0, StateKind::Failed, "nobody is called twice");
    let resent = Reminder { on_unknown: OnUnknown::Resend, ..cut_off };
    assert_eq!(meaning(&resent, &run), Wake::Send { position: 1 }, "unless that was asked for");
}

#[test]
fn an_address_list_that_shrank_does_not_lose_the_message() {
    let mut retried = occurrence(&reminder(once()), 1, at(0));
    retried.state = retrying(at(60), "500");
    retried.tries.position = 5;
    assert_eq!(meaning_of(&reminder(once()), &Series::begun(false), &retried, 2, at(60)), Wake::Send { position: 0 });
    retried.tries.refused = 0b11;
    assert_eq!(ended(meaning_of(&reminder(once()), &Series::begun(false), &retried, 2, at(60))).0, StateKind::Failed);
}

#[test]
fn over_an_hour_late_says_so() {
    let late = reminder(once());
    for (seconds, expected) in [
        (0, "water the plants"),
        (3600, "water the plants"),
        (3601, "[Late 1h] water the plants"),
        (7300, "[Late 2h] water the plants"),
        (3 * 86_400, "[Late 3d] water the plants"),
    ] {
        assert_eq!(text(&late, at(0), at(seconds)), expected);
    }
}

#[test]
fn a_run_that_nobody_can_receive_fails_and_says_so() {
    let reminder = Reminder { to: vec![], ..reminder(once()) };
    let wake = on_wake(&Moment {
        is_unplanned: false,
        reminder: &reminder,
        series: &Series::begun(false),
        occurrence: &occurrence(&reminder, 1, at(0)),
        person: &Person { paused_until: Some(at(9000)), ..Person::default() },
        silences: &Silences::default(),
        route: &[],
        holding: &BTreeSet::new(),
        now: at(0),
    });
    let Wake::End { state: State::Failed { error, .. }, .. } = wake else { panic!("{wake:?}") };
    assert!(error.contains("nobody can receive it") && error.contains("`alice` has no addresses"), "{error}");
}

#[test]
fn a_message_that_the_platform_took_is_asked_about_before_anything_else() {
    let holding = BTreeSet::from(["webhook".to_owned()]);
    let route: Vec<_> = (0..2).map(|n| Address::new("webhook", format!("https://{n}.example"))).collect();
    // A question to the platform disturbs nobody.
    let person = Person { paused_until: Some(at(9000)), ..Person::default() };
    let mut reminder = reminder(once());
    let mut run = occurrence(&reminder, 1, at(0));
    for on_unknown in [OnUnknown::Hold, OnUnknown::Resend, OnUnknown::Auto] {
        reminder.on_unknown = on_unknown;
        for (to, expect) in [(route[1].clone(), true), (Address::new("webhook", "https://old.example"), false)] {
            let mut state = processing(1, at(15), &to);
            if let State::Processing { sending, .. } = &mut state {
                sending.message_id = Some("CA1".into());
            }
            run.state = state;
            let wake = on_wake(&Moment {
                is_unplanned: false,
                reminder: &reminder,
                series: &Series::begun(false),
                occurrence: &run,
                person: &person,
                silences: &Silences::default(),
                route: &route,
                holding: &holding,
                now: at(20),
            });
            assert_eq!(wake == Wake::Follow { position: 1 }, expect, "{on_unknown}: {wake:?}");
        }
    }
}

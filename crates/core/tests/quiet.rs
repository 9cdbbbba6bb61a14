//! What a moment means when its person must not be disturbed, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::collections::BTreeSet;

use common::{asked, at, every, occurrence, once, processing, reminder, retrying};
use jiff::Timestamp;
use punctual_core::id::SilenceId;
use punctual_core::occurrence::{Occurrence, State, StateKind, Why};
use punctual_core::quiet::must_wait;
use punctual_core::reminder::{AckPolicy, Address, MisfirePolicy, Priority, Reminder};
use punctual_core::rules::course::Series;
use punctual_core::silence::{Silence, Silences, Silent};
use punctual_core::user::{Except, Person, QuietHours};
use punctual_core::wake::{Moment, Wake, on_wake};
use punctual_core::zone::Zone;

/// Quiet from second 0, which is 08:00 UTC, for an hour.
fn quiet() -> Person {
    let time = |text: &str| text.parse().unwrap();
    let hours = QuietHours { from: time("08:00"), to: time("09:00"), except: Except::Critical, digest: false };
    Person { quiet: Some(hours), ..Person::default() }
}

fn paused() -> Person {
    Person { paused_until: Some(at(7200)), ..Person::default() }
}

fn meaning(reminder: &Reminder, occurrence: &Occurrence, person: &Person, now: Timestamp) -> Wake {
    let series = Series::begun(reminder.schedule.is_recurring());
    let (route, holding) = ([Address::new("phone", "ann")], BTreeSet::new());
    on_wake(&Moment {
        is_unplanned: false,
        reminder,
        series: &series,
        occurrence,
        person,
        silences: &Silences::default(),
        route: &route,
        holding: &holding,
        now,
    })
}

/// The state and the instant it is put off to; `None`: it is sent.
fn put_off(reminder: &Reminder, occurrence: &Occurrence, person: &Person, now: i64) -> Option<(State, i64)> {
    match meaning(reminder, occurrence, person, at(now)) {
        Wake::Wait { state, due_at, .. } => Some((state, due_at.as_second() - at(0).as_second())),
        Wake::Send { .. } => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_has_not_been_sent_waits_and_is_due_again_at_the_end() {
    let single = reminder(once());
    let waiting = |why, from| State::Waiting { why, from: at(from) };
    for state in [State::Scheduled, State::Snoozed, waiting(Why::Paused, 0)] {
        let run = Occurrence { state, ..occurrence(&single, 1, at(60)) };
        assert_eq!(put_off(&single, &run, &quiet(), 60), Some((waiting(Why::Quiet, 60), 3600)));
        assert_eq!(put_off(&single, &run, &paused(), 60), Some((waiting(Why::Paused, 60), 7200)));
        assert_eq!(put_off(&single, &run, &quiet(), 3600), None, "the end is no part of it");
        assert_eq!(put_off(&single, &run, &paused(), 7200), None);
        assert_eq!(put_off(&single, &run, &Person::default(), 60), None);
    }
}

#[test]
fn the_moment_counts_and_not_when_it_is_looked_at() {
    let single = reminder(once());
    let into = occurrence(&single, 1, at(0));
    assert_eq!(put_off(&single, &into, &quiet(), -2), Some((State::Waiting { why: Why::Quiet, from: at(0) }, 3600)));
    let out = occurrence(&single, 1, at(3600));
    assert_eq!(put_off(&single, &out, &quiet(), 3598), None);
    assert_eq!(
        put_off(&single, &out, &paused(), 3598),
        Some((State::Waiting { why: Why::Paused, from: at(3600) }, 7200))
    );
}

#[test]
fn a_run_that_was_begun_keeps_its_state_and_is_only_put_off() {
    let asking = Reminder { ack: Some(AckPolicy::default()), ..reminder(once()) };
    let of = |state: State| Occurrence { state, ..occurrence(&asking, 1, at(-60)) };
    let retried = of(retrying(at(5), "answered 500"));
    let (state, due) = put_off(&asking, &retried, &quiet(), 5).unwrap();
    let waits =
        |retry_at, why, error: &str| State::PendingRetry { retry_at, error: error.into(), waits_for: Some(why) };
    assert_eq!((&state, due), (&waits(at(3600), Why::Quiet, "answered 500"), -60));
    // Put off once more, it still says what went wrong.
    let again = Occurrence { state, ..retried };
    let (state, _) = put_off(&asking, &again, &paused(), 3600).unwrap();
    assert_eq!(state, waits(at(7200), Why::Paused, "answered 500"));

    let cut_off = of(processing(1, at(5), &Address::new("phone", "ann")));
    let (state, _) = put_off(&asking, &cut_off, &quiet(), 5).unwrap();
    assert_eq!(state, waits(at(3600), Why::Quiet, "cut off in flight"));

    let mut asked = of(asked(at(-60), at(5)));
    asked.tries.asks = 1;
    let waits_for = Some(Why::Quiet);
    let expect = State::AwaitingAck { delivered_at: at(-60), ask_again_at: at(3600), waits_for };
    assert_eq!(put_off(&asking, &asked, &quiet(), 5), Some((expect, -60)));
    asked.tries.asks = 4;
    let over = meaning(&asking, &asked, &quiet(), at(5));
    assert!(matches!(over, Wake::End { state: State::Unanswered { .. }, .. }), "what is over needs no send: {over:?}");
}

#[test]
fn an_urgent_run_is_sent_in_quiet_hours_and_no_run_in_a_pause() {
    let mut person = quiet();
    for (except, through) in
        [(Except::Critical, [false, false, false, true]), (Except::High, [false, false, true, true])]
    {
        person.quiet = person.quiet.map(|quiet| QuietHours { except, ..quiet });
        for (priority, through) in
            [Priority::Low, Priority::Normal, Priority::High, Priority::Critical].into_iter().zip(through)
        {
            let of = Reminder { priority, ..reminder(once()) };
            let run = occurrence(&of, 1, at(60));
            assert_eq!(put_off(&of, &run, &person, 60).is_none(), through, "{priority} {except}");
            assert!(put_off(&of, &run, &paused(), 60).is_some(), "{priority}");
        }
    }
}

#[test]
fn a_series_goes_on_in_quiet_hours_and_stops_for_a_pause() {
    let series = reminder(every(60));
    let run = occurrence(&series, 1, at(60));
    let Wake::Wait { moves_on, until, series_waits, .. } = meaning(&series, &run, &quiet(), at(60)) else {
        panic!("it is quiet")
    };
    assert!(moves_on);
    assert_eq!((until, series_waits), (at(3600), false));
    let Wake::Wait { moves_on, series_waits, .. } = meaning(&series, &run, &paused(), at(60)) else {
        panic!("it is paused")
    };
    assert!(!moves_on && series_waits);
}

#[test]
fn a_missed_run_is_missed_whether_its_person_is_quiet_or_not() {
    let mut series = reminder(every(60));
    series.misfire.policy = MisfirePolicy::Skip;
    let run = occurrence(&series, 1, at(60));
    assert!(matches!(meaning(&series, &run, &quiet(), at(600)), Wake::End { state: State::Missed { .. }, .. }));
}

/// What the misfire policy makes of a run that waited until second 3600, while the series went on every 600 seconds.
fn waited(policy: MisfirePolicy, carried_by: Option<u32>, late: i64) -> Option<StateKind> {
    let mut series = reminder(every(600));
    series.misfire.policy = policy;
    let run = Occurrence { state: State::Waiting { why: Why::Quiet, from: at(0) }, ..occurrence(&series, 1, at(3600)) };
    let (route, holding) = ([Address::new("phone", "ann")], BTreeSet::new());
    let stands = Series { last_run: 7, carried_by, planned: 7 };
    let moment = Moment {
        is_unplanned: false,
        reminder: &series,
        series: &stands,
        occurrence: &run,
        person: &Person::default(),
        silences: &Silences::default(),
        route: &route,
        holding: &holding,
        now: at(3600 + late),
    };
    match on_wake(&moment) {
        Wake::Send { .. } => None,
        Wake::End { state, also_missed, next, .. } => {
            assert!(also_missed.is_empty() && next.is_none(), "the series has gone on already");
            Some(state.kind())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_waited_is_late_from_the_end_of_its_wait() {
    use MisfirePolicy::{All, Latest, Skip};
    let (day, missed) = (86_400, Some(StateKind::Missed));
    for (policy, carried_by, late, expect) in [
        (Latest, Some(7), 0, None),
        (Latest, Some(7), 599, None),
        (Latest, Some(7), 600, missed),
        (Latest, Some(7), 3 * day, missed),
        (Latest, None, 600, None),
        (Latest, None, day, None),
        (Latest, None, day + 1, missed),
        (All, Some(7), 600, None),
        (All, Some(7), day, None),
        (All, Some(7), day + 1, missed),
        (Skip, Some(7), 60, None),
        (Skip, Some(7), 61, missed),
    ] {
        assert_eq!(waited(policy, carried_by, late), expect, "{policy} {carried_by:?} {late}");
    }
    let single = reminder(once());
    let run =
        Occurrence { state: State::Waiting { why: Why::Paused, from: at(0) }, ..occurrence(&single, 1, at(7200)) };
    assert_eq!(put_off(&single, &run, &Person::default(), 30 * day), None, "late is better than not at all");
}

#[test]
fn quiet_hours_are_meant_in_the_persons_zone_and_else_the_reminders() {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    // At second 0 it is nine in Berlin.
    let mine = Reminder { timezone: berlin.clone(), ..reminder(once()) };
    let run = occurrence(&mine, 1, at(60));
    assert_eq!(put_off(&mine, &run, &quiet(), 60), None);
    let there = Person { timezone: Some(Zone::utc()), ..quiet() };
    assert!(put_off(&mine, &run, &there, 60).is_some());
    let here = Person { timezone: Some(berlin), ..quiet() };
    assert_eq!(put_off(&reminder(once()), &run, &here, 60), None);
}

/// A silence from second `from` to second `until`, for whom `change` says.
fn silent(from: i64, until: i64, people: &[&str], change: impl FnOnce(&mut Silence)) -> Silent {
    let mut silence = Silence {
        id: SilenceId::new(at(0), [1; 10]),
        user: None,
        group: None,
        tag: None,
        from: at(from),
        until: at(until),
        created_at: at(0),
        created_by: "ann".into(),
    };
    change(&mut silence);
    Silent { silence, people: people.iter().map(|user| (*user).to_owned()).collect() }
}

#[test]
fn a_silence_holds_whom_it_is_for_while_it_lasts() {
    let mine = || silent(10, 20, &[], |silence| silence.user = Some("ann".into()));
    let on_call = |people: &[&str]| silent(10, 20, people, |silence| silence.group = Some("oc".into()));
    let chores = || silent(10, 20, &[], |silence| silence.tag = Some("chores".into()));
    let my_chores = || {
        silent(10, 20, &[], |silence| {
            (silence.user, silence.tag) = (Some("ann".into()), Some("chores".into()));
        })
    };
    let longer = || silent(5, 25, &[], |silence| silence.tag = Some("home".into()));
    let of = |user: &str, tags: &[&str]| Reminder {
        user: user.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..reminder(once())
    };
    for (name, silences, reminder, second, until) in [
        ("within", vec![mine()], of("ann", &[]), 15, Some(20)),
        ("its first instant", vec![mine()], of("ann", &[]), 10, Some(20)),
        ("just before", vec![mine()], of("ann", &[]), 9, None),
        ("its end", vec![mine()], of("ann", &[]), 20, None),
        ("another user", vec![mine()], of("bob", &[]), 15, None),
        ("a member of the group", vec![on_call(&["bob", "eve"])], of("eve", &[]), 15, Some(20)),
        ("no member of the group", vec![on_call(&["bob", "eve"])], of("carl", &[]), 15, None),
        ("no such group", vec![on_call(&[])], of("bob", &[]), 15, None),
        ("a tag, whosever it is", vec![chores()], of("bob", &["chores", "home"]), 15, Some(20)),
        ("another tag", vec![chores()], of("bob", &["home"]), 15, None),
        ("a user's tag", vec![my_chores()], of("ann", &["chores"]), 15, Some(20)),
        ("a user's other tag", vec![my_chores()], of("ann", &["home"]), 15, None),
        ("another user's tag", vec![my_chores()], of("bob", &["chores"]), 15, None),
        ("the last end of several", vec![chores(), longer()], of("bob", &["chores", "home"]), 15, Some(25)),
        ("one is over", vec![chores(), longer()], of("bob", &["chores", "home"]), 22, Some(25)),
    ] {
        let found = must_wait(&Person::default(), &Silences::new(silences), &reminder, at(second));
        assert_eq!(found, until.map(|until| (at(until), Why::Silenced)), "{name}");
    }
}

#[test]
fn of_a_pause_and_a_silence_the_last_end_counts_and_quiet_hours_come_after() {
    let silences = |until| Silences::new(vec![silent(0, until, &[], |silence| silence.user = Some("ann".into()))]);
    let mine = Reminder { user: "ann".into(), ..reminder(once()) };
    for (name, person, until, expect) in [
        ("a pause that ends later", paused(), 60, (7200, Why::Paused)),
        ("a silence that ends later", paused(), 9000, (9000, Why::Silenced)),
        ("both end together", paused(), 7200, (7200, Why::Paused)),
        ("quiet hours that end later are looked at afterwards", quiet(), 60, (60, Why::Silenced)),
    ] {
        let (until, why) = must_wait(&person, &silences(until), &mine, at(30)).unwrap();
        assert_eq!((until, why), (at(expect.0), expect.1), "{name}");
    }
    let critical = Reminder { priority: Priority::Critical, ..mine };
    assert!(must_wait(&Person::default(), &silences(60), &critical, at(30)).is_some(), "critical ones wait as well");
    let alert = Reminder { created_via: punctual_core::alert::VIA.into(), ..critical };
    assert_eq!(must_wait(&paused(), &silences(60), &alert, at(30)), None, "an alert waits for nothing");
}

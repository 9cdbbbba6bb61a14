//! When a series goes on, when a reminder is over, and what is counted, one row a case.

use jiff::Timestamp;

use super::*;
use crate::common::said::{check, occurrence, second};
use crate::common::{asked, at, every, every_from, once, reminder, retrying};
use crate::schedule::Schedule;

/// Run `last_run` is the last one and carries the series; all runs are of the schedule.
fn at_run(last_run: u32) -> Course {
    let series = Series { last_run, carried_by: Some(last_run), planned: last_run };
    course(ReminderStatus::Active, series, 1)
}

fn course(status: ReminderStatus, series: Series, n_open: impl Into<Option<u32>>) -> Course {
    Course { status, progress: Progress { series, tally: Tally::default() }, n_open: n_open.into() }
}

fn counted(count: u32) -> Schedule {
    Schedule { count: Some(count), ..every(60) }
}

fn until(second: i64) -> Schedule {
    Schedule { ends_at: Some(at(second)), ..every(60) }
}

/// A run that is due at second 60 has got into a state at second 75.
#[test]
fn when_a_series_goes_on() {
    let delivered = State::Delivered { at: at(75) };
    let failed = State::Failed { at: at(75), error: "500".into() };
    let from_answer = || every_from(60, Anchor::Ack);
    let rows = [
        (
            "a series goes on from its schedule and not from when it was sent",
            every(60),
            at_run(1),
            1,
            &delivered,
            "120",
        ),
        ("a run that is sent late passes over none", every(10), at_run(1), 1, &delivered, "70"),
        ("it goes on after a failure", every(60), at_run(1), 1, &failed, "120"),
        ("it goes on while its run is retried", every(60), at_run(1), 1, &retrying(at(90), "500"), "120"),
        ("it goes on while an answer is awaited", every(60), at_run(1), 1, &asked(at(75), at(600)), "120"),
        ("a run by hand moves no series", every(60), at_run(1), 2, &delivered, "nothing"),
        (
            "a single reminder has no series",
            once(),
            course(ReminderStatus::Active, Series::begun(false), 1),
            1,
            &delivered,
            "nothing",
        ),
        ("a count that is used up ends it", counted(3), at_run(3), 3, &delivered, "over"),
        ("a count that is not used up does not", counted(3), at_run(2), 2, &delivered, "120"),
        ("its end is an instant that belongs to it", until(120), at_run(1), 1, &delivered, "120"),
        ("after its end nothing comes", until(119), at_run(1), 1, &delivered, "over"),
        ("counted from the answer: it waits for one", from_answer(), at_run(1), 1, &asked(at(75), at(600)), "nothing"),
        (
            "counted from the answer: it waits while retried",
            from_answer(),
            at_run(1),
            1,
            &retrying(at(90), "500"),
            "nothing",
        ),
        (
            "counted from the answer: the answer starts it",
            from_answer(),
            at_run(1),
            1,
            &State::Completed { at: at(75) },
            "135",
        ),
        (
            "counted from the answer: so does the end of waiting",
            from_answer(),
            at_run(1),
            1,
            &State::Unanswered { at: at(75) },
            "135",
        ),
    ];
    for (name, schedule, course, run, state, expect) in rows {
        let found = match course.next_after(&reminder(schedule), run, at(60), state, at(75)) {
            None => "nothing".to_owned(),
            Some(None) => "over".to_owned(),
            Some(Some(at)) => second(at),
        };
        assert_eq!(found, expect, "{name}");
    }
}

/// A row: its name, the reminder's status, its series, when the schedule is due next, and what that leads to.
type Row = (&'static str, ReminderStatus, Series, Option<Timestamp>, &'static [&'static str]);

#[test]
fn what_is_planned() {
    let by_hand = Series { last_run: 4, carried_by: Some(2), planned: 2 };
    let rows: [Row; 5] = [
        (
            "the next run carries the series",
            ReminderStatus::Active,
            Series::begun(true),
            Some(at(120)),
            &["run 2 due 120: scheduled", "last run 2, carried by Some(2), 2 planned, 2 open"],
        ),
        (
            "a paused reminder plans a paused run",
            ReminderStatus::Paused,
            Series::begun(true),
            Some(at(120)),
            &["run 2 due 120: paused", "last run 2, carried by Some(2), 2 planned, 2 open"],
        ),
        (
            "runs by hand take numbers and are not counted as planned",
            ReminderStatus::Active,
            by_hand,
            Some(at(120)),
            &["run 5 due 120: scheduled", "last run 5, carried by Some(5), 3 planned, 2 open"],
        ),
        (
            "a series without another instant is carried by none",
            ReminderStatus::Active,
            Series::begun(true),
            None,
            &["last run 1, carried by None, 1 planned, 1 open"],
        ),
        (
            "the end of a series keeps the numbers that were given out",
            ReminderStatus::Active,
            by_hand,
            None,
            &["last run 4, carried by None, 2 planned, 1 open"],
        ),
    ];
    for (name, status, series, next, expect) in rows {
        let mut course = course(status, series, 1);
        let mut lines: Vec<String> = course.plan(&reminder(every(60)), next).iter().map(occurrence).collect();
        let Series { last_run, carried_by, planned } = course.progress.series;
        lines.push(format!(
            "last run {last_run}, carried by {carried_by:?}, {planned} planned, {} open",
            course.n_open.unwrap()
        ));
        check(name, "planned", &lines, expect);
    }
}

#[test]
fn when_a_reminder_is_over() {
    use ReminderStatus::{Active, Cancelled, Completed, Paused};
    let (carried, ended) = (Series::begun(true), Series::begun(false));
    let rows = [
        ("nothing is open and nothing comes", Active, ended, Some(0), Completed, false),
        ("a run is open", Active, ended, Some(1), Active, false),
        ("its series goes on", Active, carried, Some(0), Active, false),
        ("its series goes on, and a run is open", Active, carried, Some(1), Active, false),
        ("paused, it is not over", Paused, ended, Some(0), Paused, false),
        ("cancelled, it stays so", Cancelled, ended, Some(0), Cancelled, false),
        ("completed, it stays so", Completed, ended, Some(0), Completed, false),
        ("nobody has counted, and nothing comes", Active, ended, None, Active, true),
        ("nobody has counted, and its series goes on", Active, carried, None, Active, false),
        ("nobody has counted, and it is paused", Paused, ended, None, Paused, false),
        ("nobody has counted, and it is cancelled", Cancelled, ended, None, Cancelled, false),
    ];
    for (name, status, series, n_open, expect, unless_open) in rows {
        let mut course = course(status, series, n_open);
        course.complete();
        assert_eq!((course.status, course.is_over_unless_open()), (expect, unless_open), "{name}");
    }
    // A count that nobody has made is none when runs begin and end.
    let mut course = course(Active, ended, None);
    course.open_one();
    course.end_one();
    assert_eq!((course.n_open, course.is_over_unless_open()), (None, true));
}

#[test]
fn what_is_counted() {
    let failed = || State::Failed { at: at(5), error: "500".into() };
    // After two runs, of which the last failed. `counts` says whether the attempt ended a run; `None`: there was no attempt.
    let rows = [
        ("a run that got through", State::Delivered { at: at(5) }, Some(true), (Some(5), "delivered", 3, 0)),
        ("a run that asks", asked(at(5), at(605)), Some(true), (Some(5), "awaiting_ack", 3, 0)),
        ("a run that asks again counts once", asked(at(5), at(605)), Some(false), (Some(5), "awaiting_ack", 2, 0)),
        ("a retry is no run and no error yet", retrying(at(60), "500"), Some(false), (Some(5), "pending_retry", 2, 1)),
        ("a run that failed", failed(), Some(true), (Some(5), "failed", 3, 2)),
        ("without an attempt: a run that failed", failed(), None, (None, "failed", 3, 2)),
        ("without an attempt: a missed run counts as none", State::Missed { at: at(5) }, None, (None, "missed", 2, 1)),
        ("without an attempt: nobody answered", State::Unanswered { at: at(5) }, None, (None, "unanswered", 2, 1)),
    ];
    for (name, state, counts, expect) in rows {
        let mut course = at_run(3);
        course.progress.tally.total_runs = 2;
        course.progress.tally.consecutive_errors = 1;
        match counts {
            Some(counts) => course.count(&state, counts, at(5)),
            None => course.count_unsent(state.kind()),
        }
        let Tally { last_run_at, last_status, total_runs, consecutive_errors } = course.progress.tally;
        let last_status = last_status.map(|status| status.to_string()).unwrap_or_default();
        let (at_second, status, total, errors) = expect;
        assert_eq!(
            (last_run_at, last_status.as_str(), total_runs, consecutive_errors),
            (at_second.map(at), status, total, errors),
            "{name}"
        );
    }
}

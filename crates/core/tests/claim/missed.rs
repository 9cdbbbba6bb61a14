//! Runs that were missed while nothing ran.

use std::collections::HashMap;

use punctual_core::decide::claim::{Due, Found, Locked, look};
use punctual_core::journal::Data;
use punctual_core::occurrence::{State, Why};
use punctual_core::reminder::{MisfirePolicy, Priority};
use punctual_core::rules::course::Series;
use punctual_core::schedule::Schedule;

use crate::common::{at, every, once};
use crate::{check_all, claim_at, misfire};

#[test]
fn what_was_missed() {
    use MisfirePolicy::{All, Latest, Skip};
    check_all([
        (
            "latest: the newest run of a series stands for those before it",
            misfire(every(60), Latest, 3600).now(200),
            &["ended: missed", "ended: missed", "ended: missed", "next run of alice at 180", "taken: 1"],
            &[
                "run 1 due 0: missed at 200",
                "plan run 2 due 60: missed at 200",
                "plan run 3 due 120: missed at 200",
                "plan run 4 due 180: scheduled",
                "reminder active: carried by 4, last run 4, 4 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:3}",
                "look at 180",
            ],
        ),
        (
            "latest: too old to be delivered, it is missed as well",
            misfire(every(60), Latest, 10).now(100),
            &["ended: missed", "ended: missed", "next run of alice at 120", "taken: 1"],
            &[
                "run 1 due 0: missed at 100",
                "plan run 2 due 60: missed at 100",
                "plan run 3 due 120: scheduled",
                "reminder active: carried by 3, last run 3, 3 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
                "look at 120",
            ],
        ),
        (
            "latest: a single reminder is late rather than lost",
            misfire(once(), Latest, 10).now(100_000),
            &["send run 1 to web:a at 0, lease 1 until 100015, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 100015, to web:a since 100000; attempts 1"],
        ),
        (
            "all: what is recent enough is delivered, oldest first",
            misfire(every(60), All, 3600).now(100),
            &["send run 1 to web:a at 0, lease 1 until 115, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 115, to web:a since 100; attempts 1"],
        ),
        (
            "all: what is too old is missed, and the series goes on with the first that is not",
            misfire(every(60), All, 100).now(200),
            &["ended: missed", "ended: missed", "next run of alice at 120", "taken: 1"],
            &[
                "run 1 due 0: missed at 200",
                "plan run 2 due 60: missed at 200",
                "plan run 3 due 120: scheduled",
                "reminder active: carried by 3, last run 3, 3 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
                "look at 120",
            ],
        ),
        (
            "skip: none is delivered, and the series goes on after now",
            misfire(every(60), Skip, 3600).now(100),
            &["ended: missed", "ended: missed", "next run of alice at 120", "taken: 1"],
            &[
                "run 1 due 0: missed at 100",
                "plan run 2 due 60: missed at 100",
                "plan run 3 due 120: scheduled",
                "reminder active: carried by 3, last run 3, 3 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
                "look at 120",
            ],
        ),
        (
            "skip: a minute late is late enough to be sent",
            misfire(once(), Skip, 3600).now(60),
            &["send run 1 to web:a at 0, lease 1 until 75, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 75, to web:a since 60; attempts 1"],
        ),
        (
            "skip: a single reminder is missed, and the claim completes it",
            misfire(once(), Skip, 3600).now(61),
            &["ended: missed", "taken: 1"],
            &[
                "run 1 due 0: missed at 61",
                "reminder completed: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:1}",
            ],
        ),
        (
            "a series with a count that is used up by what was missed is over",
            misfire(Schedule { count: Some(2), ..every(60) }, Skip, 3600).now(100_000),
            &["ended: missed", "ended: missed", "taken: 1"],
            &[
                "run 1 due 0: missed at 100000",
                "plan run 2 due 60: missed at 100000",
                "reminder completed: carried by none, last run 2, 2 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
            ],
        ),
        (
            "a series whose end has passed is over",
            misfire(Schedule { ends_at: Some(at(90)), ..every(60) }, Skip, 3600).now(100_000),
            &["ended: missed", "ended: missed", "taken: 1"],
            &[
                "run 1 due 0: missed at 100000",
                "plan run 2 due 60: missed at 100000",
                "reminder completed: carried by none, last run 2, 2 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
            ],
        ),
        (
            "a long series that goes on is not counted through",
            misfire(every(60), Latest, 3600).now(100).with(|given| given.n_open = None),
            &["ended: missed", "next run of alice at 60", "taken: 1"],
            &[
                "run 1 due 0: missed at 100",
                "plan run 2 due 60: scheduled",
                "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:1}",
                "look at 60",
            ],
        ),
        (
            "a critical one: the admins hear of it once, whatever was missed with it",
            misfire(every(60), Skip, 3600).now(100).with(|given| given.reminder.priority = Priority::Critical),
            &["ended: missed", "ended: missed", "next run of alice at 120", "taken: 1"],
            &[
                "run 1 due 0: missed at 100",
                "plan run 2 due 60: missed at 100; critical",
                "plan run 3 due 120: scheduled; critical",
                "news of run 1: Ended",
                "reminder active: carried by 3, last run 3, 3 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:2}",
                "look at 120",
            ],
        ),
        (
            "a run that waited through quiet hours is missed when a later one is due, and moves no series",
            misfire(every(60), Latest, 3600).now(3700).with(|given| {
                given.due[0].due_at = at(3600);
                given.due[0].state = State::Waiting { why: Why::Quiet, from: at(0) };
                given.series = Series { last_run: 2, carried_by: Some(2), planned: 2 };
                given.n_open = Some(2);
            }),
            &["ended: missed", "taken: 1"],
            &[
                "run 1 due 3600 (made for 0): missed at 3700",
                "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last missed",
                "entry: reminder.missed run 1 {runs:1}",
            ],
        ),
    ]);
}

#[test]
fn of_what_was_missed_a_thousand_runs_are_written_and_the_rest_is_counted() {
    let given = misfire(every(60), MisfirePolicy::Skip, 3600).now(60 * 1500 + 30);
    let claim = claim_at(at(given.now));
    let known = given.known();
    let due = Due { occurrence: given.due[0].clone(), lease: 0, wake_at: at(0) };
    let look = look(
        Found { due: vec![due], unreadable: Vec::new() },
        HashMap::from([(given.reminder.id, Ok(known.clone()))]),
        &given.silences,
        &claim,
    );
    let locked = Locked { known, n_open: Some(1), has_person: false };
    let (_, writes) = look.decide(&HashMap::from([(given.reminder.id, Ok(locked))]), &given.silences, Vec::new());
    // Run 1, and 1500 later ones.
    assert_eq!(writes.entries[0].data, Data::Missed { runs: 1501 });
    assert_eq!(writes.planned.len(), 1000 + 1, "with the run that comes next");
    let series = writes.moved[0].progress.series;
    assert_eq!(series, Series { last_run: 1002, carried_by: Some(1002), planned: 1502 }, "a count knows all of them");
}

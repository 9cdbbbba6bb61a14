//! What an undone cancel brings back, one row a case: the cancel is decided first, and the undo on what it wrote.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::time::Duration;

use common::said::{check, written};
use common::{asked, at, every, every_from, occurrence, once, reminder, retrying};
use jiff::Timestamp;
use punctual_core::change::{Besides, Cancelled, Change, Loaded, changed};
use punctual_core::journal::Ended;
use punctual_core::occurrence::{Escalation, Occurrence, State, Tries, Why};
use punctual_core::reminder::{AckPolicy, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::schedule::{Anchor, Schedule};
use punctual_core::store::By;

/// When everything is cancelled.
const CANCELLED: i64 = 30;

fn asking(schedule: Schedule) -> Reminder {
    Reminder { ack: Some(AckPolicy::default()), ..reminder(schedule) }
}

/// A reminder with this run open.
fn open(reminder: Reminder, run: Occurrence) -> Loaded {
    let series = Series::begun(reminder.schedule.is_recurring());
    let progress = Progress { series, tally: Tally::default() };
    let (open, besides) = (vec![run], Besides::Nothing);
    Loaded { reminder, progress, open, last_ended: None, has_kin: false, family: vec![], besides }
}

/// Its first run, due at second 60.
fn first(reminder: &Reminder) -> Occurrence {
    occurrence(reminder, 1, at(60))
}

/// The reminder as a store has it when the cancel is undone.
fn cancelled(loaded: Loaded) -> Loaded {
    let now = at(CANCELLED);
    let (_, writes) = changed(loaded.clone(), &Change::Cancel, &By::new("alice", now)).unwrap();
    let ended = Ended::read(writes.entries.last().unwrap().data_json().as_deref()).unwrap();
    let runs = writes.occurrences;
    let moved = writes.moved[0];
    let reminder = Reminder { status: moved.status, updated_at: now, ..loaded.reminder };
    let besides = Besides::Cancelled(Some(Cancelled { at: now, ended, runs, is_unlinked: false }));
    Loaded { reminder, progress: moved.progress, open: vec![], besides, ..loaded }
}

fn undo(loaded: Loaded, now: Timestamp) -> Result<Vec<String>, String> {
    let undone = changed(loaded, &Change::Undo, &By::new("alice", now));
    undone.map(|(_, writes)| written(&writes)).map_err(|refused| refused.to_string())
}

#[test]
fn an_undo_lets_go_on_what_the_cancel_ended() {
    let (single, series, question) = (reminder(once()), reminder(every(60)), asking(once()));
    let paused = Reminder { status: ReminderStatus::Paused, ..series.clone() };
    let put_off = Occurrence { due_at: at(900), state: State::Snoozed, ..first(&single) };
    let waiting =
        Occurrence { due_at: at(900), state: State::Waiting { why: Why::Quiet, from: at(60) }, ..first(&single) };
    let tried = Occurrence {
        due_at: at(0),
        made_for: at(0),
        state: retrying(at(90), "engaged"),
        tries: Tries { attempts: 2, rounds: 1, ..Tries::default() },
        ..first(&single)
    };
    let reached = Occurrence {
        due_at: at(0),
        made_for: at(0),
        state: asked(at(0), at(600)),
        tries: Tries { attempts: 1, asks: 1, reached: 1, ..Tries::default() },
        escalation: Some(Escalation::Planned { at: at(300) }),
        ..first(&question)
    };
    let just_due = Occurrence { due_at: at(29), made_for: at(29), ..first(&single) };
    let again = "entry: reminder.changed run 1 {did:undo} by alice";
    let rows: &[(&str, Loaded, i64, &[&str])] = &[
        (
            "due later",
            open(single.clone(), first(&single)),
            50,
            &[
                "run 1 due 60: scheduled",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; changed at 50",
                again,
                "look at 60",
            ],
        ),
        (
            "put off, and due later",
            open(single.clone(), put_off.clone()),
            500,
            &[
                "run 1 due 900 (made for 60): snoozed",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; changed at 500",
                again,
                "look at 900",
            ],
        ),
        (
            "it waited for the end of quiet hours",
            open(single.clone(), waiting),
            500,
            &[
                "run 1 due 900 (made for 60): snoozed",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; changed at 500",
                again,
                "look at 900",
            ],
        ),
        (
            "due meanwhile",
            open(single.clone(), first(&single)),
            61,
            &[
                "run 1 due 60: missed at 61",
                "reminder completed: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last missed; changed at 61",
                "entry: reminder.missed run 1 {runs:1} by alice",
                again,
            ],
        ),
        (
            "a series that was due meanwhile",
            open(series.clone(), first(&series)),
            200,
            &[
                "run 1 due 60: missed at 200",
                "plan run 2 due 120: missed at 200",
                "plan run 3 due 180: missed at 200",
                "plan run 4 due 240: scheduled",
                "reminder active: carried by 4, last run 4, 4 planned; 0 counted, 0 errors, last missed; changed at 200",
                "entry: reminder.missed run 1 {runs:3} by alice",
                again,
                "look at 240",
            ],
        ),
        (
            "a series that goes on",
            open(series.clone(), first(&series)),
            50,
            &[
                "run 1 due 60: scheduled",
                "priority of open runs: normal",
                "reminder active: carried by 1, last run 1, 1 planned; changed at 50",
                again,
                "look at 60",
            ],
        ),
        (
            "it was being tried",
            open(single.clone(), tried),
            50,
            &[
                "run 1 due 0: retry at 50 (it was cancelled between two tries, and that was undone); attempts 2; rounds 1",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; changed at 50",
                again,
                "look at 50",
            ],
        ),
        (
            "its moment had just come",
            open(single.clone(), just_due),
            50,
            &[
                "run 1 due 29: scheduled",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; changed at 50",
                again,
                "look at 29",
            ],
        ),
        (
            "it had reached its person",
            open(question.clone(), reached),
            50,
            &[
                "run 1 due 0: asked at 50, again at 650; attempts 1; asks 1; reached 1",
                "priority of open runs: normal",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last awaiting_ack; changed at 50",
                again,
                "look at 650",
            ],
        ),
        (
            "paused before",
            open(paused.clone(), Occurrence { state: State::Paused, ..first(&paused) }),
            500,
            &[
                "run 1 due 60: paused",
                "priority of open runs: normal",
                "reminder paused: carried by 1, last run 1, 1 planned; changed at 500",
                again,
            ],
        ),
    ];
    for (name, loaded, second, expect) in rows {
        let found = undo(cancelled(loaded.clone()), at(*second)).unwrap();
        check(name, "undo", &found, expect);
    }
}

#[test]
fn an_interval_from_the_answer_goes_on_from_the_undo() {
    let reminder = asking(every_from(100, Anchor::Ack));
    let found = undo(cancelled(open(reminder.clone(), first(&reminder))), at(200)).unwrap();
    assert!(found.contains(&"plan run 2 due 300: scheduled".to_owned()), "{found:?}");
}

#[test]
fn a_counted_series_misses_no_more_runs_than_it_has() {
    let reminder = reminder(Schedule { count: Some(3), ..every(60) });
    let found = undo(cancelled(open(reminder.clone(), first(&reminder))), at(500)).unwrap();
    let runs: Vec<&String> = found.iter().filter(|line| line.starts_with("plan") || line.starts_with("run")).collect();
    let expect =
        ["run 1 due 60: missed at 500", "plan run 2 due 120: missed at 500", "plan run 3 due 180: missed at 500"];
    assert_eq!(runs, expect);
    assert!(found.iter().any(|line| line.starts_with("reminder completed: carried by none")), "{found:?}");
}

#[test]
fn an_undo_is_refused_when_it_is_too_late_or_means_something_else() {
    let single = reminder(once());
    let loaded = || cancelled(open(single.clone(), first(&single)));
    let check = |loaded: Loaded, now: i64, expect: &str| {
        let refused = undo(loaded, at(now)).unwrap_err();
        assert!(refused.contains(expect), "{refused}");
    };
    assert!(undo(loaded(), at(CANCELLED + 600)).is_ok(), "ten minutes to the second");
    check(loaded(), CANCELLED + 601, "it was cancelled 10m ago, and only 10m are allowed; make a new one");
    check(loaded(), CANCELLED + 7200, "it was cancelled 2h ago");
    check(open(single.clone(), first(&single)), 50, "it is active, not cancelled");
    check(Loaded { besides: Besides::Cancelled(None), ..loaded() }, 50, "the journal no longer says");
    let mut changed = loaded();
    changed.reminder.updated_at = at(CANCELLED) + Duration::from_micros(1);
    check(changed, 50, "it was changed after it was cancelled");
    let mut asked = loaded();
    asked.reminder.escalates = Some(first(&single).id);
    check(asked, 50, "in another's place");
    let mut unlinked = loaded();
    if let Besides::Cancelled(Some(cancelled)) = &mut unlinked.besides {
        cancelled.is_unlinked = true;
    }
    check(unlinked, 50, "its event has withdrawn it");
    let unplanned = Occurrence { state: State::Unplanned { asked: "{}".into() }, ..first(&single) };
    check(cancelled(open(single.clone(), unplanned)), 50, "before its first run was planned");
}

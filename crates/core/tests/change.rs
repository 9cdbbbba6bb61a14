//! What a command changes, and what it refuses.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::time::Duration;

use common::{asked, at, every, every_from, occurrence, once, reminder, retrying};
use jiff::Timestamp;
use punctual_core::change::{Besides, Change, Loaded, Patch, Refused, changed};
use punctual_core::occurrence::{Occurrence, State, StateKind, Why};
use punctual_core::reminder::{AckPolicy, Priority, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::store::{By, Response};

/// A reminder whose first run is in `state`.
fn loaded(reminder: Reminder, state: State) -> Loaded {
    let mut first = occurrence(&reminder, 1, at(60));
    first.state = state;
    first.tries.reached = 1;
    let series = Series::begun(reminder.schedule.is_recurring());
    let (open, last_ended) = if first.state.is_final() { (vec![], Some(first)) } else { (vec![first], None) };
    let progress = Progress { series, tally: Tally::default() };
    Loaded { reminder, progress, open, last_ended, has_kin: false, family: Vec::new(), besides: Besides::Nothing }
}

fn asking(schedule: Schedule) -> Reminder {
    Reminder { ack: Some(AckPolicy::default()), ..reminder(schedule) }
}

fn processing() -> State {
    common::processing(1, at(75), &reminder(once()).to[0])
}

fn awaiting() -> State {
    asked(at(60), at(660))
}

/// The result of a command.
struct Applied {
    reminder: Reminder,
    series: Series,
    tally: Tally,
    write: Vec<Occurrence>,
    insert: Vec<Occurrence>,
    response: Option<Response>,
    wakes: Vec<Timestamp>,
}

impl Applied {
    fn wakes(&self) -> Vec<Timestamp> {
        self.wakes.clone()
    }
}

fn apply(loaded: Loaded, change: &Change, by: &By) -> Result<Applied, Refused> {
    let before = loaded.reminder.clone();
    let (about, mut writes) = changed(loaded, change, by)?;
    let moved = writes.moved.remove(0);
    let reminder = writes.reminders.pop().unwrap_or(Reminder { status: moved.status, updated_at: by.now, ..before });
    assert_eq!((moved.reminder, moved.status, moved.changed_at), (reminder.id, reminder.status, Some(by.now)));
    // What else happened comes before what the command did.
    let entry = writes.entries.last().unwrap();
    assert_eq!((entry.run, entry.reminder), (about.map(|about| about.id.run), Some(reminder.id)));
    assert_eq!((entry.who.name(), entry.user.as_deref()), ("alice", Some("alice")));
    let wakes = writes.wakes().collect();
    let insert = writes.planned.into_iter().map(|planned| planned.occurrence).collect();
    let (write, response) = (writes.occurrences, writes.responses.pop());
    let Progress { series, tally } = moved.progress;
    Ok(Applied { reminder, series, tally, write, insert, response, wakes })
}

fn done(loaded: Loaded, change: Change) -> Applied {
    apply(loaded, &change, &By::new("alice", at(30))).unwrap()
}

fn refused(loaded: Loaded, change: Change) -> String {
    apply(loaded, &change, &By::new("alice", at(30))).map(drop).unwrap_err().to_string()
}

fn states(applied: &Applied) -> Vec<(u32, StateKind, Timestamp)> {
    let all = applied.write.iter().chain(&applied.insert);
    all.map(|o: &Occurrence| (o.id.run, o.state.kind(), o.due_at)).collect()
}

#[test]
fn cancel_ends_everything_that_is_to_come() {
    let applied = done(loaded(reminder(every(60)), State::Scheduled), Change::Cancel);
    assert_eq!(states(&applied), [(1, StateKind::Cancelled, at(60))]);
    assert_eq!(applied.reminder.status, ReminderStatus::Cancelled);
    assert_eq!((applied.series.carried_by, applied.wakes()), (None, vec![]));
}

#[test]
fn cancel_never_pretends() {
    let begun = loaded(reminder(once()), processing());
    assert_eq!(apply(begun, &Change::Cancel, &By::new("alice", at(30))).map(drop).unwrap_err(), Refused::SendBegun);
    let mut over = reminder(once());
    over.status = ReminderStatus::Completed;
    assert!(refused(loaded(over, State::Delivered { at: at(60) }), Change::Cancel).contains("over"));
    let mut twice = reminder(once());
    twice.status = ReminderStatus::Cancelled;
    assert!(refused(loaded(twice, State::Cancelled { at: at(1) }), Change::Cancel).contains("already"));
}

#[test]
fn pause_and_resume_keep_what_is_still_to_come() {
    let paused = done(loaded(reminder(every(60)), State::Scheduled), Change::Pause);
    assert_eq!((states(&paused), paused.wakes()), (vec![(1, StateKind::Paused, at(60))], vec![]));
    assert!(refused(loaded(paused.reminder.clone(), State::Paused), Change::Pause).contains("paused"));
    let resumed = done(loaded(paused.reminder, State::Paused), Change::Resume);
    assert_eq!(states(&resumed), [(1, StateKind::Scheduled, at(60))]);
}

#[test]
fn a_series_resumed_after_its_run_goes_on_with_the_next_one() {
    let mut paused = reminder(every(60));
    paused.status = ReminderStatus::Paused;
    let resumed = apply(loaded(paused, State::Paused), &Change::Resume, &By::new("alice", at(150))).unwrap();
    assert_eq!(states(&resumed), [(1, StateKind::Missed, at(60)), (2, StateKind::Scheduled, at(180))]);
    assert_eq!(resumed.series.carried_by, Some(2));
    assert_eq!(resumed.tally.last_status, Some(StateKind::Missed));
}

#[test]
fn a_resumed_interval_counted_from_the_answer_is_due_that_long_after_the_resume() {
    let from = |anchor| Reminder { status: ReminderStatus::Paused, ..asking(every_from(60, anchor)) };
    for (anchor, next) in [(Anchor::Ack, at(210)), (Anchor::Start, at(180))] {
        let resumed = apply(loaded(from(anchor), State::Paused), &Change::Resume, &By::new("alice", at(150))).unwrap();
        assert_eq!(states(&resumed), [(1, StateKind::Missed, at(60)), (2, StateKind::Scheduled, next)], "{anchor:?}");
    }
}

#[test]
fn a_single_reminder_resumed_after_its_instant_is_due_at_once() {
    let mut paused = reminder(once());
    paused.status = ReminderStatus::Paused;
    let resumed = apply(loaded(paused, State::Paused), &Change::Resume, &By::new("alice", at(150))).unwrap();
    assert_eq!(states(&resumed), [(1, StateKind::Scheduled, at(60))]);
}

#[test]
fn skip_leaves_out_one_run() {
    let applied = done(loaded(reminder(every(60)), State::Scheduled), Change::Skip);
    assert_eq!(states(&applied), [(1, StateKind::Cancelled, at(60)), (2, StateKind::Scheduled, at(120))]);
    assert!(refused(loaded(reminder(once()), State::Scheduled), Change::Skip).contains("cancel it instead"));
    let begun = loaded(reminder(every(60)), processing());
    assert_eq!(apply(begun, &Change::Skip, &By::new("alice", at(30))).map(drop).unwrap_err(), Refused::SendBegun);
}

#[test]
fn an_answer_ends_the_run_and_a_single_reminder_with_it() {
    for (change, kind) in [(Change::Ack, StateKind::Completed), (Change::Dismiss, StateKind::Dismissed)] {
        let applied = done(loaded(asking(once()), awaiting()), change);
        assert_eq!(applied.write[0].state.kind(), kind);
        assert_eq!(applied.reminder.status, ReminderStatus::Completed);
        assert_eq!(applied.response.unwrap().occurrence, applied.write[0].id);
    }
}

#[test]
fn an_answer_counts_also_while_it_is_asked_again() {
    assert_eq!(done(loaded(asking(once()), processing()), Change::Ack).write[0].state.kind(), StateKind::Completed);
}

#[test]
fn a_command_that_ends_a_lease_recalls_the_run() {
    let snooze = Change::Snooze { until: at(600) };
    let rows = [
        ("asked again just now, and answered", processing(), Change::Ack, true),
        ("asked again just now, and dismissed", processing(), Change::Dismiss, true),
        ("asked again just now, and put off", processing(), snooze, true),
        ("no node has it", awaiting(), Change::Ack, false),
        ("no node has it", awaiting(), Change::Cancel, false),
        ("its node goes on", processing(), Change::Fire, false),
    ];
    for (what, state, change, is_recalled) in rows {
        let loaded = loaded(asking(once()), state);
        let id = loaded.reminder.id;
        let (_, writes) = changed(loaded, &change, &By::new("alice", at(30))).unwrap();
        assert_eq!(writes.recalls, if is_recalled { vec![id] } else { vec![] }, "{what}: {}", change.verb());
    }
}

#[test]
fn a_run_that_was_put_off_can_be_answered_before_it_comes_again() {
    let applied = done(loaded(asking(once()), State::Snoozed), Change::Ack);
    assert_eq!(states(&applied), [(1, StateKind::Completed, at(60))]);
    assert_eq!(applied.reminder.status, ReminderStatus::Completed);
    // One that has never reached its person asks nothing yet, nor does one that wants no answer.
    let mut unsaid = loaded(asking(once()), State::Snoozed);
    unsaid.open[0].tries.reached = 0;
    assert!(refused(unsaid, Change::Ack).contains("yet"));
    assert!(refused(loaded(reminder(once()), State::Snoozed), Change::Ack).contains("require_ack"));
    // The run that is asked now is meant before the one that comes again later.
    let mut both = loaded(asking(every(60)), State::Snoozed);
    let second = Occurrence { state: awaiting(), ..occurrence(&both.reminder, 2, at(120)) };
    both.open.push(second);
    assert_eq!(states(&done(both, Change::Ack))[0], (2, StateKind::Completed, at(120)));
}

#[test]
fn a_late_answer_counts_for_a_day() {
    let unanswered = |reminder: Reminder| loaded(reminder, State::Unanswered { at: at(0) });
    let day = 24 * 3600;
    for (change, kind) in [(Change::Ack, StateKind::Completed), (Change::Dismiss, StateKind::Dismissed)] {
        let over = Reminder { status: ReminderStatus::Completed, ..asking(once()) };
        let applied = apply(unanswered(over), &change, &By::new("alice", at(day))).unwrap();
        assert_eq!(states(&applied), [(1, kind, at(60))]);
        assert_eq!(applied.reminder.status, ReminderStatus::Completed);
        assert_eq!(applied.response.unwrap().verb.as_str(), change.verb());
        let too_late = apply(unanswered(asking(once())), &change, &By::new("alice", at(day + 1)));
        assert_eq!(too_late.map(drop).unwrap_err().to_string(), "no answer is awaited; the last run is unanswered");
    }
    // The series has gone on in silence, and does so once.
    let mut series = unanswered(asking(every_from(60, Anchor::Ack)));
    series.progress.series.carried_by = Some(2);
    assert_eq!(states(&done(series, Change::Ack)), [(1, StateKind::Completed, at(60))]);
    // It is over: nothing is left to put off.
    assert!(refused(unanswered(asking(once())), Change::Snooze { until: at(600) }).contains("unanswered"));
}

#[test]
fn an_answer_to_nothing_is_refused_with_the_reason() {
    assert!(refused(loaded(reminder(once()), State::Scheduled), Change::Ack).contains("require_ack"));
    assert!(refused(loaded(asking(once()), State::Scheduled), Change::Ack).contains("yet"));
    let answered = loaded(asking(once()), State::Completed { at: at(20) });
    assert!(refused(answered, Change::Ack).contains("completed"));
}

#[test]
fn an_answer_to_one_run_touches_no_other() {
    let to = |run, answer| Change::AnswerRun { run, answer: Box::new(answer) };
    let two = || {
        let mut two = loaded(asking(every(60)), awaiting());
        let mut second = occurrence(&two.reminder, 2, at(120));
        second.state = awaiting();
        two.open.push(second);
        two.progress.series.last_run = 3;
        two
    };
    assert_eq!(states(&done(two(), to(2, Change::Ack)))[0], (2, StateKind::Completed, at(120)));
    assert_eq!(states(&done(two(), to(1, Change::Dismiss)))[0], (1, StateKind::Dismissed, at(60)));
    let until = at(600);
    assert_eq!(states(&done(two(), to(2, Change::Snooze { until })))[0], (2, StateKind::Snoozed, until));
    for answer in [Change::Ack, Change::Dismiss, Change::Snooze { until }] {
        assert_eq!(refused(two(), to(3, answer.clone())), "this run awaits no answer any more");
        assert_eq!(to(3, answer.clone()).verb(), answer.verb());
    }
    assert_eq!(refused(two(), to(4, Change::Ack)), "run: there is no run 4; the last one is 3");
    // A command that is no answer is not accepted as one.
    for other in [Change::Cancel, Change::Fire, to(1, Change::Ack)] {
        assert_eq!(refused(two(), to(1, other)), "answer: is none: ack, snooze and dismiss are");
    }
}

#[test]
fn an_interval_counted_from_the_answer_goes_on_from_it() {
    let applied = done(loaded(asking(every_from(60, Anchor::Ack)), awaiting()), Change::Ack);
    assert_eq!(states(&applied)[1], (2, StateKind::Scheduled, at(90)));
}

#[test]
fn snooze_moves_this_run_and_never_the_series() {
    let snooze = Change::Snooze { until: at(630) };
    let asked = done(loaded(asking(every(60)), awaiting()), snooze.clone());
    assert_eq!(states(&asked)[0], (1, StateKind::Snoozed, at(630)));
    let ahead = done(loaded(reminder(every(60)), State::Scheduled), snooze.clone());
    assert_eq!(states(&ahead), [(1, StateKind::Snoozed, at(630)), (2, StateKind::Scheduled, at(120))]);
    let mut over = reminder(once());
    over.status = ReminderStatus::Completed;
    let again = done(loaded(over, State::Delivered { at: at(20) }), snooze);
    assert_eq!(states(&again), [(1, StateKind::Snoozed, at(630))]);
    assert_eq!(again.reminder.status, ReminderStatus::Active);
}

#[test]
fn a_snooze_that_makes_no_sense_is_refused() {
    let asked = || loaded(asking(once()), awaiting());
    assert!(refused(asked(), Change::Snooze { until: at(30) }).contains("until"));
    let early = loaded(reminder(every(60)), State::Scheduled);
    assert!(refused(early, Change::Snooze { until: at(50) }).contains("puts off"), "a snooze never makes it earlier");
    assert!(refused(asked(), Change::Snooze { until: at(400 * 86_400) }).contains("year"));
    let mut firm = asking(once());
    firm.snooze_allowed = false;
    assert!(refused(loaded(firm, awaiting()), Change::Snooze { until: at(60) }).contains("snooze_allowed"));
    let begun = loaded(reminder(once()), processing());
    assert!(refused(begun, Change::Snooze { until: at(60) }).contains("begun"));
}

#[test]
fn a_snooze_shortens_an_earlier_one_and_never_goes_before_the_instant_the_run_was_made_for() {
    // The run was made for second 60, and it is second 30.
    let paused = || Loaded {
        reminder: Reminder { status: ReminderStatus::Paused, ..reminder(once()) },
        ..loaded(reminder(once()), State::Paused)
    };
    let moved = |mut loaded: Loaded, due_at| {
        loaded.open[0].due_at = due_at;
        loaded
    };
    let waiting = |why| moved(loaded(reminder(once()), State::Waiting { why, from: at(60) }), at(900));
    let engaged = retrying(at(900), "engaged");
    let before: [(&str, Loaded); 6] = [
        ("snoozed", moved(loaded(reminder(once()), State::Snoozed), at(900))),
        ("snoozed run of a series", moved(loaded(asking(every(60)), State::Snoozed), at(900))),
        ("waiting for quiet hours", waiting(Why::Quiet)),
        ("waiting for a pause", waiting(Why::Paused)),
        ("resumed after it was snoozed", {
            let applied = done(moved(paused(), at(900)), Change::Resume);
            Loaded { reminder: applied.reminder, open: applied.write, ..paused() }
        }),
        ("retrying", loaded(reminder(once()), engaged)),
    ];
    for (what, loaded) in before {
        for early in [31, 59] {
            let said = refused(loaded.clone(), Change::Snooze { until: at(early) });
            assert!(said.starts_with("until: is before the instant this run was made for"), "{what}, {early}: {said}");
            assert!(said.contains(&at(60).to_string()), "{what}, {early}: {said}");
        }
        for later in [60, 61, 600, 1200] {
            let applied = done(loaded.clone(), Change::Snooze { until: at(later) });
            let run = &applied.write[0];
            assert_eq!((run.state.kind(), run.due_at, run.made_for), (StateKind::Snoozed, at(later), at(60)), "{what}");
        }
    }
}

#[test]
fn a_changed_schedule_is_what_the_run_is_made_for_from_then_on() {
    let mut waiting = loaded(reminder(once()), State::Waiting { why: Why::Quiet, from: at(60) });
    waiting.open[0].due_at = at(900);
    let schedule = Some(Schedule::new(Rule::Once { at: at(500) }));
    let applied = done(waiting, Change::Update(Box::new(Patch { schedule, ..Patch::default() })));
    assert_eq!((applied.write[0].due_at, applied.write[0].made_for), (at(500), at(500)));
}

#[test]
fn a_changed_schedule_of_a_single_reminder_takes_the_place_of_a_snooze() {
    let to = |rule| Change::Update(Box::new(Patch { schedule: Some(rule), ..Patch::default() }));
    let once_more = || to(Schedule::new(Rule::Once { at: at(500) }));
    let put_off = |reminder: Reminder, reached| {
        let mut loaded = loaded(reminder, State::Snoozed);
        (loaded.open[0].due_at, loaded.open[0].tries.reached) = (at(900), reached);
        loaded
    };
    let beside = |mut loaded: Loaded, state| {
        let run = occurrence(&loaded.reminder, 2, at(700));
        loaded.open.push(Occurrence { state, ..run });
        loaded.progress.series.last_run = 2;
        loaded.progress.series.carried_by = loaded.progress.series.carried_by.map(|_| 2);
        loaded
    };
    let paused = Reminder { status: ReminderStatus::Paused, ..reminder(once()) };
    let planned = State::Scheduled;
    let waits = State::Waiting { why: Why::Quiet, from: at(60) };
    let rows = [
        ("before it was sent", put_off(reminder(once()), 0), once_more(), vec![(1, StateKind::Scheduled, at(500))]),
        ("after it was sent", put_off(asking(once()), 1), once_more(), vec![(1, StateKind::Snoozed, at(500))]),
        ("and it waits", loaded(reminder(once()), waits), once_more(), vec![(1, StateKind::Scheduled, at(500))]),
        ("of a paused one", put_off(paused, 0), once_more(), vec![(1, StateKind::Paused, at(500))]),
        ("now a series", put_off(asking(once()), 1), to(every(60)), vec![(1, StateKind::Scheduled, at(60))]),
        (
            "beside a planned run",
            beside(put_off(reminder(once()), 0), planned.clone()),
            once_more(),
            vec![(2, StateKind::Scheduled, at(500))],
        ),
        (
            "of a series",
            beside(put_off(reminder(every(60)), 0), planned),
            once_more(),
            vec![(2, StateKind::Scheduled, at(500))],
        ),
        (
            "asked, and not put off",
            loaded(asking(once()), awaiting()),
            once_more(),
            vec![(2, StateKind::Scheduled, at(500))],
        ),
    ];
    for (what, loaded, update, expect) in rows {
        let applied = done(loaded, update);
        assert_eq!(states(&applied), expect, "{what}");
        assert!(applied.write.iter().chain(&applied.insert).all(|run| run.made_for == run.due_at), "{what}");
        let carried_by = applied.reminder.schedule.is_recurring().then_some(1);
        assert_eq!(applied.series.carried_by, carried_by, "{what}");
    }
}

#[test]
fn a_snooze_of_one_run_never_puts_off_another() {
    let to = |run| Change::AnswerRun { run, answer: Box::new(Change::Snooze { until: at(600) }) };
    let mut series = loaded(reminder(every(60)), State::Scheduled);
    let delivered = State::Delivered { at: at(20) };
    series.last_ended = Some(Occurrence { state: delivered, ..occurrence(&series.reminder, 7, at(20)) });
    series.progress.series.last_run = 7;
    assert_eq!(states(&done(series.clone(), to(1)))[0], (1, StateKind::Snoozed, at(600)));
    assert_eq!(states(&done(series.clone(), to(7)))[0], (7, StateKind::Snoozed, at(600)));
    refused(series, to(6));
}

#[test]
fn fire_adds_a_run_and_leaves_the_series_alone() {
    let applied = done(loaded(reminder(every(60)), State::Scheduled), Change::Fire);
    assert_eq!(states(&applied), [(2, StateKind::Scheduled, at(30))]);
    assert_eq!((applied.series.carried_by, applied.series.planned), (Some(1), 1));
    let mut gone = reminder(once());
    gone.status = ReminderStatus::Cancelled;
    assert!(refused(loaded(gone, State::Cancelled { at: at(1) }), Change::Fire).contains("cancelled"));
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let patch = Patch { message: Some("feed the cat".into()), priority: Some(Priority::High), ..Patch::default() };
    let before = reminder(every(60));
    let applied = done(loaded(before.clone(), State::Scheduled), Change::Update(Box::new(patch)));
    assert_eq!((applied.reminder.message.as_str(), applied.reminder.priority), ("feed the cat", Priority::High));
    assert_eq!(applied.reminder.schedule, before.schedule);
    assert!(applied.write.is_empty() && applied.insert.is_empty());
}

#[test]
fn open_runs_get_their_reminders_priority_when_it_changes_or_when_they_open_again() {
    let priority = |priority| Change::Update(Box::new(Patch { priority: Some(priority), ..Patch::default() }));
    let snooze = || Change::Snooze { until: at(600) };
    let rows = [
        ("another priority", State::Scheduled, priority(Priority::High), Some(Priority::High)),
        ("the same priority", State::Scheduled, priority(Priority::Normal), None),
        ("a run that had ended is put off", State::Delivered { at: at(20) }, snooze(), Some(Priority::Normal)),
        ("a run that is open is put off", State::Scheduled, snooze(), None),
        ("a new run has it from the start", State::Scheduled, Change::Fire, None),
    ];
    for (name, state, change, expect) in rows {
        let loaded = loaded(reminder(every(60)), state);
        let id = loaded.reminder.id;
        let (_, writes) = changed(loaded, &change, &By::new("alice", at(30))).unwrap();
        assert_eq!(writes.priorities, expect.map(|priority| (id, priority)).into_iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_new_schedule_moves_the_planned_run() {
    let patch = || Patch { schedule: Some(Schedule::new(Rule::Once { at: at(900) })), ..Patch::default() };
    let update = || Change::Update(Box::new(patch()));
    let planned = done(loaded(reminder(every(60)), State::Scheduled), update());
    assert_eq!(states(&planned), [(1, StateKind::Scheduled, at(900))]);
    let begun = done(loaded(reminder(every(60)), processing()), update());
    assert_eq!(states(&begun), [(2, StateKind::Scheduled, at(900))], "what is being sent stays as it is");
    let mut over = reminder(once());
    over.status = ReminderStatus::Completed;
    let revived = done(loaded(over, State::Delivered { at: at(1) }), update());
    assert_eq!((states(&revived).len(), revived.reminder.status), (1, ReminderStatus::Active));
}

#[test]
fn an_update_that_is_wrong_changes_nothing() {
    let empty = Patch { message: Some("  ".into()), ..Patch::default() };
    assert!(refused(loaded(reminder(once()), State::Scheduled), Change::Update(Box::new(empty))).contains("message"));
    let mut past = every(60);
    past.starts_at = Some(at(-500));
    past.ends_at = Some(at(-100));
    let never = Patch { schedule: Some(past), ..Patch::default() };
    let refusal = refused(loaded(reminder(every(60)), State::Scheduled), Change::Update(Box::new(never)));
    assert!(refusal.contains("never due"), "{refusal}");
}

#[test]
fn lengths_are_bounded() {
    let with = |change: fn(&mut Reminder)| {
        let mut wanted = reminder(once());
        change(&mut wanted);
        wanted.validate().map_err(|invalid| invalid.field)
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(with(|r| r.message = "x".repeat(10_000_000)), Err("message".into()));
    assert_eq!(with(|r| r.message = " \n".into()), Err("message".into()));
    assert_eq!(with(|r| r.user = String::new()), Err("user".into()));
    assert_eq!(with(|r| r.name = Some("n".repeat(300))), Err("name".into()));
    assert_eq!(with(|r| r.retries_max = 1000), Err("max_retries".into()));
    assert_eq!(with(|r| r.to[0].channel.clear()), Err("to[0].channel".into()));
    let impatient = |r: &mut Reminder| r.ack = Some(AckPolicy { timeout: Duration::ZERO, ..AckPolicy::default() });
    assert_eq!(with(impatient), Err("ack_timeout".into()));
}

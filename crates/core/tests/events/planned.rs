//! What becomes of an event's reminders, one row a case.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::decide::event::{Around, Linked, Loaded, planned, put, put_instance, removed};
use punctual_core::event::{Event, Offset, Slot};
use punctual_core::id::ReminderId;
use punctual_core::model::series::{Changed, Instance, read_name};
use punctual_core::occurrence::{Occurrence, State, Why};
use punctual_core::reminder::{AckPolicy, Address, Priority, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series};
use punctual_core::store::{ByPlanner, PlannedEvents, PutEvent, PutInstance, REMINDERS_AT_ONCE};
use punctual_core::writes::{Link, Stands, Writes};
use punctual_core::zone::Zone;
use serde_json::json;

use crate::common::said::{check, written};
use crate::common::{asked, at, occurrence, processing, reminder, retrying};
use crate::wanted::game;

/// The start of the game, in seconds of the test's world; the reminder is an hour before.
const START: i64 = 10_800;
const DUE: i64 = START - 3600;

/// A game of ann's with one offset, and its reminder.
struct Given {
    event: Event,
    stands: Stands,
    asked_at: Option<Timestamp>,
    link: Option<Link>,
    linked: Option<Linked>,
    now: i64,
}

fn slot() -> Slot {
    Slot { event: "game:1".into(), instance: String::new(), offset: Offset::minutes_before(60), user: "ann".into() }
}

/// The event is to be planned; its reminder is as the event wants it.
fn given() -> Given {
    let event = Event { starts_at: at(START), ..game(json!({"offsets": [60]})) };
    let key = event.key.clone();
    let stands = Stands { key, removed: false, planned: false, plan_at: Some(at(0)), planned_until: None, error: None };
    let loaded = Loaded { event: Ok(event.clone()), stands: stands.clone(), asked_at: Some(at(0)), links: vec![] };
    let (_, writes) = planned(vec![loaded], Around::default(), REMINDERS_AT_ONCE, &by(0));
    let made = writes.created[0].reminder.clone();
    // A name that the lines of a row know.
    let reminder = Reminder { id: reminder(made.schedule.clone()).id, ..made };
    let run = occurrence(&reminder, 1, at(DUE));
    let link = Link { slot: slot(), due_at: at(DUE), reminder: reminder.id };
    let progress = Progress { series: Series::begun(false), ..Progress::default() };
    let linked = Linked { reminder, progress, open: vec![run], family: Vec::new() };
    Given { event, stands, asked_at: Some(at(0)), link: Some(link), linked: Some(linked), now: 0 }
}

fn by(now: i64) -> ByPlanner {
    ByPlanner { who: "app".into(), zone: Zone::utc(), now: at(now) }
}

impl Given {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The reminder's only run.
    fn run(self, change: impl FnOnce(&mut Occurrence)) -> Self {
        self.with(|given| change(&mut given.linked.as_mut().unwrap().open[0]))
    }

    /// The run is in this state.
    fn state(self, state: State) -> Self {
        self.run(|run| run.state = state)
    }

    /// Its person has been reached.
    fn reached(self) -> Self {
        self.run(|run| run.tries.reached = 1)
    }

    /// The run has ended, and the reminder with it.
    fn ended(self, status: ReminderStatus) -> Self {
        self.with(|given| {
            let linked = given.linked.as_mut().unwrap();
            linked.open.clear();
            linked.reminder.status = status;
        })
    }

    /// The event starts so many seconds later.
    fn moved(self, by: i64) -> Self {
        self.with(|given| given.event.starts_at = at(START + by))
    }

    fn not_wanted(self) -> Self {
        self.with(|given| given.event.offsets = Some(vec![]))
    }

    fn not_invited(self) -> Self {
        self.with(|given| given.event.users = vec!["bob".into()])
    }

    fn removed(self) -> Self {
        self.with(|given| given.stands.removed = true)
    }

    fn planned(self) -> (PlannedEvents, Writes) {
        let Self { event, stands, asked_at, link, linked, now } = self;
        let loaded = Loaded { event: Ok(event), stands, asked_at, links: link.into_iter().collect() };
        let linked = linked.into_iter().map(|linked| (linked.reminder.id, linked)).collect();
        planned(vec![loaded], Around { linked, ..Around::default() }, REMINDERS_AT_ONCE, &by(now))
    }
}

/// Everything that is written, but for what every row has.
fn lines(writes: &Writes) -> Vec<String> {
    let is_dull = |line: &str| line.starts_with("event game:1: planned") && !line.contains("error");
    written(writes).into_iter().filter(|line| !is_dull(line)).collect()
}

type Row = (&'static str, Given, &'static [&'static str]);

#[track_caller]
fn check_all<const N: usize>(rows: [Row; N]) {
    for (name, given, expect) in rows {
        let (_, writes) = given.planned();
        check(name, "written", &lines(&writes), expect);
    }
}

/// The lines of a withdrawal of what nobody has seen.
const WITHDRAWN: &[&str] = &[
    "run 1 due 7200: cancelled at 0",
    "reminder cancelled: carried by none, last run 1, 1 planned; changed at 0",
    "unlink  60 ann",
    "entry: reminder.cancelled run 1 {runs:[1]} of ann by app",
];

#[test]
fn what_nobody_has_seen_is_changed_in_place_or_withdrawn() {
    for state in [State::Scheduled, State::Paused, State::Waiting { why: Why::Quiet, from: at(DUE) }] {
        check_all([("the same again changes nothing", given().state(state), &[])]);
    }
    let (done, writes) = given().moved(600).planned();
    check(
        "a moved event",
        "written",
        &lines(&writes),
        &[
            "schedule: once",
            "run 1 due 7800: scheduled",
            "reminder active: carried by none, last run 1, 1 planned; changed at 0",
            "link  60 ann due 7800",
            "entry: reminder.changed run 1 {did:update,fields:[schedule,event]} of ann by app",
            "entry: event.planned {event:game:1,starts_at:2027-01-15T11:10:00Z,planned:1,moved:1} of nobody by app",
            "look at 7800",
        ],
    );
    assert_eq!((done.events[0].n_planned, done.events[0].n_moved), (1, 1));
    let (_, writes) = given().state(State::Paused).moved(600).planned();
    assert_eq!(lines(&writes)[1], "run 1 due 7800: paused");
    let (_, writes) = given().state(State::Waiting { why: Why::Quiet, from: at(DUE) }).moved(600).planned();
    assert_eq!(lines(&writes)[1], "run 1 due 7800: scheduled", "it waits for nothing at its new instant");
    for given in [given().not_wanted(), given().moved(-7300)] {
        let (_, writes) = given.planned();
        assert_eq!(lines(&writes)[..4], *WITHDRAWN);
    }
    let (_, writes) = given().not_invited().planned();
    assert_eq!(lines(&writes)[0], "create for bob, due 7200");
    assert!(lines(&writes).contains(&"unlink  60 ann".to_owned()));
}

#[test]
fn an_overdue_reminder_survives_the_same_event_put_again() {
    let overdue = |given: Given| given.with(|given| (given.now, given.asked_at) = (DUE + 60, Some(at(DUE + 60))));
    check_all([
        ("it is on its way, and looked at again", overdue(given()), &["look at 7200"]),
        (
            "its message is changed on the way",
            overdue(given()).with(|given| given.event.message = "Now".into()),
            &[
                "schedule: once",
                "reminder active: carried by none, last run 1, 1 planned; changed at 7260",
                "entry: reminder.changed run 1 {did:update,fields:[message]} of ann by app",
                "entry: event.planned {event:game:1,starts_at:2027-01-15T11:00:00Z,planned:1,moved:1} of nobody by app",
                "look at 7200",
            ],
        ),
        (
            "it was claimed before its event was planned, and goes on where it was",
            overdue(given()).run(|run| {
                run.due_at = at(DUE + 61);
                run.state = State::Waiting { why: Why::Event, from: at(DUE) };
            }),
            &["run 1 due 7200: scheduled", "look at 7200"],
        ),
    ]);
}

#[test]
fn a_retry_goes_on_for_the_same_instant_only() {
    let retry = || given().state(retrying(at(DUE + 60), "500"));
    check_all([
        ("the same instant", retry(), &[]),
        (
            "it waited for its event",
            retry().state(State::PendingRetry { retry_at: at(1), error: "500".into(), waits_for: Some(Why::Event) }),
            &["run 1 due 7200: retry at 0 (500)", "look at 0"],
        ),
    ]);
    for given in [retry().not_wanted(), retry().removed()] {
        let (_, writes) = given.planned();
        let lines = lines(&writes);
        assert!(WITHDRAWN.iter().all(|line| lines.contains(&(*line).to_owned())), "{lines:?}");
    }
    let (_, writes) = retry().moved(600).planned();
    let lines = lines(&writes);
    assert_eq!(lines[..2], ["create for ann, due 7800", "run 1 due 7200: cancelled at 0"]);
    assert!(lines.contains(&"link  60 ann due 7800".to_owned()));
}

#[test]
fn what_its_person_has_seen_is_left_alone_while_they_are_invited_and_nothing_takes_its_place() {
    let ack =
        |given: Given| given.with(|given| given.linked.as_mut().unwrap().reminder.ack = Some(AckPolicy::default()));
    let seen = || {
        [
            ack(given().reached().state(asked(at(-60), at(60)))),
            given().state(State::Snoozed),
            ack(given().reached().state(retrying(at(60), "500"))),
        ]
    };
    for given in seen() {
        check_all([("wanted at the same instant", given, &[])]);
    }
    for given in seen() {
        check_all([("not wanted, and still invited", given.not_wanted(), &[])]);
    }
    for given in seen() {
        let (_, writes) = given.moved(600).planned();
        let lines = lines(&writes);
        assert_eq!(lines[0], "create for ann, due 7800");
        assert!(writes.occurrences[0].state.is_final(), "a new one takes its place: {lines:?}");
        assert!(
            lines.ends_with(&["link  60 ann due 7800".to_owned()])
                || lines.contains(&"link  60 ann due 7800".to_owned())
        );
    }
    for given in seen() {
        let (_, writes) = given.not_invited().planned();
        assert!(writes.occurrences[0].state.is_final(), "{:?}", writes.occurrences[0]);
        assert_eq!(writes.event.unlinked.len(), 1);
    }
    let [question, ..] = seen();
    let (_, writes) = question.removed().planned();
    assert_eq!(writes.occurrences[0].state, State::Dismissed { at: at(0) }, "it was seen, so it is not cancelled");
    assert_eq!(writes.event.gone, ["game:1"]);
}

#[test]
fn what_is_just_being_sent_is_left_and_looked_at_again() {
    let sending = || given().state(processing(7, at(15), &Address::new("web", "a")));
    check_all([("wanted at the same instant", sending(), &[])]);
    for given in [sending().moved(600), sending().not_wanted(), sending().not_invited(), sending().removed()] {
        let (done, writes) = given.planned();
        assert_eq!(done.busy.len(), 1);
        assert!(writes.occurrences.is_empty(), "it is left alone");
        let Stands { planned, plan_at, .. } = writes.event.stands[0];
        assert_eq!((planned, plan_at), (false, Some(at(1))), "it is looked at again until that has ended");
        assert!(writes.event.gone.is_empty() && writes.event.unlinked.is_empty());
    }
    // Its person is asked once more, which a change of the event is not about.
    let (done, writes) = sending().reached().not_wanted().planned();
    assert_eq!((done.busy.len(), writes.event.stands[0].planned), (0, true));
}

#[test]
fn what_was_sent_for_the_same_start_is_not_sent_again_and_a_move_makes_it_due_anew() {
    let ended = || given().ended(ReminderStatus::Completed);
    check_all([
        ("the same start", ended(), &[]),
        ("not wanted any more: it stays history", ended().not_wanted(), &[]),
        ("forgotten", given().with(|given| given.linked = None), &[]),
    ]);
    for given in [ended(), given().with(|given| given.linked = None)] {
        let (_, writes) = given.moved(600).planned();
        assert_eq!(lines(&writes)[..2], ["create for ann, due 7800", "link  60 ann due 7800"]);
    }
    let (_, writes) = ended().moved(-7300).planned();
    assert_eq!(lines(&writes), Vec::<String>::new(), "its new instant has passed");
    for given in [ended().not_invited(), ended().removed()] {
        let (_, writes) = given.planned();
        assert_eq!(writes.event.unlinked, [slot()]);
    }
}

#[test]
fn what_a_person_cancelled_is_never_made_again() {
    let cancelled = || given().ended(ReminderStatus::Cancelled);
    check_all([
        ("the same start", cancelled(), &[]),
        ("another start", cancelled().moved(600), &[]),
        ("not wanted", cancelled().not_wanted(), &[]),
    ]);
    let (_, writes) = cancelled().not_invited().planned();
    assert_eq!(writes.event.unlinked, [slot()]);
}

#[test]
fn what_was_asked_for_while_nobody_could_plan_is_told_late() {
    let unplanned = |asked_at: i64| {
        given().with(|given| {
            (given.link, given.linked) = (None, None);
            (given.now, given.asked_at) = (DUE + 600, Some(at(asked_at)));
        })
    };
    let (_, writes) = unplanned(0).planned();
    assert_eq!(lines(&writes)[0], "create for ann, due 7200", "ten minutes ago");
    let (_, writes) = unplanned(DUE + 300).planned();
    assert_eq!(lines(&writes), Vec::<String>::new(), "its instant had passed when it was asked for");
    let (_, writes) = unplanned(0).with(|given| given.stands.planned = true).planned();
    assert_eq!(lines(&writes), Vec::<String>::new(), "an event that was planned was asked for nothing");
}

#[test]
fn everything_that_an_event_says_goes_to_its_reminders() {
    let (_, writes) = given()
        .with(|given| {
            let event = &mut given.event;
            event.message = "{key} soon".into();
            event.priority = Priority::High;
            event.to = vec![Address::new("web", "b")];
            event.tags = vec!["chess".into()];
            event.name = Some("Chess".into());
            event.timezone = Some(Zone::named("Europe/Berlin").unwrap());
        })
        .run(|run| run.tries.position = 1)
        .planned();
    let changed = &writes.reminders[0];
    assert_eq!((changed.message.as_str(), changed.name.as_deref()), ("game:1 soon", Some("Chess")));
    assert_eq!((changed.priority, changed.timezone.name()), (Priority::High, "Europe/Berlin"));
    assert_eq!((changed.to[0].address.as_str(), changed.tags.as_slice()), ("b", &["chess".to_owned()][..]));
    assert_eq!(writes.priorities, [(changed.id, Priority::High)]);
    assert_eq!(writes.occurrences[0].tries.position, 0, "it has other addresses now");
}

#[test]
fn an_event_that_cannot_be_planned_says_why_once_and_its_reminders_go_on() {
    let broken = || given().with(|given| given.event.message = "{x}".into());
    let problem =
        "message: has the unknown field {x}; known are minutes, starts_at, ends_at, key and the fields of the metadata";
    let (done, writes) = broken().planned();
    assert_eq!(done.events[0].error.as_deref(), Some(problem));
    let stands = &writes.event.stands[0];
    assert_eq!((stands.planned, stands.plan_at, stands.error.as_deref()), (true, None, Some(problem)));
    assert_eq!((writes.entries.len(), writes.occurrences.len()), (1, 0));
    let (_, writes) = broken().with(|given| given.stands.error = Some(problem.into())).planned();
    assert_eq!(writes.entries.len(), 0, "the journal has it already");
}

#[test]
fn a_large_event_is_planned_in_parts() {
    let users: Vec<String> = (0..10).map(|n| format!("u{n}")).collect();
    let mut links = Vec::new();
    let mut n_made = Vec::new();
    for _ in 0..4 {
        let Given { event, stands, asked_at, .. } = given();
        let event = Event { users: users.clone(), ..event };
        let loaded = Loaded { event: Ok(event), stands, asked_at, links: links.clone() };
        // What was made is found by its link; it is as it should be.
        let linked = held_of(&links);
        let (done, writes) = planned(vec![loaded], Around { linked, ..Around::default() }, 4, &by(0));
        let is_planned = writes.event.stands.iter().any(|stands| stands.planned);
        n_made.push((done.events[0].n_made, done.events[0].is_unfinished, is_planned));
        links.extend(writes.event.links);
    }
    assert_eq!(n_made, [(4, true, false), (4, true, false), (2, false, true), (0, false, true)]);
}

/// The reminders of these slots, as their event made them.
fn held_of(links: &[Link]) -> HashMap<ReminderId, Linked> {
    let made = given().linked.unwrap();
    let linked = |link: &Link| {
        let reminder = Reminder { id: link.reminder, user: link.slot.user.clone(), ..made.reminder.clone() };
        let open = vec![occurrence(&reminder, 1, link.due_at)];
        (link.reminder, Linked { reminder, open, ..made.clone() })
    };
    links.iter().map(linked).collect()
}

#[test]
fn an_event_that_is_put_as_it_was_changes_nothing() {
    let Given { event, stands, .. } = given();
    let before = Loaded { event: Ok(event.clone()), stands, asked_at: None, links: vec![] };
    let again = |event: Event, keeps_instances| PutEvent { event, keeps_instances };
    let same = Event { updated_at: at(9), created_at: at(9), ..event.clone() };
    let (done, after, writes) = put(Some(&before), again(same, true), &by(9)).unwrap();
    assert_eq!((done.is_new, done.is_changed, after, writes.entries.len()), (false, false, None, 0));
    let moved = Event { starts_at: at(START + 600), ..event.clone() };
    let (done, after, writes) = put(Some(&before), again(moved, true), &by(9)).unwrap();
    assert_eq!((done.is_changed, after.unwrap().created_at), (true, event.created_at));
    let entry =
        "entry: event.changed {event:game:1,starts_at:2027-01-15T11:10:00Z,was:2027-01-15T11:00:00Z} of nobody by app";
    assert_eq!(written(&writes).last().map(String::as_str), Some(entry));
    let (done, _, _) = put(None, again(event.clone(), true), &by(9)).unwrap();
    assert!(done.is_new);
    let foreign = Event { source: Some("holidays".into()), ..event };
    let refused = put(Some(&before), again(foreign, true), &by(9)).unwrap_err();
    assert_eq!(refused.to_string(), "key: `game:1` is there already, and follows no calendar");
}

#[test]
fn an_instance_is_changed_by_its_original_start() {
    let event = game(json!({"rrule": "FREQ=DAILY", "offsets": [60]}));
    let name = |text: &str| read_name(text).unwrap();
    let cancel = |text: &str| PutInstance { at: name(text), following: false, change: Some(Instance::Cancelled) };
    let (done, after, _) = put_instance(&event, cancel("20260312T180000"), &by(0)).unwrap();
    assert!(done.is_changed);
    let after = after.unwrap();
    assert_eq!(after.repeats.as_ref().unwrap().overrides.len(), 1);
    let back = PutInstance { at: name("20260312T180000"), following: false, change: None };
    let (_, again, _) = put_instance(&after, back, &by(0)).unwrap();
    assert_eq!(again.unwrap().repeats, event.repeats, "it is as its series says again");
    let problem = put_instance(&event, cancel("20260312T190000"), &by(0)).unwrap_err().to_string();
    assert_eq!(problem, "at: there is no instance 20260312T190000, in UTC; the next one is 20260313T180000");
    let single = game(json!({}));
    assert!(put_instance(&single, cancel("20260310T180000"), &by(0)).unwrap_err().problem.contains("does not repeat"));
    let message = Some("{x}".to_owned());
    let wrong = Instance::Changed(Box::new(Changed { message, ..Changed::default() }));
    let wrong = PutInstance { at: name("20260312T180000"), following: false, change: Some(wrong) };
    assert_eq!(put_instance(&event, wrong, &by(0)).unwrap_err().field, "instances.20260312T180000.message");
}

#[test]
fn a_removed_event_is_gone_when_nothing_of_it_is_left() {
    let Given { event, stands, link, linked, .. } = given();
    let mut loaded = Loaded { event: Ok(event), stands, asked_at: None, links: link.into_iter().collect() };
    let mut all = removed(&mut loaded, None, &by(0)).unwrap();
    assert_eq!(
        written(&all),
        [
            "event game:1: to be planned, removed, look at 0",
            "entry: event.changed {event:game:1,starts_at:2027-01-15T11:00:00Z,deleted:true} of nobody by app",
        ]
    );
    let linked = linked.into_iter().map(|linked| (linked.reminder.id, linked)).collect();
    let (_, writes) = planned(vec![loaded], Around { linked, ..Around::default() }, 9, &by(0));
    all.event.gone.extend(writes.event.gone.clone());
    assert_eq!(lines(&writes)[..2], WITHDRAWN[..2]);
    assert_eq!(all.event.gone, ["game:1"]);
}

//! What one person's answer means for the others who were asked, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::said::run;
use common::{asked, at, every, occurrence, once, processing, reminder, retrying};
use punctual_core::change::{Besides, Change, Loaded, Patch, Refused, changed};
use punctual_core::decide::family::{Kin, VIA, family_of};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::journal::Entry;
use punctual_core::occurrence::{Escalation, Occurrence, State};
use punctual_core::reminder::{AckPolicy, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::store::{Answerer, By};
use punctual_core::user::Person;
use punctual_core::writes::Writes;

/// The state of a run, and how often it has reached its person.
type Standing = (State, u32);

fn alices() -> Reminder {
    Reminder { ack: Some(AckPolicy::default()), ..reminder(once()) }
}

/// The reminder of somebody who was asked in alice's place: number 2, 3 and so on.
fn others(number: u8, user: &str) -> Reminder {
    let about = occurrence(&alices(), 1, at(0)).id;
    Reminder {
        id: ReminderId::new(at(0), [number; 10]),
        user: user.into(),
        escalates: Some(about),
        event: None,
        to: vec![],
        ..alices()
    }
}

fn member(reminder: Reminder, (state, reached): Standing) -> Loaded {
    let mut first = Occurrence { state, ..occurrence(&reminder, 1, at(0)) };
    first.tries.reached = reached;
    // A run that was put off begins its plan anew.
    if reminder.escalates.is_none() && first.state != State::Snoozed {
        first.escalation = Some(Escalation::Asked { until: at(9000) });
    }
    let reminder = match first.state.is_final() {
        true => Reminder { status: ReminderStatus::Completed, ..reminder },
        false => reminder,
    };
    let progress = Progress { series: Series::begun(false), tally: Tally::default() };
    let (open, last_ended) = if first.state.is_final() { (vec![], Some(first)) } else { (vec![first], None) };
    let has_kin = reminder.escalates.is_none();
    Loaded { reminder, progress, open, last_ended, has_kin, family: vec![], besides: Besides::Nothing }
}

fn kin(loaded: Loaded) -> Kin {
    let Loaded { reminder, progress, open, last_ended, .. } = loaded;
    Kin { reminder, progress, open, last_ended, person: Person::default() }
}

/// What `who` does when alice's, bob's and eve's runs stand like this.
fn decide(who: &str, change: &Change, standing: [Standing; 3]) -> Result<Writes, Refused> {
    let [alice, bob, eve] = standing;
    decide_of(who, change, vec![member(alices(), alice), member(others(2, "bob"), bob), member(others(3, "eve"), eve)])
}

fn decide_of(who: &str, change: &Change, mut all: Vec<Loaded>) -> Result<Writes, Refused> {
    let index = all.iter().position(|member| member.reminder.user == who).unwrap();
    let mut named = all.remove(index);
    // A store loads the family only where core asks for it.
    if family_of(&named, change).is_some() {
        named.family = all.into_iter().map(kin).collect();
    }
    let by = By { user: Some(who.into()), ..By::new(who, at(100)) };
    changed(named, change, &by).map(|(_, writes)| writes)
}

/// What became of each run, each answer, and each relay.
fn lines(writes: &Writes) -> Vec<String> {
    let states = writes.occurrences.iter().map(|o| format!("{} {}", run(o.id), o.state.kind()));
    let answers = writes.responses.iter();
    let answers = answers.map(|r| format!("{} {} by {}", run(r.occurrence), r.verb, r.user.as_deref().unwrap()));
    let relays = writes.created.iter().map(|new| {
        assert_eq!((new.reminder.created_via.as_str(), new.first_due_at), (VIA, at(100)));
        assert!(new.reminder.ack.is_none() && new.reminder.validate().is_ok());
        format!("tell {}: {}", new.reminder.user, new.reminder.message)
    });
    let recalls = writes.recalls.iter().map(|id| format!("recall {}", id.as_bytes()[15]));
    states.chain(answers).chain(relays).chain(recalls).collect()
}

fn waits() -> Standing {
    (asked(at(60), at(660)), 1)
}

fn to_come() -> Standing {
    (State::Scheduled, 0)
}

fn sending(reached: u32) -> Standing {
    (processing(1, at(115), &reminder(once()).to[0]), reached)
}

/// A row: its name, who does what, how the runs of alice, bob and eve stand, and what becomes of it.
type Row<'a> = (&'a str, &'a str, Change, [Standing; 3], &'a [&'a str]);

#[test]
fn an_answer_by_anyone_is_an_answer_to_all() {
    let snooze = Change::Snooze { until: at(700) };
    let later = "put off until 08:11. \"water the plants\"";
    let rows: [Row<'_>; 15] = [
        (
            "alice: done",
            "alice",
            Change::Ack,
            [waits(), waits(), to_come()],
            &[
                "1 completed",
                "b1 completed",
                "c1 cancelled",
                "1 ack by alice",
                "b1 ack by alice",
                "tell bob: ✓ alice: done. \"water the plants\"",
            ],
        ),
        (
            "bob: done, while alice is asked again and eve is asked just now",
            "bob",
            Change::Ack,
            [sending(1), waits(), sending(0)],
            &[
                "b1 completed",
                "1 completed",
                "c1 cancelled",
                "b1 ack by bob",
                "1 ack by bob",
                "tell alice: ✓ bob: done. \"water the plants\"",
                "recall 1",
                "recall 3",
            ],
        ),
        (
            "bob: not needed; alice was never reached",
            "bob",
            Change::Dismiss,
            [(retrying(at(200), "500"), 0), waits(), waits()],
            &[
                "b1 dismissed",
                "1 dismissed",
                "c1 dismissed",
                "b1 dismiss by bob",
                "1 dismiss by bob",
                "c1 dismiss by bob",
                "tell eve: ✓ bob: not needed. \"water the plants\"",
            ],
        ),
        (
            "bob: done, of a run that failed",
            "bob",
            Change::Ack,
            [(State::Failed { at: at(50), error: "500".into() }, 0), waits(), to_come()],
            &["b1 completed", "c1 cancelled", "b1 ack by bob"],
        ),
        (
            "alice: later",
            "alice",
            snooze.clone(),
            [waits(), waits(), to_come()],
            &["1 snoozed", "b1 dismissed", "c1 cancelled", "1 snooze by alice", &format!("tell bob: ✓ alice: {later}")],
        ),
        (
            "bob: later; both are asked then",
            "bob",
            snooze.clone(),
            [waits(), waits(), waits()],
            &[
                "b1 snoozed",
                "1 snoozed",
                "c1 dismissed",
                "b1 snooze by bob",
                "1 snooze by bob",
                &format!("tell alice: ✓ bob: {later}"),
                &format!("tell eve: ✓ bob: {later}"),
            ],
        ),
        (
            "bob: later, of a run that failed: the others are asked on",
            "bob",
            snooze.clone(),
            [(State::Failed { at: at(50), error: "500".into() }, 0), waits(), to_come()],
            &["b1 snoozed", "b1 snooze by bob"],
        ),
        (
            "bob: later, while alice is sent her first message: the others are asked on",
            "bob",
            snooze,
            [sending(0), waits(), to_come()],
            &["b1 snoozed", "b1 snooze by bob"],
        ),
        (
            "alice: done, after bob has put it off for both",
            "alice",
            Change::Ack,
            [(State::Snoozed, 1), (State::Snoozed, 1), (State::Cancelled { at: at(90) }, 0)],
            &[
                "1 completed",
                "b1 completed",
                "1 ack by alice",
                "b1 ack by alice",
                "tell bob: ✓ alice: done. \"water the plants\"",
            ],
        ),
        (
            "bob: not needed, after he has put it off for both",
            "bob",
            Change::Dismiss,
            [(State::Snoozed, 1), (State::Snoozed, 1), (State::Cancelled { at: at(90) }, 0)],
            &[
                "b1 dismissed",
                "1 dismissed",
                "b1 dismiss by bob",
                "1 dismiss by bob",
                "tell alice: ✓ bob: not needed. \"water the plants\"",
            ],
        ),
        (
            "alice cancels",
            "alice",
            Change::Cancel,
            [waits(), waits(), to_come()],
            &["1 dismissed", "b1 dismissed", "c1 cancelled", "tell bob: ✓ alice: cancelled. \"water the plants\""],
        ),
        (
            "alice cancels what failed, while others are asked",
            "alice",
            Change::Cancel,
            [(State::Failed { at: at(50), error: "500".into() }, 0), to_come(), to_come()],
            &["b1 cancelled", "c1 cancelled"],
        ),
        ("bob cancels what he was asked", "bob", Change::Cancel, [waits(), waits(), to_come()], &["b1 dismissed"]),
        (
            "alice pauses: nobody else is asked",
            "alice",
            Change::Pause,
            [waits(), waits(), to_come()],
            &["c1 cancelled"],
        ),
        (
            "alice: done, late",
            "alice",
            Change::Ack,
            [(State::Unanswered { at: at(90) }, 2), (State::Unanswered { at: at(90) }, 2), to_come()],
            &[
                "1 completed",
                "b1 completed",
                "c1 cancelled",
                "1 ack by alice",
                "b1 ack by alice",
                "tell bob: ✓ alice: done. \"water the plants\"",
            ],
        ),
    ];
    for (name, who, change, standing, expect) in rows {
        let writes = decide(who, &change, standing).unwrap();
        common::said::check(name, "written", &lines(&writes), expect);
    }
}

/// Bob's reminder with another run of it, which he had sent by hand.
fn fired(mut bobs: Loaded, (state, reached): Standing) -> Loaded {
    let mut second = Occurrence { state, ..occurrence(&bobs.reminder, 2, at(50)) };
    second.tries.reached = reached;
    bobs.progress.series.last_run = 2;
    bobs.open.push(second);
    bobs
}

/// What the journal says of each run.
fn entries(writes: &Writes) -> Vec<String> {
    let entries = writes.entries.iter().filter(|entry| entry.run.is_some());
    let id = |entry: &Entry| OccurrenceId { reminder: entry.reminder.unwrap(), run: entry.run.unwrap() };
    entries.map(|entry| format!("{} {}", run(id(entry)), entry.kind.as_str())).collect()
}

#[test]
fn every_run_of_who_was_asked_ends_and_is_in_the_journal() {
    let family = |second| {
        vec![
            member(alices(), waits()),
            fired(member(others(2, "bob"), waits()), second),
            member(others(3, "eve"), to_come()),
        ]
    };
    let of_other = decide_of("alice", &Change::Ack, family(to_come())).unwrap();
    common::said::check(
        "alice: done",
        "written",
        &lines(&of_other),
        &[
            "1 completed",
            "b1 completed",
            "b2 cancelled",
            "c1 cancelled",
            "1 ack by alice",
            "b1 ack by alice",
            "tell bob: ✓ alice: done. \"water the plants\"",
        ],
    );
    common::said::check(
        "alice: done",
        "entered",
        &entries(&of_other),
        &["1 reminder.acknowledged", "b1 reminder.acknowledged", "b2 reminder.cancelled", "c1 reminder.cancelled"],
    );
    let first = Change::AnswerRun { run: 1, answer: Box::new(Change::Dismiss) };
    let own = decide_of("bob", &first, family(waits())).unwrap();
    common::said::check(
        "bob: not needed, by the button under one of his two",
        "written",
        &lines(&own),
        &[
            "b1 dismissed",
            "b2 dismissed",
            "1 dismissed",
            "c1 cancelled",
            "b1 dismiss by bob",
            "b2 dismiss by bob",
            "1 dismiss by bob",
            "tell alice: ✓ bob: not needed. \"water the plants\"",
        ],
    );
    common::said::check(
        "bob: not needed, by the button under one of his two",
        "entered",
        &entries(&own),
        &["b1 reminder.dismissed", "b2 reminder.dismissed", "1 reminder.dismissed", "c1 reminder.cancelled"],
    );
}

#[test]
fn who_was_asked_twice_is_told_once() {
    let late = (State::Unanswered { at: at(90) }, 2);
    let all = vec![member(alices(), waits()), member(others(2, "bob"), late), member(others(4, "bob"), waits())];
    let writes = decide_of("alice", &Change::Ack, all).unwrap();
    assert_eq!(writes.created.iter().map(|new| new.reminder.user.as_str()).collect::<Vec<_>>(), ["bob"]);
}

#[test]
fn somebody_in_a_group_who_is_no_user_has_no_name() {
    let mut named = member(alices(), waits());
    named.family = vec![kin(member(others(2, "bob"), waits()))];
    let by = By { answerer: Answerer::Somebody, ..By::new("telegram", at(100)) };
    let (_, writes) = changed(named, &Change::Ack, &by).unwrap();
    assert_eq!(writes.created[0].reminder.message, "✓ done. \"water the plants\"");
    assert_eq!(writes.responses.iter().map(|response| &response.user).collect::<Vec<_>>(), [&None, &None]);
}

#[test]
fn a_question_in_anothers_place_that_is_over_is_not_asked_by_hand() {
    let refused = decide("bob", &Change::Fire, [waits(), (State::Unanswered { at: at(90) }, 2), waits()]).unwrap_err();
    assert_eq!(refused.to_string(), "it asked in another's place, and that is over");
    assert!(decide("bob", &Change::Fire, [waits(), waits(), waits()]).is_ok());
}

#[test]
fn a_question_in_anothers_place_has_no_schedule_of_its_own() {
    let patch = Patch { schedule: Some(every(60)), ..Patch::default() };
    let refused = decide("bob", &Change::Update(Box::new(patch)), [waits(), waits(), to_come()]).unwrap_err();
    assert!(refused.to_string().starts_with("schedule: cannot be changed"), "{refused}");
}

#[test]
fn a_cancel_is_refused_while_another_is_just_being_asked() {
    let refused = decide("alice", &Change::Cancel, [waits(), sending(0), to_come()]).unwrap_err();
    assert_eq!(refused, Refused::OtherBegun(vec![others(2, "bob").id]));
    assert_eq!(refused.to_string(), Refused::SendBegun.to_string());
    // Its own send comes first.
    let refused = decide("alice", &Change::Cancel, [sending(1), to_come(), to_come()]).unwrap_err();
    assert_eq!(refused, Refused::SendBegun);
}

#[test]
fn a_family_is_loaded_only_where_there_may_be_one() {
    let root = member(alices(), waits());
    let alone = Loaded { has_kin: false, ..root.clone() };
    let mut anew = root.clone();
    anew.open[0].escalation = Some(Escalation::Planned { at: at(300) });
    let family = |loaded: &Loaded, change: &Change| family_of(loaded, change).map(|family| family.runs);
    for change in [Change::Ack, Change::Dismiss, Change::Snooze { until: at(700) }] {
        assert_eq!(family(&alone, &change), None);
        assert_eq!(family(&root, &change), Some(Some(vec![1])));
        assert_eq!(family(&anew, &change), Some(Some(vec![1])), "those of the round before may still be asked");
        assert_eq!(family(&member(others(2, "bob"), waits()), &change), Some(Some(vec![1])));
    }
    for change in [Change::Cancel, Change::Pause] {
        assert_eq!(family(&alone, &change), None);
        assert_eq!(family(&root, &change), Some(None), "of a run that has ended they may still be asked");
        assert_eq!(family(&member(others(2, "bob"), waits()), &change), None, "his own alone");
    }
    for change in [Change::Fire, Change::Resume, Change::Skip] {
        assert_eq!(family(&root, &change), None);
    }
}

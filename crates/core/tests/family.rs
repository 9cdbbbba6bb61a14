//! What one person's answer means for the others who were asked, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::said::run;
use common::{asked, at, occurrence, once, processing, reminder, retrying};
use punctual_core::change::{Change, Loaded, Refused, changed};
use punctual_core::decide::family::{Kin, VIA, family_of};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::{Escalation, Occurrence, State};
use punctual_core::reminder::{AckPolicy, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::store::By;
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
    Reminder { id: ReminderId::new(at(0), [number; 10]), user: user.into(), escalates: Some(about), to: vec![], ..alices() }
}

fn member(reminder: Reminder, (state, reached): Standing) -> Loaded {
    let mut first = Occurrence { state, ..occurrence(&reminder, 1, at(0)) };
    first.tries.reached = reached;
    if reminder.escalates.is_none() {
        first.escalation = Some(Escalation::Asked { until: at(9000) });
    }
    let reminder = match first.state.is_final() {
        true => Reminder { status: ReminderStatus::Completed, ..reminder },
        false => reminder,
    };
    let progress = Progress { series: Series::begun(false), tally: Tally::default() };
    let (open, last_ended) = if first.state.is_final() { (vec![], Some(first)) } else { (vec![first], None) };
    Loaded { reminder, progress, open, last_ended, family: vec![] }
}

fn kin(loaded: Loaded) -> Kin {
    let Loaded { reminder, progress, open, last_ended, .. } = loaded;
    Kin { reminder, progress, open, last_ended, person: Person::default() }
}

/// What `who` does when alice's, bob's and eve's runs stand like this.
fn decide(who: &str, change: &Change, standing: [Standing; 3]) -> Result<Writes, Refused> {
    let [alice, bob, eve] = standing;
    let mut all = vec![member(alices(), alice), member(others(2, "bob"), bob), member(others(3, "eve"), eve)];
    let index = all.iter().position(|member| member.reminder.user == who).unwrap();
    let mut named = all.remove(index);
    // A store loads the family only where core asks for it.
    if family_of(&named.reminder, &named.open, named.last_ended.as_ref(), change).is_some() {
        named.family = all.into_iter().map(kin).collect();
    }
    let by = By { user: Some(who.into()), ..By::new(who, at(100)) };
    changed(named, change, &by).map(|(_, writes)| writes)
}

/// What became of each run, each answer, and each relay.
fn lines(writes: &Writes) -> Vec<String> {
    let states = writes.occurrences.iter().map(|o| format!("{} {}", run(o.id), o.state.kind()));
    let answers = writes.responses.iter();
    let answers = answers.map(|r| format!("{} {} by {}", run(r.occurrence), r.kind, r.user.as_deref().unwrap()));
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
    let rows: [Row<'_>; 12] = [
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
            snooze,
            [(State::Failed { at: at(50), error: "500".into() }, 0), waits(), to_come()],
            &["b1 snoozed", "b1 snooze by bob"],
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
        ("alice pauses: nobody else is asked", "alice", Change::Pause, [waits(), waits(), to_come()], &["c1 cancelled"]),
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
    let plain = member(alices(), waits());
    let escalation = |run: &Loaded, escalation| {
        let mut run = run.clone();
        run.open[0].escalation = escalation;
        run
    };
    let family = |loaded: &Loaded, change: &Change| {
        family_of(&loaded.reminder, &loaded.open, loaded.last_ended.as_ref(), change).map(|family| family.runs)
    };
    let none = escalation(&plain, None);
    let planned = escalation(&plain, Some(Escalation::Planned { at: at(300) }));
    for change in [Change::Ack, Change::Dismiss, Change::Snooze { until: at(700) }] {
        assert_eq!(family(&none, &change), None);
        assert_eq!(family(&planned, &change), None);
        assert_eq!(family(&plain, &change), Some(Some(vec![1])));
        assert_eq!(family(&member(others(2, "bob"), waits()), &change), Some(Some(vec![1])));
    }
    for change in [Change::Cancel, Change::Pause] {
        assert_eq!(family(&none, &change), Some(None), "of a run that has ended they may still be asked");
        assert_eq!(family(&member(others(2, "bob"), waits()), &change), None, "his own alone");
        assert_eq!(family(&member(reminder(once()), to_come()), &change), None, "it asks for no answer");
    }
    for change in [Change::Fire, Change::Resume, Change::Skip] {
        assert_eq!(family(&plain, &change), None);
    }
}

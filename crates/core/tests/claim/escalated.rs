//! Runs that nobody answers, whose plan says who is asked next.

use super::*;
use crate::common::{asked, once, retrying};
use punctual_core::occurrence::Escalation;
use punctual_core::reminder::{AckPolicy, ReminderStatus};
use punctual_core::step::Step;

fn step(seconds: u64, to: &str) -> Step {
    Step { after: Duration::from_secs(seconds), to: to.parse().unwrap() }
}

/// A reminder that asks again once after a minute, and bob after five.
fn escalating() -> Given {
    given(once()).with(|given| {
        given.reminder.ack = Some(AckPolicy { prompt: None, timeout: Duration::from_secs(60), reminders_max: 1 });
        given.reminder.escalate = vec![step(300, "bob")];
    })
}

/// The same, asked `asks` times, in this state, with this escalation.
fn in_state(state: State, asks: u32, escalation: Option<Escalation>) -> Given {
    escalating().run(state).with(|given| {
        (given.due[0].tries.asks, given.due[0].tries.reached) = (asks, asks);
        given.due[0].escalation = escalation;
    })
}

fn planned(second: i64) -> Option<Escalation> {
    Some(Escalation::Planned { at: at(second) })
}

fn was_asked(until: i64) -> Option<Escalation> {
    Some(Escalation::Asked { until: at(until) })
}

#[test]
fn a_plan_begins_when_its_person_is_told() {
    let sent = |escalates: Option<&str>, given: Given, name: &str| {
        let lease = format!("lease 1 until {}", given.now + 15);
        let (due, now) = (common::said::second(given.due[0].due_at), given.now);
        let told = format!("send run 1 to web:a at {due}, {lease}, attempt 1");
        let moved = if due == "0" { "" } else { " (made for 0)" };
        let run = format!("run 1 due {due}{moved}: processing, {lease}, to web:a since {now}; attempts 1");
        let run = run + &escalates.map(|at| format!("; escalates at {at}")).unwrap_or_default();
        decided(name, given, &[&told, "taken: 1"], &[&run]);
    };
    sent(Some("300"), escalating(), "due now");
    sent(Some("350"), escalating().now(50), "late: counted from when its person hears of it");
    sent(None, escalating().with(|given| given.reminder.escalate.clear()), "no plan");
    let own = |given: &mut Given| {
        given.reminder.escalate.clear();
        given.person.escalate = vec![step(60, "eve")];
    };
    sent(Some("60"), escalating().with(own), "the person's plan");
    sent(Some("300"), escalating().with(|given| given.person.escalate = vec![step(60, "eve")]), "its own comes first");
    sent(None, escalating().with(|given| given.reminder.ack = None), "no question");
    let of_other = |given: &mut Given| given.reminder.escalates = Some(given.due[0].id);
    sent(None, escalating().with(of_other), "somebody who is asked in another's place is followed by nobody");
    let snoozed = |given: &mut Given| {
        (given.due[0].state, given.due[0].due_at) = (State::Snoozed, at(600));
        given.due[0].escalation = None;
    };
    sent(Some("900"), escalating().with(snoozed).now(600), "after a snooze it begins anew");
}

#[test]
fn what_a_moment_of_a_run_with_a_plan_means() {
    let silent = |asks, escalation| in_state(asked(at(60), at(120)), asks, escalation);
    const STAYS: &str = "run 1 due 0: asked at 60, again at 120; attempts 1; asks 1; reached 1";
    check_all([
        (
            "the step has come: others are asked, and the run is looked at when its own moment comes",
            silent(1, planned(100)).now(100),
            &["taken: 1"],
            &[STAYS, "news of run 1: Escalated { at: 2027-01-15T08:01:40Z }", "look at 120"],
        ),
        (
            "the step was missed: it comes before asking again",
            silent(1, planned(100)).now(500),
            &["taken: 1"],
            &[STAYS, "news of run 1: Escalated { at: 2027-01-15T08:01:40Z }", "look at 120"],
        ),
        (
            "a retry whose step comes first is not sent",
            in_state(retrying(at(120), "500"), 0, planned(100)).now(99),
            &["taken: 1"],
            &[
                "run 1 due 0: retry at 120 (500); attempts 1",
                "news of run 1: Escalated { at: 2027-01-15T08:01:40Z }",
                "look at 120",
            ],
        ),
        (
            "a retry before its step is sent, and keeps it",
            in_state(retrying(at(120), "500"), 0, planned(130)).now(120),
            &["send run 1 to web:a at 120, lease 1 until 135, attempt 2", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 135, to web:a since 120; attempts 2; escalates at 130"],
        ),
        (
            "asked in vain, and the step is to come: it stays open until then",
            silent(2, planned(300)).now(120),
            &["taken: 1"],
            &["run 1 due 0: asked at 60, again at 300; attempts 1; asks 2; reached 2; escalates at 300", "look at 300"],
        ),
        (
            "asked in vain, and others are asked: it stays open until they were",
            silent(2, was_asked(900)).now(120),
            &["taken: 1"],
            &[
                "run 1 due 0: asked at 60, again at 900; attempts 1; asks 2; reached 2; escalated until 900",
                "look at 900",
            ],
        ),
        (
            "all were asked in vain",
            silent(2, was_asked(100)).now(120),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 120; attempts 1; asks 2; reached 2; escalated until 100",
                "reminder completed: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "the reminder is paused: nobody else is asked, and its person has as long to answer as before",
            silent(1, planned(100)).now(100).with(|given| given.reminder.status = ReminderStatus::Paused),
            &["taken: 1"],
            &[STAYS, "look at 120"],
        ),
        (
            "its person's addresses cannot be read: others are asked at once",
            escalating().with(|given| {
                given.reminder.to.clear();
                given.addresses = Err("no list".into());
            }),
            &["ended: failed", "taken: 1"],
            &[
                "run 1 due 0: failed at 0 (no list)",
                "news of run 1: Escalated { at: 2027-01-15T08:00:00Z }",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed",
                "entry: reminder.failed run 1 {error:no list}",
            ],
        ),
    ]);
}

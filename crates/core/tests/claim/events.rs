//! Runs whose event has changed and is still to be planned.

use punctual_core::event::{OfEvent, Offset};
use punctual_core::occurrence::{State, Why};
use punctual_core::reminder::AckPolicy;

use crate::common::{asked, at, once, retrying};
use crate::{Given, check_all, cut_off, given, web};

/// The reminder itself stays as it is.
const PLANNED: &str = "reminder active: carried by none, last run 1, 1 planned";

/// Run 1 of a reminder of an event that is still to be planned.
fn unplanned() -> Given {
    given(once()).with(|given| {
        given.is_unplanned = true;
        let offset = Offset::minutes_before(15);
        given.reminder.event =
            Some(OfEvent { key: "game:1".into(), starts_at: at(900), ends_at: None, offset, instance: None });
    })
}

#[test]
fn a_claim_leaves_alone_what_is_to_be_planned() {
    let told = &["next run of alice at 1", "to be planned: game:1", "taken: 1"];
    check_all([
        (
            "a run that is due waits for a moment, and the journal says nothing of it",
            unplanned(),
            told,
            &["run 1 due 1 (made for 0): waiting (event) from 0", PLANNED, "look at 1"],
        ),
        (
            "one that has waited for a moment waits for another, and knows when it was due",
            unplanned().now(1).with(|given| {
                given.due[0].due_at = at(1);
                given.due[0].state = State::Waiting { why: Why::Event, from: at(0) };
            }),
            &["next run of alice at 2", "to be planned: game:1", "taken: 1"],
            &["run 1 due 2 (made for 0): waiting (event) from 0", PLANNED, "look at 2"],
        ),
        (
            "one that its person has put off stays so",
            unplanned().run(State::Snoozed),
            told,
            &["run 1 due 1 (made for 0): snoozed; attempts 1", PLANNED, "look at 1"],
        ),
        (
            "a retry waits",
            unplanned().run(retrying(at(0), "no route")),
            told,
            &["run 1 due 0: retry at 1 (no route), waits: event; attempts 1", PLANNED, "look at 1"],
        ),
        (
            "a question waits",
            unplanned().run(asked(at(-60), at(0))).with(|given| given.reminder.ack = Some(AckPolicy::default())),
            told,
            &["run 1 due 0: asked at -60, again at 1, waits: event; attempts 1", PLANNED, "look at 1"],
        ),
        (
            "what a node that died was sending is not sent again before its event is planned",
            unplanned().now(16).run(cut_off(web("a"))),
            &["next run of alice at 17", "to be planned: game:1", "taken: 1"],
            &[
                "run 1 due 0: retry at 17 (cut off in flight), waits: event; attempts 1",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                PLANNED,
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
                "look at 17",
            ],
        ),
        (
            "its event was planned before the reminder was locked: it is sent",
            unplanned().with(|given| given.until_locked = |known| known.is_unplanned = false),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
    ]);
}

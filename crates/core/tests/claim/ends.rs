//! Runs that end without a send, and the reminders that end with them.

use punctual_core::occurrence::{Occurrence, Tries};
use punctual_core::reminder::{AckPolicy, Priority, ReminderStatus};
use punctual_core::schedule::Anchor;

use crate::common::{asked, at, every, every_from, occurrence, once, retrying};
use crate::{Given, check_all, given};

#[test]
fn what_ends_without_a_send() {
    let asking = |reminders_max| {
        move |given: &mut Given| {
            given.reminder.ack = Some(AckPolicy { reminders_max, ..AckPolicy::default() });
            given.due[0].tries = Tries { attempts: 1, asks: 1, reached: 1, ..Tries::default() };
        }
    };
    let unanswered = |schedule| given(schedule).run(asked(at(0), at(600))).now(600).with(asking(0));
    check_all([
        (
            "nobody answered: the claim completes the reminder, because nothing else of it is open",
            unanswered(once()),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "reminder completed: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "nobody answered, and another run is open: the reminder goes on",
            unanswered(once()).with(|given| given.n_open = Some(2)),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "nobody answered, and nobody has counted the open runs: the store counts them at the end",
            unanswered(once()).with(|given| given.n_open = None),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "completed unless a run is open",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "nobody answered a critical one: the admins hear of it",
            unanswered(once()).with(|given| given.reminder.priority = Priority::Critical),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "news of run 1: Ended",
                "reminder completed: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "nobody answered, and the series is counted from the answer: it goes on from now",
            unanswered(every_from(60, Anchor::Ack)),
            &["ended: unanswered", "next run of alice at 660", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "plan run 2 due 660: scheduled",
                "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
                "look at 660",
            ],
        ),
        (
            "a paused reminder does not ask again",
            given(once()).run(asked(at(0), at(600))).now(600).with(asking(3)).with(|given| {
                given.reminder.status = ReminderStatus::Paused;
            }),
            &["ended: unanswered", "taken: 1"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "reminder paused: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
            ],
        ),
        (
            "a retry of a paused reminder is paused, which is no end",
            given(once()).run(retrying(at(60), "500")).now(60).with(|given| {
                given.reminder.status = ReminderStatus::Paused;
            }),
            &["ended: paused", "taken: 1"],
            &["run 1 due 0: paused; attempts 1"],
        ),
        (
            "every address has refused: it fails",
            given(once()).run(retrying(at(60), "500")).now(60).with(|given| given.due[0].tries.refused = 0b1),
            &["ended: failed", "taken: 1"],
            &[
                "run 1 due 0: failed at 60 (every address has refused it); attempts 1; refused 0b1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed",
                "entry: reminder.failed run 1 {error:every address has refused it}",
            ],
        ),
        (
            "its person's addresses cannot be read, and it has none of its own: it fails and says so, and its series goes on",
            given(every(60)).with(|given| {
                given.reminder.to.clear();
                given.addresses = Err("no JSON".into());
            }),
            &["ended: failed", "next run of alice at 60", "taken: 1"],
            &[
                "run 1 due 0: failed at 0 (no JSON)",
                "plan run 2 due 60: scheduled",
                "reminder active: carried by 2, last run 2, 2 planned; 1 counted, 1 errors, last failed",
                "entry: reminder.failed run 1 {error:no JSON}",
                "look at 60",
            ],
        ),
        (
            "two runs of one reminder end in one claim: the second completes it",
            unanswered(once()).with(|given| {
                let second = occurrence(&given.reminder, 2, at(0)).id;
                given.due.push(Occurrence { id: second, ..given.due[0].clone() });
                given.series.last_run = 2;
                given.n_open = Some(2);
            }),
            &["ended: unanswered", "ended: unanswered", "taken: 2"],
            &[
                "run 1 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "run 2 due 0: unanswered at 600; attempts 1; asks 1; reached 1",
                "reminder completed: carried by none, last run 2, 1 planned; 0 counted, 0 errors, last unanswered",
                "entry: reminder.unanswered run 1",
                "entry: reminder.unanswered run 2",
            ],
        ),
    ]);
}

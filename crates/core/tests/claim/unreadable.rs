//! Runs and reminders that cannot be read.

use punctual_core::rules::course::Series;

use crate::common::{every, once};
use crate::{check_all, cut_off, given, web};

#[test]
fn what_cannot_be_read() {
    check_all([
        (
            "a run that cannot be read fails visibly, its series goes on, and the others are sent",
            given(every(60)).with(|given| {
                given.unreadable = vec![2];
                given.series = Series { last_run: 2, carried_by: Some(2), planned: 2 };
                given.n_open = Some(2);
            }),
            &[
                "send run 1 to web:a at 0, lease 1 until 15, attempt 1",
                "ended: failed",
                "next run of alice at 60",
                "taken: 2",
            ],
            &[
                "run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1",
                "plan run 3 due 60: scheduled",
                "set aside run 2: no such state",
                "news of unreadable run 2",
                "reminder active: carried by 3, last run 3, 3 planned",
                "entry: reminder.failed run 2 {error:no such state}",
                "look at 60",
            ],
        ),
        (
            "the only run of a single reminder cannot be read: the reminder is over",
            given(once()).with(|given| {
                given.due.clear();
                given.unreadable = vec![1];
            }),
            &["ended: failed", "taken: 1"],
            &[
                "set aside run 1: no such state",
                "news of unreadable run 1",
                "reminder completed: carried by none, last run 1, 1 planned",
                "entry: reminder.failed run 1 {error:no such state}",
            ],
        ),
        (
            "a reminder that cannot be read: its run is set aside, and nothing is said of its series",
            given(every(60)).with(|given| given.is_broken = true),
            &["ended: failed", "taken: 1"],
            &[
                "set aside run 1: no such rule",
                "news of unreadable run 1",
                "entry: reminder.failed run 1 {error:no such rule}",
            ],
        ),
        (
            "a reminder that cannot be read: an attempt that was cut off is kept",
            given(every(60)).run(cut_off(web("a"))).now(16).with(|given| given.is_broken = true),
            &["ended: failed", "taken: 1"],
            &[
                "set aside run 1: no such rule",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "news of unreadable run 1",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
                "entry: reminder.failed run 1 {error:no such rule}",
            ],
        ),
        (
            "a reminder that is gone: its run is set aside",
            given(every(60)).with(|given| given.is_gone = true),
            &["ended: failed", "taken: 1"],
            &[
                "set aside run 1: its reminder is gone",
                "news of unreadable run 1",
                "entry: reminder.failed run 1 {error:its reminder is gone}",
            ],
        ),
    ]);
}

//! Runs whose person must not be disturbed.

use std::sync::Arc;

use punctual_core::reminder::{AckPolicy, Priority};
use punctual_core::schedule::Schedule;

use crate::common::{asked, at, every, once, retrying};
use crate::{check_all, given, no_chores, paused, quiet};

#[test]
fn what_waits_for_its_person() {
    let silent = |schedule| {
        given(schedule).with(|given| {
            (given.silences, given.reminder.tags) = (no_chores(), vec!["chores".into()]);
        })
    };
    let quietly = |schedule| given(schedule).with(|given| given.person = quiet());
    check_all([
        (
            "quiet hours: the run waits for their end, and the series goes on meanwhile",
            quietly(every(60)),
            &["ended: waiting", "next run of alice at 60", "taken: 1"],
            &[
                "run 1 due 3600 (made for 0): waiting (quiet) from 0",
                "plan run 2 due 60: scheduled",
                "reminder active: carried by 2, last run 2, 2 planned",
                "entry: reminder.waiting run 1 {why:quiet,until:2027-01-15T09:00:00Z,from:2027-01-15T08:00:00Z}",
                "look at 3600",
                "look at 60",
            ],
        ),
        (
            "quiet hours: the last run of a series waits, and the series is over",
            quietly(Schedule { count: Some(1), ..every(60) }),
            &["ended: waiting", "next run of alice at 3600", "taken: 1"],
            &[
                "run 1 due 3600 (made for 0): waiting (quiet) from 0",
                "reminder active: carried by none, last run 1, 1 planned",
                "entry: reminder.waiting run 1 {why:quiet,until:2027-01-15T09:00:00Z,from:2027-01-15T08:00:00Z}",
                "look at 3600",
            ],
        ),
        (
            "a paused person: the run waits, and the series waits with it",
            given(every(60)).with(|given| given.person = paused()),
            &["ended: waiting", "next run of alice at 7200", "taken: 1"],
            &[
                "run 1 due 7200 (made for 0): waiting (paused) from 0",
                "reminder active: carried by 1, last run 1, 1 planned",
                "entry: reminder.waiting run 1 {why:paused,until:2027-01-15T10:00:00Z,from:2027-01-15T08:00:00Z,series_waits:true}",
                "look at 7200",
            ],
        ),
        (
            "a silence: the run waits, and the series waits with it",
            silent(every(60)),
            &["ended: waiting", "next run of alice at 1800", "taken: 1"],
            &[
                "run 1 due 1800 (made for 0): waiting (silenced) from 0",
                "reminder active: carried by 1, last run 1, 1 planned",
                "entry: reminder.waiting run 1 {why:silenced,until:2027-01-15T08:30:00Z,from:2027-01-15T08:00:00Z,series_waits:true}",
                "look at 1800",
            ],
        ),
        (
            "somebody is just changing the silence: nothing is written, and the run is looked at again in a moment",
            silent(every(60)).with(|given| given.silences_are_busy = true),
            &["look again at 0.05", "taken: 0"],
            &[],
        ),
        (
            "the reminder lost its tag before it could be locked: the run is sent",
            silent(once()).with(|given| {
                given.until_locked = |known| Arc::make_mut(&mut known.reminder).tags.clear();
            }),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
        (
            "somebody is just changing the person: nothing is written, and the run is looked at again in a moment",
            quietly(every(60)).with(|given| given.person_is_busy = true),
            &["look again at 0.05", "taken: 0"],
            &[],
        ),
        (
            "the pause was ended before the person could be locked: the run is sent",
            given(every(60)).with(|given| {
                given.person = paused();
                given.until_locked = |known| known.person = Arc::default();
            }),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
        (
            "a critical one disturbs quiet hours",
            quietly(once()).with(|given| given.reminder.priority = Priority::Critical),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1"],
        ),
        (
            "a run by hand disturbs a paused person",
            given(every(60)).with(|given| {
                given.person = paused();
                given.due[0].at_once = true;
            }),
            &["send run 1 to web:a at 0, lease 1 until 15, attempt 1", "taken: 1"],
            &["run 1 due 0: processing, lease 1 until 15, to web:a since 0; attempts 1; at once"],
        ),
        (
            "a retry waits, keeps its error, and stays due when it was",
            quietly(once()).run(retrying(at(60), "500")).now(60),
            &["ended: waiting", "next run of alice at 3600", "taken: 1"],
            &[
                "run 1 due 0: retry at 3600 (500), waits: quiet; attempts 1",
                "reminder active: carried by none, last run 1, 1 planned",
                "entry: reminder.waiting run 1 {why:quiet,until:2027-01-15T09:00:00Z,from:2027-01-15T08:00:00Z}",
                "look at 3600",
            ],
        ),
        (
            "asking again waits",
            quietly(once()).run(asked(at(0), at(600))).now(600).with(|given| {
                given.reminder.ack = Some(AckPolicy::default());
            }),
            &["ended: waiting", "next run of alice at 3600", "taken: 1"],
            &[
                "run 1 due 0: asked at 0, again at 3600, waits: quiet; attempts 1",
                "reminder active: carried by none, last run 1, 1 planned",
                "entry: reminder.waiting run 1 {why:quiet,until:2027-01-15T09:00:00Z,from:2027-01-15T08:00:00Z}",
                "look at 3600",
            ],
        ),
    ]);
}

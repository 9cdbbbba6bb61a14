//! Runs that were written in SQL.

use punctual_core::occurrence::State;
use punctual_core::reminder::{Priority, ReminderStatus};

use crate::common::once;
use crate::{check_all, given};

#[test]
fn what_was_written_in_sql_is_planned() {
    let asked_for = |schedule: &str| State::Unplanned { asked: schedule.to_owned() };
    let daily = r#"{"type":"daily","time":"09:00"}"#;
    // A reminder made in SQL holds a place for its schedule until it is planned.
    let unplanned = |schedule: &str| given(once()).with(|given| given.due[0].state = asked_for(schedule));
    check_all([
        (
            "a series: the reminder gets its schedule, and the run carries it",
            unplanned(daily),
            &["next run of alice at 3600", "taken: 1"],
            &[
                "schedule: daily",
                "run 1 due 3600: scheduled",
                "reminder active: carried by 1, last run 1, 1 planned",
                "look at 3600",
            ],
        ),
        (
            "a single instant: no run carries on",
            unplanned(r#"{"type":"phrase","text":"tomorrow at 9"}"#),
            &["next run of alice at 90000", "taken: 1"],
            &[
                "schedule: once",
                "run 1 due 90000: scheduled",
                "reminder active: carried by none, last run 1, 1 planned",
                "look at 90000",
            ],
        ),
        (
            "a reminder that was paused meanwhile: its run is paused",
            unplanned(daily).with(|given| given.reminder.status = ReminderStatus::Paused),
            &["taken: 1"],
            &["schedule: daily", "run 1 due 3600: paused", "reminder paused: carried by 1, last run 1, 1 planned"],
        ),
        (
            "a schedule that cannot be read: the run fails and says why",
            unplanned(r#"{"type":"cron","expr":"61 * * * *"}"#)
                .with(|given| given.reminder.priority = Priority::Critical),
            &["ended: failed", "taken: 1"],
            &[
                "run 1 due 0: failed at 0 (schedule.expr: minute: `61` is outside 0-59)",
                "news of run 1: Ended",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed",
                "entry: reminder.failed run 1 {error:schedule.expr: minute: `61` is outside 0-59}",
            ],
        ),
    ]);
}

//! Runs that were missed while no node ran: delivered late or recorded, by policy, and never in silence.

use std::time::Duration;

use punctual_core::change::Change;
use punctual_core::occurrence::StateKind::{Missed, Scheduled};
use punctual_core::reminder::{Misfire, MisfirePolicy, OnUnknown, Reminder, ReminderStatus};

use super::desk::{Desk, at, every, once};

rules!(
    a_single_reminder_is_delivered_however_late,
    of_a_series_the_latest_run_is_delivered,
    a_run_older_than_its_limit_is_missed_and_the_series_goes_on,
    every_run_is_delivered_if_asked_for,
    none_is_delivered_if_asked_for,
    a_counted_series_misses_only_its_own_runs,
    two_runs_that_end_in_one_claim_do_not_confuse_the_series,
);

fn policy(reminder: Reminder, policy: MisfirePolicy, within_s: u64) -> Reminder {
    Reminder { misfire: Misfire { policy, within: Duration::from_secs(within_s) }, ..reminder }
}

async fn a_single_reminder_is_delivered_however_late(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.deliver(90 * 86_400).await;
    let skipped = policy(once(2, 10), MisfirePolicy::Skip, 3600);
    desk.create(&[&skipped]).await;
    assert_eq!(desk.claim(90 * 86_400).await.to_send.len(), 0);
    assert_eq!(desk.states(skipped.id).await, [(Missed, 10)]);
    assert_eq!(desk.status(skipped.id).await, ReminderStatus::Completed);
    assert_eq!(desk.kinds(skipped.id).await, ["created", "missed"]);
}

async fn of_a_series_the_latest_run_is_delivered(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claims = desk.claim(450).await;
    assert_eq!(
        (claims.to_send.len(), claims.ended.as_slice(), claims.wakes.as_slice()),
        (0, &[Missed; 3][..], &[at(400)][..])
    );
    assert_eq!(desk.states(reminder.id).await, [(Missed, 100), (Missed, 200), (Missed, 300), (Scheduled, 400)]);
    assert_eq!(desk.kinds(reminder.id).await, ["created", "missed"]);
    let claimed = desk.deliver(450).await;
    assert_eq!(claimed.before.due_at, at(400));
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(500)));
    assert_eq!(desk.view(reminder.id).await.total_runs, 1);
}

async fn a_run_older_than_its_limit_is_missed_and_the_series_goes_on(desk: Desk) {
    let reminder = policy(every(1, 100), MisfirePolicy::Latest, 20);
    desk.create(&[&reminder]).await;
    assert_eq!(desk.claim(250).await.wakes, [at(300)]);
    assert_eq!(desk.states(reminder.id).await, [(Missed, 100), (Missed, 200), (Scheduled, 300)]);
    desk.deliver(310).await;
}

async fn every_run_is_delivered_if_asked_for(desk: Desk) {
    let reminder = policy(every(1, 100), MisfirePolicy::All, 200);
    desk.create(&[&reminder]).await;
    assert_eq!(desk.claim(450).await.wakes, [at(300)], "the first two are too old");
    for due in [300, 400] {
        assert_eq!(desk.deliver(450).await.before.due_at, at(due));
    }
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(500)));
}

async fn none_is_delivered_if_asked_for(desk: Desk) {
    let reminder = policy(every(1, 100), MisfirePolicy::Skip, 3600);
    desk.create(&[&reminder]).await;
    assert_eq!(desk.claim(350).await.wakes, [at(400)]);
    assert_eq!(desk.states(reminder.id).await, [(Missed, 100), (Missed, 200), (Missed, 300), (Scheduled, 400)]);
    desk.deliver(430).await;
}

async fn a_counted_series_misses_only_its_own_runs(desk: Desk) {
    let mut reminder = every(1, 100);
    reminder.schedule.count = Some(3);
    desk.create(&[&reminder]).await;
    desk.claim(5000).await;
    assert_eq!(desk.states(reminder.id).await, [(Missed, 100), (Missed, 200), (Scheduled, 300)]);
    desk.deliver(5000).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);

    let mut none = policy(every(2, 100), MisfirePolicy::Skip, 60);
    none.schedule.count = Some(2);
    desk.create(&[&none]).await;
    assert!(desk.claim(5000).await.wakes.is_empty());
    assert_eq!(desk.states(none.id).await, [(Missed, 100), (Missed, 200)]);
    assert_eq!(desk.status(none.id).await, ReminderStatus::Completed);
}

async fn two_runs_that_end_in_one_claim_do_not_confuse_the_series(desk: Desk) {
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..every(1, 100) };
    desk.create(&[&reminder]).await;
    // A run by hand is cut off, and while nothing runs, two runs of the series pass.
    desk.change(reminder.id, Change::Fire, 50).await;
    desk.claim_one(50).await;
    let claims = desk.claim(250).await;
    assert_eq!(claims.ended.len(), 2, "the one held, the other missed");
    assert_eq!(claims.wakes, [at(200)]);
    desk.deliver(250).await;
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(300)));
    desk.deliver(300).await;
}

//! Commands: what they change, and what a refused one leaves alone.

use punctual_core::change::{Change, Patch, Refused};
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::{By, ChangeError};

use super::desk::{Desk, asking, at, every, failed, once, run, taken};

rules!(
    a_cancel_ends_everything,
    a_cancel_says_when_it_comes_too_late,
    a_pause_holds_everything_until_resumed,
    a_single_reminder_that_slept_through_its_instant_is_due_when_resumed,
    a_series_that_slept_goes_on_with_its_next_run,
    a_counted_series_is_over_when_its_last_run_was_slept_through,
    a_retry_of_a_paused_reminder_is_paused,
    a_skip_leaves_out_the_next_run,
    a_run_by_hand_is_due_at_once_and_moves_nothing,
    an_update_changes_what_it_names,
    an_update_of_the_schedule_moves_the_planned_run,
    an_update_of_the_schedule_takes_the_place_of_a_snooze,
    an_update_that_makes_no_sense_is_refused,
    an_answered_question_of_a_paused_reminder_plans_nothing_live,
    a_reminder_is_changed_only_for_its_user,
);

fn update(patch: Patch) -> Change {
    Change::Update(Box::new(patch))
}

async fn a_cancel_ends_everything(desk: Desk) {
    let (plain, asked) = (every(1, 100), asking(every(2, 100), 3));
    desk.create(&[&plain, &asked]).await;
    let claims = desk.claim(100).await;
    for claimed in &claims.to_send {
        let said = if claimed.before.id.reminder == plain.id { failed() } else { taken() };
        desk.settle(claimed, said, 100).await;
    }
    let changed = desk.change(plain.id, Change::Cancel, 110).await;
    assert!(changed.wakes.is_empty());
    assert_eq!(desk.states(plain.id).await, [(StateKind::Cancelled, 100), (StateKind::Cancelled, 200)]);
    desk.change(asked.id, Change::Cancel, 110).await;
    let states = desk.states(asked.id).await;
    assert_eq!(states, [(StateKind::Dismissed, 100), (StateKind::Cancelled, 200)], "what reached its person did");
    assert_eq!(desk.status(plain.id).await, ReminderStatus::Cancelled);
    assert_eq!(desk.claim(10_000).await.n_taken, 0);
    for change in [Change::Cancel, Change::Pause, Change::Resume, Change::Skip, Change::Fire, Change::Ack] {
        desk.refused(plain.id, change, 120).await;
    }
    desk.refused(plain.id, Change::Snooze { until: at(500) }, 120).await;
    desk.refused(plain.id, update(Patch { message: Some("new".into()), ..Patch::default() }), 120).await;
}

async fn a_cancel_says_when_it_comes_too_late(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    assert_eq!(desk.refused(reminder.id, Change::Cancel, 11).await, Refused::SendBegun);
    desk.settle(&claimed, taken(), 12).await;
    assert!(matches!(desk.refused(reminder.id, Change::Cancel, 13).await, Refused::NotNow(_)), "it is over");
}

async fn a_pause_holds_everything_until_resumed(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    assert!(desk.change(reminder.id, Change::Pause, 10).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Paused, 100)]);
    assert_eq!(desk.view(reminder.id).await.next_run_at, None);
    assert_eq!(desk.claim(5000).await.n_taken, 0);
    desk.refused(reminder.id, Change::Pause, 20).await;
    assert_eq!(desk.change(reminder.id, Change::Resume, 50).await.wakes, [at(100)]);
    desk.refused(reminder.id, Change::Resume, 51).await;
    desk.deliver(100).await;
}

async fn a_single_reminder_that_slept_through_its_instant_is_due_when_resumed(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Pause, 5).await;
    assert_eq!(desk.change(reminder.id, Change::Resume, 500).await.wakes, [at(10)]);
    desk.deliver(500).await;
}

async fn a_series_that_slept_goes_on_with_its_next_run(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Pause, 50).await;
    assert_eq!(desk.change(reminder.id, Change::Resume, 450).await.wakes, [at(500)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Missed, 100), (StateKind::Scheduled, 500)]);
}

async fn a_counted_series_is_over_when_its_last_run_was_slept_through(desk: Desk) {
    let mut reminder = every(1, 100);
    reminder.schedule.count = Some(1);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Pause, 50).await;
    assert!(desk.change(reminder.id, Change::Resume, 450).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Missed, 100)]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
}

async fn a_retry_of_a_paused_reminder_is_paused(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    desk.change(reminder.id, Change::Pause, 11).await;
    desk.settle(&claimed, failed(), 12).await;
    assert_eq!(desk.claim(100).await.to_send.len(), 0, "nothing is sent until it is resumed");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Paused, 10)]);
    desk.change(reminder.id, Change::Resume, 200).await;
    assert_eq!(desk.deliver(200).await.attempt(), 2);
}

async fn a_skip_leaves_out_the_next_run(desk: Desk) {
    let (series, single) = (every(1, 100), once(2, 900));
    desk.create(&[&series, &single]).await;
    assert_eq!(desk.change(series.id, Change::Skip, 10).await.wakes, [at(200)]);
    assert_eq!(desk.states(series.id).await, [(StateKind::Cancelled, 100), (StateKind::Scheduled, 200)]);
    assert!(matches!(desk.refused(single.id, Change::Skip, 10).await, Refused::NotNow(_)));
    let claimed = desk.claim_one(200).await;
    assert_eq!(desk.refused(series.id, Change::Skip, 201).await, Refused::SendBegun);
    desk.settle(&claimed, taken(), 202).await;
}

async fn a_run_by_hand_is_due_at_once_and_moves_nothing(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    assert_eq!(desk.change(reminder.id, Change::Fire, 30).await.wakes, [at(30)]);
    desk.deliver(30).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Scheduled, 100), (StateKind::Delivered, 30)]);
    desk.deliver(100).await;
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(200)));

    let over = once(2, 10);
    desk.create(&[&over]).await;
    desk.deliver(40).await;
    desk.change(over.id, Change::Fire, 50).await;
    desk.deliver(50).await;
    assert_eq!(desk.view(over.id).await.total_runs, 2, "also when it is over");
}

async fn an_update_changes_what_it_names(desk: Desk) {
    let reminder = once(1, 100);
    desk.create(&[&reminder, &once(2, 90)]).await;
    let patch = Patch {
        message: Some("feed the cat".into()),
        name: Some(Some("cat".into())),
        priority: Some(Priority::Critical),
        ..Patch::default()
    };
    let changed = desk.change(reminder.id, update(patch), 10).await;
    let expected = Reminder {
        message: "feed the cat".into(),
        name: Some("cat".into()),
        priority: Priority::Critical,
        updated_at: at(10),
        ..reminder.clone()
    };
    assert_eq!(changed.view.reminder, expected);
    assert_eq!(desk.view(reminder.id).await, changed.view);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Scheduled, 100)], "the instant stays");
    let first = desk.claim(100).await.to_send.remove(0);
    assert_eq!(first.before.id, run(&reminder, 1), "its new priority counts at once");
}

async fn an_update_of_the_schedule_moves_the_planned_run(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    let schedule = Schedule::new(Rule::Once { at: at(130) });
    let patch = Patch { schedule: Some(schedule), ..Patch::default() };
    assert_eq!(desk.change(reminder.id, update(patch), 110).await.wakes, [at(130)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 100), (StateKind::Scheduled, 130)]);
    desk.deliver(130).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    let patch = Patch { schedule: Some(Schedule::new(Rule::Once { at: at(300) })), ..Patch::default() };
    desk.change(reminder.id, update(patch), 200).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active, "what was over is to come again");
    desk.deliver(300).await;
}

async fn an_update_of_the_schedule_takes_the_place_of_a_snooze(desk: Desk) {
    let reminder = once(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Snooze { until: at(500) }, 50).await;
    let schedule = Schedule::new(Rule::Once { at: at(300) });
    let patch = Patch { schedule: Some(schedule), ..Patch::default() };
    let changed = desk.change(reminder.id, update(patch), 60).await;
    assert_eq!(changed.wakes, [at(300)]);
    assert_eq!((changed.view.next_run_at, changed.view.snoozed_until), (Some(at(300)), None));
    assert_eq!(desk.view(reminder.id).await, changed.view);
    desk.deliver(300).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 300)]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.claim(5000).await.n_taken, 0, "it comes once");
}

async fn an_update_that_makes_no_sense_is_refused(desk: Desk) {
    let reminder = once(1, 100);
    desk.create(&[&reminder]).await;
    let patch = Patch { message: Some("  ".into()), ..Patch::default() };
    assert!(matches!(desk.refused(reminder.id, update(patch), 10).await, Refused::Invalid(_)));
    let ended = Schedule { ends_at: Some(at(5)), ..every(1, 100).schedule };
    let patch = Patch { schedule: Some(ended), ..Patch::default() };
    assert!(matches!(desk.refused(reminder.id, update(patch), 10).await, Refused::Invalid(_)));
}

async fn an_answered_question_of_a_paused_reminder_plans_nothing_live(desk: Desk) {
    let mut reminder = asking(every(1, 100), 3);
    if let Rule::Interval { anchor, .. } = &mut reminder.schedule.rule {
        *anchor = punctual_core::schedule::Anchor::Ack;
    }
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    desk.change(reminder.id, Change::Pause, 110).await;
    assert!(desk.change(reminder.id, Change::Ack, 120).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Completed, 100), (StateKind::Paused, 220)]);
    assert_eq!(desk.change(reminder.id, Change::Resume, 130).await.wakes, [at(220)]);
}

async fn a_reminder_is_changed_only_for_its_user(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let by = |user: &str| By { user: Some(user.into()), ..By::new("key", at(5)) };
    for (id, user) in [(reminder.id, "bob"), (once(9, 10).id, "ann")] {
        let answer = desk.store.change(id, Change::Cancel, by(user)).await;
        assert!(matches!(answer, Err(ChangeError::NotFound)), "{answer:?}");
    }
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active);
    desk.store.change(reminder.id, Change::Cancel, by("ann")).await.expect("it is ann's");
}

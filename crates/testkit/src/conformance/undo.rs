//! Undoing a cancel: what goes on, and what was missed meanwhile.

use punctual_core::change::Change;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::ReminderStatus;
use punctual_core::store::{By, ChangeError};

use super::desk::{Desk, asking, at, every, failed, once, run};

rules!(
    an_undone_cancel_never_happened,
    a_run_that_fell_due_meanwhile_is_missed,
    a_series_goes_on_after_what_it_missed,
    a_question_is_asked_on,
    a_paused_reminder_is_paused_again,
    a_snoozed_run_is_put_off_again,
    a_run_that_was_being_tried_is_tried_again,
    an_undo_is_refused_after_ten_minutes,
    only_the_last_cancel_is_undone,
    a_cancel_is_undone_only_for_its_user,
);

async fn an_undone_cancel_never_happened(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let before = desk.runs(reminder.id).await;
    desk.change(reminder.id, Change::Cancel, 10).await;
    assert_eq!(desk.claim(50).await.n_taken, 0);
    let undone = desk.change(reminder.id, Change::Undo, 60).await;
    assert_eq!((undone.wakes, undone.view.next_run_at), (vec![at(100)], Some(at(100))));
    assert_eq!(desk.runs(reminder.id).await, before);
    desk.deliver(100).await;
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(200)), "its series goes on");
    let entries = desk.entries(reminder.id).await;
    let undo = entries.iter().find(|entry| entry.kind == "reminder.changed").expect("the journal says so");
    assert_eq!((undo.data.as_deref(), undo.run), (Some(r#"{"did":"undo"}"#), Some(1)));
}

async fn a_run_that_fell_due_meanwhile_is_missed(desk: Desk) {
    let reminder = once(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Cancel, 10).await;
    assert!(desk.change(reminder.id, Change::Undo, 100).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Missed, 100)]);
    let view = desk.view(reminder.id).await;
    assert_eq!((view.reminder.status, view.last_status), (ReminderStatus::Completed, Some(StateKind::Missed)));
    assert_eq!(desk.claim(10_000).await.n_taken, 0);
    assert_eq!(desk.kinds(reminder.id).await, ["created", "cancelled", "missed", "changed"]);
}

async fn a_series_goes_on_after_what_it_missed(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Cancel, 10).await;
    assert_eq!(desk.change(reminder.id, Change::Undo, 350).await.wakes, [at(400)]);
    let states = desk.states(reminder.id).await;
    let missed = StateKind::Missed;
    assert_eq!(states, [(missed, 100), (missed, 200), (missed, 300), (StateKind::Scheduled, 400)]);
    desk.deliver(400).await;
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(500)));
}

async fn a_question_is_asked_on(desk: Desk) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.change(reminder.id, Change::Cancel, 20).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Dismissed, 10)]);
    assert_eq!(desk.change(reminder.id, Change::Undo, 100).await.wakes, [at(160)], "in a minute from now");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::AwaitingAck, 10)]);
    assert_eq!(desk.deliver(160).await.before.tries.reached, 1);
    desk.change(reminder.id, Change::Ack, 170).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
}

async fn a_paused_reminder_is_paused_again(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Pause, 5).await;
    desk.change(reminder.id, Change::Cancel, 10).await;
    assert!(desk.change(reminder.id, Change::Undo, 150).await.wakes.is_empty());
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Paused);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Paused, 100)], "a pause misses nothing");
    assert_eq!(desk.change(reminder.id, Change::Resume, 160).await.wakes, [at(200)]);
}

async fn a_snoozed_run_is_put_off_again(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Snooze { until: at(500) }, 5).await;
    let before = desk.runs(reminder.id).await;
    desk.change(reminder.id, Change::Cancel, 6).await;
    assert_eq!(desk.change(reminder.id, Change::Undo, 30).await.wakes, [at(500)]);
    assert_eq!(desk.runs(reminder.id).await[0].occurrence, before[0].occurrence);
}

async fn a_run_that_was_being_tried_is_tried_again(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, failed(), 11).await;
    desk.change(reminder.id, Change::Cancel, 12).await;
    assert_eq!(desk.change(reminder.id, Change::Undo, 30).await.wakes, [at(30)]);
    assert_eq!(desk.deliver(30).await.attempt(), 2);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 10)]);
}

async fn an_undo_is_refused_after_ten_minutes(desk: Desk) {
    let (late, just) = (once(1, 5000), once(2, 5000));
    desk.create(&[&late, &just]).await;
    desk.change(late.id, Change::Cancel, 10).await;
    desk.change(just.id, Change::Cancel, 10).await;
    let refused = desk.refused(late.id, Change::Undo, 10 + 14 * 60).await;
    assert!(refused.to_string().contains("cancelled 14m ago"), "{refused}");
    desk.change(just.id, Change::Undo, 10 + 600).await;
    desk.refused(just.id, Change::Undo, 700).await;
}

async fn only_the_last_cancel_is_undone(desk: Desk) {
    let reminder = once(1, 5000);
    desk.create(&[&reminder]).await;
    for second in [10, 30] {
        desk.change(reminder.id, Change::Cancel, second).await;
        desk.change(reminder.id, Change::Undo, second + 10).await;
    }
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Scheduled, 5000)]);
    assert_eq!(desk.trail(run(&reminder, 1)).await.occurrence.wake_at(), Some(at(5000)));
}

async fn a_cancel_is_undone_only_for_its_user(desk: Desk) {
    let reminder = once(1, 500);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Cancel, 10).await;
    let by = |user: &str| By { user: Some(user.into()), ..By::new("key", at(20)) };
    let answer = desk.store.change(reminder.id, Change::Undo, by("bob")).await;
    assert!(matches!(answer, Err(ChangeError::NotFound)), "{answer:?}");
    desk.store.change(reminder.id, Change::Undo, by("ann")).await.expect("it is ann's");
}

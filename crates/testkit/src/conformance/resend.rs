//! Sending runs again that have failed.

use jiff::Timestamp;
use punctual_core::change::{Change, Resend};
use punctual_core::channel::SendError;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, OnUnknown, Reminder, ReminderStatus};
use punctual_core::store::{FailedQuery, FailedRun};

use super::desk::{Desk, at, every, failed, once, run, taken};

rules!(
    a_run_that_failed_is_sent_again_under_its_own_name,
    a_run_that_may_have_arrived_is_sent_again_only_if_asked,
    a_series_goes_on_beside_a_run_that_is_sent_again,
    runs_that_failed_are_found,
    runs_that_cannot_be_sent_again_are_not_found,
);

fn resend() -> Change {
    Change::Resend(Resend::default())
}

/// A reminder that is tried once.
fn tried_once(reminder: Reminder) -> Reminder {
    Reminder { retries_max: 0, ..reminder }
}

async fn fail(desk: &Desk, now: i64) {
    for claimed in desk.claim(now).await.to_send {
        desk.settle(&claimed, failed(), now).await;
    }
}

fn everything() -> FailedQuery {
    let (user, tag, channel) = (None, None, None);
    FailedQuery { since: Timestamp::UNIX_EPOCH, user, tag, channel, after: None, limit: 100 }
}

async fn found(desk: &Desk, query: FailedQuery) -> Vec<OccurrenceId> {
    desk.store.failed_runs(query).await.expect("the store works").into_iter().map(|run| run.id).collect()
}

async fn a_run_that_failed_is_sent_again_under_its_own_name(desk: Desk) {
    let reminder = tried_once(once(1, 10));
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    desk.settle(&first, failed(), 11).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    let sent = desk.change(reminder.id, resend(), 9000).await;
    assert_eq!((sent.wakes, sent.view.reminder.status), (vec![at(9000)], ReminderStatus::Active));
    assert_eq!(sent.view.last_status, Some(StateKind::PendingRetry), "no list of failed ones has it");
    let again = desk.claim_one(9000).await;
    assert_eq!((again.before.id, again.before.due_at, again.attempt()), (run(&reminder, 1), at(10), 2));
    assert_eq!(again.before.id.idempotency_key(again.to(), 0), first.before.id.idempotency_key(first.to(), 0), "its receiver knows it");
    desk.settle(&again, taken(), 9001).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 10)]);
    let view = desk.view(reminder.id).await;
    assert_eq!((view.total_runs, view.consecutive_errors), (1, 0), "it is one run");
    desk.refused(reminder.id, resend(), 9002).await;
    assert_eq!(desk.kinds(reminder.id).await, ["created", "failed", "changed", "sent"]);
}

async fn a_run_that_may_have_arrived_is_sent_again_only_if_asked(desk: Desk) {
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..tried_once(once(1, 10)) };
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, Err(SendError::Unknown("no answer".into())), 11).await;
    let runs = desk.store.failed_runs(everything()).await.expect("the store works");
    let cut_off_on = vec!["phone".to_owned()];
    assert_eq!(runs, [FailedRun { id: run(&reminder, 1), on_unknown: OnUnknown::Hold, cut_off_on }]);
    let refused = desk.refused(reminder.id, resend(), 20).await;
    assert!(refused.to_string().contains("may have arrived"), "{refused}");
    desk.change(reminder.id, Change::Resend(Resend { held: true, ..Resend::default() }), 30).await;
    desk.deliver(30).await;
}

async fn a_series_goes_on_beside_a_run_that_is_sent_again(desk: Desk) {
    let reminder = tried_once(every(1, 100));
    desk.create(&[&reminder]).await;
    fail(&desk, 100).await;
    desk.deliver(200).await;
    let refused = desk.refused(reminder.id, resend(), 210).await;
    assert!(refused.to_string().contains("run 2 is delivered"), "{refused}");
    desk.change(reminder.id, Change::Resend(Resend { run: Some(1), ..Resend::default() }), 220).await;
    assert_eq!(desk.deliver(220).await.before.id.run, 1);
    let states = desk.states(reminder.id).await;
    assert_eq!(states, [(StateKind::Delivered, 100), (StateKind::Delivered, 200), (StateKind::Scheduled, 300)]);
    assert_eq!(desk.deliver(300).await.before.id.run, 3);
}

async fn runs_that_failed_are_found(desk: Desk) {
    let tags = vec!["home".to_owned()];
    let anns = tried_once(Reminder { tags, ..once(1, 10) });
    let bobs = tried_once(Reminder { user: "bob".into(), to: vec![Address::new("mail", "bob")], ..once(2, 20) });
    let series = tried_once(every(3, 30));
    let fine = once(4, 30);
    desk.create(&[&anns, &bobs, &series, &fine]).await;
    fail(&desk, 10).await;
    fail(&desk, 20).await;
    for claimed in desk.claim(30).await.to_send {
        let said = if claimed.before.id.reminder == fine.id { taken() } else { failed() };
        desk.settle(&claimed, said, 30).await;
    }
    fail(&desk, 60).await;
    let (first, second) = (run(&series, 1), run(&series, 2));
    assert_eq!(found(&desk, everything()).await, [run(&anns, 1), run(&bobs, 1), first, second]);
    assert_eq!(found(&desk, FailedQuery { since: at(20), ..everything() }).await, [run(&bobs, 1), first, second]);
    assert_eq!(found(&desk, FailedQuery { after: Some(first), ..everything() }).await, [second]);
    assert_eq!(found(&desk, FailedQuery { limit: 1, after: Some(run(&anns, 1)), ..everything() }).await, [run(&bobs, 1)]);
    assert_eq!(found(&desk, FailedQuery { user: Some("bob".into()), ..everything() }).await, [run(&bobs, 1)]);
    assert_eq!(found(&desk, FailedQuery { tag: Some("home".into()), ..everything() }).await, [run(&anns, 1)]);
    assert_eq!(found(&desk, FailedQuery { channel: Some("mail".into()), ..everything() }).await, [run(&bobs, 1)]);
    assert!(found(&desk, FailedQuery { channel: Some("fax".into()), ..everything() }).await.is_empty());
}

async fn runs_that_cannot_be_sent_again_are_not_found(desk: Desk) {
    let (cancelled, paused) = (tried_once(every(1, 10)), tried_once(every(2, 10)));
    desk.create(&[&cancelled, &paused]).await;
    fail(&desk, 10).await;
    desk.change(cancelled.id, Change::Cancel, 12).await;
    desk.change(paused.id, Change::Pause, 12).await;
    assert!(found(&desk, everything()).await.is_empty());
    for reminder in [&cancelled, &paused] {
        desk.refused(reminder.id, Change::Resend(Resend { run: Some(1), ..Resend::default() }), 13).await;
    }
    desk.change(paused.id, Change::Resume, 14).await;
    assert_eq!(found(&desk, everything()).await, [run(&paused, 1)]);
}

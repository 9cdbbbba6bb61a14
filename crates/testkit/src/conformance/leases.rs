//! Leases: they end, they are renewed, and their number keeps late writers out.

use punctual_core::change::{Change, Patch};
use punctual_core::decide::withdraw;
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, OnUnknown, Reminder};
use punctual_core::store::Claim;

use super::desk::{Desk, LEASE, at, every, once, run, taken};

rules!(
    an_expired_lease_is_taken_over_and_its_attempt_unknown,
    a_late_result_is_refused_by_its_lease_number,
    a_run_that_may_have_arrived_is_held_if_its_reminder_says_so,
    a_run_that_may_have_arrived_is_held_by_default_where_its_channel_says_so,
    a_held_run_does_not_stop_its_series,
    a_renewed_lease_lasts_longer,
    a_lost_lease_is_reported_by_its_number,
    a_send_that_never_began_is_given_back_without_a_trace,
    a_run_that_was_taken_over_and_never_began_is_tried_again,
    the_runs_of_a_dead_process_are_looked_at_at_once,
    a_message_that_the_platform_took_is_asked_about_and_not_sent_again,
);

async fn an_expired_lease_is_taken_over_and_its_attempt_unknown(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    assert_eq!((second.lease, second.attempt()), (2, 2));
    let trail = desk.trail(run(&reminder, 1)).await;
    let statuses: Vec<_> = trail.attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(statuses, [AttemptStatus::Unknown, AttemptStatus::Sending]);
    assert_eq!(trail.attempts[0].ended_at, Some(at(25)));
    let to = second.to();
    assert_eq!(
        run(&reminder, 1).idempotency_key(to, 0),
        second.before.id.idempotency_key(to, second.before.tries.reached)
    );
}

async fn a_late_result_is_refused_by_its_lease_number(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    let before = desk.runs(reminder.id).await;
    assert_eq!(desk.settle(&first, taken(), 26).await.lost, [run(&reminder, 1)]);
    assert_eq!(desk.runs(reminder.id).await, before, "a refused result changes nothing");
    assert!(desk.settle(&second, taken(), 27).await.lost.is_empty());
    assert_eq!(desk.settle(&second, taken(), 28).await.lost, [run(&reminder, 1)], "a lease ends once");
    assert_eq!(desk.view(reminder.id).await.total_runs, 1);
}

async fn a_run_that_may_have_arrived_is_held_if_its_reminder_says_so(desk: Desk) {
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..once(1, 10) };
    desk.create(&[&reminder]).await;
    desk.claim_one(10).await;
    let claims = desk.claim(25).await;
    assert_eq!((claims.to_send.len(), claims.n_taken), (0, 1));
    assert_eq!(claims.ended, [StateKind::Failed]);
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!(trail.attempts[0].status, AttemptStatus::Unknown);
    assert!(trail.occurrence.state.error().is_some_and(|error| error.contains("may have arrived")));
    assert_eq!(desk.status(reminder.id).await, punctual_core::reminder::ReminderStatus::Completed);
}

async fn a_run_that_may_have_arrived_is_held_by_default_where_its_channel_says_so(desk: Desk) {
    let auto = |number, channel| {
        let to = vec![Address::new(channel, "ann")];
        Reminder { on_unknown: OnUnknown::Auto, to, ..once(number, 10) }
    };
    let (call, mail) = (auto(1, "vapi"), auto(2, "mail"));
    desk.create(&[&call, &mail]).await;
    assert_eq!(desk.view(call.id).await.reminder.on_unknown, OnUnknown::Auto);
    assert_eq!(desk.claim(10).await.to_send.len(), 2);
    let claim = Claim { holding: ["vapi".to_owned()].into(), ..Desk::claim_of(25, 0, 25, 10) };
    let claims = desk.store.claim(claim).await.expect("the store works");
    assert_eq!(claims.to_send.iter().map(|c| c.before.id).collect::<Vec<_>>(), [run(&mail, 1)]);
    assert_eq!(claims.ended, [StateKind::Failed]);
    assert_eq!(desk.states(call.id).await, [(StateKind::Failed, 10)]);
    // A reminder can be changed to say so itself, and back.
    for said in [OnUnknown::Resend, OnUnknown::Auto, OnUnknown::Hold] {
        let patch = Patch { on_unknown: Some(said), ..Patch::default() };
        desk.change(mail.id, Change::Update(Box::new(patch)), 26).await;
        assert_eq!(desk.view(mail.id).await.reminder.on_unknown, said);
    }
}

async fn a_held_run_does_not_stop_its_series(desk: Desk) {
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..every(1, 100) };
    desk.create(&[&reminder]).await;
    desk.claim_one(100).await;
    let claims = desk.claim(115).await;
    assert_eq!(claims.wakes, [at(200)], "the timer must learn of the next run");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Failed, 100), (StateKind::Scheduled, 200)]);
    desk.deliver(200).await;
}

async fn a_renewed_lease_lasts_longer(desk: Desk) {
    desk.create(&[&once(1, 10)]).await;
    let claimed = desk.claim_one(10).await;
    let lost = desk.store.renew(vec![(claimed.before.id, claimed.lease)], at(20) + LEASE).await;
    assert!(lost.expect("the store works").is_empty());
    assert_eq!(desk.claim(34).await.n_taken, 0);
    assert_eq!(desk.claim(35).await.n_taken, 1);
}

async fn a_lost_lease_is_reported_by_its_number(desk: Desk) {
    let (reminder, other) = (once(1, 10), once(2, 12));
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    desk.create(&[&other]).await;
    let id = run(&reminder, 1);
    // The same node may hold a later lease of the same occurrence; the earlier one is lost all the same.
    let leases = vec![(id, first.lease), (id, second.lease), (run(&other, 1), 1)];
    let lost = desk.store.renew(leases, at(60)).await.expect("the store works");
    assert_eq!(lost, [(id, first.lease), (run(&other, 1), 1)]);
    desk.settle(&second, taken(), 30).await;
    let lost = desk.store.renew(vec![(id, second.lease)], at(60)).await.expect("the store works");
    assert_eq!(lost, [(id, second.lease)], "what has ended is not leased");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 10)]);
}

async fn a_send_that_never_began_is_given_back_without_a_trace(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_between(99, 0, 100, 10).await.to_send.remove(0);
    let settled = desk.write(vec![withdraw(&claimed, at(99))], 99).await;
    assert_eq!(settled.wakes, [at(100)], "the timer must learn of it again");
    let trail = desk.trail(run(&reminder, 1)).await;
    assert!(trail.attempts.is_empty());
    assert_eq!(trail.occurrence.tries, claimed.before.tries);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Scheduled, 100)], "no next run yet");
    let view = desk.view(reminder.id).await;
    assert_eq!((view.total_runs, view.last_status, view.next_run_at), (0, None, Some(at(100))));
    let again = desk.claim_one(100).await;
    assert_eq!((again.lease, again.attempt()), (2, 1));
}

async fn a_run_that_was_taken_over_and_never_began_is_tried_again(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    desk.write(vec![withdraw(&second, at(26))], 26).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::PendingRetry, 10)]);
    let third = desk.claim_one(26).await;
    assert_eq!((third.lease, third.attempt()), (3, 2), "the attempt that never began does not count");
    assert_eq!(desk.trail(run(&reminder, 1)).await.attempts.len(), 2);
}

async fn the_runs_of_a_dead_process_are_looked_at_at_once(desk: Desk) {
    let (left, waiting) = (once(1, 10), once(2, 500));
    desk.create(&[&left, &waiting]).await;
    desk.claim_one(10).await;
    assert_eq!(desk.store.rescue("desk", at(12)).await.expect("the store works"), 1);
    assert_eq!(desk.claim_one(12).await.attempt(), 2);
    assert_eq!(desk.states(waiting.id).await, [(StateKind::Scheduled, 500)]);
}

async fn a_message_that_the_platform_took_is_asked_about_and_not_sent_again(desk: Desk) {
    let held = Reminder { on_unknown: OnUnknown::Hold, ..once(1, 10) };
    let resent = once(2, 10);
    let moved = Reminder { on_unknown: OnUnknown::Hold, ..once(3, 10) };
    desk.create(&[&held, &resent, &moved]).await;
    for claimed in desk.claim(10).await.to_send {
        let is_written = desk.store.write_message_id(claimed.before.id, claimed.lease, 1, "CA1").await;
        assert!(is_written.expect("the store works"));
    }
    let patch = Patch { to: Some(vec![Address::new("phone", "other")]), ..Patch::default() };
    desk.change(moved.id, Change::Update(Box::new(patch)), 11).await;
    let claims = desk.claim(25).await;
    assert_eq!(claims.ended, [StateKind::Failed], "nobody can be asked at another address");
    assert_eq!(claims.to_send.len(), 2);
    let sending = (AttemptStatus::Sending, Some("CA1".to_owned()));
    for claimed in &claims.to_send {
        assert_eq!((claimed.message_id.as_deref(), claimed.attempt(), claimed.position), (Some("CA1"), 1, 0));
        // Given back, it is still to be asked about.
        desk.write(vec![withdraw(claimed, at(26))], 26).await;
        let trail = desk.trail(claimed.before.id).await;
        let attempts: Vec<_> = trail.attempts.into_iter().map(|a| (a.status, a.message_id)).collect();
        assert_eq!(attempts, std::slice::from_ref(&sending));
    }
    let again = desk.claim(26).await.to_send;
    assert_eq!(again.len(), 2);
    for claimed in &again {
        assert_eq!((claimed.message_id.as_deref(), claimed.attempt()), (Some("CA1"), 1));
        assert_eq!(claimed.lease, 3, "by a lease of its own");
        assert!(desk.settle(claimed, taken(), 27).await.lost.is_empty());
        let trail = desk.trail(claimed.before.id).await;
        assert_eq!((trail.occurrence.state.kind(), trail.attempts.len()), (StateKind::Delivered, 1));
        assert_eq!(trail.attempts[0].status, AttemptStatus::Sent);
    }
}

//! Settling: the lease ends, the outcome is written, the series goes on.

use punctual_core::alarm::NextRun;
use punctual_core::change::{Change, Patch};
use punctual_core::channel::SendError;
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, Misfire, MisfirePolicy, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::shard::Shards;
use punctual_core::store::UpcomingQuery;

use super::desk::{Desk, at, every, failed, once, run, taken};

rules!(
    a_single_reminder_is_over_when_it_was_delivered,
    a_series_plans_its_next_run_when_one_is_settled,
    a_failure_is_tried_again_and_then_final,
    another_address_is_tried_at_once,
    a_retry_does_not_hold_up_the_series,
    every_instant_that_was_planned_is_reported,
    two_runs_of_one_reminder_are_settled_together,
    one_lost_lease_does_not_spoil_the_others,
    a_series_ends_after_its_count,
    a_series_ends_at_its_end,
    paused_while_it_is_sent_the_next_run_is_paused,
    a_schedule_changed_while_it_is_sent_holds_for_the_next_run,
    the_next_run_is_told_with_whom_it_is_for,
    an_attempt_keeps_the_key_it_was_sent_under,
);

async fn a_single_reminder_is_over_when_it_was_delivered(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    let settled = desk.settle(&claimed, taken(), 11).await;
    assert!(settled.lost.is_empty() && settled.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 10)]);
    let attempt = desk.trail(run(&reminder, 1)).await.attempts.remove(0);
    assert_eq!((attempt.status, attempt.ended_at), (AttemptStatus::Sent, Some(at(11))));
    assert_eq!((attempt.message_id.as_deref(), attempt.error), (Some("m1"), None));
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.claim(10_000).await.n_taken, 0);
}

async fn a_series_plans_its_next_run_when_one_is_settled(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(100).await;
    let settled = desk.settle(&claimed, taken(), 101).await;
    assert_eq!(settled.wakes, [at(200)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 100), (StateKind::Scheduled, 200)]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active);
}

async fn a_failure_is_tried_again_and_then_final(desk: Desk) {
    let reminder = Reminder { retries_max: 1, ..once(1, 10) };
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    let settled = desk.settle(&claimed, failed(), 10).await;
    assert_eq!(settled.wakes, [at(70)]);
    let occurrence = desk.trail(run(&reminder, 1)).await.occurrence;
    assert_eq!((occurrence.state.kind(), occurrence.state.error()), (StateKind::PendingRetry, Some("not now")));
    assert_eq!(desk.claim(69).await.n_taken, 0);
    let claimed = desk.claim_one(70).await;
    assert_eq!(claimed.attempt(), 2);
    assert!(desk.settle(&claimed, failed(), 70).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Failed, 10)]);
    let statuses: Vec<_> = desk.trail(run(&reminder, 1)).await.attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [AttemptStatus::Failed, AttemptStatus::Failed]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
}

async fn another_address_is_tried_at_once(desk: Desk) {
    let to = vec![Address::new("phone", "ann"), Address::new("mail", "ann")];
    let reminder = Reminder { to, ..once(1, 10) };
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, Err(SendError::Gone("moved".into())), 10).await;
    let claimed = desk.claim_one(10).await;
    assert_eq!(claimed.to(), &Address::new("mail", "ann"));
    desk.settle(&claimed, failed(), 10).await;
    let claimed = desk.claim_one(70).await;
    assert_eq!(claimed.to(), &Address::new("mail", "ann"), "the address that is gone is not tried again");
    let statuses: Vec<_> = desk.trail(run(&reminder, 1)).await.attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [AttemptStatus::Refused, AttemptStatus::Failed, AttemptStatus::Sending]);
}

async fn a_retry_does_not_hold_up_the_series(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(100).await;
    let settled = desk.settle(&claimed, failed(), 100).await;
    let mut wakes = settled.wakes;
    wakes.sort();
    assert_eq!(wakes, [at(160), at(200)], "the retry and the next run");
    let claimed = desk.claim_one(160).await;
    assert!(desk.settle(&claimed, failed(), 160).await.wakes.iter().all(|wake| *wake > at(200)));
    assert_eq!(desk.states(reminder.id).await, [(StateKind::PendingRetry, 100), (StateKind::Scheduled, 200)]);
}

async fn every_instant_that_was_planned_is_reported(desk: Desk) {
    let (fast, slow) = (every(1, 100), every(2, 50));
    desk.create(&[&fast, &slow]).await;
    let claimed = desk.claim(100).await.to_send;
    // The slow one's first run was missed; its latest and the fast one's first are due together.
    let settlements = claimed.iter().map(|claimed| Desk::settlement(claimed, taken(), 100)).collect();
    let mut wakes = desk.write(settlements, 100).await.wakes;
    wakes.extend(desk.claim(100).await.wakes);
    assert!(wakes.contains(&at(200)), "{wakes:?}");
    let window = UpcomingQuery { from: at(0), until: at(1000), shards: Shards::ALL, limit: 10 };
    let next = desk.store.upcoming(window).await.expect("the store works").instants;
    assert!(
        next.iter().filter(|at_| **at_ > at(100) + super::desk::LEASE).all(|at_| wakes.contains(at_)),
        "{wakes:?} {next:?}"
    );
}

async fn two_runs_of_one_reminder_are_settled_together(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, Change::Fire, 99).await;
    let claimed = desk.claim(100).await.to_send;
    assert_eq!(claimed.len(), 2);
    let settlements = claimed.iter().map(|claimed| Desk::settlement(claimed, taken(), 100)).collect();
    let settled = desk.write(settlements, 100).await;
    assert_eq!((settled.lost.len(), settled.wakes), (0, vec![at(200)]));
    let view = desk.view(reminder.id).await;
    assert_eq!((view.total_runs, view.next_run_at), (2, Some(at(200))));
    let states: Vec<_> = desk.states(reminder.id).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(states, [StateKind::Delivered, StateKind::Delivered, StateKind::Scheduled]);
}

async fn one_lost_lease_does_not_spoil_the_others(desk: Desk) {
    let (kept, lost) = (once(1, 10), once(2, 10));
    desk.create(&[&kept, &lost]).await;
    let claimed = desk.claim(10).await.to_send;
    let mut settlements: Vec<_> = claimed.iter().map(|claimed| Desk::settlement(claimed, taken(), 11)).collect();
    for settlement in settlements.iter_mut().filter(|s| s.id().reminder == lost.id) {
        settlement.lease += 1;
    }
    assert_eq!(desk.write(settlements, 11).await.lost, [run(&lost, 1)]);
    assert_eq!(desk.states(kept.id).await, [(StateKind::Delivered, 10)]);
    assert_eq!(desk.states(lost.id).await, [(StateKind::Processing, 10)]);
}

async fn a_series_ends_after_its_count(desk: Desk) {
    let mut reminder = every(1, 100);
    reminder.schedule.count = Some(2);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active);
    desk.deliver(200).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 100), (StateKind::Delivered, 200)]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
}

async fn a_series_ends_at_its_end(desk: Desk) {
    let mut reminder = every(1, 100);
    reminder.schedule.ends_at = Some(at(250));
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    desk.deliver(200).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.view(reminder.id).await.next_run_at, None);
}

async fn paused_while_it_is_sent_the_next_run_is_paused(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(100).await;
    desk.change(reminder.id, Change::Pause, 101).await;
    let settled = desk.settle(&claimed, taken(), 102).await;
    assert!(settled.lost.is_empty() && settled.wakes.is_empty(), "{settled:?}");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 100), (StateKind::Paused, 200)]);
    assert_eq!(desk.claim(1000).await.n_taken, 0);
}

async fn a_schedule_changed_while_it_is_sent_holds_for_the_next_run(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(100).await;
    let schedule = Schedule::new(Rule::Once { at: at(150) });
    let patch = Patch { schedule: Some(schedule), ..Patch::default() };
    let changed = desk.change(reminder.id, Change::Update(Box::new(patch)), 101).await;
    assert_eq!(changed.wakes, [at(150)]);
    assert!(desk.settle(&claimed, taken(), 102).await.wakes.is_empty(), "the old rule plans nothing");
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Delivered, 100), (StateKind::Scheduled, 150)]);
    desk.deliver(150).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
}

async fn the_next_run_is_told_with_whom_it_is_for(desk: Desk) {
    let (series, single) = (every(1, 100), once(2, 100));
    let missed = Reminder { misfire: Misfire { policy: MisfirePolicy::Skip, ..Misfire::default() }, ..every(3, 100) };
    desk.create(&[&series, &single]).await;
    let claims = desk.claim(100).await;
    let settlements = claims.to_send.iter().map(|claimed| Desk::settlement(claimed, taken(), 100)).collect();
    let settled = desk.write(settlements, 100).await;
    assert_eq!(settled.next_runs, [NextRun::of(&series, at(200))]);
    assert_eq!((settled.next_runs[0].user.as_str(), settled.next_runs[0].channel.as_str()), ("ann", "phone"));
    desk.create(&[&missed]).await;
    let claims = desk.claim_only(100_000, vec![missed.id], 10).await;
    assert_eq!(claims.next_runs, [NextRun::of(&missed, at(100_100))], "what a claim plans is told, too");
}

async fn an_attempt_keeps_the_key_it_was_sent_under(desk: Desk) {
    let (alone, together) = (once(1, 10), once(2, 10));
    desk.create(&[&alone, &together]).await;
    let claimed = desk.claim(10).await.to_send;
    let settlements = claimed.iter().map(|claimed| {
        let mut settlement = Desk::settlement(claimed, taken(), 10);
        if let Some(end) = settlement.attempt.as_mut().filter(|_| claimed.before.id.reminder == together.id) {
            end.key = Some("k-d01020304".into());
        }
        settlement
    });
    desk.write(settlements.collect(), 10).await;
    let key = async |reminder| desk.trail(run(reminder, 1)).await.attempts.remove(0).key;
    assert_eq!((key(&alone).await, key(&together).await.as_deref()), (None, Some("k-d01020304")));
}

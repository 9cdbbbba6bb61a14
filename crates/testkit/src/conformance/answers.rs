//! The answers of people: done, later, not needed.

use punctual_core::answer::Verb;
use punctual_core::change::{Change, Patch, Refused};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::store::{By, Said};

use super::desk::{Desk, asking, at, every, once, run, taken};

rules!(
    an_ack_completes,
    an_answer_keeps_who_said_what_and_where,
    an_answer_can_name_its_run,
    a_dismissal_ends,
    silence_is_asked_again_and_then_over,
    an_answer_while_it_is_asked_again_refuses_the_result,
    an_answer_recalls_what_a_node_has_claimed,
    a_snoozed_run_can_be_acked,
    a_late_ack_counts_for_a_day,
    a_run_that_asks_nothing_cannot_be_answered,
    a_snooze_moves_this_run_and_not_the_series,
    a_snooze_never_goes_before_the_instant_the_run_was_made_for,
    a_delivered_run_can_be_snoozed_for_a_day,
    a_run_that_is_snoozed_after_its_end_has_its_reminders_priority_of_today,
    a_snooze_that_is_not_allowed_or_makes_no_sense_is_refused,
    an_interval_can_be_counted_from_the_answer,
    an_interval_counted_from_the_answer_goes_on_in_silence,
);

fn snooze(second: i64) -> Change {
    Change::Snooze { until: at(second) }
}

async fn an_ack_completes(desk: Desk) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active, "an answer is still to come");
    let changed = desk.change(reminder.id, Change::Ack, 20).await;
    assert_eq!(changed.occurrence.map(|o| o.state.kind()), Some(StateKind::Completed));
    assert_eq!(changed.view.last_status, Some(StateKind::Completed));
    let trail = desk.trail(run(&reminder, 1)).await;
    let answers: Vec<_> = trail.responses.iter().map(|r| (r.verb, r.at, r.actor.as_str())).collect();
    assert_eq!(answers, [(Verb::Ack, at(20), "ann")]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.claim(1000).await.n_taken, 0);
}

async fn an_answer_keeps_who_said_what_and_where(desk: Desk) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    let said = Said { text: Some("5 more minutes".into()), channel: Some("telegram".into()), name: Some("Ann".into()) };
    let by = By { said: said.clone(), user: Some("ann".into()), ..By::new("bot", at(20)) };
    desk.store.change(reminder.id, snooze(320), by).await.expect("it can be put off");
    desk.deliver(320).await;
    desk.change(reminder.id, Change::Ack, 330).await;
    let answers = desk.trail(run(&reminder, 1)).await.responses;
    assert_eq!(
        (&answers[0].said, answers[0].snooze_minutes, answers[0].user.as_deref()),
        (&said, Some(5), Some("ann"))
    );
    // The answer names no user: it is the reminder's user.
    assert_eq!((&answers[1].said, answers[1].snooze_minutes), (&Said::default(), None));
    assert_eq!(answers[1].user.as_deref(), Some(reminder.user.as_str()));
}

async fn an_answer_can_name_its_run(desk: Desk) {
    let reminder = asking(every(1, 100), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    desk.deliver(160).await;
    desk.deliver(200).await;
    let about = |run: u32, answer: Change| Change::AnswerRun { run, answer: Box::new(answer) };
    // Run 1 is the first that awaits an answer; run 2 is meant.
    desk.change(reminder.id, about(2, Change::Ack), 205).await;
    let states = desk.states(reminder.id).await;
    assert_eq!(states[..2], [(StateKind::AwaitingAck, 100), (StateKind::Completed, 200)]);
    // It awaits none any more, and nothing else is taken instead.
    desk.refused(reminder.id, about(2, snooze(900)), 206).await;
    desk.refused(reminder.id, about(2, Change::Dismiss), 206).await;
    for missing in [0, 9] {
        let refused = desk.refused(reminder.id, about(missing, Change::Ack), 206).await;
        assert!(matches!(&refused, Refused::Invalid(invalid) if invalid.field == "run"), "{refused}");
    }
    desk.change(reminder.id, about(1, snooze(900)), 207).await;
    assert_eq!(desk.states(reminder.id).await[0], (StateKind::Snoozed, 900));

    // A run that wanted no answer can be snoozed for a day, also when it is not the last.
    let plain = every(2, 100);
    desk.create(&[&plain]).await;
    for second in [100, 200] {
        let due = desk.claim(second).await.to_send;
        let due = due.iter().find(|claimed| claimed.before.id.reminder == plain.id).expect("it is due");
        desk.settle(due, taken(), second).await;
    }
    desk.change(plain.id, about(1, snooze(1000)), 210).await;
    assert_eq!(desk.states(plain.id).await[0], (StateKind::Snoozed, 1000));
}

async fn a_dismissal_ends(desk: Desk) {
    let reminder = asking(every(1, 100), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    desk.change(reminder.id, Change::Dismiss, 110).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Dismissed, 100), (StateKind::Scheduled, 200)]);
    assert_eq!(desk.trail(run(&reminder, 1)).await.responses[0].verb, Verb::Dismiss);
}

async fn silence_is_asked_again_and_then_over(desk: Desk) {
    let reminder = asking(once(1, 10), 1);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(desk.claim(69).await.n_taken, 0);
    let again = desk.deliver(70).await;
    assert_eq!(again.before.tries.reached, 1, "a message of its own, with a key of its own");
    let claims = desk.claim(130).await;
    assert_eq!((claims.to_send.len(), claims.ended.as_slice()), (0, &[StateKind::Unanswered][..]));
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.view(reminder.id).await.total_runs, 1);
    assert_eq!(desk.kinds(reminder.id).await, ["created", "sent", "sent", "unanswered"]);
}

async fn an_answer_while_it_is_asked_again_refuses_the_result(desk: Desk) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    let again = desk.claim_one(70).await;
    desk.change(reminder.id, Change::Ack, 71).await;
    assert_eq!(desk.settle(&again, taken(), 72).await.lost, [run(&reminder, 1)]);
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!(trail.occurrence.state.kind(), StateKind::Completed);
    let statuses: Vec<_> = trail.attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(statuses, [AttemptStatus::Sent, AttemptStatus::Unknown]);
}

async fn an_answer_recalls_what_a_node_has_claimed(desk: Desk) {
    let (asked, other) = (asking(once(1, 10), 3), asking(once(2, 10), 3));
    desk.create(&[&asked, &other]).await;
    for claimed in desk.claim(10).await.to_send {
        desk.settle(&claimed, taken(), 10).await;
    }
    let answered = desk.change(other.id, Change::Ack, 20).await;
    assert!(answered.recalled.is_empty(), "no node has claimed it");
    desk.claim_one(70).await;
    assert_eq!(desk.change(asked.id, Change::Ack, 71).await.recalled, [asked.id]);
    // A store that nodes share tells all of them; in a file there is nobody to tell.
    let told = desk.store.recalled().await.expect("the store works");
    let is_shared = desk.store.listen().await.expect("the store works").is_some();
    assert_eq!(told, if is_shared { vec![asked.id] } else { vec![] });
}

async fn a_snoozed_run_can_be_acked(desk: Desk) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.change(reminder.id, snooze(320), 20).await;
    desk.change(reminder.id, Change::Ack, 140).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Completed, 320)]);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.claim(1000).await.n_taken, 0);
}

async fn a_late_ack_counts_for_a_day(desk: Desk) {
    let (soon, late) = (asking(once(1, 10), 0), asking(once(2, 10), 0));
    desk.create(&[&soon, &late]).await;
    for claimed in desk.claim(10).await.to_send {
        desk.settle(&claimed, taken(), 10).await;
    }
    assert_eq!(desk.claim(70).await.ended, [StateKind::Unanswered; 2]);
    let day = 70 + 24 * 3600;
    let changed = desk.change(soon.id, Change::Ack, day).await;
    assert_eq!(changed.view.last_status, Some(StateKind::Completed));
    let trail = desk.trail(run(&soon, 1)).await;
    assert_eq!((trail.occurrence.state.kind(), trail.responses.len()), (StateKind::Completed, 1));
    desk.refused(late.id, Change::Ack, day + 1).await;
}

async fn a_run_that_asks_nothing_cannot_be_answered(desk: Desk) {
    let (plain, asked) = (once(1, 10), asking(once(2, 20), 3));
    desk.create(&[&plain, &asked]).await;
    for change in [Change::Ack, Change::Dismiss] {
        assert!(matches!(desk.refused(asked.id, change.clone(), 5).await, Refused::NotNow(_)));
        assert!(matches!(desk.refused(plain.id, change, 5).await, Refused::NotNow(_)));
    }
    desk.deliver(10).await;
    desk.refused(plain.id, Change::Ack, 11).await;
    desk.deliver(20).await;
    desk.change(asked.id, Change::Ack, 21).await;
    desk.refused(asked.id, Change::Ack, 22).await;
}

async fn a_snooze_moves_this_run_and_not_the_series(desk: Desk) {
    let reminder = asking(every(1, 100), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    let changed = desk.change(reminder.id, snooze(350), 110).await;
    assert_eq!(changed.wakes, [at(350)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Snoozed, 350), (StateKind::Scheduled, 200)]);
    assert_eq!(desk.trail(run(&reminder, 1)).await.responses[0].until, Some(at(350)));

    // Before it was sent at all, the series goes on where it would have.
    let changed = desk.change(reminder.id, Change::Fire, 120).await;
    assert_eq!(changed.wakes, [at(120)]);
    let planned = every(2, 100);
    desk.create(&[&planned]).await;
    let mut wakes = desk.change(planned.id, snooze(130), 50).await.wakes;
    wakes.sort();
    assert_eq!(wakes, [at(130), at(200)], "the timer must learn of both");
    assert_eq!(desk.states(planned.id).await, [(StateKind::Snoozed, 130), (StateKind::Scheduled, 200)]);
}

async fn a_snooze_never_goes_before_the_instant_the_run_was_made_for(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.change(reminder.id, snooze(180), 10).await;
    assert!(matches!(desk.refused(reminder.id, snooze(50), 20).await, Refused::Invalid(_)));
    desk.change(reminder.id, snooze(150), 30).await;
    desk.change(reminder.id, Change::Pause, 40).await;
    desk.change(reminder.id, Change::Resume, 50).await;
    assert!(matches!(desk.refused(reminder.id, snooze(99), 60).await, Refused::Invalid(_)));
    desk.change(reminder.id, snooze(120), 70).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Snoozed, 120), (StateKind::Scheduled, 200)]);
    assert_eq!(desk.deliver(120).await.before.made_for, at(100));
}

async fn a_delivered_run_can_be_snoozed_for_a_day(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    desk.change(reminder.id, snooze(300), 20).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active);
    let again = desk.deliver(300).await;
    assert_eq!((again.before.due_at, again.before.tries.reached), (at(300), 1));
    assert_eq!(desk.view(reminder.id).await.total_runs, 1, "the same run, told twice");
    desk.refused(reminder.id, snooze(200_000), 100_000).await;
}

async fn a_run_that_is_snoozed_after_its_end_has_its_reminders_priority_of_today(desk: Desk) {
    let reminder = Reminder { priority: Priority::Low, ..once(1, 10) };
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    let patch = Patch { priority: Some(Priority::Critical), ..Patch::default() };
    desk.change(reminder.id, Change::Update(Box::new(patch)), 20).await;
    desk.change(reminder.id, snooze(100), 30).await;
    let earlier = Reminder { priority: Priority::High, ..once(2, 90) };
    desk.create(&[&earlier]).await;
    let order: Vec<_> = desk.claim(100).await.to_send.iter().map(|claimed| claimed.before.id).collect();
    assert_eq!(order, [run(&reminder, 1), run(&earlier, 1)], "the critical one comes first");
}

async fn a_snooze_that_is_not_allowed_or_makes_no_sense_is_refused(desk: Desk) {
    let fixed = Reminder { snooze_allowed: false, ..once(1, 10) };
    let sent = once(2, 10);
    desk.create(&[&fixed, &sent]).await;
    assert!(matches!(desk.refused(fixed.id, snooze(100), 5).await, Refused::NotNow(_)));
    assert!(matches!(desk.refused(sent.id, snooze(5), 5).await, Refused::Invalid(_)));
    assert!(matches!(desk.refused(sent.id, snooze(400 * 86_400), 5).await, Refused::Invalid(_)));
    desk.claim(10).await;
    assert_eq!(desk.refused(sent.id, snooze(100), 11).await, Refused::SendBegun);
}

fn from_answer(number: u8) -> Reminder {
    let every = std::time::Duration::from_secs(100);
    let schedule = Schedule::new(Rule::Interval { every, anchor: Anchor::Ack, origin: at(0) });
    asking(Reminder { schedule, ..once(number, 10) }, 0)
}

async fn an_interval_can_be_counted_from_the_answer(desk: Desk) {
    let reminder = from_answer(1);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(100).await;
    assert_eq!(desk.settle(&claimed, taken(), 100).await.wakes, [at(160)], "nothing is planned before the answer");
    let changed = desk.change(reminder.id, Change::Ack, 130).await;
    assert_eq!(changed.wakes, [at(230)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Completed, 100), (StateKind::Scheduled, 230)]);
    // However late, it is sent: no later run can stand for it.
    desk.deliver(900).await;
}

async fn an_interval_counted_from_the_answer_goes_on_in_silence(desk: Desk) {
    let reminder = from_answer(1);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    assert_eq!(desk.claim(160).await.wakes, [at(260)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Unanswered, 100), (StateKind::Scheduled, 260)]);
    desk.deliver(260).await;
    desk.change(reminder.id, Change::Pause, 270).await;
    // Paused, it still ends the question, and what it plans stays paused.
    assert!(desk.claim(320).await.wakes.is_empty());
    assert_eq!(desk.states(reminder.id).await[2].0, StateKind::Paused);
    assert_eq!(desk.claim(1000).await.n_taken, 0);
}

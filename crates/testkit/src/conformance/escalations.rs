//! People who are asked when another does not answer.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::answer::Verb;
use punctual_core::change::{Change, Refused};
use punctual_core::decide::family;
use punctual_core::escalate;
use punctual_core::group::{Group, Mode};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::{Escalation, Occurrence, State, StateKind};
use punctual_core::reminder::{Address, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::step::Step;
use punctual_core::store::{By, ReminderQuery, Settlement};
use punctual_core::user::User;

use super::desk::{Desk, asking, at, failed, once, run, taken};

rules!(
    a_run_keeps_its_own_moment_beside_its_escalation,
    a_plan_is_kept_on_reminders_and_on_people,
    a_silent_run_asks_the_next_at_the_instant,
    a_group_in_order_is_asked_one_by_one,
    all_of_a_group_are_asked_at_once,
    a_run_that_fails_asks_the_next_at_once,
    an_escalation_is_planned_once_whoever_claims,
    a_node_that_dies_leaves_the_escalation_planned,
    an_answer_by_anyone_ends_the_family,
    an_answer_while_an_escalation_is_sent_refuses_its_result,
    a_snooze_begins_the_steps_anew,
    an_answer_ends_also_what_another_has_put_off,
    every_run_that_an_answer_ends_is_in_the_journal,
    others_are_asked_again_after_a_pause,
    a_snooze_of_an_escalation_whose_run_failed_leaves_the_others,
    a_cancel_is_refused_while_an_escalation_is_being_sent,
    a_cancel_ends_also_a_question_that_was_paused,
    it_is_unanswered_only_after_the_last_was_asked,
    the_admins_come_last_and_once,
    a_series_counted_from_the_answer_goes_on_with_anyones,
);

fn step(seconds: u64, to: &str) -> Step {
    Step { after: Duration::from_secs(seconds), to: to.parse().expect("a name") }
}

/// A reminder, due at `second`, that waits a minute for an answer, asks `again` more times, and follows this plan.
fn escalating(number: u8, second: i64, again: u32, steps: &[(u64, &str)]) -> Reminder {
    let escalate = steps.iter().map(|(after, to)| step(*after, to)).collect();
    Reminder { escalate, ..asking(once(number, second), again) }
}

async fn put_user(desk: &Desk, id: &str) {
    let user = User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: vec![Address::new("mail", id)],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: id == "root",
        created_at: at(0),
        updated_at: at(0),
    };
    desk.store.put_user(user, "ann".into()).await.expect("the store works");
}

async fn put_group(desk: &Desk, mode: Mode, users: &[&str]) {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    let group = Group { name: "oc".into(), mode, users, rota: None, shifts: vec![], created_at: at(0), updated_at: at(0) };
    desk.store.put_group(group, "ann".into()).await.expect("the store works");
}

/// Every reminder that was made this way, in the order of its first instant and its user.
async fn made(desk: &Desk, via: &str) -> Vec<Reminder> {
    let query = ReminderQuery { limit: 1000, ..ReminderQuery::default() };
    let all = desk.store.reminders(query).await.expect("the store works");
    let mut made: Vec<Reminder> = all.into_iter().map(|view| view.reminder).collect();
    made.retain(|reminder| reminder.created_via == via);
    made.sort_by_key(|reminder| (reminder.schedule.first_after(&reminder.timezone, at(-1)), reminder.user.clone()));
    made
}

/// Who is asked in another's place, with the second at which they are.
async fn asked(desk: &Desk) -> Vec<(String, i64)> {
    let mut asked = Vec::new();
    for reminder in made(desk, escalate::VIA).await {
        let due = desk.states(reminder.id).await[0].1;
        asked.push((reminder.user, due));
    }
    asked
}

fn people(asked: &[(&str, i64)]) -> Vec<(String, i64)> {
    asked.iter().map(|(user, second)| ((*user).to_owned(), *second)).collect()
}

/// The state of each run of a family: the root's first, then the others' in order.
async fn family_of(desk: &Desk, root: ReminderId) -> Vec<StateKind> {
    let mut states = vec![desk.states(root).await[0].0];
    for reminder in made(desk, escalate::VIA).await {
        states.push(desk.states(reminder.id).await[0].0);
    }
    states
}

async fn first_run(desk: &Desk, reminder: &Reminder) -> Occurrence {
    desk.trail(run(reminder, 1)).await.occurrence
}

/// Sends what is due of `id` by `now`.
async fn deliver(desk: &Desk, id: ReminderId, now: i64) {
    let claimed = desk.claim_only(now, vec![id], 1).await.to_send.remove(0);
    assert!(desk.settle(&claimed, taken(), now).await.lost.is_empty(), "the lease was ours");
}

async fn a_run_keeps_its_own_moment_beside_its_escalation(desk: Desk) {
    let (silent, broken) = (asking(once(1, 10), 3), asking(once(2, 10), 3));
    desk.create(&[&silent, &broken]).await;
    let escalated = |mut settlement: Settlement, second| {
        settlement.occurrence.escalation = Some(Escalation::Planned { at: at(second) });
        settlement
    };
    for claimed in desk.claim(10).await.to_send {
        let said = if claimed.reminder.id == silent.id { taken() } else { failed() };
        let settled = desk.write(vec![escalated(Desk::settlement(&claimed, said, 10), 30)], 10).await;
        assert_eq!(settled.wakes, [at(30)], "it is looked at when further people are to be asked");
    }
    let (asked, retried) = (first_run(&desk, &silent).await, first_run(&desk, &broken).await);
    assert!(matches!(asked.state, State::AwaitingAck { ask_again_at, .. } if ask_again_at == at(70)), "{asked:?}");
    let State::PendingRetry { retry_at, .. } = retried.state else { panic!("{retried:?}") };
    assert!(retry_at > at(10) + SignedDuration::from_secs(30), "{retry_at}");
    for run in [&asked, &retried] {
        assert_eq!((run.escalation, run.wake_at()), (Some(Escalation::Planned { at: at(30) }), Some(at(30))));
    }
    assert_eq!(desk.view(broken.id).await.next_run_at, Some(retry_at), "nobody is told of the other moment");

    // An escalation that comes later than the state's own moment hides nothing.
    // Its time has come: there is nobody to ask, and the run goes on as it was.
    assert_eq!(desk.claim_only(30, vec![silent.id], 1).await.to_send.len(), 0);
    let again = desk.claim_only(70, vec![silent.id], 1).await.to_send.remove(0);
    desk.write(vec![escalated(Desk::settlement(&again, taken(), 70), 500)], 70).await;
    let asked = first_run(&desk, &silent).await;
    assert!(matches!(asked.state, State::AwaitingAck { ask_again_at, .. } if ask_again_at == at(130)), "{asked:?}");
    assert_eq!(asked.wake_at(), Some(at(130)));

    // What has ended is not looked at any more.
    desk.change(silent.id, Change::Ack, 80).await;
    assert_eq!(desk.states(silent.id).await, [(StateKind::Completed, 10)]);
    assert_eq!(desk.claim_only(1000, vec![silent.id], 1).await.n_taken, 0);
}

async fn a_plan_is_kept_on_reminders_and_on_people(desk: Desk) {
    let reminder = escalating(1, 10, 3, &[(60, "bob"), (90, "group:oc")]);
    desk.create(&[&reminder]).await;
    assert_eq!(desk.view(reminder.id).await.reminder, reminder);
    put_user(&desk, "ann").await;
    let ann = desk.store.user("ann").await.expect("the store works").expect("she is there");
    let planned = User { escalate: vec![step(60, "eve")], ..ann };
    desk.store.put_user(planned.clone(), "ann".into()).await.expect("the store works");
    assert_eq!(desk.store.user("ann").await.expect("the store works"), Some(planned));
    // A changed plan counts for a run that waits for its answer already.
    deliver(&desk, reminder.id, 10).await;
    let patch = punctual_core::change::Patch { escalate: Some(vec![step(40, "dan")]), ..Default::default() };
    let changed = desk.change(reminder.id, Change::Update(Box::new(patch)), 20).await;
    assert_eq!((changed.view.reminder.escalate, changed.wakes), (vec![step(40, "dan")], vec![at(50)]));
    desk.claim(50).await;
    assert_eq!(asked(&desk).await, people(&[("dan", 50)]));
}

async fn a_silent_run_asks_the_next_at_the_instant(desk: Desk) {
    put_user(&desk, "bob").await;
    let reminder = escalating(1, 10, 3, &[(30, "bob")]);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    assert_eq!(desk.settle(&claimed, taken(), 10).await.wakes, [at(40)], "before it is asked again");
    assert_eq!(desk.claim(39).await.n_taken, 0);
    let claims = desk.claim(40).await;
    assert_eq!((claims.to_send.len(), claims.ended.as_slice()), (0, &[][..]));
    let mut wakes = claims.wakes;
    wakes.sort();
    assert_eq!((wakes, claims.next_runs.len()), (vec![at(40), at(70)], 1));
    let others = made(&desk, escalate::VIA).await;
    assert_eq!((others[0].user.as_str(), others[0].escalates), ("bob", Some(run(&reminder, 1))));
    let sent = desk.claim_one(40).await;
    assert_eq!(sent.route, [Address::new("mail", "bob")], "by his own addresses");
    desk.settle(&sent, taken(), 40).await;
    // Ann is asked again beside him, and nobody twice.
    assert_eq!(desk.deliver(70).await.before.id, run(&reminder, 1));
    assert_eq!(desk.claim_only(100, vec![others[0].id], 10).await.to_send.len(), 1);
    assert_eq!(made(&desk, escalate::VIA).await.len(), 1);
    assert_eq!(desk.kinds(reminder.id).await, ["created", "sent", "escalated", "sent"]);
}

async fn a_group_in_order_is_asked_one_by_one(desk: Desk) {
    put_group(&desk, Mode::InOrder, &["eve", "dan"]).await;
    let reminder = escalating(1, 10, 3, &[(30, "bob"), (40, "group:oc")]);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.claim(40).await;
    assert_eq!(asked(&desk).await, people(&[("bob", 40), ("eve", 50), ("dan", 110)]));
    let trail = desk.trail(run(&reminder, 1)).await;
    let until = at(110) + SignedDuration::from_secs(4 * 60);
    assert_eq!(trail.occurrence.escalation, Some(Escalation::Asked { until }));
}

async fn all_of_a_group_are_asked_at_once(desk: Desk) {
    put_group(&desk, Mode::All, &["bob", "eve", "ann"]).await;
    let reminder = escalating(1, 10, 0, &[(30, "group:oc"), (31, "group:gone")]);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.claim(40).await;
    assert_eq!(asked(&desk).await, people(&[("bob", 40), ("eve", 40)]), "not ann, who has not answered");
}

async fn a_run_that_fails_asks_the_next_at_once(desk: Desk) {
    let reminder = Reminder { retries_max: 0, ..escalating(1, 10, 3, &[(300, "bob"), (400, "eve")]) };
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    let settled = desk.settle(&claimed, failed(), 12).await;
    assert_eq!(settled.next_runs.len(), 2, "an alarm elsewhere must learn of both");
    assert_eq!(asked(&desk).await, people(&[("bob", 12), ("eve", 112)]));
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Failed, 10)]);
    let trail = desk.trail(run(&reminder, 1)).await;
    assert!(matches!(trail.occurrence.escalation, Some(Escalation::Asked { .. })), "{:?}", trail.occurrence);
}

async fn an_escalation_is_planned_once_whoever_claims(desk: Desk) {
    let reminder = escalating(1, 10, 3, &[(30, "bob")]);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(desk.claim(50).await.n_taken, 1);
    for now in [50, 55] {
        desk.claim_only(now, vec![reminder.id], 10).await;
    }
    assert_eq!(asked(&desk).await, people(&[("bob", 40)]), "at its instant, however late it is noticed");
    assert_eq!(desk.kinds(reminder.id).await, ["created", "sent", "escalated"]);
}

async fn a_node_that_dies_leaves_the_escalation_planned(desk: Desk) {
    let reminder = escalating(1, 10, 3, &[(5, "bob")]);
    desk.create(&[&reminder]).await;
    desk.claim_one(10).await;
    // Its node is gone, and another one tries again. The plan is the old one.
    let again = desk.claim_one(25).await;
    assert_eq!(again.before.escalation, Some(Escalation::Planned { at: at(15) }));
    assert_eq!(desk.settle(&again, taken(), 26).await.wakes, [at(15)]);
    desk.claim(26).await;
    assert_eq!(asked(&desk).await, people(&[("bob", 15)]));
}

/// A run of ann's that was asked at second 10; bob was asked at 40, and eve is asked at 60.
async fn family(desk: &Desk, again: u32) -> (Reminder, Reminder, Reminder) {
    for user in ["ann", "bob", "eve"] {
        put_user(desk, user).await;
    }
    let reminder = escalating(1, 10, again, &[(30, "bob"), (50, "eve")]);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.claim(40).await;
    let others = made(desk, escalate::VIA).await;
    let [bob, eve] = &others[..] else { panic!("two are asked: {others:?}") };
    deliver(desk, bob.id, 40).await;
    (reminder, bob.clone(), eve.clone())
}

async fn an_answer_by_anyone_ends_the_family(desk: Desk) {
    let (ann, bob, _) = family(&desk, 3).await;
    let by = By { user: Some("bob".into()), ..By::new("bot", at(50)) };
    desk.store.change(bob.id, Change::Ack, by).await.expect("he was asked");
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Completed, StateKind::Completed, StateKind::Cancelled]);
    assert_eq!(desk.status(ann.id).await, ReminderStatus::Completed);
    let answers = desk.trail(run(&ann, 1)).await.responses;
    assert_eq!((answers[0].verb, answers[0].user.as_deref()), (Verb::Ack, Some("bob")));
    let told = made(&desk, family::VIA).await;
    let told: Vec<_> = told.iter().map(|relay| (relay.user.as_str(), relay.message.as_str())).collect();
    assert_eq!(told, [("ann", "✓ bob: done. \"water the plants\"")], "eve was never asked");
    // Nothing but the relay is sent any more.
    let sent = desk.claim(1000).await.to_send;
    assert_eq!(sent.iter().map(|claimed| claimed.reminder.created_via.as_str()).collect::<Vec<_>>(), [family::VIA]);
}

async fn an_answer_while_an_escalation_is_sent_refuses_its_result(desk: Desk) {
    let (ann, _, eve) = family(&desk, 3).await;
    let sending = desk.claim_only(60, vec![eve.id], 1).await.to_send.remove(0);
    let changed = desk.change(ann.id, Change::Ack, 61).await;
    assert_eq!(changed.recalled, [eve.id], "her node hears of it");
    assert_eq!(desk.settle(&sending, taken(), 62).await.lost, [run(&eve, 1)]);
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Completed, StateKind::Completed, StateKind::Cancelled]);
    assert_eq!(desk.trail(run(&eve, 1)).await.attempts.len(), 1, "it may have arrived, which is written down");
}

async fn a_snooze_begins_the_steps_anew(desk: Desk) {
    let (ann, bob, _) = family(&desk, 3).await;
    let by = By { user: Some("bob".into()), ..By::new("bot", at(50)) };
    desk.store.change(bob.id, Change::Snooze { until: at(650) }, by).await.expect("he was asked");
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Snoozed, StateKind::Snoozed, StateKind::Cancelled]);
    let due = [(StateKind::Snoozed, 650)];
    assert_eq!((desk.states(ann.id).await, desk.states(bob.id).await), (due.to_vec(), due.to_vec()));
    // Ann and bob are asked then. Bob, who waits for it himself, is not asked by the plan as well.
    deliver(&desk, ann.id, 650).await;
    desk.claim_only(680, vec![ann.id], 1).await;
    assert_eq!(asked(&desk).await, people(&[("bob", 650), ("eve", 60), ("eve", 700)]));
}

async fn an_answer_ends_also_what_another_has_put_off(desk: Desk) {
    // Bob put it off for both, so nothing about ann's run says any more that others were asked about it.
    let (ann, bob, _) = family(&desk, 3).await;
    let by = By { user: Some("bob".into()), ..By::new("bot", at(50)) };
    desk.store.change(bob.id, Change::Snooze { until: at(650) }, by.clone()).await.expect("he was asked");
    desk.change(ann.id, Change::Ack, 100).await;
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Completed, StateKind::Completed, StateKind::Cancelled]);
    let told = made(&desk, family::VIA).await;
    let told: Vec<_> = told.iter().map(|relay| (relay.user.as_str(), relay.message.as_str())).collect();
    assert_eq!(told.last(), Some(&("bob", "✓ ann: done. \"water the plants\"")), "{told:?}");
    let sent = desk.claim(1000).await.to_send;
    assert!(sent.iter().all(|claimed| claimed.reminder.created_via == family::VIA), "{sent:?}");
}

async fn every_run_that_an_answer_ends_is_in_the_journal(desk: Desk) {
    let (ann, bob, _) = family(&desk, 3).await;
    desk.change(bob.id, Change::Fire, 45).await;
    desk.change(ann.id, Change::Ack, 45).await;
    assert_eq!(desk.states(bob.id).await, [(StateKind::Completed, 40), (StateKind::Cancelled, 45)]);
    assert_eq!(desk.kinds(bob.id).await, ["created", "sent", "changed", "acknowledged", "cancelled"]);
    // And so is every run of who answers.
    let another = escalating(9, 1000, 3, &[(30, "bob")]);
    desk.create(&[&another]).await;
    deliver(&desk, another.id, 1000).await;
    desk.claim_only(1030, vec![another.id], 1).await;
    let others = made(&desk, escalate::VIA).await;
    let bob = others.iter().find(|other| other.escalates == Some(run(&another, 1))).expect("he is asked about it");
    deliver(&desk, bob.id, 1030).await;
    desk.change(bob.id, Change::Fire, 1035).await;
    deliver(&desk, bob.id, 1035).await;
    desk.change(bob.id, Change::Ack, 1040).await;
    assert_eq!(desk.states(bob.id).await, [(StateKind::Completed, 1030), (StateKind::Completed, 1035)]);
    assert_eq!(
        desk.kinds(bob.id).await,
        ["created", "sent", "changed", "sent", "acknowledged", "acknowledged"],
        "both, because both ask the same"
    );
}

async fn others_are_asked_again_after_a_pause(desk: Desk) {
    put_user(&desk, "bob").await;
    let ann = escalating(1, 10, 3, &[(30, "bob")]);
    desk.create(&[&ann]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, failed(), 10).await;
    desk.claim_only(40, vec![ann.id], 1).await;
    desk.change(ann.id, Change::Pause, 41).await;
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Paused, StateKind::Cancelled]);
    desk.change(ann.id, Change::Resume, 100).await;
    deliver(&desk, ann.id, 100).await;
    desk.claim_only(130, vec![ann.id], 1).await;
    assert_eq!(asked(&desk).await, people(&[("bob", 40), ("bob", 130)]));
    assert_eq!(
        family_of(&desk, ann.id).await,
        [StateKind::AwaitingAck, StateKind::Cancelled, StateKind::Scheduled],
        "the first question was withdrawn, and this is another"
    );
}

async fn a_snooze_of_an_escalation_whose_run_failed_leaves_the_others(desk: Desk) {
    for user in ["bob", "eve"] {
        put_user(&desk, user).await;
    }
    let ann = Reminder { retries_max: 0, ..escalating(1, 10, 3, &[(30, "bob"), (50, "eve")]) };
    desk.create(&[&ann]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, failed(), 10).await;
    let bob = made(&desk, escalate::VIA).await.remove(0);
    deliver(&desk, bob.id, 10).await;
    desk.change(bob.id, Change::Snooze { until: at(650) }, 20).await;
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Failed, StateKind::Snoozed, StateKind::Scheduled]);
}

async fn a_cancel_is_refused_while_an_escalation_is_being_sent(desk: Desk) {
    let (ann, _, eve) = family(&desk, 3).await;
    let sending = desk.claim_only(60, vec![eve.id], 1).await.to_send.remove(0);
    assert_eq!(desk.refused(ann.id, Change::Cancel, 61).await, Refused::OtherBegun(vec![eve.id]));
    desk.settle(&sending, taken(), 62).await;
    desk.change(ann.id, Change::Cancel, 63).await;
    assert_eq!(family_of(&desk, ann.id).await, [StateKind::Dismissed; 3]);
    let told = made(&desk, family::VIA).await;
    assert_eq!(told.iter().map(|relay| relay.user.as_str()).collect::<Vec<_>>(), ["bob", "eve"]);
}

async fn a_cancel_ends_also_a_question_that_was_paused(desk: Desk) {
    let (ann, bob, _) = family(&desk, 3).await;
    desk.change(bob.id, Change::Pause, 50).await;
    desk.change(ann.id, Change::Cancel, 51).await;
    let ended = [StateKind::Dismissed, StateKind::Dismissed, StateKind::Cancelled];
    assert_eq!(family_of(&desk, ann.id).await, ended);
}

async fn it_is_unanswered_only_after_the_last_was_asked(desk: Desk) {
    let (ann, ..) = family(&desk, 0).await;
    // Eve is asked at 60, for a minute.
    assert_eq!(desk.claim_only(70, vec![ann.id], 1).await.ended, []);
    assert_eq!(desk.states(ann.id).await, [(StateKind::AwaitingAck, 10)]);
    assert_eq!(desk.claim_only(119, vec![ann.id], 1).await.n_taken, 0);
    assert_eq!(desk.claim_only(120, vec![ann.id], 1).await.ended, [StateKind::Unanswered]);
}

async fn the_admins_come_last_and_once(desk: Desk) {
    put_user(&desk, "root").await;
    put_user(&desk, "bob").await;
    let critical = Reminder { priority: Priority::Critical, ..escalating(1, 10, 0, &[(30, "bob")]) };
    desk.create(&[&critical]).await;
    desk.deliver(10).await;
    desk.claim_only(40, vec![critical.id], 1).await;
    let bob = made(&desk, escalate::VIA).await.remove(0);
    deliver(&desk, bob.id, 40).await;
    desk.claim_only(70, vec![critical.id], 1).await;
    assert!(made(&desk, punctual_core::alert::VIA).await.is_empty(), "bob is still asked");
    let mut ended = desk.claim_only(100, vec![bob.id], 1).await.ended;
    ended.extend(desk.claim_only(100, vec![critical.id], 1).await.ended);
    assert_eq!(ended, [StateKind::Unanswered; 2]);
    let told = made(&desk, punctual_core::alert::VIA).await;
    assert_eq!(told.iter().map(|alert| alert.user.as_str()).collect::<Vec<_>>(), ["root"], "of the run alone");
}

async fn a_series_counted_from_the_answer_goes_on_with_anyones(desk: Desk) {
    put_user(&desk, "bob").await;
    let schedule = Schedule::new(Rule::Interval { every: Duration::from_secs(100), anchor: Anchor::Ack, origin: at(0) });
    let ann = Reminder { schedule, ..escalating(1, 10, 3, &[(30, "bob")]) };
    desk.create(&[&ann]).await;
    desk.deliver(100).await;
    desk.claim_only(130, vec![ann.id], 1).await;
    let bob = made(&desk, escalate::VIA).await.remove(0);
    deliver(&desk, bob.id, 130).await;
    let changed = desk.change(bob.id, Change::Ack, 140).await;
    assert!(changed.wakes.contains(&at(240)), "{:?}", changed.wakes);
    assert_eq!(desk.states(ann.id).await, [(StateKind::Completed, 100), (StateKind::Scheduled, 240)]);
}

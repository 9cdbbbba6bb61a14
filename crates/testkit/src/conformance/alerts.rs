//! Alerts: a critical reminder that led to nothing is told to the admins, in the same transaction.

use punctual_core::alert::{NOBODY, VIA};
use punctual_core::change::Change;
use punctual_core::channel::SendError;
use punctual_core::decide::postpone_in_trouble;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Misfire, MisfirePolicy, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::store::{ReminderQuery, ReminderView};
use punctual_core::user::User;

use super::desk::{Desk, asking, at, every, failed, once, taken};

rules!(
    a_critical_reminder_that_failed_is_told_to_each_admin,
    a_critical_reminder_that_nobody_answered_is_told,
    a_critical_reminder_that_is_held_is_told,
    a_critical_reminder_that_was_missed_is_told,
    an_admin_who_is_paused_is_told_if_nobody_else_can_be,
    the_admins_are_not_told_of_runs_that_are_not_critical_or_not_in_trouble,
    a_critical_reminder_is_told_when_all_addresses_failed_once_and_when_it_got_through,
    a_critical_reminder_is_told_when_all_addresses_failed_once_and_when_it_was_given_up,
    a_critical_reminder_whose_receiver_is_left_alone_is_told_before_it_is_tried,
    a_critical_reminder_that_was_snoozed_in_trouble_is_told_when_it_got_through,
    an_alert_that_fails_raises_no_other,
    a_refused_result_raises_nothing,
    every_run_that_fails_is_told_and_many_at_once,
);

fn admin(id: &str, language: &str) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: Some(language.into()),
        addresses: vec![Address::new("mail", id)],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn put(desk: &Desk, user: User) {
    desk.store.put_user(user, "ann".into()).await.expect("the store works");
}

/// A critical reminder that is tried once.
fn critical(number: u8, second: i64) -> Reminder {
    Reminder { priority: Priority::Critical, retries_max: 0, ..once(number, second) }
}

/// All alerts there are, by user.
async fn alerts(desk: &Desk) -> Vec<ReminderView> {
    let query = ReminderQuery { limit: 1000, ..ReminderQuery::default() };
    let mut all = desk.store.reminders(query).await.expect("the store works");
    all.retain(|view| view.reminder.created_via == VIA);
    all.sort_by_key(|view| view.reminder.user.clone());
    all
}

async fn a_critical_reminder_that_failed_is_told_to_each_admin(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    put(&desk, admin("ops", "de")).await;
    put(&desk, User { admin: false, ..admin("ann", "en") }).await;
    let to = vec![Address::new("phone", "ann"), Address::new("webhook", "https://example.org/secret")];
    let reminder = Reminder { to, only: true, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    desk.settle(&first, Err(SendError::Refused("answered 403 Forbidden".into())), 11).await;
    assert!(alerts(&desk).await.is_empty(), "there is another way to try");
    let second = desk.claim_one(11).await;
    let settled = desk.settle(&second, failed(), 12).await;
    assert_eq!(settled.wakes, [at(12), at(12)], "the timer must learn of both");
    assert_eq!(settled.next_runs.len(), 2);
    let told = alerts(&desk).await;
    let users: Vec<_> = told.iter().map(|view| view.reminder.user.as_str()).collect();
    assert_eq!(users, ["ops", "root"]);
    assert!(told[0].reminder.message.contains("wurde nicht zugestellt"), "{}", told[0].reminder.message);
    let message = &told[1].reminder.message;
    for part in ["ann", "water the plants", "phone:ann: answered 403 Forbidden", "webhook:example.org: not now"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("secret"), "{message}");
    assert_eq!(told[1].reminder.metadata.to_value()["about"]["reminder_id"], reminder.id.to_string());
    assert_eq!(desk.kinds(told[1].reminder.id).await, ["created"]);
    assert_eq!(desk.kinds(reminder.id).await, ["created", "failed", "failed", "alerted"]);
    let sent = desk.claim(12).await.to_send;
    let mut routes: Vec<_> = sent.iter().map(|claimed| claimed.route.clone()).collect();
    routes.sort();
    assert_eq!(routes, [[Address::new("mail", "ops")], [Address::new("mail", "root")]], "by the admin's own channels");
    for claimed in &sent {
        desk.settle(claimed, taken(), 12).await;
    }
    assert_eq!(desk.status(told[0].reminder.id).await, ReminderStatus::Completed);
}

async fn a_critical_reminder_that_nobody_answered_is_told(desk: Desk) {
    let reminder = asking(critical(1, 10), 0);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    let claims = desk.claim(70).await;
    assert_eq!((claims.ended.as_slice(), claims.wakes.as_slice()), (&[StateKind::Unanswered][..], &[at(70)][..]));
    assert_eq!(claims.next_runs.len(), 1);
    let told = alerts(&desk).await;
    assert_eq!((told.len(), told[0].reminder.user.as_str()), (1, NOBODY), "there is no admin, and somebody is told");
    assert!(told[0].reminder.message.contains("never answered"), "{}", told[0].reminder.message);
    assert_eq!(desk.claim_one(70).await.route, [Address::new("console", "")], "by the default channel");
}

async fn a_critical_reminder_that_is_held_is_told(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    desk.claim_one(10).await;
    assert_eq!(desk.claim(25).await.ended, [StateKind::Failed]);
    let told = alerts(&desk).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].reminder.message.contains("phone:ann: cut off in flight"), "{}", told[0].reminder.message);
}

async fn a_critical_reminder_that_was_missed_is_told(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let skip = Misfire { policy: MisfirePolicy::Skip, ..Misfire::default() };
    let single = Reminder { misfire: skip, ..critical(1, 10) };
    let series = Reminder { priority: Priority::Critical, ..every(2, 100) };
    desk.create(&[&single, &series]).await;
    let claims = desk.claim(450).await;
    assert_eq!(claims.ended, [StateKind::Missed; 4]);
    let told = alerts(&desk).await;
    assert_eq!(told.len(), 2, "one for each, however many runs of a series were missed");
    assert!(told.iter().all(|view| view.reminder.message.contains("was missed because")), "{told:?}");
    assert_eq!(claims.wakes.iter().filter(|wake| **wake == at(450)).count(), 2);
    let normal = Reminder { priority: Priority::High, ..single };
    desk.create(&[&Reminder { id: once(3, 10).id, ..normal }]).await;
    desk.claim_only(450, vec![once(3, 10).id], 1).await;
    assert_eq!(alerts(&desk).await.len(), 2);
}

async fn an_admin_who_is_paused_is_told_if_nobody_else_can_be(desk: Desk) {
    let paused = |id| User { paused_until: Some(at(9000)), ..admin(id, "en") };
    put(&desk, paused("root")).await;
    put(&desk, admin("ops", "en")).await;
    desk.create(&[&critical(1, 10), &critical(2, 20)]).await;
    let fail = async |now| {
        let claimed = desk.claim_one(now).await;
        desk.settle(&claimed, failed(), now).await;
        let told = desk.claim(now).await.to_send;
        for claimed in &told {
            desk.settle(claimed, taken(), now).await;
        }
        let mut users: Vec<_> = told.iter().map(|claimed| claimed.reminder.user.clone()).collect();
        users.sort();
        users
    };
    assert_eq!(fail(10).await, ["ops"], "root has asked for silence");
    put(&desk, paused("ops")).await;
    assert_eq!(fail(20).await, ["ops", "root"], "and somebody must be told");
}

async fn the_admins_are_not_told_of_runs_that_are_not_critical_or_not_in_trouble(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let of = |number, priority| Reminder { priority, retries_max: 0, ..once(number, 10) };
    let failing = [of(1, Priority::Low), of(2, Priority::Normal), of(3, Priority::High)];
    let to = vec![Address::new("phone", "ann"), Address::new("mail", "ann")];
    let another_way = Reminder { to, retries_max: 1, ..critical(4, 10) };
    let (fine, cancelled) = (critical(5, 10), critical(6, 900));
    desk.create(&failing.iter().chain([&another_way, &fine, &cancelled]).collect::<Vec<_>>()).await;
    for claimed in desk.claim(10).await.to_send {
        let said = if claimed.before.id.reminder == fine.id { taken() } else { failed() };
        desk.settle(&claimed, said, 10).await;
    }
    desk.change(cancelled.id, Change::Cancel, 11).await;
    assert!(alerts(&desk).await.is_empty());
}

/// The texts of the alerts, in the order in which they were made, each with its user.
async fn news(desk: &Desk) -> Vec<(String, String)> {
    let mut all = alerts(desk).await;
    all.sort_by_key(|view| view.reminder.created_at);
    let news =
        |view: &ReminderView| view.reminder.metadata.to_value()["about"]["news"].as_str().unwrap_or("").to_owned();
    all.iter().map(|view| (view.reminder.user.clone(), news(view))).collect()
}

fn told(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(user, news)| ((*user).to_owned(), (*news).to_owned())).collect()
}

/// Claims the run of this reminder.
async fn claim_it(desk: &Desk, reminder: &Reminder, now: i64) -> punctual_core::store::Claimed {
    desk.claim_only(now, vec![reminder.id], 1).await.to_send.remove(0)
}

async fn a_critical_reminder_is_told_when_all_addresses_failed_once_and_when_it_got_through(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let to = vec![Address::new("phone", "ann"), Address::new("mail", "ann")];
    let reminder = Reminder { to, retries_max: 2, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    desk.settle(&claim_it(&desk, &reminder, 10).await, failed(), 10).await;
    assert!(news(&desk).await.is_empty(), "there is another way to try");
    let settled = desk.settle(&claim_it(&desk, &reminder, 10).await, failed(), 11).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble")]));
    assert!(settled.wakes.contains(&at(11)), "the timer must learn of it");
    assert_eq!(settled.next_runs.len(), 1);
    for (now, then) in [(30, 30), (30, 31)] {
        desk.settle(&claim_it(&desk, &reminder, now).await, failed(), then).await;
        assert_eq!(news(&desk).await, told(&[("root", "trouble")]), "once");
    }
    // Another admin, who has heard of nothing.
    put(&desk, admin("ops", "en")).await;
    desk.settle(&claim_it(&desk, &reminder, 300).await, taken(), 300).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble"), ("root", "recovered")]));
    let kinds = ["created", "failed", "failed", "alerted", "failed", "failed", "sent", "alerted"];
    assert_eq!(desk.kinds(reminder.id).await, kinds);
    let all = alerts(&desk).await;
    assert!(all.iter().any(|view| view.reminder.message.contains("was delivered after all")), "{all:?}");
}

async fn a_critical_reminder_is_told_when_all_addresses_failed_once_and_when_it_was_given_up(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let reminder = Reminder { retries_max: 1, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    desk.settle(&claim_it(&desk, &reminder, 10).await, failed(), 10).await;
    desk.settle(&claim_it(&desk, &reminder, 100).await, failed(), 100).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble"), ("root", "failed")]));
    let (again, cancelled) = (critical(2, 200), Reminder { retries_max: 1, ..critical(3, 200) });
    desk.create(&[&again, &cancelled]).await;
    let refused = Err(SendError::Refused("no".into()));
    desk.settle(&claim_it(&desk, &again, 200).await, refused, 201).await;
    assert_eq!(news(&desk).await[2..], told(&[("root", "failed")]), "what is given up at once is told once");
    desk.settle(&claim_it(&desk, &cancelled, 202).await, failed(), 202).await;
    desk.change(cancelled.id, Change::Cancel, 203).await;
    assert_eq!(news(&desk).await[3..], told(&[("root", "trouble")]), "whoever cancels it knows");
}

async fn a_critical_reminder_whose_receiver_is_left_alone_is_told_before_it_is_tried(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let reminder = Reminder { retries_max: 2, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    for now in [10, 20] {
        let claimed = claim_it(&desk, &reminder, now).await;
        desk.write(vec![postpone_in_trouble(&claimed, at(now + 10), "phone only fails".into())], now).await;
    }
    assert_eq!(news(&desk).await, told(&[("root", "trouble")]));
    let message = alerts(&desk).await.remove(0).reminder.message;
    assert!(message.ends_with("phone only fails"), "{message}");
    desk.settle(&claim_it(&desk, &reminder, 30).await, taken(), 30).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble"), ("root", "recovered")]));
}

async fn a_critical_reminder_that_was_snoozed_in_trouble_is_told_when_it_got_through(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let reminder = Reminder { retries_max: 2, ..critical(1, 10) };
    desk.create(&[&reminder]).await;
    desk.settle(&claim_it(&desk, &reminder, 10).await, failed(), 10).await;
    desk.change(reminder.id, Change::Snooze { until: at(600) }, 20).await;
    desk.settle(&claim_it(&desk, &reminder, 600).await, failed(), 600).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble")]), "once for a run");
    desk.settle(&claim_it(&desk, &reminder, 700).await, taken(), 700).await;
    assert_eq!(news(&desk).await, told(&[("root", "trouble"), ("root", "recovered")]));
}

async fn an_alert_that_fails_raises_no_other(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    desk.create(&[&critical(1, 10)]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, failed(), 10).await;
    let alert = desk.claim_one(10).await;
    assert_eq!(alert.reminder.retries_max, 10, "it is tried for long");
    let refused = Err(SendError::Refused("no such mailbox".into()));
    assert!(desk.settle(&alert, refused, 11).await.wakes.is_empty());
    let told = alerts(&desk).await;
    assert_eq!(told.len(), 1, "that would never end");
    assert_eq!(told[0].last_status, Some(StateKind::Failed));
}

async fn a_refused_result_raises_nothing(desk: Desk) {
    let reminder = critical(1, 10);
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    assert_eq!(desk.settle(&first, failed(), 26).await.lost.len(), 1);
    assert!(alerts(&desk).await.is_empty(), "whoever has it now decides");
    desk.settle(&second, failed(), 27).await;
    assert_eq!(alerts(&desk).await.len(), 1);
}

async fn every_run_that_fails_is_told_and_many_at_once(desk: Desk) {
    put(&desk, admin("root", "en")).await;
    let series = Reminder { priority: Priority::Critical, retries_max: 0, ..every(1, 100) };
    let all: Vec<Reminder> = (2..=30).map(|number| critical(number, 100)).chain([series.clone()]).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let claimed = desk.claim(100).await.to_send;
    let settlements = claimed.iter().map(|claimed| Desk::settlement(claimed, failed(), 100)).collect();
    let settled = desk.write(settlements, 100).await;
    assert_eq!(settled.wakes.len(), 31, "thirty alerts and the next run");
    assert_eq!(alerts(&desk).await.len(), 30);
    let again = desk.claim_only(200, vec![series.id], 1).await.to_send.remove(0);
    desk.settle(&again, failed(), 200).await;
    assert_eq!(alerts(&desk).await.len(), 31, "each run by itself");
}

//! Rules that only the tables can show: a run that somebody else spoiled and that cannot be read, and history, which no command rewrites.

use punctual_core::alert::VIA;
use punctual_core::change::{Change, Patch};
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::Schedule;
use punctual_core::store::ReminderQuery;
use punctual_core::user::User;

use super::desk::{Desk, asking, at, every, once, run, taken};
use super::{Sql, TableRule};

pub(super) const RULES: &[TableRule] = &[
    TableRule {
        name: "what_cannot_be_read_stops_nobody",
        show: |desk, sql| Box::pin(what_cannot_be_read_stops_nobody(desk, sql)),
    },
    TableRule {
        name: "a_reminder_whose_last_run_cannot_be_read_is_over",
        show: |desk, sql| Box::pin(a_reminder_whose_last_run_cannot_be_read_is_over(desk, sql)),
    },
    TableRule {
        name: "a_run_that_cannot_be_read_takes_up_room_in_a_claim",
        show: |desk, sql| Box::pin(a_run_that_cannot_be_read_takes_up_room_in_a_claim(desk, sql)),
    },
    TableRule {
        name: "a_changed_priority_leaves_history_alone",
        show: |desk, sql| Box::pin(a_changed_priority_leaves_history_alone(desk, sql)),
    },
    TableRule {
        name: "an_answer_that_is_no_word_of_theirs_is_taken_for_none",
        show: |desk, sql| Box::pin(an_answer_that_is_no_word_of_theirs_is_taken_for_none(desk, sql)),
    },
];

fn user(id: &str) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: vec![Address::new("mail", id)],
        quiet_hours: None,
        paused_until: None,
        admin: id == "root",
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Changes what there is of a table where a condition holds.
fn spoil(sql: &Sql, table: &str, set: &str) {
    let changed = sql(&format!("UPDATE {{{table}}} SET {set} RETURNING 1"));
    assert!(!changed.is_empty(), "{table}: {set}");
}

async fn what_cannot_be_read_stops_nobody(desk: Desk, sql: Sql) {
    let spoil = |table, set: &str| spoil(&sql, table, set);
    for id in ["ann", "bob", "root"] {
        desk.store.put_user(user(id), "ann".into()).await.expect("the store works");
    }
    let of = |reminder: Reminder, user: &str, message: &str| Reminder {
        user: user.into(),
        message: message.into(),
        to: vec![],
        ..reminder
    };
    let nowhere = Reminder { priority: Priority::Critical, ..of(every(1, 100), "ann", "nowhere") };
    let own = Reminder { to: vec![Address::new("phone", "ann")], ..of(once(2, 100), "ann", "own") };
    let zoneless = of(once(3, 100), "bob", "zoneless");
    let odd = Reminder { priority: Priority::Critical, ..of(once(4, 100), "bob", "odd") };
    let strange = Reminder { priority: Priority::Critical, ..of(every(5, 100), "bob", "strange") };
    let healthy = of(once(6, 100), "carl", "healthy");
    desk.create(&[&nowhere, &own, &zoneless, &odd, &strange, &healthy]).await;
    spoil("user", "addresses = 'nonsense' WHERE id IN ('ann', 'root')");
    spoil("user", "timezone = 'Middle/Earth', quiet_from = '22:00', quiet_to = '23:00' WHERE id = 'bob'");
    spoil("user", "timezone = 'Middle/Earth' WHERE id = 'root'");
    spoil("reminder", "schedule = 'nonsense' WHERE message = 'odd'");
    spoil_runs(&sql, "strange");

    let claims = desk.claim(100).await;
    let mut sent: Vec<_> = claims.to_send.iter().map(|claimed| claimed.reminder.message.as_str()).collect();
    sent.sort_unstable();
    assert_eq!(sent, ["healthy", "own", "zoneless"]);
    assert_eq!((claims.n_taken, claims.ended.len()), (6, 3), "{:?}", claims.ended);
    for failed in [&nowhere, &odd, &strange] {
        let state = desk.trail(run(failed, 1)).await.occurrence.state;
        assert!(state.error().is_some_and(|error| error.contains("cannot be read")), "{state:?}");
    }
    for series in [&nowhere, &strange] {
        let states = desk.states(series.id).await;
        assert_eq!(states, [(StateKind::Failed, 100), (StateKind::Scheduled, 200)], "{}", series.message);
    }
    assert_eq!(claims.wakes.iter().filter(|wake| **wake == at(200)).count(), 2, "{:?}", claims.wakes);

    let query = ReminderQuery { user: Some("root".into()), limit: 100, ..ReminderQuery::default() };
    let told = desk.store.reminders(query).await.expect("the store works");
    assert!(told.iter().all(|view| view.reminder.created_via == VIA), "{told:?}");
    let about = |message: &str| told.iter().filter(|view| view.reminder.message.contains(message)).count();
    assert_eq!((told.len(), about("nowhere"), about("odd"), about("strange")), (3, 1, 1, 1), "{told:?}");
    assert_eq!(claims.wakes.iter().filter(|wake| **wake == at(100)).count(), 3, "{:?}", claims.wakes);
    // The admin cannot be reached either, which is no reason to try for ever.
    assert_eq!(desk.claim(100).await.ended, [StateKind::Failed; 3]);
    assert!(desk.claim(100).await.ended.is_empty(), "and an alert raises no other");

    // A user who is written anew can be reached again.
    desk.store.put_user(user("ann"), "ann".into()).await.expect("the store works");
    let next = desk.claim_only(200, vec![nowhere.id], 1).await.to_send.remove(0);
    assert_eq!(next.to(), &Address::new("mail", "ann"));
}

async fn an_answer_that_is_no_word_of_theirs_is_taken_for_none(desk: Desk, sql: Sql) {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    desk.change(reminder.id, Change::Ack, 20).await;
    assert_eq!(desk.trail(run(&reminder, 1)).await.responses.len(), 1);
    spoil(&sql, "response", "kind = 'nonsense' WHERE run = 1");
    let error = desk.store.occurrences(reminder.id, None, 10).await.expect_err("it cannot be read").to_string();
    assert!(error.contains("`nonsense` is not one of ack, snooze, dismiss"), "{error}");
}

/// Makes the runs of the reminder with this message unreadable.
fn spoil_runs(sql: &Sql, message: &str) {
    let of = format!("reminder_id = (SELECT id FROM {{reminder}} WHERE message = '{message}')");
    spoil(sql, "occurrence", &format!("state = 'nonsense' WHERE {of}"));
}

async fn a_reminder_whose_last_run_cannot_be_read_is_over(desk: Desk, sql: Sql) {
    let counted = Schedule { count: Some(1), ..every(1, 100).schedule };
    let series = Reminder { message: "series".into(), schedule: counted, ..every(1, 100) };
    let single = Reminder { message: "single".into(), ..once(2, 100) };
    desk.create(&[&series, &single]).await;
    for reminder in [&series, &single] {
        spoil_runs(&sql, &reminder.message);
    }
    assert_eq!(desk.claim(100).await.ended, [StateKind::Failed; 2]);
    for reminder in [&series, &single] {
        assert_eq!(desk.states(reminder.id).await, [(StateKind::Failed, 100)], "{}", reminder.message);
        assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed, "{}", reminder.message);
    }
}

async fn a_run_that_cannot_be_read_takes_up_room_in_a_claim(desk: Desk, sql: Sql) {
    let urgent = |reminder| Reminder { priority: Priority::Critical, ..reminder };
    let asked = [urgent(asking(once(1, 10), 1)), urgent(asking(once(2, 10), 1))];
    let spoiled = Reminder { message: "spoiled".into(), ..urgent(once(3, 50)) };
    let plain = once(4, 71);
    desk.create(&[&asked[0], &asked[1], &spoiled, &plain]).await;
    for claimed in desk.claim(10).await.to_send {
        desk.settle(&claimed, taken(), 10).await;
    }
    spoil_runs(&sql, "spoiled");
    // Two questions wait until second 70. Together with the run that cannot be read they fill a claim of three.
    let claims = desk.claim_between(60, 0, 75, 3).await;
    assert_eq!(claims.to_send.iter().map(|claimed| claimed.before.id).collect::<Vec<_>>(), [run(&plain, 1)]);
    assert_eq!((claims.ended, claims.not_before), (vec![StateKind::Failed], vec![at(70)]));
}

async fn a_changed_priority_leaves_history_alone(desk: Desk, sql: Sql) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    desk.deliver(100).await;
    let ranks = || sql("SELECT priority FROM {occurrence} ORDER BY run");
    assert_eq!(ranks(), ["1", "1"]);
    let patch = Patch { priority: Some(Priority::Critical), ..Patch::default() };
    desk.change(reminder.id, Change::Update(Box::new(patch)), 150).await;
    assert_eq!(ranks(), ["1", "3"], "run 1 ended as a normal one, and run 2 is open");
}

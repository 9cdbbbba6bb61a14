//! Rows that somebody else wrote and that cannot be read: such a run fails visibly, its series goes on, and it stops no other.

use std::sync::Arc;

use punctual_core::alert::VIA;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Priority, Reminder};
use punctual_core::store::{ReminderQuery, Store};
use punctual_core::user::User;

use super::desk::{Desk, at, every, once, run};

fn user(id: &str) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: vec![Address::new("mail", id)],
        quiet_hours: None,
        paused_until: None,
        admin: id == "root",
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Shows it on an empty store. `spoil` runs an UPDATE of a table, `user`, `reminder` or `occurrence`, with what follows `SET`.
///
/// # Panics
/// When the store breaks a rule.
pub async fn exercise_poison(store: Arc<dyn Store>, spoil: impl Fn(&str, &str)) {
    let desk = Desk::new(store);
    for id in ["ann", "bob", "root"] {
        desk.store.put_user(user(id)).await.expect("the store works");
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
    let theirs = "SELECT id FROM {reminder} WHERE message = 'strange'";
    spoil("occurrence", &format!("state = 'nonsense' WHERE reminder_id = ({theirs})"));

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
    desk.store.put_user(user("ann")).await.expect("the store works");
    let next = desk.claim_only(200, vec![nowhere.id], 1).await.to_send.remove(0);
    assert_eq!(next.to(), &Address::new("mail", "ann"));
}

//! Users, keys, counts, and old history.

use jiff::civil::{Weekday, time};
use punctual_core::habits::{DateOrder, Habits};
use punctual_core::change::Change;
use punctual_core::reminder::{Address, Reminder, ReminderStatus};
use punctual_core::store::StoreStats;
use punctual_core::user::{ApiKey, Except, QuietHours, User};
use punctual_core::zone::Zone;

use super::desk::{Desk, at, every, failed, once};

rules!(
    users_are_kept_and_replaced,
    keys_are_found_by_their_hash,
    old_history_goes_and_the_rest_stays,
    counts_are_right,
    runs_that_failed_lately_are_counted,
    a_probe_writes_and_queries_are_counted,
);

fn user(id: &str) -> User {
    User {
        id: id.into(),
        timezone: Some(Zone::named("Europe/Zagreb").expect("a real zone")),
        language: Some("hr".into()),
        addresses: vec![Address::new("phone", id)],
        quiet_hours: Some(QuietHours {
            from: time(22, 0, 0, 0),
            to: time(6, 30, 0, 0),
            except: Except::High,
            digest: true,
        }),
        paused_until: Some(at(77)),
        escalate: Vec::new(),
        habits: Habits {
            date_order: Some(DateOrder::MonthFirst),
            first_day_of_week: Some(Weekday::Sunday),
            evening: Some(time(18, 0, 0, 0)),
            ..Habits::default()
        },
        admin: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn users_are_kept_and_replaced(desk: Desk) {
    let store = &desk.store;
    for id in ["bob", "ann", "carol"] {
        store.put_user(user(id), "ann".into()).await.expect("the store works");
    }
    assert_eq!(store.user("ann").await.expect("the store works"), Some(user("ann")));
    let names = |users: Vec<User>| users.into_iter().map(|user| user.id).collect::<Vec<_>>();
    assert_eq!(names(store.users(None, 2).await.expect("the store works")), ["ann", "bob"]);
    assert_eq!(names(store.users(Some("bob".into()), 2).await.expect("the store works")), ["carol"]);
    let plain = User {
        timezone: None,
        language: None,
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: Habits::default(),
        admin: false,
        updated_at: at(9),
        ..user("ann")
    };
    store.put_user(plain.clone(), "ann".into()).await.expect("the store works");
    assert_eq!(store.user("ann").await.expect("the store works"), Some(plain));
    assert_eq!(store.delete_user("ann", "ann".into(), at(9)).await.expect("the store works"), Some(vec![]));
    assert_eq!(store.delete_user("ann", "ann".into(), at(9)).await.expect("the store works"), None);
    assert_eq!(store.user("ann").await.expect("the store works"), None);
}

async fn keys_are_found_by_their_hash(desk: Desk) {
    let store = &desk.store;
    let key = |id: &str, byte: u8| ApiKey {
        id: id.into(),
        name: format!("key {id}"),
        hash: [byte; 32],
        user: (byte == 1).then(|| "ann".to_owned()),
        write: byte == 1,
        expires_at: (byte == 1).then(|| at(500)),
        created_at: at(i64::from(byte)),
    };
    for key in [key("b", 2), key("a", 1)] {
        store.put_key(key, "ann".into()).await.expect("the store works");
    }
    assert_eq!(store.key([1; 32]).await.expect("the store works"), Some(key("a", 1)));
    assert_eq!(store.key([9; 32]).await.expect("the store works"), None);
    assert_eq!(store.keys().await.expect("the store works"), [key("a", 1), key("b", 2)]);
    assert!(store.put_key(key("c", 1), "ann".into()).await.is_err(), "a hash belongs to one key");
    assert!(store.delete_key("a", "ann".into(), at(9)).await.expect("the store works"));
    assert!(!store.delete_key("a", "ann".into(), at(9)).await.expect("the store works"));
    assert_eq!(store.key([1; 32]).await.expect("the store works"), None);
}

async fn old_history_goes_and_the_rest_stays(desk: Desk) {
    let (over, series, paused) = (once(1, 10), every(2, 100), every(3, 50));
    desk.create(&[&over, &series, &paused]).await;
    desk.change(paused.id, Change::Pause, 1).await;
    desk.deliver(10).await;
    desk.deliver(100).await;
    desk.deliver(200).await;
    assert_eq!(desk.store.prune(at(150), 1).await.expect("the store works"), 1, "no more than asked");
    assert_eq!(desk.store.prune(at(150), 100).await.expect("the store works"), 1);
    assert!(desk.store.reminder(over.id).await.expect("the store works").is_none(), "it goes with its last run");
    assert_eq!(desk.kinds(over.id).await, ["created", "sent"], "what happened stays known");
    assert_eq!(desk.runs(series.id).await.len(), 2, "a recent run and one to come");
    assert_eq!(desk.status(series.id).await, ReminderStatus::Active);
    assert_eq!(desk.runs(paused.id).await.len(), 1, "what is paused has not ended");
    desk.deliver(300).await;
}

async fn counts_are_right(desk: Desk) {
    let (over, series, paused) = (once(1, 10), every(2, 100), once(3, 50));
    desk.create(&[&over, &series, &paused]).await;
    desk.change(paused.id, Change::Pause, 1).await;
    desk.deliver(10).await;
    let StoreStats { pending, oldest_at, mut reminders } = desk.store.stats(at(20)).await.expect("the store works");
    assert_eq!((pending, oldest_at), (1, Some(at(100))));
    reminders.sort_by_key(|(status, _)| status.as_str());
    let expected = [ReminderStatus::Active, ReminderStatus::Completed, ReminderStatus::Paused];
    assert_eq!(reminders, expected.map(|status| (status, 1)));
}

async fn a_probe_writes_and_queries_are_counted(desk: Desk) {
    let before = desk.store.queries();
    desk.store.probe().await.expect("the store works");
    assert!(desk.store.queries() > before);
}

async fn runs_that_failed_lately_are_counted(desk: Desk) {
    let of = |number| Reminder { retries_max: 0, ..once(number, 10 * i64::from(number)) };
    let all = [of(1), of(2), of(3)];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    for second in [10, 20] {
        desk.settle(&desk.claim_one(second).await, failed(), second).await;
    }
    desk.deliver(30).await;
    let since = async |second, limit| desk.store.failed_since(at(second), limit).await.expect("the store works");
    assert_eq!((since(0, 100).await, since(11, 100).await, since(20, 100).await), (2, 1, 1));
    assert_eq!((since(21, 100).await, since(0, 1).await), (0, 1), "and no more than was asked for");
}

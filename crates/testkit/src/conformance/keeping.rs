//! Users, keys, counts, and old history.

use jiff::civil::{Weekday, time};
use punctual_core::habits::{DateOrder, Habits};
use punctual_core::change::Change;
use punctual_core::channel::Rate;
use punctual_core::key::{ApiKey, Replaced, Rotation, Scope, Scopes};
use punctual_core::reminder::{Address, Reminder, ReminderStatus};
use punctual_core::store::StoreStats;
use punctual_core::user::{Except, QuietHours, User};
use punctual_core::zone::Zone;

use super::desk::{Desk, at, every, failed, once};

rules!(
    users_are_kept_and_replaced,
    keys_are_found_by_their_hash,
    a_rotated_key_is_found_by_both_secrets,
    the_last_use_of_a_key_only_moves_forward,
    sessions_stay_ended_for_as_long_as_it_matters,
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

pub(super) fn key(id: &str, byte: u8) -> ApiKey {
    let is_full = byte == 1;
    ApiKey {
        id: id.into(),
        name: format!("key {id}"),
        prefix: is_full.then(|| "pk_5d1c0a9e".to_owned()),
        hash: [byte; 32],
        user: is_full.then(|| "ann".to_owned()),
        channels: if is_full { vec!["phone".into(), "a, \"b\"".into()] } else { Vec::new() },
        scopes: if is_full { Scopes::of([Scope::Write, Scope::SendTest]) } else { Scopes::ADMIN },
        rate: is_full.then(|| Rate::per_minute(30)),
        expires_at: is_full.then(|| at(500)),
        created_at: at(i64::from(byte)),
        used_at: None,
        replaced: None,
    }
}

async fn keys_are_found_by_their_hash(desk: Desk) {
    let store = &desk.store;
    for key in [key("b", 2), key("a", 1)] {
        store.put_key(key, "ann".into()).await.expect("the store works");
    }
    assert_eq!(store.key([1; 32]).await.expect("the store works"), Some(key("a", 1)));
    assert_eq!(store.key([9; 32]).await.expect("the store works"), None);
    assert_eq!(store.key_named("b").await.expect("the store works"), Some(key("b", 2)));
    assert_eq!(store.key_named("c").await.expect("the store works"), None);
    assert_eq!(store.keys().await.expect("the store works"), [key("a", 1), key("b", 2)]);
    assert!(store.put_key(key("c", 1), "ann".into()).await.is_err(), "a hash belongs to one key");
    assert!(store.delete_key("a", "ann".into(), at(9)).await.expect("the store works"));
    assert!(!store.delete_key("a", "ann".into(), at(9)).await.expect("the store works"));
    assert_eq!(store.key([1; 32]).await.expect("the store works"), None);
}

async fn a_rotated_key_is_found_by_both_secrets(desk: Desk) {
    let store = &desk.store;
    for key in [key("a", 1), key("b", 2)] {
        store.put_key(key, "ann".into()).await.expect("the store works");
    }
    let rotate = async |id: &str, byte: u8, until: i64| {
        let rotation = Rotation { hash: [byte; 32], prefix: format!("pk_{byte}"), until: at(until), now: at(50) };
        store.rotate_key(id, rotation, "ann".into()).await.expect("the store works")
    };
    let replaced = Replaced { hash: [1; 32], prefix: Some("pk_5d1c0a9e".into()), until: at(60) };
    let second = ApiKey { hash: [3; 32], prefix: Some("pk_3".into()), replaced: Some(replaced), ..key("a", 1) };
    assert_eq!(rotate("a", 3, 60).await, Some(second.clone()));
    assert_eq!(rotate("c", 4, 60).await, None);
    for byte in [1, 3] {
        assert_eq!(store.key([byte; 32]).await.expect("the store works"), Some(second.clone()), "{byte}");
    }
    assert_eq!(store.keys().await.expect("the store works"), [second, key("b", 2)], "and nothing else has changed");
    rotate("a", 5, 60).await;
    let found = async |byte: u8| store.key([byte; 32]).await.expect("the store works").map(|key| key.id);
    assert_eq!((found(1).await, found(3).await.as_deref(), found(5).await.as_deref()), (None, Some("a"), Some("a")));
    rotate("a", 6, 50).await;
    assert_eq!((found(5).await, found(6).await.as_deref()), (None, Some("a")), "without an overlap");
}

async fn the_last_use_of_a_key_only_moves_forward(desk: Desk) {
    let store = &desk.store;
    for key in [key("a", 1), key("b", 2)] {
        store.put_key(key, "ann".into()).await.expect("the store works");
    }
    let used = async |uses: &[(&str, i64)]| {
        let uses = uses.iter().map(|(id, second)| ((*id).to_owned(), at(*second))).collect();
        store.keys_used(uses).await.expect("the store works");
        let keys = store.keys().await.expect("the store works");
        keys.into_iter().map(|key| key.used_at).collect::<Vec<_>>()
    };
    assert_eq!(used(&[("b", 100), ("gone", 100)]).await, [None, Some(at(100))]);
    assert_eq!(used(&[("a", 90), ("b", 90)]).await, [Some(at(90)), Some(at(100))], "another node was later");
    assert_eq!(used(&[("b", 110)]).await, [Some(at(90)), Some(at(110))]);
    assert_eq!(used(&[]).await, [Some(at(90)), Some(at(110))]);
    assert!(store.key_named("gone").await.expect("the store works").is_none());
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

async fn sessions_stay_ended_for_as_long_as_it_matters(desk: Desk) {
    let end = async |name, second, forgotten| {
        desk.store.end_sessions(name, at(second), at(forgotten)).await.expect("the store works");
    };
    let ended = async |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        desk.store.sessions_ended(names).await.expect("the store works")
    };
    assert_eq!(ended(&["session 1", "key_1"]).await, None);
    end("session 1", 10, 0).await;
    end("key_1", 20, 0).await;
    end("key_1", 15, 0).await;
    assert_eq!(ended(&["session 1"]).await, Some(at(10)));
    assert_eq!(ended(&["session 1", "key_1"]).await, Some(at(20)), "the last of them, which never moves back");
    assert_eq!(ended(&["session 2", "key_2"]).await, None, "another's go on");
    end("session 2", 30, 11).await;
    assert_eq!(ended(&["session 1"]).await, None, "it is over by itself by now");
    assert_eq!(ended(&["key_1"]).await, Some(at(20)));
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

//! Changes on a condition: what a caller has not seen is not changed.

use std::fmt::Debug;

use punctual_core::change::{Change, Patch, Refused};
use punctual_core::group::Group;
use punctual_core::journal::Who;
use punctual_core::key::Rotation;
use punctual_core::scope::Scope;
use punctual_core::silence::Silence;
use punctual_core::store::{By, ByPlanner, ChangeError, PutEvent, SilenceQuery, StoreError};
use punctual_core::user::User;
use punctual_core::version::{Expects, Version};
use punctual_core::zone::Zone;

use super::calendars::feed;
use super::desk::{Desk, at, every};
use super::events::game;
use super::groups::group;
use super::keeping::key;
use super::silences::silence;
use crate::sample;

rules!(
    a_user_is_changed_as_the_caller_has_seen_them,
    a_group_is_changed_as_the_caller_has_seen_it,
    a_scope_is_changed_as_the_caller_has_seen_it,
    a_feed_is_changed_as_the_caller_has_seen_it,
    a_silence_is_ended_as_the_caller_has_seen_it,
    a_key_is_changed_as_the_caller_has_seen_it,
    an_event_is_changed_as_the_caller_has_seen_it,
    a_reminder_is_changed_as_the_caller_has_seen_it,
);

/// Somebody who expects this to be there.
fn who(expects: Expects) -> Who {
    Who { expects, ..Who::from("ann") }
}

fn seen(version: Version) -> Who {
    who(Expects::OneOf(vec![version]))
}

/// Checks that the store did nothing, because something else is there.
#[track_caller]
fn refused<T: Debug>(done: Result<T, StoreError>) {
    assert!(matches!(done, Err(StoreError::Unexpected)), "{done:?}");
}

#[track_caller]
fn refused_change<T: Debug>(done: Result<T, ChangeError>) {
    assert!(matches!(done, Err(ChangeError::Refused(Refused::Unexpected))), "{done:?}");
}

async fn a_user_is_changed_as_the_caller_has_seen_them(desk: Desk) {
    let (store, old) = (&desk.store, sample::user("ann", at(0)));
    refused(store.put_user(old.clone(), who(Expects::Something)).await);
    refused(store.put_user(old.clone(), seen(old.version())).await);
    assert_eq!(store.user("ann").await.expect("the store works"), None);
    store.put_user(old.clone(), who(Expects::Nothing)).await.expect("nobody is there");
    refused(store.put_user(old.clone(), who(Expects::Nothing)).await);

    let new = User { language: Some("de".into()), updated_at: at(1), ..old.clone() };
    store.put_user(new.clone(), seen(old.version())).await.expect("they are as they were seen");
    refused(store.put_user(old.clone(), seen(old.version())).await);
    refused(store.delete_user("ann", seen(old.version()), at(2)).await);
    let kept = store.user("ann").await.expect("the store works").expect("they are there");
    assert_eq!((kept.version(), &kept), (new.version(), &new), "they have the version that was written");
    assert!(store.delete_user("ann", seen(new.version()), at(3)).await.expect("they are as they were seen").is_some());
    assert_eq!(store.delete_user("ann", who(Expects::Something), at(3)).await.expect("nobody is there"), None);
}

async fn a_group_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let (store, old) = (&desk.store, group("on-call", &["ann"]));
    refused(store.put_group(old.clone(), who(Expects::Something)).await);
    store.put_group(old.clone(), who(Expects::Nothing)).await.expect("it is new");
    refused(store.put_group(old.clone(), who(Expects::Nothing)).await);
    let new = Group { users: vec!["bob".into()], updated_at: at(2), ..old.clone() };
    store.put_group(new.clone(), seen(old.version())).await.expect("it is as it was seen");
    refused(store.put_group(old.clone(), seen(old.version())).await);
    refused(store.delete_group("on-call", seen(old.version()), at(3)).await);
    assert_eq!(store.groups(None, 9).await.expect("the store works"), std::slice::from_ref(&new));
    assert!(store.delete_group("on-call", seen(new.version()), at(3)).await.expect("it is as it was seen").is_some());
}

async fn a_scope_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let store = &desk.store;
    let old = Scope { path: "guild:1".parse().expect("a path"), offsets: Vec::new(), updated_at: at(1) };
    refused(store.put_scope(old.clone(), who(Expects::Something)).await);
    store.put_scope(old.clone(), who(Expects::Nothing)).await.expect("it is new");
    let new = Scope { updated_at: at(2), ..old.clone() };
    store.put_scope(new.clone(), seen(old.version())).await.expect("it is as it was seen");
    refused(store.put_scope(old.clone(), seen(old.version())).await);
    refused(store.remove_scope(&old.path, seen(old.version()), at(3)).await);
    let kept = store.scope(&old.path).await.expect("the store works").expect("it is there");
    assert_eq!(kept.version(), new.version());
    assert!(store.remove_scope(&old.path, seen(new.version()), at(3)).await.expect("it is as it was seen").is_some());
}

async fn a_feed_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let (store, old, new) = (&desk.store, feed("ann", "work", 1), feed("ann", "work", 2));
    refused(store.put_feed(old.clone(), who(Expects::Something), at(1)).await);
    store.put_feed(old.clone(), who(Expects::Nothing), at(1)).await.expect("it is new");
    refused(store.put_feed(old.clone(), who(Expects::Nothing), at(1)).await);
    store.put_feed(new.clone(), seen(old.version()), at(2)).await.expect("it is as it was seen");
    refused(store.put_feed(old.clone(), seen(old.version()), at(2)).await);
    refused(store.remove_feed(&old.key, seen(old.version()), at(3)).await);
    assert!(store.remove_feed(&old.key, seen(new.version()), at(3)).await.expect("it is as it was seen"));
}

async fn a_silence_is_ended_as_the_caller_has_seen_it(desk: Desk) {
    let store = &desk.store;
    let kept = Silence { user: Some("ann".into()), ..silence(1, 0, 100) };
    store.put_silence(kept.clone(), "ann".into()).await.expect("there is room");
    refused(store.end_silence(kept.id, None, seen(Version::of(&"another")), at(1)).await);
    let query = SilenceQuery { user: None, tag: None, id: Some(kept.id), after: None, now: at(1), limit: 1 };
    let shown = store.silences(query).await.expect("the store works").pop().expect("it goes on");
    assert_eq!(shown.version(), kept.version());
    assert!(store.end_silence(kept.id, None, seen(kept.version()), at(1)).await.expect("it is as seen").is_some());
}

async fn a_key_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let (store, old) = (&desk.store, key("key_1", 1));
    store.put_key(old.clone(), "ann".into()).await.expect("it is new");
    store.keys_used(vec![(old.id.clone(), at(1))]).await.expect("the store works");
    let named = async || store.key_named(&old.id).await.expect("the store works").expect("it is there");
    assert_eq!(named().await.version(), old.version(), "its use makes it no other");
    let rotation = |n| Rotation { hash: [n; 32], prefix: "pk_new".into(), until: at(50), now: at(2) };
    refused(store.rotate_key(&old.id, rotation(2), who(Expects::Nothing)).await);
    let new = store.rotate_key(&old.id, rotation(2), seen(old.version())).await.expect("it is as it was seen");
    let new = new.expect("it is there");
    assert_eq!(named().await.version(), new.version());
    refused(store.rotate_key(&old.id, rotation(3), seen(old.version())).await);
    refused(store.delete_key(&old.id, seen(old.version()), at(3)).await);
    assert_eq!(named().await.version(), new.version(), "it has stayed as it was");
    assert!(store.delete_key(&old.id, seen(new.version()), at(3)).await.expect("it is as it was seen"));
    assert!(!store.delete_key(&old.id, who(Expects::Something), at(3)).await.expect("there is none"));
}

async fn an_event_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let store = &desk.store;
    let by = |who: Who, now: i64| ByPlanner { who, zone: Zone::utc(), now: at(now) };
    let put = |message: &str| {
        let event = punctual_core::event::Event { message: message.into(), ..game("game", 9000) };
        vec![PutEvent { event, keeps_instances: true }]
    };
    refused_change(store.put_events(put("a"), None, by(who(Expects::Something), 1)).await);
    store.put_events(put("a"), None, by(who(Expects::Nothing), 1)).await.expect("it is new");
    refused_change(store.put_events(put("b"), None, by(who(Expects::Nothing), 2)).await);
    let shown = async || store.event("game").await.expect("the store works").expect("it is there").event;
    let old = shown().await;
    assert_eq!(old.message, "a");
    store.put_events(put("b"), None, by(seen(old.version()), 2)).await.expect("it is as it was seen");
    refused_change(store.put_events(put("c"), None, by(seen(old.version()), 3)).await);
    refused_change(store.remove_events(vec!["game".into()], None, by(seen(old.version()), 3)).await);
    let new = shown().await;
    assert_eq!(new.message, "b");
    store.remove_events(vec!["game".into()], None, by(seen(new.version()), 4)).await.expect("it is as it was seen");
    // One that was removed is not there.
    refused_change(store.put_events(put("d"), None, by(who(Expects::Something), 5)).await);
    store.put_events(put("d"), None, by(who(Expects::Nothing), 5)).await.expect("it is new again");
}

async fn a_reminder_is_changed_as_the_caller_has_seen_it(desk: Desk) {
    let store = &desk.store;
    let reminder = every(1, 600);
    desk.create(&[&reminder]).await;
    let shown = async || store.reminder(reminder.id).await.expect("the store works").expect("it is there").version();
    let old = shown().await;
    let update = |message: &str| Change::Update(Box::new(Patch { message: Some(message.into()), ..Patch::default() }));
    let by = |version: Version, now: i64| By::new(seen(version), at(now));
    let changed = store.change(reminder.id, update("new"), by(old, 1)).await.expect("it is as it was seen");
    let new = shown().await;
    assert_eq!(changed.view.version(), new);
    refused_change(store.change(reminder.id, update("newer"), by(old, 2)).await);
    refused_change(store.change(reminder.id, Change::Cancel, by(old, 2)).await);
    assert_eq!(shown().await, new, "nothing was changed");
    // What a command does to its runs makes it another, too.
    let until = at(3000);
    for change in [Change::Pause, Change::Resume, Change::Skip, Change::Snooze { until }, Change::Fire] {
        let before = shown().await;
        if let Err(error) = store.change(reminder.id, change.clone(), by(before, 5)).await {
            assert!(matches!(change, Change::Snooze { .. }), "{change:?}: {error}");
            continue;
        }
        assert_ne!(shown().await, before, "{change:?}");
        refused_change(store.change(reminder.id, Change::Cancel, by(before, 6)).await);
    }
    let last = shown().await;
    store.change(reminder.id, Change::Cancel, by(last, 7)).await.expect("it is as it was seen");
}

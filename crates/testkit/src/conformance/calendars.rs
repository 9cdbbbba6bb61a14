//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use std::time::Duration;

use punctual_core::calendars::Contents;
use punctual_core::decide::calendar::{Changes, address_version, feed_read};
use punctual_core::event::Offset;
use punctual_core::feed::{Alarms, Feed, FeedKey, FeedKind, FeedSettings, Known};
use punctual_core::group::{Group, Mode, Shift};
use punctual_core::journal::Who;
use punctual_core::store::{FeedEnd, StoreError};
use punctual_core::version::Expects;

use super::desk::{Desk, at};

rules!(
    the_address_of_a_calendar_changes_when_asked_and_for_its_user_alone,
    a_feed_is_kept_replaced_and_removed,
    a_feed_is_taken_by_one_node_when_its_moment_has_come,
    who_has_lost_a_feed_writes_nothing_of_it,
    the_rota_of_a_group_comes_and_goes_with_it,
);

async fn the_address_of_a_calendar_changes_when_asked_and_for_its_user_alone(desk: Desk) {
    let store = &desk.store;
    assert_eq!(store.calendar_key("ann").await.expect("the store works"), 0);
    assert_eq!(store.renew_calendar_key("ann", "ann".into(), at(1)).await.expect("the store works"), 1);
    assert_eq!(store.renew_calendar_key("ann", "ann".into(), at(2)).await.expect("the store works"), 2);
    assert_eq!(store.calendar_key("ann").await.expect("the store works"), 2);
    assert_eq!(store.calendar_key("bob").await.expect("the store works"), 0);

    // Whoever has seen an older address changes nothing.
    let seen = |generation| Who { expects: Expects::OneOf(vec![address_version(generation)]), ..Who::from("ann") };
    let late = store.renew_calendar_key("ann", seen(1), at(3)).await;
    assert!(matches!(late, Err(StoreError::Unexpected)), "{late:?}");
    assert_eq!(store.calendar_key("ann").await.expect("the store works"), 2);
    assert_eq!(store.renew_calendar_key("ann", seen(2), at(4)).await.expect("the store works"), 3);
}

pub(super) fn feed(user: &str, name: &str, now: i64) -> Feed {
    let settings = FeedSettings {
        alarms: Alarms::Both,
        offsets: Some(vec![Offset::minutes_before(60)]),
        message: Some("{title}".into()),
    };
    let every = Duration::from_secs(900);
    Feed::new(FeedKey::of_user(user, name), "https://x.example/a.ics".into(), settings, every, at(now))
}

/// The feed as it is after a reading that found something.
fn end(feed: &Feed, now: i64) -> FeedEnd {
    let known = Known { etag: Some("\"1\"".into()), modified: Some("Mon".into()) };
    let contents = Contents { known, ..Contents::default() };
    let changes = Changes { added: 1, ..Changes::default() };
    let (feed, writes) = feed_read(feed, &contents, vec!["u: is odd".into()], changes, 0, at(now));
    FeedEnd { feed, shifts: None, writes }
}

async fn a_feed_is_kept_replaced_and_removed(desk: Desk) {
    let store = &desk.store;
    let (family, work) = (feed("ann", "family", 1), feed("ann", "work", 1));
    for feed in [&work, &family, &feed("bob", "family", 1)] {
        store.put_feed(feed.clone(), "ann".into(), at(1)).await.expect("the store works");
    }
    let of = |user: &str| store.feeds(FeedKind::User, Some(user.to_owned()), None, 10);
    assert_eq!(of("ann").await.expect("the store works"), [family.clone(), work.clone()]);
    let after = store.feeds(FeedKind::User, None, Some(family.key.clone()), 1).await.expect("the store works");
    assert_eq!(after, std::slice::from_ref(&work));
    assert_eq!(store.feeds(FeedKind::Group, None, None, 10).await.expect("the store works"), []);
    let changed = Feed { source: "https://y.example/".into(), ..feed("ann", "work", 2) };
    store.put_feed(changed.clone(), "ann".into(), at(2)).await.expect("the store works");
    assert!(store.remove_feed(&family.key, "ann".into(), at(3)).await.expect("the store works"));
    assert!(!store.remove_feed(&family.key, "ann".into(), at(3)).await.expect("the store works"));
    assert_eq!(of("ann").await.expect("the store works"), [changed]);
}

async fn a_feed_is_taken_by_one_node_when_its_moment_has_come(desk: Desk) {
    let store = &desk.store;
    assert_eq!(store.take_feed("n1", at(60), at(0)).await.expect("the store works").next_at, None);
    let family = feed("ann", "family", 10);
    store.put_feed(family.clone(), "ann".into(), at(1)).await.expect("the store works");
    let early = store.take_feed("n1", at(65), at(5)).await.expect("the store works");
    assert_eq!((early.feed, early.next_at), (None, Some(at(10))));
    let taken = store.take_feed("n1", at(70), at(10)).await.expect("the store works");
    assert_eq!((taken.feed.as_ref(), taken.next_at), (Some(&family), Some(at(70))));
    let other = store.take_feed("n2", at(80), at(20)).await.expect("the store works");
    assert_eq!((other.feed, other.next_at), (None, Some(at(70))));
    // The node is gone, and another takes over.
    let over = store.take_feed("n2", at(140), at(80)).await.expect("the store works");
    assert_eq!(over.feed.as_ref(), Some(&family));
    assert!(!store.end_feed("n1", end(&family, 81)).await.expect("the store works"), "n1 has lost it");
    let ended = end(&family, 82);
    assert!(store.end_feed("n2", ended.clone()).await.expect("the store works"));
    let kept = store.feeds(FeedKind::User, None, None, 10).await.expect("the store works");
    assert_eq!(kept, std::slice::from_ref(&ended.feed));
    assert_eq!(store.take_feed("n1", at(999), at(100)).await.expect("the store works").next_at, Some(at(82 + 900)));
    store.place().await.expect("the store works");
}

async fn who_has_lost_a_feed_writes_nothing_of_it(desk: Desk) {
    let store = &desk.store;
    let family = feed("ann", "family", 0);
    store.put_feed(family.clone(), "ann".into(), at(0)).await.expect("the store works");
    store.take_feed("n1", at(60), at(0)).await.expect("the store works");
    let changed = Feed { source: "https://y.example/".into(), ..family.clone() };
    store.put_feed(changed.clone(), "ann".into(), at(1)).await.expect("the store works");
    assert!(!store.end_feed("n1", end(&family, 2)).await.expect("the store works"));
    assert_eq!(store.feeds(FeedKind::User, None, None, 10).await.expect("the store works"), [changed]);
    store.remove_feed(&family.key, "ann".into(), at(3)).await.expect("the store works");
    assert!(!store.end_feed("n1", end(&family, 4)).await.expect("the store works"));
}

async fn the_rota_of_a_group_comes_and_goes_with_it(desk: Desk) {
    let store = &desk.store;
    let group = |rota: Option<&str>| Group {
        name: "oc".into(),
        mode: Mode::InOrder,
        users: vec!["zoe".into()],
        rota: rota.map(str::to_owned),
        shifts: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    };
    let kept = async || -> Result<Group, StoreError> {
        let found = store.groups_of(vec!["oc".into()]).await?.pop().expect("the group is there");
        assert_eq!(store.groups(None, 1).await?, std::slice::from_ref(&found));
        Ok(found)
    };
    let source = "https://x.example/oncall.ics";
    store.put_group(group(Some(source)), "ann".into()).await.expect("the store works");
    let taken = store.take_feed("n1", at(60), at(0)).await.expect("the store works").feed.expect("it is read at once");
    assert_eq!((&taken.key, taken.source.as_str()), (&FeedKey::of_group("oc"), source));
    let shift = |from: i64, user: &str| Shift { from_at: at(from), until_at: at(from + 100), user: user.into() };
    let shifts = vec![shift(200, "eve"), shift(100, "bob")];
    let ended = FeedEnd { shifts: Some(shifts.clone()), ..end(&taken, 1) };
    assert!(store.end_feed("n1", ended).await.expect("the store works"));
    assert_eq!(kept().await.expect("the store works").shifts, shifts, "in the order in which they were given");
    // The same again, with other users: nothing is read anew, and who is on duty stays.
    store.put_group(Group { users: vec![], ..group(Some(source)) }, "ann".into()).await.expect("the store works");
    assert_eq!(kept().await.expect("the store works").shifts, shifts);
    assert_eq!(store.take_feed("n1", at(60), at(0)).await.expect("the store works").feed, None);
    // Another calendar says anew who is on duty.
    store.put_group(group(Some("https://y.example/")), "ann".into()).await.expect("the store works");
    assert_eq!(kept().await.expect("the store works").shifts, []);
    assert!(store.take_feed("n1", at(60), at(1)).await.expect("the store works").feed.is_some());
    store.put_group(group(None), "ann".into()).await.expect("the store works");
    assert_eq!(store.feeds(FeedKind::Group, None, None, 10).await.expect("the store works"), []);
    store.put_group(group(Some(source)), "ann".into()).await.expect("the store works");
    store.delete_group("oc", "ann".into(), at(5)).await.expect("the store works");
    assert_eq!(store.feeds(FeedKind::Group, None, None, 10).await.expect("the store works"), []);
}

//! Calendars: the address of each user's own.

use super::desk::{Desk, at};

rules!(the_address_of_a_calendar_changes_when_asked_and_for_its_user_alone);

async fn the_address_of_a_calendar_changes_when_asked_and_for_its_user_alone(desk: Desk) {
    let store = &desk.store;
    assert_eq!(store.calendar_key("ann").await.expect("the store works"), 0);
    assert_eq!(store.renew_calendar_key("ann", "ann".into(), at(1)).await.expect("the store works"), 1);
    assert_eq!(store.renew_calendar_key("ann", "ann".into(), at(2)).await.expect("the store works"), 2);
    assert_eq!(store.calendar_key("ann").await.expect("the store works"), 2);
    assert_eq!(store.calendar_key("bob").await.expect("the store works"), 0);
}

//! Addresses that are dead, and what the platform calls what was sent there.

use punctual_core::change::{Change, Patch};
use punctual_core::channel::SendError;
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::store::DeadAddress;
use punctual_core::user::User;

use super::desk::{Desk, at, failed, once, run, taken};

rules!(
    an_address_that_is_gone_is_dead_with_the_result_that_said_so,
    a_refused_result_buries_nothing,
    dead_addresses_are_marked_listed_and_revived,
    the_platforms_id_is_written_while_the_attempt_is_under_way,
    a_platforms_id_needs_the_lease_and_an_attempt_under_way,
    another_address_has_refused_nothing,
    another_address_of_the_person_has_refused_nothing,
    a_refusal_of_an_old_address_is_forgotten,
);

fn gone() -> Result<punctual_core::channel::Receipt, SendError> {
    Err(SendError::Gone("the number is not in service".into()))
}

async fn all(desk: &Desk) -> Vec<DeadAddress> {
    desk.store.dead_addresses(None, 100).await.expect("the store works")
}

async fn an_address_that_is_gone_is_dead_with_the_result_that_said_so(desk: Desk) {
    let to = vec![Address::new("phone", "ann"), Address::new("mail", "ann")];
    let both = [Reminder { to: to.clone(), ..once(1, 10) }, Reminder { to: to.clone(), ..once(2, 10) }];
    desk.create(&both.iter().collect::<Vec<_>>()).await;
    let claimed = desk.claim(10).await.to_send;
    assert!(all(&desk).await.is_empty());
    // Both in one batch, and once more later: the first one stays.
    let settlements: Vec<_> = claimed.iter().map(|claimed| Desk::settlement(claimed, gone(), 11)).collect();
    assert!(settlements.iter().all(|settlement| settlement.gone));
    desk.write(settlements, 11).await;
    let dead = all(&desk).await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!((&dead[0].address, dead[0].since), (&to[0], at(11)));
    assert!(dead[0].reason.contains("not in service"), "{dead:?}");
    let claimed = desk.claim(11).await.to_send;
    desk.settle(&claimed[0], Err(SendError::Refused("too long".into())), 12).await;
    desk.settle(&claimed[1], failed(), 12).await;
    assert_eq!(all(&desk).await, dead, "only what is gone is dead");
    let third = Reminder { to, ..once(3, 20) };
    desk.create(&[&third]).await;
    let claimed = desk.claim_only(20, vec![third.id], 1).await.to_send.remove(0);
    desk.settle(&claimed, gone(), 21).await;
    assert_eq!(all(&desk).await, dead);
}

async fn a_refused_result_buries_nothing(desk: Desk) {
    desk.create(&[&once(1, 10)]).await;
    let first = desk.claim_one(10).await;
    let _second = desk.claim_one(25).await;
    assert_eq!(desk.settle(&first, gone(), 26).await.lost.len(), 1);
    assert!(all(&desk).await.is_empty());
}

async fn dead_addresses_are_marked_listed_and_revived(desk: Desk) {
    let store = &desk.store;
    let dead = |channel: &str, address: &str, second| DeadAddress {
        address: Address::new(channel, address),
        since: at(second),
        reason: format!("said at {second}"),
    };
    for one in [dead("sms", "+2", 3), dead("mail", "z@x", 1), dead("sms", "+1", 2), dead("sms", "+1", 9)] {
        store.mark_dead(one).await.expect("the store works");
    }
    let sorted = [dead("mail", "z@x", 1), dead("sms", "+1", 2), dead("sms", "+2", 3)];
    assert_eq!(all(&desk).await, sorted, "and the first mark stays");
    let page = store.dead_addresses(Some(sorted[0].address.clone()), 1).await.expect("the store works");
    assert_eq!(page, sorted[1..2]);
    assert!(store.revive(&sorted[1].address).await.expect("the store works"));
    assert!(!store.revive(&sorted[1].address).await.expect("the store works"));
    assert!(!store.revive(&Address::new("mail", "+2")).await.expect("the store works"), "of another channel");
    assert_eq!(all(&desk).await, [sorted[0].clone(), sorted[2].clone()]);
}

async fn the_platforms_id_is_written_while_the_attempt_is_under_way(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(10).await;
    let id = run(&reminder, 1);
    let is_written = desk.store.write_message_id(id, claimed.lease, claimed.attempt(), "call-7").await;
    assert!(is_written.expect("the store works"));
    let ids = |trail: punctual_core::store::Trail| {
        trail.attempts.into_iter().map(|a| (a.status, a.message_id)).collect::<Vec<_>>()
    };
    let call = Some("call-7".to_owned());
    assert_eq!(ids(desk.trail(id).await), [(AttemptStatus::Sending, call.clone())]);
    // The node that takes over finds the id, and a result without an id of its own leaves it.
    let second = desk.claim_one(25).await;
    assert_eq!(second.message_id, call);
    assert_eq!(ids(desk.trail(id).await), [(AttemptStatus::Sending, call.clone())]);
    desk.settle(&second, failed(), 26).await;
    assert_eq!(ids(desk.trail(id).await), [(AttemptStatus::Failed, call)]);
    let third = desk.claim_one(90).await;
    assert!(desk.store.write_message_id(id, third.lease, third.attempt(), "call-9").await.expect("the store works"));
    desk.settle(&third, taken(), 91).await;
    assert_eq!(ids(desk.trail(id).await)[1], (AttemptStatus::Sent, Some("m1".to_owned())));
}

async fn a_platforms_id_needs_the_lease_and_an_attempt_under_way(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    let second = desk.claim_one(25).await;
    let id = run(&reminder, 1);
    let before = desk.trail(id).await;
    for (lease, attempt) in [(first.lease, 1), (first.lease, 2), (second.lease, 1), (second.lease, 3)] {
        let is_written = desk.store.write_message_id(id, lease, attempt, "late").await.expect("the store works");
        assert!(!is_written, "lease {lease}, attempt {attempt}");
    }
    assert_eq!(desk.trail(id).await, before);
    desk.settle(&second, taken(), 26).await;
    assert!(!desk.store.write_message_id(id, second.lease, 2, "late").await.expect("the store works"), "it has ended");
}

fn refused() -> Result<punctual_core::channel::Receipt, SendError> {
    Err(SendError::Refused("no".into()))
}

fn phones(names: &[&str]) -> Vec<Address> {
    names.iter().map(|name| Address::new("phone", *name)).collect()
}

fn sent_to(names: &[&str]) -> Change {
    Change::Update(Box::new(Patch { to: Some(phones(names)), ..Patch::default() }))
}

async fn another_address_has_refused_nothing(desk: Desk) {
    let reminder = Reminder { to: phones(&["a", "b"]), ..once(1, 10) };
    desk.create(&[&reminder]).await;
    desk.settle(&desk.claim_one(10).await, refused(), 10).await;
    desk.settle(&desk.claim_one(10).await, failed(), 10).await;
    let renamed = Patch { name: Some(Some("tea".into())), to: Some(phones(&["a", "b"])), ..Patch::default() };
    desk.change(reminder.id, Change::Update(Box::new(renamed)), 11).await;
    let tries = desk.trail(run(&reminder, 1)).await.occurrence.tries;
    assert_eq!((tries.refused, tries.position), (1, 1), "the same addresses still know what they know");
    desk.change(reminder.id, sent_to(&["c"]), 12).await;
    let third = desk.claim_one(100).await;
    assert_eq!(third.to(), &Address::new("phone", "c"));
    desk.settle(&third, taken(), 100).await;
    assert_eq!(desk.trail(run(&reminder, 1)).await.occurrence.state.kind(), StateKind::Delivered);
}

async fn another_address_of_the_person_has_refused_nothing(desk: Desk) {
    let ann = |names: &[&str]| User {
        id: "ann".into(),
        timezone: None,
        language: None,
        addresses: phones(names),
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    };
    let put = async |names: &[&str]| desk.store.put_user(ann(names), "ann".into()).await.expect("the store works");
    put(&["a", "b"]).await;
    let theirs = Reminder { to: vec![], ..once(1, 10) };
    let own = Reminder { to: phones(&["x", "y"]), only: true, ..once(2, 10) };
    desk.create(&[&theirs, &own]).await;
    for said in [refused, failed] {
        for claimed in desk.claim(10).await.to_send {
            desk.settle(&claimed, said(), 10).await;
        }
    }
    put(&["c", "b"]).await;
    let tries = async |reminder| desk.trail(run(reminder, 1)).await.occurrence.tries;
    assert_eq!((tries(&theirs).await.refused, tries(&theirs).await.position), (0, 0));
    assert_eq!(tries(&own).await.refused, 1, "it has addresses of its own");
    let again = desk.claim_only(100, vec![theirs.id], 1).await.to_send.remove(0);
    assert_eq!(again.to(), &Address::new("phone", "c"));
    desk.settle(&again, refused(), 100).await;
    assert_eq!(tries(&theirs).await.refused, 1);
    desk.store.delete_user("ann", "ann".into(), at(101)).await.expect("the store works");
    assert_eq!(tries(&theirs).await.refused, 0, "and whoever is gone");
}

async fn a_refusal_of_an_old_address_is_forgotten(desk: Desk) {
    let reminder = Reminder { to: phones(&["a", "b"]), ..once(1, 10) };
    desk.create(&[&reminder]).await;
    let first = desk.claim_one(10).await;
    desk.change(reminder.id, sent_to(&["c", "d"]), 11).await;
    let settled = desk.settle(&first, refused(), 12).await;
    assert!(settled.lost.is_empty(), "the lease is still held");
    let second = desk.claim_one(12).await;
    assert_eq!(second.to(), &Address::new("phone", "c"));
    desk.settle(&second, refused(), 12).await;
    assert_eq!(desk.claim_one(12).await.to(), &Address::new("phone", "d"), "what is learnt about the new ones is kept");
}

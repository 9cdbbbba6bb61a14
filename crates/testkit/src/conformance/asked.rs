//! The runs that were said to somebody, for finding out which of them words are about.

use punctual_core::change::Change;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::store::ASKED_MAX;
use punctual_core::user::User;

use super::desk::{Desk, asking, at, every, once, run};

rules!(asked_finds_what_was_said_to_a_user, asked_leaves_out_what_has_ended, asked_is_bounded_and_the_last_comes_first);

fn user(id: &str) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: Some("hr".into()),
        addresses: vec![Address::new("phone", id)],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// The runs that were said to `users`, with the second since which those that have ended are wanted as well.
async fn asked(desk: &Desk, users: &[&str], since: Option<i64>) -> Vec<(String, u32, StateKind)> {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    let found = desk.store.asked(users, since.map(at)).await.expect("the store works");
    let line = |question: punctual_core::store::Question| {
        let occurrence = &question.trail.occurrence;
        (question.reminder.message, occurrence.id.run, occurrence.state.kind())
    };
    found.into_iter().map(line).collect()
}

fn named(message: &str, user: &str, reminder: Reminder) -> Reminder {
    Reminder { message: message.into(), user: user.into(), ..reminder }
}

async fn asked_finds_what_was_said_to_a_user(desk: Desk) {
    desk.store.put_user(user("ann"), "ann".into()).await.expect("the store works");
    let (tea, plants) = (named("tea", "ann", asking(once(1, 10), 3)), named("plants", "ann", asking(once(2, 20), 3)));
    let (bobs, later) = (named("bobs", "bob", asking(once(3, 30), 3)), named("later", "ann", asking(once(4, 900), 3)));
    desk.create(&[&tea, &plants, &bobs, &later]).await;
    for second in [10, 20, 30] {
        desk.deliver(second).await;
    }
    let waits = |message: &str| (message.to_owned(), 1, StateKind::AwaitingAck);
    assert_eq!(asked(&desk, &["ann"], None).await, [waits("plants"), waits("tea")], "what was said last comes first");
    assert_eq!(asked(&desk, &["bob", "ann"], None).await, [waits("bobs"), waits("plants"), waits("tea")]);
    assert_eq!(asked(&desk, &["nobody"], None).await, []);
    assert_eq!(asked(&desk, &[], None).await, []);

    desk.change(tea.id, Change::Snooze { until: at(500) }, 40).await;
    let found = desk.store.asked(vec!["ann".into()], None).await.expect("the store works");
    let of_tea = found.iter().find(|question| question.reminder.id == tea.id).expect("it was said, and put off");
    assert_eq!(of_tea.trail, desk.trail(run(&tea, 1)).await);
    assert_eq!((of_tea.trail.attempts.len(), of_tea.trail.responses.len()), (1, 1));
    assert_eq!(of_tea.reminder, desk.view(tea.id).await.reminder);
    assert_eq!(of_tea.user, Some(user("ann")));
    let of_bob = desk.store.asked(vec!["bob".into()], None).await.expect("the store works");
    assert_eq!(of_bob[0].user, None, "one needs no entry");
}

async fn asked_leaves_out_what_has_ended(desk: Desk) {
    let (series, plain) = (named("series", "ann", asking(every(1, 100), 0)), named("plain", "ann", once(2, 120)));
    desk.create(&[&series, &plain]).await;
    desk.deliver(100).await;
    desk.deliver(120).await;
    desk.change(series.id, Change::Ack, 130).await;
    desk.deliver(200).await;
    let open = ("series".to_owned(), 2, StateKind::AwaitingAck);
    assert_eq!(asked(&desk, &["ann"], None).await, std::slice::from_ref(&open));
    let (done, told) = (("series".to_owned(), 1, StateKind::Completed), ("plain".to_owned(), 1, StateKind::Delivered));
    assert_eq!(asked(&desk, &["ann"], Some(110)).await, [open.clone(), done.clone(), told]);
    assert_eq!(asked(&desk, &["ann"], Some(125)).await, [open, done], "ended before");
}

async fn asked_is_bounded_and_the_last_comes_first(desk: Desk) {
    let all: Vec<Reminder> =
        (0..40).map(|n| named(&n.to_string(), "ann", asking(once(n, 10 + i64::from(n)), 3))).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    for n in 0..40 {
        desk.deliver(10 + n).await;
    }
    let found = asked(&desk, &["ann"], None).await;
    assert_eq!(found.len(), ASKED_MAX);
    assert_eq!((found[0].0.as_str(), found[ASKED_MAX - 1].0.as_str()), ("39", "8"));
}

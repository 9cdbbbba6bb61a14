//! Answers from the platforms: events that come again, connections that one node has at a time, and whose an address is.

use std::time::Duration;

use punctual_core::change::Change;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Became, EventId};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, Reminder, ReminderStatus};
use punctual_core::retry::RetryPolicy;
use punctual_core::store::{
    Answerer, About, Beat, By, Came, ChangeError, Changed, Follows, HeldConnection, PlaceMove, Report, Reported, Said, Seen, StoreError,
};
use punctual_core::user::User;

use super::desk::{Desk, asking, at, once, run};
use crate::sample;

rules!(
    an_event_is_taken_once,
    two_copies_of_an_event_at_once_are_one_answer,
    an_event_is_forgotten_when_no_copy_of_it_could_come,
    a_place_moves_with_the_answer_that_came_there,
    a_place_moves_only_for_the_node_that_has_the_connection,
    a_node_that_has_a_connection_keeps_its_number,
    a_connection_is_taken_from_the_dead_and_not_from_the_living,
    a_node_lets_go_of_a_connection_that_it_does_not_ask_for,
    a_user_is_found_at_their_addresses_and_at_no_other,
    users_who_share_an_address_are_all_found,
    a_question_has_the_run_its_reminder_and_its_person,
    an_answer_says_who_gave_it,
    a_report_moves_an_attempt_once_and_only_forward,
    a_message_that_did_not_arrive_goes_to_the_next_address,
    a_reminder_that_was_over_goes_on_when_its_message_did_not_arrive,
    a_message_that_did_not_arrive_anywhere_fails_its_run,
    a_report_about_an_answered_run_changes_the_attempt_alone,
);

fn event(channel: &str, id: &str, now: i64) -> Came {
    let event = EventId { id: id.into(), remember_for: Duration::from_secs(900) };
    Came { seen: Some(Seen::new(channel, &event, at(now))), place: None }
}

fn at_place(lease: u64, text: &str) -> Came {
    Came { seen: None, place: Some(PlaceMove { channel: "bot".into(), lease, text: text.into() }) }
}

/// A snooze by a few minutes, which could be given again and again.
async fn snooze(desk: &Desk, reminder: &Reminder, now: i64, came: Came) -> Result<Changed, ChangeError> {
    let until = at(now + 600);
    desk.store.change(reminder.id, Change::Snooze { until }, By { came, ..By::new("bot", at(now)) }).await
}

async fn asked(desk: &Desk) -> Reminder {
    let reminder = asking(once(1, 10), 3);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    reminder
}

async fn n_answers(desk: &Desk, reminder: &Reminder) -> usize {
    desk.trail(run(reminder, 1)).await.responses.len()
}

async fn an_event_is_taken_once(desk: Desk) {
    let reminder = asked(&desk).await;
    snooze(&desk, &reminder, 20, event("bot", "e1", 20)).await.expect("it is new");
    let again = snooze(&desk, &reminder, 30, event("bot", "e1", 30)).await;
    assert!(matches!(again, Err(ChangeError::Store(StoreError::Seen))), "{again:?}");
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!((trail.responses.len(), trail.occurrence.due_at), (1, at(620)), "a copy changes nothing");
    // Another channel's event may have the same name.
    snooze(&desk, &reminder, 40, event("other", "e1", 40)).await.expect("it is another");
    snooze(&desk, &reminder, 50, event("bot", "e2", 50)).await.expect("it is another");
    assert_eq!(n_answers(&desk, &reminder).await, 3);
}

async fn two_copies_of_an_event_at_once_are_one_answer(desk: Desk) {
    let reminder = asked(&desk).await;
    for n in 0..10 {
        let id = format!("e{n}");
        let copy = || snooze(&desk, &reminder, 20 + n, event("bot", &id, 20));
        let (first, second) = tokio::join!(copy(), copy());
        assert!(first.is_ok() != second.is_ok(), "one of them is taken: {first:?} {second:?}");
    }
    assert_eq!(n_answers(&desk, &reminder).await, 10);
}

async fn an_event_is_forgotten_when_no_copy_of_it_could_come(desk: Desk) {
    let reminder = asked(&desk).await;
    snooze(&desk, &reminder, 20, event("bot", "e1", 20)).await.expect("it is new");
    desk.store.forget_answered(at(900)).await.expect("the store works");
    assert!(snooze(&desk, &reminder, 900, event("bot", "e1", 900)).await.is_err(), "it is remembered for 900 seconds");
    desk.store.forget_answered(at(921)).await.expect("the store works");
    snooze(&desk, &reminder, 921, event("bot", "e1", 921)).await.expect("it is forgotten");
}

async fn beat(desk: &Desk, node: &str) -> bool {
    let beat = Beat { node: node.into(), echo: None, shared: String::new(), follows: Follows::No, about: About::default() };
    desk.store.beat(beat).await.expect("the store works").is_some()
}

/// What is known of the connection of `bot` when `node` has asked for it.
async fn hold(desk: &Desk, node: &str) -> HeldConnection {
    beat(desk, node).await;
    let held = desk.store.hold(node, vec!["bot".into(), "other".into()]).await.expect("the store works");
    let names: Vec<&str> = held.iter().map(|held| held.channel.as_str()).collect();
    assert_eq!(names, ["bot", "other"], "all are told, in order");
    held.into_iter().next().expect("there are two")
}

async fn a_place_moves_with_the_answer_that_came_there(desk: Desk) {
    let reminder = asked(&desk).await;
    let held = hold(&desk, "a").await;
    assert_eq!((held.node.as_str(), &held.place), ("a", &None));
    snooze(&desk, &reminder, 20, at_place(held.lease, "17")).await.expect("the connection is ours");
    let place = hold(&desk, "a").await.place.expect("it was read so far");
    assert_eq!((place.text.as_str(), place.at), ("17", at(20)));
    // An answer that is refused leaves the place where it is.
    desk.change(reminder.id, Change::Cancel, 30).await;
    snooze(&desk, &reminder, 40, at_place(held.lease, "18")).await.expect_err("the reminder is cancelled");
    assert_eq!(hold(&desk, "a").await.place.map(|place| place.text).as_deref(), Some("17"));
}

async fn a_place_moves_only_for_the_node_that_has_the_connection(desk: Desk) {
    let reminder = asked(&desk).await;
    let held = hold(&desk, "a").await;
    for lease in [held.lease - 1, held.lease + 1] {
        let refused = snooze(&desk, &reminder, 20, at_place(lease, "17")).await;
        assert!(matches!(refused, Err(ChangeError::Store(StoreError::LeaseLost))), "{refused:?}");
    }
    assert_eq!((n_answers(&desk, &reminder).await, hold(&desk, "a").await.place), (0, None), "nothing is written");
    desk.store.leave("a").await.expect("the store works");
    let taken = hold(&desk, "b").await;
    assert!(taken.node == "b" && taken.lease > held.lease, "{taken:?}");
    snooze(&desk, &reminder, 30, at_place(held.lease, "17")).await.expect_err("it is another's now");
    snooze(&desk, &reminder, 30, at_place(taken.lease, "17")).await.expect("it is this node's");
    assert_eq!(n_answers(&desk, &reminder).await, 1);
}

async fn a_node_that_has_a_connection_keeps_its_number(desk: Desk) {
    let first = hold(&desk, "a").await;
    assert_eq!(hold(&desk, "a").await, first);
}

async fn a_connection_is_taken_from_the_dead_and_not_from_the_living(desk: Desk) {
    if !beat(&desk, "a").await {
        // No other process can use this store: whoever asks is alone.
        return;
    }
    let first = hold(&desk, "a").await;
    assert_eq!(hold(&desk, "b").await, first, "its node lives");
    desk.store.leave("a").await.expect("the store works");
    let taken = hold(&desk, "b").await;
    assert_eq!((taken.node.as_str(), taken.lease), ("b", first.lease + 1));
    // A node that others take for dead would lose it again at once.
    desk.store.leave("b").await.expect("the store works");
    let held = desk.store.hold("c", vec!["bot".into()]).await.expect("the store works");
    assert_eq!(held[0], taken, "c has not been seen to live");
}

async fn a_node_lets_go_of_a_connection_that_it_does_not_ask_for(desk: Desk) {
    if !beat(&desk, "a").await {
        // No other process can use this store: whoever asks is alone.
        return;
    }
    let first = hold(&desk, "a").await;
    let held = desk.store.hold("a", vec!["other".into()]).await.expect("the store works");
    assert!(held[0].node.is_empty() && held[1].node == "a", "it was started again without the channel: {held:?}");
    let taken = hold(&desk, "b").await;
    assert_eq!((taken.node.as_str(), taken.lease), ("b", first.lease + 1));
}

fn user(id: &str, addresses: &[(&str, &str)]) -> User {
    let addresses = addresses.iter().map(|(channel, address)| Address::new(*channel, *address)).collect();
    User { addresses, ..sample::user(id, at(0)) }
}

async fn at_address(desk: &Desk, channel: &str, addresses: &[&str]) -> Vec<String> {
    let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
    let users = desk.store.users_at(channel, addresses).await.expect("the store works");
    users.into_iter().map(|user| user.id).collect()
}

async fn a_user_is_found_at_their_addresses_and_at_no_other(desk: Desk) {
    let put = async |user: User| drop(desk.store.put_user(user, "ann".into()).await.expect("the store works"));
    put(user("ann", &[("bot", "1"), ("bot", "1"), ("mail", "a@example.org")])).await;
    assert_eq!(at_address(&desk, "bot", &["1"]).await, ["ann"]);
    assert_eq!(at_address(&desk, "bot", &["0", "1", "2"]).await, ["ann"]);
    assert_eq!(at_address(&desk, "mail", &["1"]).await, [""; 0], "it is another channel's");
    assert_eq!(at_address(&desk, "bot", &[]).await, [""; 0]);
    put(user("ann", &[("bot", "2"), ("mail", "a@example.org")])).await;
    assert_eq!(at_address(&desk, "bot", &["1"]).await, [""; 0], "she has moved");
    assert_eq!(at_address(&desk, "bot", &["2"]).await, ["ann"]);
    assert_eq!(at_address(&desk, "mail", &["a@example.org"]).await, ["ann"]);
    put(user("ann", &[])).await;
    assert_eq!(at_address(&desk, "bot", &["2"]).await, [""; 0]);
    put(user("ann", &[("bot", "2")])).await;
    desk.store.delete_user("ann", "ann".into(), at(1)).await.expect("the store works");
    assert_eq!(at_address(&desk, "bot", &["2"]).await, [""; 0], "she is gone");
}

async fn users_who_share_an_address_are_all_found(desk: Desk) {
    for id in ["eve", "bob", "ann"] {
        desk.store.put_user(user(id, &[("bot", "family"), ("bot", id)]), "ann".into()).await.expect("the store works");
    }
    assert_eq!(at_address(&desk, "bot", &["family"]).await, ["ann", "bob", "eve"]);
    assert_eq!(at_address(&desk, "bot", &["family", "bob"]).await, ["ann", "bob", "eve"], "each once");
    assert_eq!(at_address(&desk, "bot", &["bob"]).await, ["bob"]);
}

async fn a_question_has_the_run_its_reminder_and_its_person(desk: Desk) {
    let reminder = asked(&desk).await;
    let question = async |n| desk.store.question(run(&reminder, n)).await.expect("the store works");
    let found = question(1).await.expect("it is there");
    assert_eq!((&found.reminder, found.user), (&desk.view(reminder.id).await.reminder, None));
    assert_eq!(found.trail, desk.trail(run(&reminder, 1)).await);
    desk.store.put_user(user(&reminder.user, &[("bot", "1")]), "ann".into()).await.expect("the store works");
    let person = question(1).await.and_then(|found| found.user).expect("they have an entry now");
    assert_eq!((person.id, person.addresses), (reminder.user.clone(), vec![Address::new("bot", "1")]));
    assert!(question(2).await.is_none(), "there is no such run");
}

async fn an_answer_says_who_gave_it(desk: Desk) {
    let reminder = asked(&desk).await;
    let said = Said { name: Some("Bob".into()), channel: Some("bot".into()), text: None };
    for (second, answerer) in [(20, Answerer::Caller), (30, Answerer::User("bob".into())), (40, Answerer::Somebody)] {
        let by = By { answerer, said: said.clone(), ..By::new("bot", at(second)) };
        let until = at(second + 600);
        desk.store.change(reminder.id, Change::Snooze { until }, by).await.expect("it can be put off");
    }
    let answers = desk.trail(run(&reminder, 1)).await.responses;
    let users: Vec<_> = answers.iter().map(|answer| answer.user.as_deref()).collect();
    assert_eq!(users, [Some(reminder.user.as_str()), Some("bob"), None]);
    assert!(answers.iter().all(|answer| answer.said == said), "{answers:?}");
}

/// What the platform says of the message of run 1; every message of the desk is `m1`.
async fn report(desk: &Desk, reminder: &Reminder, now: i64, became: Became) -> Reported {
    let report = Report {
        run: run(reminder, 1),
        channel: "phone".into(),
        message_id: "m1".into(),
        became,
        route: reminder.to.clone(),
        policy: RetryPolicy::default(),
        jitter: 0.0,
    };
    desk.store.report(report, at(now)).await.expect("the store works").0
}

fn refused() -> Became {
    Became::Failed(SendError::Refused("not on this platform".into()))
}

/// A reminder to two addresses.
fn to_two(reminder: Reminder) -> Reminder {
    Reminder { to: vec![Address::new("phone", "ann"), Address::new("mail", "ann")], ..reminder }
}

async fn statuses(desk: &Desk, reminder: &Reminder) -> Vec<AttemptStatus> {
    desk.trail(run(reminder, 1)).await.attempts.iter().map(|attempt| attempt.status).collect()
}

async fn a_report_moves_an_attempt_once_and_only_forward(desk: Desk) {
    let reminder = asked(&desk).await;
    assert_eq!(report(&desk, &reminder, 20, Became::Delivered).await, Reported::Changed);
    assert_eq!(statuses(&desk, &reminder).await, [AttemptStatus::Delivered]);
    let before = desk.trail(run(&reminder, 1)).await;
    for became in [Became::Delivered, refused()] {
        assert_eq!(report(&desk, &reminder, 30, became).await, Reported::Nothing);
    }
    assert_eq!(desk.trail(run(&reminder, 1)).await, before);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::AwaitingAck, 10)]);
}

async fn a_message_that_did_not_arrive_goes_to_the_next_address(desk: Desk) {
    let reminder = to_two(asking(once(1, 10), 3));
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(report(&desk, &reminder, 20, refused()).await, Reported::Changed);
    assert_eq!(statuses(&desk, &reminder).await, [AttemptStatus::Refused]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::PendingRetry, 10)]);
    let claimed = desk.claim_one(20).await;
    assert_eq!((claimed.to(), claimed.before.tries.reached), (&reminder.to[1], 0), "at once, and the first never will");
    desk.settle(&claimed, Ok(punctual_core::channel::Receipt::of("m2")), 21).await;
    assert_eq!(desk.states(reminder.id).await, [(StateKind::AwaitingAck, 10)]);
    assert_eq!(desk.view(reminder.id).await.total_runs, 1, "it is one run");
}

async fn a_reminder_that_was_over_goes_on_when_its_message_did_not_arrive(desk: Desk) {
    let reminder = to_two(once(1, 10));
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(report(&desk, &reminder, 20, refused()).await, Reported::Changed);
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active);
    assert_eq!(desk.deliver(20).await.to(), &reminder.to[1]);
    assert_eq!(
        (desk.status(reminder.id).await, desk.view(reminder.id).await.total_runs),
        (ReminderStatus::Completed, 1)
    );
    // A day later nobody tries to mend it.
    let late = to_two(once(2, 30));
    desk.create(&[&late]).await;
    desk.deliver(30).await;
    assert_eq!(report(&desk, &late, 30 + 86_401, refused()).await, Reported::Changed);
    assert_eq!(
        (desk.states(late.id).await, statuses(&desk, &late).await),
        (vec![(StateKind::Delivered, 30)], vec![AttemptStatus::Refused])
    );
}

async fn a_message_that_did_not_arrive_anywhere_fails_its_run(desk: Desk) {
    let reminder = once(1, 10);
    desk.create(&[&reminder]).await;
    desk.deliver(10).await;
    let gone = Became::Failed(SendError::Gone("no such number".into()));
    assert_eq!(report(&desk, &reminder, 20, gone).await, Reported::Changed);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Failed, 10)]);
    let view = desk.view(reminder.id).await;
    let counts = (view.last_status, view.total_runs, view.consecutive_errors, view.reminder.status);
    assert_eq!(counts, (Some(StateKind::Failed), 1, 1, ReminderStatus::Completed));
    let dead = desk.store.dead_addresses(None, 10).await.expect("the store works");
    assert_eq!(dead.iter().map(|dead| &dead.address).collect::<Vec<_>>(), [&reminder.to[0]]);
    // One that may work later is tried again after a while.
    let other = once(2, 30);
    desk.create(&[&other]).await;
    desk.deliver(30).await;
    let later = Became::Failed(SendError::Unavailable("the phone is off".into()));
    assert_eq!(report(&desk, &other, 40, later).await, Reported::Changed);
    assert_eq!(desk.states(other.id).await, [(StateKind::PendingRetry, 30)]);
    assert_eq!(desk.claim(41).await.n_taken, 0, "not at once, at the same address");
}

async fn a_report_about_an_answered_run_changes_the_attempt_alone(desk: Desk) {
    let reminder = asked(&desk).await;
    desk.change(reminder.id, Change::Ack, 15).await;
    assert_eq!(report(&desk, &reminder, 20, refused()).await, Reported::Changed);
    assert_eq!(statuses(&desk, &reminder).await, [AttemptStatus::Refused]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Completed, 10)]);
    let unknown = Report {
        run: run(&reminder, 7),
        channel: "phone".into(),
        message_id: "m1".into(),
        became: Became::Delivered,
        route: Vec::new(),
        policy: RetryPolicy::default(),
        jitter: 0.0,
    };
    assert_eq!(desk.store.report(unknown, at(30)).await.expect("the store works").0, Reported::Nothing);
}

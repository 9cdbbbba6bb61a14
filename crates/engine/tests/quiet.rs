//! Quiet hours and pauses, told as stories.

use std::time::Duration;

use jiff::civil::time;
use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::change::Change;
use punctual_core::channel::{SendError, Whom};
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Priority, Reminder};
use punctual_core::user::{Except, QuietHours, User};
use punctual_core::zone::Zone;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::{BEGIN, Story};

/// Quiet from 8:30 to 9:00 of the clock; the story begins at 8:00.
const QUIET: QuietHours =
    QuietHours { from: time(8, 30, 0, 0), to: time(9, 0, 0, 0), except: Except::Critical, digest: true };

fn minute(n: i64) -> Timestamp {
    instant(BEGIN) + n.minutes()
}

fn person(story: &Story, quiet_hours: Option<QuietHours>, paused_until: Option<Timestamp>) {
    let user = User {
        id: "ann".into(),
        timezone: Some(Zone::utc()),
        language: Some("de".into()),
        addresses: Vec::new(),
        quiet_hours,
        paused_until,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: story.now(),
        updated_at: story.now(),
    };
    let engine = story.engine().clone();
    story.run(async move { engine.put_user(user, "ann").await }).expect("the store works");
}

fn due_at(story: &Story, number: u8, at: i64) -> Reminder {
    let message = format!("task {number}");
    let reminder = Reminder { user: "ann".into(), message, retries_max: 3, ..once(number, minute(at), story.now()) };
    story.create(&reminder);
    reminder
}

fn state(story: &Story, reminder: &Reminder) -> StateKind {
    story.runs(reminder.id)[0].occurrence.state.kind()
}

#[test]
fn runs_in_quiet_hours_come_as_one_message_at_their_end() {
    let story = Story::default();
    person(&story, Some(QUIET), None);
    let reminders = [due_at(&story, 1, 35), due_at(&story, 2, 40), due_at(&story, 3, 50)];
    let alarm = Reminder { priority: Priority::Critical, ..due_at(&story, 9, 400) };
    let critical = Reminder {
        schedule: once(4, minute(45), story.now()).schedule,
        id: once(4, minute(45), story.now()).id,
        ..alarm
    };
    story.create(&critical);
    story.advance(SignedDuration::from_mins(46));
    assert_eq!(story.phone.next_now(), "task 9", "what is critical comes at once");
    story.phone.expect_silence();
    assert_eq!(state(&story, &reminders[0]), StateKind::Waiting);
    story.advance(SignedDuration::from_mins(14));
    let digest = story.phone.all();
    assert_eq!(digest.len(), 1);
    assert_eq!(digest[0].text, "Während der Ruhezeit (3):\n• task 1\n• task 2\n• task 3");
    assert_eq!(digest[0].sent_at, minute(60));
    for reminder in &reminders {
        let key = story.runs(reminder.id)[0].attempts[0].key.clone();
        assert_eq!(key.as_ref(), Some(&digest[0].idempotency_key), "each tells the key it went out under");
    }
    assert!(reminders.iter().all(|reminder| state(&story, reminder) == StateKind::Delivered));
}

#[test]
fn a_digest_that_failed_is_tried_again_as_one() {
    let story = Story::default();
    person(&story, Some(QUIET), None);
    let reminders = [due_at(&story, 1, 35), due_at(&story, 2, 40)];
    story.phone.then_answer(Err(SendError::Unavailable("engaged".into())));
    story.advance(SignedDuration::from_mins(65));
    let messages = story.phone.all();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].text, messages[1].text);
    assert_eq!(messages[0].idempotency_key, messages[1].idempotency_key, "the same contents, the same key");
    assert!(reminders.iter().all(|reminder| state(&story, reminder) == StateKind::Delivered));
}

#[test]
fn a_run_of_a_digest_waits_for_its_only_address_where_another_run_goes_another_way() {
    let story = Story::default();
    person(&story, Some(QUIET), None);
    let with = |number: u8, user: &str, at, to: &[&str]| {
        let to = to.iter().map(|channel| Address::new(*channel, "ann")).collect();
        let message = format!("task {number}");
        let reminder = Reminder { user: user.into(), message, to, ..once(number, minute(at), story.now()) };
        story.create(&Reminder { retries_max: 0, ..reminder.clone() });
        reminder
    };
    let [both, only_phone] = [with(1, "ann", 35, &["phone", "mail"]), with(2, "ann", 40, &["phone"])];
    // A minute before the digest, somebody else's message is answered with half an hour's wait.
    with(3, "bob", 59, &["phone"]);
    story.phone.then_answer(Err(SendError::Throttled { wait: Duration::from_secs(1800), whom: Whom::Receiver }));
    story.advance(SignedDuration::from_mins(61));
    assert_eq!((story.phone.all().len(), story.mail.next_now()), (1, "task 1".into()));
    assert_eq!(state(&story, &both), StateKind::Delivered);
    assert_eq!(state(&story, &only_phone), StateKind::PendingRetry, "the wait costs it no retry, and it has none");
    story.advance(SignedDuration::from_mins(30));
    assert_eq!(state(&story, &only_phone), StateKind::Delivered);
}

#[test]
fn a_run_that_does_not_fit_into_one_message_comes_in_the_next() {
    let story = Story::default();
    person(&story, Some(QUIET), None);
    let long = |number: u8| {
        let message = format!("task {number} {}", "x".repeat(200));
        let reminder = Reminder { user: "ann".into(), message, ..once(number, minute(35), story.now()) };
        story.create(&reminder);
        reminder
    };
    let reminders: Vec<_> = (1..=9).map(long).collect();
    story.advance(SignedDuration::from_mins(61));
    let messages = story.phone.all();
    assert!((2..=5).contains(&messages.len()), "{}", messages.len());
    for reminder in &reminders {
        let said = messages.iter().filter(|message| message.text.contains(&reminder.message)).count();
        assert_eq!((said, state(&story, reminder)), (1, StateKind::Delivered), "whole, and once");
    }
    assert!(messages.iter().all(|message| message.text.chars().count() <= 1_000), "as much as the channel takes");
}

#[test]
fn one_that_is_cancelled_at_the_last_moment_is_left_out() {
    let story = Story::default();
    person(&story, Some(QUIET), None);
    let reminders = [due_at(&story, 1, 35), due_at(&story, 2, 40), due_at(&story, 3, 41)];
    // Claimed already, and not yet sent.
    story.advance(SignedDuration::from_mins(60) - SignedDuration::from_millis(5));
    assert_eq!(state(&story, &reminders[0]), StateKind::Processing);
    story.change(reminders[0].id, Change::Cancel).unwrap();
    story.advance(SignedDuration::from_secs(1));
    let messages = story.phone.all();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].text, "Während der Ruhezeit (2):\n• task 2\n• task 3");
}

#[test]
fn without_a_digest_each_comes_by_itself() {
    let story = Story::default();
    person(&story, Some(QuietHours { digest: false, ..QUIET }), None);
    due_at(&story, 1, 35);
    due_at(&story, 2, 40);
    story.advance(SignedDuration::from_mins(61));
    assert_eq!(story.phone.all().len(), 2);
}

#[test]
fn a_pause_holds_back_everything_and_its_end_lets_it_go() {
    let story = Story::default();
    person(&story, None, Some(minute(600)));
    let reminder = due_at(&story, 1, 10);
    story.advance(SignedDuration::from_mins(30));
    story.phone.expect_silence();
    assert_eq!(state(&story, &reminder), StateKind::Waiting);
    // Back earlier than planned.
    person(&story, None, None);
    story.advance(SignedDuration::from_secs(1));
    assert_eq!(story.phone.next_now(), "task 1");
    assert_eq!(state(&story, &reminder), StateKind::Delivered);
}

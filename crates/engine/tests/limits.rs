//! What holds sends back, told as stories: rates, waits that were asked for, receivers that only fail.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::channel::{Followed, Held, Limits, Message, Rate, Receipt, SendError};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, Reminder};
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::{BEGIN, Story};

fn seconds(n: i64) -> SignedDuration {
    SignedDuration::from_secs(n)
}

fn due() -> Timestamp {
    instant(BEGIN) + 1.minute()
}

/// `count` reminders that are due together, to as many addresses as `address` makes.
fn burst(story: &Story, channel: &str, count: u8, address: impl Fn(u8) -> String) -> Vec<Reminder> {
    let reminder = |number| Reminder {
        to: vec![Address::new(channel, address(number))],
        retries_max: 0,
        ..once(number, due(), story.now())
    };
    let reminders: Vec<_> = (1..=count).map(reminder).collect();
    story.try_create(reminders.clone()).expect("they are right");
    reminders
}

/// When messages came, in milliseconds after they were due.
fn heard(phone: &RecordingChannel) -> Vec<i64> {
    phone.all().iter().map(|message: &Message| message.sent_at.duration_since(due()).as_millis() as i64).collect()
}

fn states(story: &Story, reminders: &[Reminder]) -> Vec<StateKind> {
    let of = |reminder: &Reminder| story.runs(reminder.id)[0].occurrence.state.kind();
    reminders.iter().map(of).collect()
}

fn throttled(seconds: u64, held: Held) -> Result<Receipt, SendError> {
    Err(SendError::Throttled { wait: Duration::from_secs(seconds), held })
}

#[test]
fn a_rate_is_kept_in_every_stretch_of_time() {
    let story = Story::default();
    let rate = Rate { n: 5, per: Duration::from_secs(2) };
    story.phone.take_only(Limits { rate: Some(rate), ..Limits::default() });
    let reminders = burst(&story, "phone", 60, |number| number.to_string());
    story.advance(seconds(60 + 60));
    let heard = heard(&story.phone);
    assert_eq!(heard.len(), 60, "none is lost, and none costs an attempt");
    assert!(heard.windows(6).all(|six| six[5] - six[0] >= 2000), "{heard:?}");
    assert!(heard[59] < 40_000, "as fast as is allowed, or nearly: {heard:?}");
    assert!(states(&story, &reminders).iter().all(|state| *state == StateKind::Delivered));
}

#[test]
fn a_rate_of_one_address_holds_back_no_other() {
    let story = Story::default();
    let rate = Some(Rate::per_second(1));
    story.phone.take_only(Limits { address_rate: rate, ..Limits::default() });
    burst(&story, "phone", 40, |number| if number % 2 == 0 { "busy".into() } else { number.to_string() });
    story.advance(seconds(60 + 60));
    let messages = story.phone.all();
    let (busy, others): (Vec<_>, Vec<_>) = messages.iter().partition(|message| message.to.address == "busy");
    assert!(others.iter().all(|message| message.sent_at == due()), "the others came at once");
    let busy: Vec<i64> = busy.iter().map(|message| message.sent_at.duration_since(due()).as_millis() as i64).collect();
    assert_eq!(busy.len(), 20);
    assert!(busy.windows(2).all(|two| two[1] - two[0] >= 1000), "{busy:?}");
    assert!(busy[19] < 25_000, "{busy:?}");
}

#[test]
fn a_wait_that_was_asked_for_is_given_by_all_and_then_one_is_tried() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    let reminders = burst(&story, "phone", 30, |number| number.to_string());
    story.phone.then_answer(throttled(20, Held::Receiver)).then_answer(throttled(20, Held::Receiver));
    story.advance(seconds(60 + 19));
    assert_eq!(heard(&story.phone), [0], "one was told to wait, and nobody else asked");
    story.advance(seconds(20));
    assert_eq!(heard(&story.phone).len(), 1, "one was tried");
    story.advance(seconds(60));
    assert_eq!(heard(&story.phone).len(), 30, "and then all came");
    assert!(states(&story, &reminders).iter().all(|state| *state == StateKind::Delivered), "no attempt was lost");
}

#[test]
fn a_wait_of_one_address_holds_back_no_other() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    let reminders = burst(&story, "phone", 6, |number| if number < 3 { "busy".into() } else { number.to_string() });
    story.phone.then_answer(throttled(30, Held::Address));
    story.advance(seconds(60));
    let first: Vec<_> = story.phone.all().iter().map(|message| message.to.address.clone()).collect();
    assert_eq!(first, ["busy", "3", "4", "5", "6"]);
    story.advance(seconds(29));
    story.phone.expect_silence();
    story.advance(seconds(3));
    assert_eq!(story.phone.all().len(), 2);
    assert!(states(&story, &reminders).iter().all(|state| *state == StateKind::Delivered));
}

#[test]
fn a_receiver_that_only_fails_is_left_alone_and_tried_again() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    story.phone.always_fail(Some(SendError::Unavailable("engaged".into())));
    let reminders = burst(&story, "phone", 40, |number| number.to_string());
    story.advance(seconds(60));
    assert_eq!(story.phone.all().len(), 10, "ten in a row, and then none");
    assert!(states(&story, &reminders).iter().all(|state| *state == StateKind::Failed), "the rest is not kept waiting");
    let error = story.runs(reminders[39].id)[0].attempts[0].error.clone().unwrap();
    assert!(error.starts_with("not tried: at least 10 sends in a row have failed there"), "{error}");
    let standing = story.engine().channel_standings().into_iter().find(|standing| standing.name == "phone").unwrap();
    assert_eq!((standing.closed[0].why, standing.closed[0].n_failed), ("broken", 10));

    // It works again, and the first that comes after the pause finds out.
    story.phone.always_fail(None);
    let later = Reminder { to: vec![Address::new("phone", "1")], ..once(99, due() + 2.seconds(), story.now()) };
    story.create(&later);
    story.advance(seconds(3));
    assert_eq!(story.phone.all().len(), 1);
    let standing = story.engine().channel_standings().into_iter().find(|standing| standing.name == "phone").unwrap();
    assert_eq!(standing.closed, []);
}

#[test]
fn one_receiver_that_fails_is_nothing_to_another() {
    let story = Story::default();
    let elsewhere = |number: u8| if number <= 20 { "broken".to_owned() } else { number.to_string() };
    let reminders = burst(&story, "phone", 40, elsewhere);
    story.phone.always_fail_at("broken", SendError::Unavailable("engaged".into()));
    story.advance(seconds(60));
    let states = states(&story, &reminders);
    assert!(states[20..].iter().all(|state| *state == StateKind::Delivered), "{states:?}");
}

#[test]
fn a_failure_that_is_not_tried_goes_another_way_at_once() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    story.phone.always_fail(Some(SendError::Unavailable("engaged".into())));
    burst(&story, "phone", 10, |number| number.to_string());
    let to = vec![Address::new("phone", "11"), Address::new("mail", "ann")];
    let reminder = Reminder { to, ..once(11, due(), story.now()) };
    story.create(&reminder);
    story.advance(seconds(60));
    assert_eq!(story.mail.all().len(), 1);
    let statuses: Vec<_> = story.runs(reminder.id)[0].attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(statuses, [AttemptStatus::Failed, AttemptStatus::Sent]);
}

#[test]
fn what_a_platform_took_is_followed_until_it_is_known() {
    let story = Story::default();
    let reminders = burst(&story, "phone", 2, |number| number.to_string());
    let call = |id: &str| Ok(Receipt { pending: true, ..Receipt::of(id) });
    story.phone.then_answer(call("call-1")).then_answer(call("call-2"));
    let again = || Ok(Followed::AskAgain(Duration::from_secs(5)));
    story.phone.then_follow(again()).then_follow(again());
    story.phone.then_follow(Err(SendError::Unavailable("nobody picked up".into()))).then_follow(Ok(Followed::Reached));
    story.advance(seconds(64));
    assert_eq!(states(&story, &reminders), [StateKind::Processing; 2], "a call that rings is no call that was heard");
    story.advance(seconds(2));
    let mut ended = states(&story, &reminders);
    ended.sort();
    assert_eq!(ended, [StateKind::Delivered, StateKind::Failed]);
}

#[test]
fn an_address_that_was_not_called_says_nothing_about_its_receiver() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    let at = |number: u8, address: &str, seconds: i64| Reminder {
        to: vec![Address::new("phone", address)],
        retries_max: 0,
        ..once(number, due() + seconds.seconds(), story.now())
    };
    let to_the_dead = [at(1, "dead", 0), at(2, "dead", 2)];
    let failing: Vec<_> = (3..=11).map(|number| at(number, "x", 1)).collect();
    let all = [&to_the_dead[..], &failing, &[at(12, "x", 3)]].concat();
    story.try_create(all).expect("they are right");
    story.phone.then_answer(Err(SendError::Gone("nobody lives here".into())));
    story.phone.always_fail(Some(SendError::Unavailable("engaged".into())));
    story.advance(seconds(60 + 2));
    assert_eq!(story.phone.all().len(), 1 + 9, "the dead one was called once");
    let error = story.runs(to_the_dead[1].id)[0].attempts[0].error.clone().unwrap_or_default();
    assert!(error.contains("not tried: dead since"), "{error}");
    story.advance(seconds(1));
    let standing = story.engine().channel_standings().into_iter().find(|standing| standing.name == "phone");
    assert_eq!(standing.map(|phone| phone.closed[0].why), Some("broken"), "ten calls in a row have failed");
}

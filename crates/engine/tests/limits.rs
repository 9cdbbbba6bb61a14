//! Gates hold sends back, told as stories: rates, waits that were asked for, receivers that only fail.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::change::Change;
use punctual_core::channel::{Followed, Limits, Message, Rate, Receipt, SendError, Whom};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{Address, Reminder};
use punctual_engine::Settings;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::{BEGIN, Story};

/// Results are written within this.
const SETTLED_WITHIN: SignedDuration = SignedDuration::from_millis(50);

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

fn throttled(seconds: u64, whom: Whom) -> Result<Receipt, SendError> {
    Err(SendError::Throttled { wait: Duration::from_secs(seconds), whom })
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
    story.phone.then_answer(throttled(20, Whom::Receiver)).then_answer(throttled(20, Whom::Receiver));
    story.advance(seconds(60 + 19));
    assert_eq!(heard(&story.phone), [0], "one was told to wait, and nobody else asked");
    story.advance(seconds(20));
    assert_eq!(heard(&story.phone).len(), 1, "one was tried");
    story.advance(seconds(60));
    assert_eq!(heard(&story.phone).len(), 30, "and then all came");
    assert!(states(&story, &reminders).iter().all(|state| *state == StateKind::Delivered), "no attempt was lost");
}

#[test]
fn after_a_wait_nobody_waits_for_the_end_of_a_call() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 8, ..Limits::default() });
    for (number, after) in [(1, 0), (2, 5)] {
        story.create(&once(number, due() + after.seconds(), story.now()));
    }
    let taken = Receipt { pending: true, ..Receipt::of("CA1".to_owned()) };
    story.phone.then_answer(throttled(20, Whom::Receiver)).then_answer(Ok(taken));
    story.phone.then_follow(Ok(Followed::AskAgain(Duration::from_secs(30))));
    story.advance(seconds(60 + 25));
    let heard = heard(&story.phone);
    assert_eq!(heard[..2], [0, 20_000], "one is tried, and the platform takes it");
    assert!(heard.len() == 3 && heard[2] < 20_100, "the other follows at once: {heard:?}");
}

#[test]
fn a_wait_of_one_address_holds_back_no_other() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    let reminders = burst(&story, "phone", 6, |number| if number < 3 { "busy".into() } else { number.to_string() });
    story.phone.then_answer(throttled(30, Whom::Address));
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
    assert!(error.starts_with("not tried: 10 sends in a row have failed there"), "{error}");
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
    story.advance(SETTLED_WITHIN);
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
    story.advance(SETTLED_WITHIN);
    let statuses: Vec<_> = story.runs(reminder.id)[0].attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(statuses, [AttemptStatus::Failed, AttemptStatus::Sent]);
}

#[test]
fn a_message_that_a_platform_took_is_followed_until_its_end_is_known() {
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

fn standing(story: &Story) -> Vec<(String, &'static str)> {
    let phone = story.engine().channel_standings().into_iter().find(|standing| standing.name == "phone");
    phone.into_iter().flat_map(|phone| phone.closed).map(|closed| (closed.to, closed.why)).collect()
}

#[test]
fn people_who_do_not_pick_up_say_nothing_about_the_platform() {
    let story = Story::default();
    story.phone.take_only(Limits::default());
    let reminders = burst(&story, "phone", 15, |number| number.to_string());
    for _ in &reminders {
        story.phone.then_answer(Ok(Receipt { pending: true, ..Receipt::of("call") }));
        story.phone.then_follow(Ok(Followed::AskAgain(Duration::from_secs(20))));
    }
    for _ in &reminders {
        story.phone.then_follow(Err(SendError::Unavailable("nobody picked up".into())));
    }
    story.advance(seconds(60 + 21));
    assert_eq!(story.phone.all().len(), 15, "everybody was called");
    assert_eq!(states(&story, &reminders), [StateKind::Failed; 15]);
    assert_eq!(standing(&story), []);
}

#[test]
fn a_long_wait_is_remembered_although_nothing_happens_meanwhile() {
    let story = Story::default();
    let early = burst(&story, "phone", 1, |_| "x".into());
    let late = Reminder { to: vec![Address::new("phone", "x")], ..once(2, due() + 20.minutes(), story.now()) };
    story.create(&late);
    story.phone.then_answer(throttled(3600, Whom::Receiver));
    story.advance(seconds(60 + 3599));
    assert_eq!(heard(&story.phone), [0], "nobody calls while it is to be left alone");
    story.advance(seconds(2));
    assert_eq!(story.phone.all().len(), 2);
    assert_eq!(states(&story, &[early[0].clone(), late]), [StateKind::Delivered; 2]);
}

#[test]
fn a_run_that_would_have_to_wait_for_long_goes_another_way() {
    let story = Story::default();
    let to = || vec![Address::new("phone", "x"), Address::new("mail", "ann")];
    // The first is told to wait, the second is not even tried.
    let reminders = [1, 2].map(|number| {
        let due = due() + i64::from(number).seconds();
        Reminder { to: to(), ..once(number, due, story.now()) }
    });
    story.try_create(reminders.to_vec()).expect("they are right");
    story.phone.then_answer(throttled(3600, Whom::Receiver));
    story.advance(seconds(63));
    assert_eq!((story.phone.all().len(), story.mail.all().len()), (1, 2));
    let error = story.runs(reminders[1].id)[0].attempts[0].error.clone().unwrap_or_default();
    assert!(error.contains("not tried: it asked to wait"), "{error}");
    assert_eq!(states(&story, &reminders), [StateKind::Delivered; 2]);
}

#[test]
fn a_backlog_that_is_days_old_is_sent_at_the_rate_and_none_of_it_fails() {
    let mut story = Story::default();
    story.phone.take_only(Limits { address_rate: Some(Rate::per_second(1)), ..Limits::default() });
    let reminders = burst(&story, "phone", 20, |_| "x".into());
    story.stop();
    story.set_clock(due() + 50.hours());
    story.start();
    story.advance(seconds(60));
    assert_eq!(story.phone.all().len(), 20);
    assert_eq!(states(&story, &reminders), [StateKind::Delivered; 20]);
}

#[test]
fn a_receiver_that_does_nothing_but_ask_to_wait_is_given_up_after_a_day() {
    let story = Story::default();
    let reminders = burst(&story, "phone", 3, |_| "x".into());
    story.phone.always_fail(Some(SendError::Throttled { wait: Duration::from_secs(1800), whom: Whom::Receiver }));
    story.advance(seconds(60 + 23 * 3600));
    assert!(states(&story, &reminders).iter().all(|state| *state != StateKind::Failed));
    story.advance(seconds(2 * 3600));
    assert_eq!(states(&story, &reminders), [StateKind::Failed; 3]);
    let calls = story.phone.all().len();
    assert!((45..=52).contains(&calls), "one call each half hour: {calls}");
}

#[test]
fn addresses_that_share_a_limit_wait_for_each_other() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    burst(&story, "phone", 4, |number| ["room@ann", "room@bob", "room", "attic"][usize::from(number) - 1].into());
    story.phone.then_answer(throttled(30, Whom::Address));
    story.advance(seconds(60));
    let first: Vec<_> = story.phone.all().iter().map(|message| message.to.address.clone()).collect();
    assert_eq!(first, ["room@ann", "attic"]);
    assert_eq!(standing(&story), [("room".to_owned(), "throttled")]);
    story.advance(seconds(35));
    assert_eq!(story.phone.all().len(), 3);
    story.advance(seconds(300));
    assert_eq!(standing(&story), []);
}

#[test]
fn one_receiver_leaves_places_to_others() {
    let story = Story::with(Settings { sends_max: 4, ..Settings::default() });
    story.phone.take_only(Limits { concurrency: 1000, ..Limits::default() });
    for _ in 0..10 {
        story.phone.then_hang();
    }
    burst(&story, "phone", 10, |number| number.to_string());
    let mail = Reminder { to: vec![Address::new("mail", "ann")], ..once(99, due(), story.now()) };
    story.create(&mail);
    story.advance(seconds(60));
    assert_eq!((story.phone.all().len(), story.mail.all().len()), (2, 1));
}

#[test]
fn all_who_wait_for_a_place_and_for_their_rate_get_on() {
    let story = Story::with(Settings { sends_max: 1, ..Settings::default() });
    for phone in [&story.phone, &story.mail] {
        phone.take_only(Limits { rate: Some(Rate::per_second(1)), ..Limits::default() });
    }
    burst(&story, "phone", 3, |number| number.to_string());
    let mails =
        (11..=13).map(|number| Reminder { to: vec![Address::new("mail", "x")], ..once(number, due(), story.now()) });
    story.try_create(mails.collect()).expect("they are right");
    story.advance(seconds(60 + 3));
    assert_eq!(heard(&story.phone), [0, 1000, 2000]);
    assert_eq!(heard(&story.mail), [0, 1000, 2000]);
}

#[test]
fn a_withdrawn_run_takes_nobodys_turn() {
    let story = Story::default();
    story.phone.take_only(Limits { rate: Some(Rate::per_second(1)), ..Limits::default() });
    let reminders = burst(&story, "phone", 3, |number| number.to_string());
    story.advance(seconds(60));
    assert_eq!(story.phone.all().len(), 1);
    let second =
        reminders.iter().find(|reminder| story.runs(reminder.id)[0].occurrence.state.kind() != StateKind::Delivered);
    story.change(second.expect("two wait").id, Change::Cancel).expect("it has not begun");
    story.advance(seconds(1));
    assert_eq!(heard(&story.phone), [1000]);
}

#[test]
fn a_trial_takes_a_turn_and_is_learnt_from() {
    let story = Story::default();
    story.phone.take_only(Limits { rate: Some(Rate::per_second(1)), ..Limits::default() });
    let try_send = || {
        let engine = story.engine().clone();
        let trial =
            story.run(async move { engine.try_send("ann", "hello", Address::new("phone", "x"), "admin").await });
        trial.expect("it can be right").said
    };
    assert!(try_send().is_ok());
    let wait = Duration::from_secs(1);
    assert_eq!(try_send(), Err(SendError::Throttled { wait, whom: Whom::Receiver }), "its rate holds for trials, too");
    story.advance(seconds(1));
    story.phone.then_answer(throttled(600, Whom::Receiver));
    assert!(try_send().is_err());
    burst(&story, "phone", 1, |_| "y".into());
    story.advance(seconds(120));
    assert_eq!(story.phone.all().len(), 2, "nobody calls while it is to be left alone");
}

#[test]
fn a_call_whose_process_died_is_followed_by_the_next_one() {
    let mut story = Story::default();
    let reminders = burst(&story, "phone", 1, |number| number.to_string());
    story.phone.then_answer(Ok(Receipt { pending: true, ..Receipt::of("call-7") }));
    story.phone.then_follow(Ok(Followed::AskAgain(Duration::from_secs(60))));
    story.advance(seconds(62));
    story.crash();
    story.start();
    story.phone.then_follow(Ok(Followed::AskAgain(Duration::from_secs(5))));
    story.advance(seconds(30));
    assert_eq!(story.phone.all().len(), 1, "nobody is called twice");
    let trail = story.runs(reminders[0].id).remove(0);
    assert_eq!(trail.occurrence.state.kind(), StateKind::Delivered);
    let told: Vec<_> = trail.attempts.iter().map(|attempt| (attempt.status, attempt.message_id.as_deref())).collect();
    assert_eq!(told, [(AttemptStatus::Sent, Some("call-7"))]);
}

#[test]
fn one_that_has_no_other_way_waits_for_a_receiver_that_only_fails() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 1, ..Limits::default() });
    story.phone.always_fail(Some(SendError::Unavailable("engaged".into())));
    burst(&story, "phone", 10, |number| number.to_string());
    // The receiver is left alone when this one is due, and works again before its one retry would have been over.
    let to = vec![Address::new("phone", "11")];
    let reminder = Reminder { to, retries_max: 1, ..once(11, due() + 500.milliseconds(), story.now()) };
    story.create(&reminder);
    story.advance(seconds(60));
    story.phone.always_fail(None);
    story.advance(seconds(5));
    let trail = story.runs(reminder.id).remove(0);
    assert_eq!(trail.occurrence.state.kind(), StateKind::Delivered);
    assert_eq!(trail.attempts.len(), 1, "nothing was lost by waiting");
}

#[test]
fn after_the_wait_of_an_address_one_shows_whether_it_is_over() {
    let story = Story::default();
    story.phone.take_only(Limits::default());
    let reminders = burst(&story, "phone", 20, |number| format!("room@{number}"));
    story.phone.then_answer(throttled(30, Whom::Address));
    for _ in 0..19 {
        // The sends that were under way already.
        story.phone.then_answer(throttled(30, Whom::Address));
    }
    story.advance(seconds(60));
    let calls = story.phone.all().len();
    story.phone.then_answer(throttled(30, Whom::Address));
    story.advance(seconds(35));
    assert_eq!(story.phone.all().len(), 1, "after {calls} at once, one asks");
    story.advance(seconds(60));
    assert_eq!(states(&story, &reminders), [StateKind::Delivered; 20]);
}

#[test]
fn one_hung_send_does_not_hold_back_the_probe_of_a_receiver_that_recovered() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 20, ..Limits::default() });
    // Twenty hang or fail; then it works.
    for _ in 0..10 {
        story.phone.then_hang();
    }
    for _ in 0..10 {
        story.phone.then_answer(Err(SendError::Unavailable("engaged".into())));
    }
    burst(&story, "phone", 20, |number| number.to_string());
    let waiting: Vec<_> = (31..=35)
        .map(|number| Reminder {
            to: vec![Address::new("phone", "x")],
            retries_max: 1,
            ..once(number, due() + 500.milliseconds(), story.now())
        })
        .collect();
    story.try_create(waiting.clone()).expect("they are right");
    story.advance(seconds(60));
    assert_eq!(story.phone.all().len(), 20);
    assert_eq!(standing(&story), [("all".to_owned(), "broken")]);
    story.advance(seconds(2));
    let heard = heard(&story.phone);
    assert_eq!((heard.len(), heard.first()), (5, Some(&1000)), "a second after it was left alone: {heard:?}");
    assert!(heard[4] < 1100, "and the others at once: {heard:?}");
    assert_eq!(states(&story, &waiting), [StateKind::Delivered; 5]);
    // The ten that hung end one after the other, which says nothing about a receiver that has answered since.
    story.advance(seconds(60));
    assert_eq!(standing(&story), []);
}

#[test]
fn a_probe_that_hangs_is_not_waited_for_until_its_time_is_over() {
    let story = Story::default();
    story.phone.take_only(Limits { concurrency: 20, ..Limits::default() });
    story.phone.always_fail(Some(SendError::Unavailable("engaged".into())));
    burst(&story, "phone", 10, |number| number.to_string());
    let reminder = |number| Reminder {
        to: vec![Address::new("phone", "x")],
        retries_max: 2,
        ..once(number, due() + 500.milliseconds(), story.now())
    };
    let waiting: Vec<_> = (31..=35).map(reminder).collect();
    story.try_create(waiting.clone()).expect("they are right");
    story.advance(seconds(60));
    assert_eq!((story.phone.all().len(), standing(&story)), (10, vec![("all".to_owned(), "broken")]));
    // The first that is tried comes a moment too soon.
    story.phone.always_fail(None);
    story.phone.then_hang();
    story.advance(seconds(3));
    assert_eq!(heard(&story.phone), [1000, 2000, 2000, 2000, 2000], "another is tried, and the others follow");
    assert_eq!(standing(&story), []);
    let n_delivered = states(&story, &waiting).into_iter().filter(|state| *state == StateKind::Delivered).count();
    assert_eq!(n_delivered, 4, "all but the one that hangs");
}

#[test]
fn a_receiver_that_hangs_is_tried_less_and_less() {
    let story = Story::default();
    story.phone.take_only(Limits::default());
    for _ in 0..10 {
        story.phone.then_answer(Err(SendError::Unavailable("engaged".into())));
    }
    for _ in 0..100 {
        story.phone.then_hang();
    }
    let later = |number| Reminder { retries_max: 3, ..once(number, due() + 500.milliseconds(), story.now()) };
    story.try_create((50..=90).map(later).collect()).expect("they are right");
    burst(&story, "phone", 10, |number| number.to_string());
    story.advance(seconds(60));
    assert_eq!(story.phone.all().len(), 10);
    story.advance(seconds(29));
    assert_eq!(heard(&story.phone), [1000, 2000, 4000, 8000, 16_000]);
}

/// Reminders of as many users, due one second after the other, each to an address of its own.
fn strangers(story: &Story, count: u8, user: impl Fn(u8) -> String) -> Vec<Reminder> {
    let reminder = |number: u8| Reminder {
        user: user(number),
        to: vec![Address::new("phone", number.to_string())],
        ..once(number, due() + i64::from(number).seconds(), story.now())
    };
    let reminders: Vec<_> = (1..=count).map(reminder).collect();
    story.try_create(reminders.clone()).expect("they are right");
    reminders
}

#[test]
fn a_wait_that_a_shared_host_asks_for_holds_the_address_that_met_it() {
    let story = Story::default();
    story.phone.take_only(Limits::default());
    // However many addresses one user has there.
    strangers(&story, 20, |number| if number <= 10 { "ann".into() } else { format!("user-{number}") });
    for _ in 1..=10 {
        story.phone.then_answer(throttled(3600, Whom::Shared));
    }
    story.advance(seconds(60 + 20));
    let heard = heard(&story.phone);
    assert_eq!(heard, (1..=20).map(|second| second * 1000).collect::<Vec<i64>>(), "nobody else waits");
    let closed: Vec<_> = standing(&story).into_iter().map(|(to, _)| to).collect();
    assert_eq!(closed.len(), 10, "{closed:?}");
    assert!(!closed.contains(&"all".to_owned()), "{closed:?}");
    story.advance(seconds(3600 - 20));
    story.phone.expect_silence();
    story.advance(seconds(40));
    assert_eq!(story.phone.all().len(), 10, "those that met it waited as they were asked to");
}

#[test]
fn a_shared_host_is_left_alone_for_a_minute_when_several_users_meet_a_wait() {
    let story = Story::default();
    story.phone.take_only(Limits::default());
    let reminders = strangers(&story, 50, |number| format!("user-{number}"));
    for _ in 0..3 {
        story.phone.then_answer(throttled(3600, Whom::Shared));
    }
    story.advance(seconds(60 + 50));
    assert_eq!(heard(&story.phone), [1000, 2000, 3000], "three users were asked to wait, and then nobody asks");
    assert!(standing(&story).contains(&("all".to_owned(), "throttled")));
    story.advance(seconds(12));
    story.phone.expect_silence();
    story.advance(seconds(3));
    let came = heard(&story.phone);
    assert_eq!(came.len(), 47, "after a minute all who were not asked themselves: {came:?}");
    assert_eq!(came[0], 63_000);
    assert_eq!(states(&story, &reminders[3..]), [StateKind::Delivered; 47]);
    assert!(standing(&story).iter().all(|(to, _)| ["1", "2", "3"].contains(&to.as_str())));
}

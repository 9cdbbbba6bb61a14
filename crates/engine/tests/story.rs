//! The engine, told as stories: the clock advances, a message is expected.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::change::{Change, Refused};
use punctual_core::channel::{Receipt, SendError, Whom};
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{AckPolicy, Address, OnUnknown, Priority, Reminder};
use punctual_core::store::ChangeError;
use punctual_engine::{CreateError, Settings};
use punctual_testkit::sample::{every, instant, once};
use punctual_testkit::story::{BEGIN, Story};

const WATER: &str = "water the plants";

fn seconds(n: i64) -> SignedDuration {
    SignedDuration::from_secs(n)
}

fn in_minutes(n: i64) -> Timestamp {
    instant(BEGIN) + n.minutes()
}

fn states(story: &Story, reminder: &Reminder) -> Vec<StateKind> {
    story.runs(reminder.id).iter().map(|trail| trail.occurrence.state.kind()).collect()
}

fn attempts(story: &Story, reminder: &Reminder) -> Vec<AttemptStatus> {
    story.runs(reminder.id).iter().flat_map(|trail| trail.attempts.iter().map(|attempt| attempt.status)).collect()
}

#[test]
fn a_message_comes_on_its_instant_and_not_before() {
    let story = Story::default();
    story.create(&once(1, in_minutes(5), story.now()));
    story.advance(seconds(299));
    story.phone.expect_silence();
    story.advance(seconds(1));
    let message = story.phone.expect(WATER);
    assert_eq!((message.sent_at, message.due_at, message.attempt), (in_minutes(5), in_minutes(5), 1));
    story.advance(SignedDuration::from_hours(24));
    story.phone.expect_silence();
}

#[test]
fn a_series_comes_again_and_again() {
    let story = Story::default();
    let reminder = every(1, Duration::from_secs(600), story.now());
    story.create(&reminder);
    for run in 1..=6 {
        story.advance(SignedDuration::from_mins(10));
        let message = story.phone.expect(WATER);
        assert_eq!((message.sent_at, message.occurrence.run), (in_minutes(10 * i64::from(run)), run));
    }
    story.phone.expect_silence();
}

#[test]
fn neighbours_that_are_settled_together_all_go_on() {
    let story = Story::default();
    for number in 1..=5_u8 {
        story.create(&every(number, Duration::from_secs(60 + 10 * u64::from(number)), story.now()));
    }
    story.create(&every(6, Duration::from_secs(70), story.now()));
    story.advance(SignedDuration::from_mins(14));
    // 70, 80, 90, 100, 110 and 70 seconds again, within 840.
    for _ in 0..(12 + 10 + 9 + 8 + 7 + 12) {
        let message = story.phone.expect(WATER);
        assert_eq!(message.sent_at, message.due_at);
    }
    story.phone.expect_silence();
}

#[test]
fn a_failure_is_tried_elsewhere_and_then_again() {
    let story = Story::default();
    let to = vec![Address::new("phone", "ann"), Address::new("mail", "ann")];
    let reminder = Reminder { to, ..once(1, in_minutes(1), story.now()) };
    story.create(&reminder);
    story.phone.then_answer(Err(SendError::Unavailable("engaged".into())));
    story.mail.then_answer(Err(SendError::Unavailable("full".into())));
    story.advance(seconds(61));
    let key = story.phone.expect(WATER).idempotency_key;
    story.mail.expect(WATER);
    // A minute later, plus up to a tenth.
    story.advance(seconds(58));
    story.phone.expect_silence();
    story.advance(seconds(8));
    let again = story.phone.expect(WATER);
    assert_eq!((again.idempotency_key, again.attempt), (key, 3), "the same key through every retry");
    assert_eq!(attempts(&story, &reminder), [AttemptStatus::Failed, AttemptStatus::Failed, AttemptStatus::Sent]);
}

#[test]
fn a_receiver_that_asks_to_wait_is_given_time_and_loses_no_attempt() {
    let story = Story::default();
    let reminder = Reminder { retries_max: 0, ..once(1, in_minutes(1), story.now()) };
    story.create(&reminder);
    story.phone.then_answer(Err(SendError::Throttled { wait: Duration::from_secs(45), whom: Whom::Receiver }));
    story.advance(seconds(60));
    story.phone.expect(WATER);
    story.advance(seconds(44));
    story.phone.expect_silence();
    story.advance(seconds(1));
    story.phone.expect(WATER);
    assert_eq!(states(&story, &reminder), [StateKind::Delivered]);
}

#[test]
fn silence_is_cut_off_and_counts_as_unknown() {
    let story = Story::default();
    let resent = once(1, in_minutes(1), story.now());
    let held = Reminder { on_unknown: OnUnknown::Hold, ..once(2, in_minutes(1), story.now()) };
    story.create(&resent);
    story.create(&held);
    story.phone.then_hang().then_hang();
    story.advance(SignedDuration::from_mins(5));
    assert_eq!(states(&story, &held), [StateKind::Failed]);
    assert_eq!(attempts(&story, &held), [AttemptStatus::Unknown]);
    assert_eq!(states(&story, &resent), [StateKind::Delivered]);
    assert_eq!(attempts(&story, &resent), [AttemptStatus::Unknown, AttemptStatus::Sent]);
    let keys: Vec<_> = (0..3).map(|_| story.phone.expect(WATER).idempotency_key).collect();
    assert_eq!(keys.iter().filter(|key| keys[2] == **key).count(), 2);
    story.phone.expect_silence();
}

#[test]
fn a_channel_that_panics_takes_nobody_with_it() {
    let story = Story::default();
    let reminder = Reminder { on_unknown: OnUnknown::Hold, ..once(1, in_minutes(1), story.now()) };
    story.create(&reminder);
    story.create(&once(2, in_minutes(2), story.now()));
    story.phone.then_panic();
    story.advance(SignedDuration::from_mins(2));
    assert_eq!(states(&story, &reminder), [StateKind::Failed]);
    story.phone.expect(WATER);
    story.phone.expect(WATER);
}

#[test]
fn one_hanging_receiver_delays_nobody_else() {
    let story = Story::default();
    for number in 1..=70 {
        story.create(&once(number, in_minutes(1), story.now()));
    }
    // The channel takes 64 at once from one receiver; all of them hang.
    for _ in 0..64 {
        story.phone.then_hang();
    }
    let at = in_minutes(1) + 1.second();
    let other = Reminder { to: vec![Address::new("phone", "bob")], ..once(80, at, story.now()) };
    story.create(&other);
    story.advance(seconds(62));
    assert_eq!(states(&story, &other), [StateKind::Delivered]);
    assert_eq!(story.runs(other.id)[0].occurrence.state.at(), Some(at));
}

#[test]
fn a_cancel_succeeds_until_the_very_instant_and_says_when_it_is_too_late() {
    let story = Story::default();
    let (cancelled, begun) = (once(1, in_minutes(1), story.now()), once(2, in_minutes(2), story.now()));
    story.create(&cancelled);
    story.create(&begun);
    // It has been claimed by now, and not begun.
    story.advance(SignedDuration::from_millis(59_999));
    assert_eq!(states(&story, &cancelled), [StateKind::Processing]);
    story.change(cancelled.id, Change::Cancel).unwrap();
    story.phone.then_hang();
    story.advance(seconds(61));
    story.phone.expect(WATER);
    let too_late = story.change(begun.id, Change::Cancel);
    assert!(matches!(too_late, Err(ChangeError::Refused(Refused::SendBegun))), "{too_late:?}");
    assert_eq!(states(&story, &cancelled), [StateKind::Cancelled]);
    story.phone.expect_silence();
}

#[test]
fn no_answer_is_asked_for_again_and_an_answer_ends_it() {
    let story = Story::default();
    let reminder = Reminder { ack: Some(AckPolicy::default()), ..once(1, in_minutes(1), story.now()) };
    story.create(&reminder);
    story.advance(seconds(60));
    let first = story.phone.expect(WATER);
    story.advance(SignedDuration::from_mins(10));
    let second = story.phone.expect(WATER);
    assert_ne!(first.idempotency_key, second.idempotency_key, "a receiver that drops repeats must show it");
    story.change(reminder.id, Change::Ack).unwrap();
    story.advance(SignedDuration::from_hours(2));
    story.phone.expect_silence();
    assert_eq!(states(&story, &reminder), [StateKind::Completed]);
}

#[test]
fn a_snooze_comes_back_when_it_was_asked_to() {
    let story = Story::default();
    let reminder = once(1, in_minutes(1), story.now());
    story.create(&reminder);
    story.advance(seconds(60));
    story.phone.expect(WATER);
    story.change(reminder.id, Change::Snooze { until: in_minutes(31) }).unwrap();
    story.advance(SignedDuration::from_mins(30));
    assert_eq!(story.phone.expect(WATER).sent_at, in_minutes(31));
}

#[test]
fn every_attempt_under_one_key_bears_the_same_date() {
    let story = Story::default();
    let timeout = Duration::from_secs(600);
    let ack = Some(AckPolicy { timeout, ..AckPolicy::default() });
    let reminder = Reminder { ack, ..once(1, in_minutes(1), story.now()) };
    story.create(&reminder);
    let fail = || Err(SendError::Unavailable("engaged".into()));
    story.phone.then_answer(fail()).then_answer(fail()).then_answer(Ok(Receipt::default()));
    story.phone.then_answer(fail()).then_answer(Ok(Receipt::default()));
    story.advance(SignedDuration::from_mins(20));
    let messages = story.phone.all();
    let mut dates: std::collections::BTreeMap<_, Vec<_>> = std::collections::BTreeMap::new();
    for message in &messages {
        assert!(message.dated <= message.sent_at);
        dates.entry(message.idempotency_key.clone()).or_default().push(message.dated);
    }
    let mut dates: Vec<_> = dates.into_values().collect();
    dates.sort();
    assert_eq!(dates, [vec![in_minutes(1); 3], vec![in_minutes(11); 2]], "asked, and asked again ten minutes later");
}

#[test]
fn a_second_snooze_never_sends_before_the_instant_that_was_asked_for() {
    let story = Story::default();
    let reminder = once(1, in_minutes(10), story.now());
    story.create(&reminder);
    story.change(reminder.id, Change::Snooze { until: in_minutes(20) }).unwrap();
    let early = story.change(reminder.id, Change::Snooze { until: in_minutes(1) });
    assert!(early.unwrap_err().to_string().contains("is before the instant this run was made for"));
    story.advance(SignedDuration::from_mins(14));
    story.phone.expect_silence();
    story.change(reminder.id, Change::Snooze { until: in_minutes(15) }).unwrap();
    story.advance(SignedDuration::from_mins(30));
    assert_eq!(story.phone.expect(WATER).sent_at, in_minutes(15), "a snooze may shorten an earlier one");
    story.phone.expect_silence();
}

#[test]
fn a_crash_in_flight_is_sent_again_under_the_same_key() {
    let mut story = Story::default();
    let reminder = once(1, in_minutes(1), story.now());
    story.create(&reminder);
    story.phone.then_hang();
    story.advance(seconds(61));
    let key = story.phone.expect(WATER).idempotency_key;
    story.crash();
    story.start();
    story.advance(seconds(1));
    assert_eq!(story.phone.expect(WATER).idempotency_key, key);
    assert_eq!(attempts(&story, &reminder), [AttemptStatus::Unknown, AttemptStatus::Sent]);
}

#[test]
fn a_run_that_was_slept_through_comes_late_and_says_so() {
    let mut story = Story::default();
    let single = once(1, in_minutes(5), story.now());
    let series = every(2, Duration::from_secs(600), story.now());
    story.create(&single);
    story.create(&series);
    story.crash();
    story.clock.advance(SignedDuration::from_mins(125));
    story.start();
    story.advance(seconds(1));
    let mut texts = [story.phone.next_now(), story.phone.next_now()];
    texts.sort();
    assert_eq!(texts, ["[Late 2h] water the plants", WATER], "the series only its latest");
    story.phone.expect_silence();
    let missed = states(&story, &series).iter().filter(|kind| **kind == StateKind::Missed).count();
    assert_eq!(missed, 11);
}

#[test]
fn an_urgent_one_goes_first_in_a_backlog() {
    let mut story = Story::with(Settings { backlog_batch: 2, ..Settings::default() });
    for number in 1..=4 {
        story.create(&once(number, in_minutes(1), story.now()));
    }
    story.create(&Reminder {
        priority: Priority::Critical,
        message: "fire".into(),
        ..once(9, in_minutes(2), story.now())
    });
    story.crash();
    story.clock.advance(SignedDuration::from_mins(10));
    story.start();
    story.advance(SignedDuration::from_millis(50));
    let first = [story.phone.next_now(), story.phone.next_now()];
    assert!(first.contains(&"fire".to_owned()), "{first:?}");
    story.phone.expect_silence();
    story.advance(seconds(1));
    for _ in 0..3 {
        story.phone.expect(WATER);
    }
}

#[test]
fn an_orderly_stop_gives_back_what_has_not_begun() {
    let mut story = Story::default();
    let reminder = once(1, in_minutes(1), story.now());
    story.create(&reminder);
    story.advance(SignedDuration::from_millis(59_999));
    assert_eq!(states(&story, &reminder), [StateKind::Processing]);
    story.stop();
    story.phone.expect_silence();
    story.start();
    story.advance(seconds(1));
    story.phone.expect(WATER);
    assert_eq!(attempts(&story, &reminder), [AttemptStatus::Sent], "no trace of what never began");
}

#[test]
fn a_clock_set_back_makes_nothing_early_and_set_forward_loses_nothing() {
    let story = Story::default();
    story.create(&once(1, in_minutes(5), story.now()));
    story.advance(seconds(290));
    story.set_clock(instant(BEGIN) - 1.hour());
    story.advance(SignedDuration::from_mins(64));
    story.phone.expect_silence();
    story.advance(SignedDuration::from_mins(1));
    assert_eq!(story.phone.expect(WATER).sent_at, in_minutes(5));

    story.create(&once(2, in_minutes(30), story.now()));
    story.set_clock(in_minutes(65));
    story.advance(seconds(1));
    story.phone.expect(WATER);
}

#[test]
fn a_slow_send_is_not_sent_twice_when_the_clock_is_set_back() {
    let story = Story::with(Settings { send_timeout: Duration::from_secs(120), ..Settings::default() });
    let reminder = once(1, in_minutes(5), story.now());
    story.create(&reminder);
    story.phone.then_hang();
    story.advance(SignedDuration::from_mins(5));
    story.phone.expect(WATER);
    story.set_clock(in_minutes(-20));
    story.create(&every(2, Duration::from_secs(7), story.now()));
    story.advance(seconds(100));
    for _ in 0..14 {
        assert_ne!(story.phone.expect(WATER).occurrence.reminder, reminder.id);
    }
    story.phone.expect_silence();
}

#[test]
fn a_reminder_that_can_never_arrive_is_refused_at_once() {
    let story = Story::default();
    let nowhere = Reminder { to: vec![Address::new("pigeon", "ann")], ..once(1, in_minutes(1), story.now()) };
    let refused = story.try_create(vec![once(2, in_minutes(1), story.now()), nowhere]);
    assert!(matches!(refused, Err(CreateError::Invalid { index: 1, .. })), "{refused:?}");
    story.advance(SignedDuration::from_mins(2));
    story.phone.expect_silence();
}

#[test]
fn an_idle_engine_asks_the_store_nothing() {
    let story = Story::default();
    story.create(&once(1, in_minutes(600), story.now()));
    story.advance(seconds(10));
    let before = story.engine().store().queries();
    story.advance(SignedDuration::from_mins(4));
    assert_eq!(story.engine().store().queries(), before);
}

#[test]
fn a_stream_of_runs_is_claimed_and_settled_in_batches_and_none_waits_long() {
    let story = Story::default();
    let reminders: Vec<_> =
        (1..=200).map(|n| once(n, in_minutes(5) + SignedDuration::from_millis(n.into()), story.now())).collect();
    story.try_create(reminders.clone()).expect("they are right");
    story.advance(seconds(299));
    let (n_claims, n_settles) = (story.n_calls("claim"), story.n_calls("settle"));
    story.advance(seconds(1));
    for (n, reminder) in reminders.iter().enumerate() {
        story.advance(SignedDuration::from_millis(1));
        assert_eq!(story.phone.all().len(), 1, "each comes on its own instant");
        let settled = reminders[..n.saturating_sub(50)].last();
        assert!(settled.is_none_or(|long_ago| states(&story, long_ago) == [StateKind::Delivered]));
        // The first comes alone, and nobody knows that more will come.
        assert!(n > 0 || states(&story, reminder) == [StateKind::Delivered]);
    }
    story.advance(SignedDuration::from_millis(50));
    assert_eq!(states(&story, &reminders[199]), [StateKind::Delivered]);
    let (n_claims, n_settles) = (story.n_calls("claim") - n_claims, story.n_calls("settle") - n_settles);
    assert!(n_claims <= 4 && n_settles <= 9, "{n_claims} claims, {n_settles} settles");
}

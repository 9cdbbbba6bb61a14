//! A second timer, outside the process: what is set in it, and what its rings lead to.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::alarm::{Alarm, NextRun, Ring};
use punctual_core::change::{Change, Patch};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{AckPolicy, Misfire, MisfirePolicy, Reminder};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::step::{Step, Target};
use punctual_core::store::{Create, NewReminder};
use punctual_core::user::User;
use punctual_testkit::alarm::FakeAlarm;
use punctual_testkit::sample::{every, instant, once, user};
use punctual_testkit::story::{BEGIN, Story};

const WATER: &str = "water the plants";

fn story() -> (Story, FakeAlarm) {
    let alarm = FakeAlarm::default();
    (Story::with_alarm(Arc::new(alarm.clone())), alarm)
}

fn in_minutes(n: i64) -> Timestamp {
    instant(BEGIN) + n.minutes()
}

fn minutes(n: i64) -> SignedDuration {
    SignedDuration::from_mins(n)
}

/// Writes a reminder where nobody can tell the engine.
fn write_behind(story: &Story, reminder: &Reminder, first_due_at: Timestamp) {
    let reminders = vec![NewReminder { reminder: reminder.clone(), first_due_at }];
    let create = Create { reminders, who: "sql".into(), answered: None, now: story.now() };
    let store = story.engine().store().clone();
    story.run(async move { store.create(create).await }).expect("the store works");
}

fn occurrences(story: &Story, state: &'static str, via: &'static str) -> u64 {
    let labels = punctual_engine::metrics::OccurrenceLabels { state, via };
    story.engine().metrics().occurrences.get_or_create(&labels).get()
}

#[test]
fn a_created_reminder_is_set_and_a_cancelled_one_is_cleared() {
    let (story, alarm) = story();
    let reminder = once(1, in_minutes(5), story.now());
    let nowhere = Reminder { user: "me".into(), to: Vec::new(), ..once(2, in_minutes(6), story.now()) };
    story.create(&reminder);
    story.create(&nowhere);
    assert_eq!(alarm.entry(reminder.id), Some(NextRun::of(&reminder, in_minutes(5))));
    let entry = alarm.entry(nowhere.id).unwrap();
    assert_eq!((entry.user.as_str(), entry.channel.as_str()), ("me", "console"), "where it goes without an address");
    story.change(reminder.id, Change::Cancel).unwrap();
    assert_eq!(alarm.entry(reminder.id), None);
}

#[test]
fn every_change_of_the_instant_is_set() {
    let (story, alarm) = story();
    let reminder = every(1, Duration::from_secs(3600), story.now());
    story.create(&reminder);
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(60)));
    story.change(reminder.id, Change::Skip).unwrap();
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(120)));
    story.change(reminder.id, Change::Pause).unwrap();
    assert_eq!(alarm.at(reminder.id), None);
    story.change(reminder.id, Change::Resume).unwrap();
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(120)));
    story.change(reminder.id, Change::Fire).unwrap();
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(120)), "what is sent by hand changes nothing");
    let far = Schedule::new(Rule::Once { at: in_minutes(60 * 24 * 8) });
    story.change(reminder.id, Change::Update(Box::new(Patch { schedule: Some(far), ..Patch::default() }))).unwrap();
    assert_eq!(alarm.at(reminder.id), None, "beyond the horizon");
}

#[test]
fn a_run_that_another_puts_off_is_set() {
    let (story, alarm) = story();
    let ack = AckPolicy { prompt: None, timeout: Duration::from_secs(3600), reminders_max: 0 };
    let step = Step { after: Duration::from_secs(60), to: Target::User("bob".into()) };
    let asks = Reminder { ack: Some(ack), escalate: vec![step], ..once(1, in_minutes(5), story.now()) };
    let (engine, bob) = (story.engine().clone(), User { addresses: asks.to.clone(), ..user("bob", story.now()) });
    story.run(async move { engine.put_user(bob, "ann").await }).unwrap();
    story.create(&asks);
    story.advance(minutes(7));
    let bobs = story.runs(asks.id)[0].escalated[0].reminder;
    story.change(bobs, Change::Snooze { until: in_minutes(30) }).unwrap();
    assert_eq!((alarm.at(asks.id), alarm.at(bobs)), (Some(in_minutes(30)), Some(in_minutes(30))));
}

#[test]
fn the_next_run_is_set_when_one_is_settled() {
    let (story, alarm) = story();
    let reminder = every(1, Duration::from_secs(600), story.now());
    story.create(&reminder);
    for run in 1..=3 {
        assert_eq!(alarm.at(reminder.id), Some(in_minutes(10 * run)));
        story.advance(minutes(10));
        story.phone.expect(WATER);
    }
}

#[test]
fn a_run_that_a_claim_plans_is_set() {
    let (mut story, alarm) = story();
    let misfire = Misfire { policy: MisfirePolicy::Skip, within: Duration::from_secs(60) };
    let reminder = Reminder { misfire, ..every(1, Duration::from_secs(600), story.now()) };
    story.create(&reminder);
    story.crash();
    story.advance(minutes(25));
    story.start();
    story.advance(SignedDuration::from_secs(1));
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(30)));
}

#[test]
fn a_ring_brings_what_only_the_alarm_knows_of() {
    let (story, alarm) = story();
    story.advance(minutes(1));
    // The safety sweep comes after five minutes.
    let reminder = once(1, in_minutes(3), story.now());
    write_behind(&story, &reminder, in_minutes(3));
    story.advance(minutes(2));
    story.phone.expect_silence();
    alarm.ring(Ring::Due(vec![reminder.id]));
    story.advance(SignedDuration::from_millis(50));
    let message = story.phone.expect(WATER);
    assert_eq!(message.sent_at.duration_since(in_minutes(3)), SignedDuration::from_millis(25));
    assert_eq!(occurrences(&story, "delivered", "redis"), 1);

    // A second event for the same reminder does nothing, and neither does one for nobody's.
    alarm.ring(Ring::Due(vec![reminder.id, ReminderId::new(story.now(), [9; 10])]));
    story.advance(minutes(9));
    story.phone.expect_silence();
    assert_eq!(occurrences(&story, "delivered", "redis"), 1);
}

#[test]
fn a_ring_for_what_the_timer_has_asks_the_store_nothing() {
    let (story, alarm) = story();
    let reminder = once(1, in_minutes(5), story.now());
    story.create(&reminder);
    story.advance(minutes(5));
    story.phone.expect(WATER);
    let n_before = story.engine().store().queries();
    alarm.ring(Ring::Due(vec![reminder.id]));
    story.advance(SignedDuration::from_millis(100));
    assert_eq!(story.engine().store().queries(), n_before);
    assert_eq!((occurrences(&story, "delivered", "timer"), occurrences(&story, "delivered", "redis")), (1, 0));
}

#[test]
fn a_ring_that_comes_early_sends_nothing_early() {
    let (story, alarm) = story();
    story.advance(minutes(1));
    let (soon, later) = (once(1, in_minutes(3), story.now()), once(2, in_minutes(4), story.now()));
    write_behind(&story, &soon, in_minutes(3));
    write_behind(&story, &later, in_minutes(4));
    story.advance(minutes(2) - SignedDuration::from_millis(500));
    alarm.ring(Ring::Due(vec![soon.id, later.id]));
    story.advance(SignedDuration::from_millis(499));
    story.phone.expect_silence();
    story.advance(SignedDuration::from_millis(1));
    assert_eq!(story.phone.expect(WATER).sent_at, in_minutes(3), "its clock was half a second ahead of ours");
    story.phone.expect_silence();
}

#[test]
fn a_cancelled_reminder_is_not_sent_by_a_late_ring() {
    let (story, alarm) = story();
    let reminder = once(1, in_minutes(5), story.now());
    story.create(&reminder);
    story.change(reminder.id, Change::Cancel).unwrap();
    alarm.ring(Ring::Due(vec![reminder.id]));
    story.advance(minutes(6));
    story.phone.expect_silence();
    assert_eq!(story.runs(reminder.id)[0].occurrence.state.kind(), StateKind::Cancelled);
}

#[test]
fn the_start_sets_what_is_to_come_and_delivers_what_is_late() {
    let (mut story, alarm) = story();
    let (late, coming) = (once(1, in_minutes(5), story.now()), once(2, in_minutes(60), story.now()));
    story.create(&late);
    story.create(&coming);
    story.crash();
    alarm.clear(vec![late.id, coming.id]);
    story.advance(minutes(20));
    story.start();
    story.advance(SignedDuration::from_secs(1));
    assert_eq!((alarm.at(late.id), alarm.at(coming.id)), (None, Some(in_minutes(60))));
    story.phone.expect(WATER);
    story.phone.expect_silence();
}

#[test]
fn a_run_that_is_far_ahead_is_set_when_it_comes_within_seven_days() {
    let (story, alarm) = story();
    let due = in_minutes(60 * 24 * 7 + 90);
    let far = once(1, due, story.now());
    story.create(&far);
    assert_eq!(alarm.at(far.id), None);
    story.advance(minutes(61));
    assert_eq!(alarm.at(far.id), None, "the horizon has not reached it after an hour");
    story.advance(minutes(60));
    assert_eq!(alarm.at(far.id), Some(due));
}

#[test]
fn runs_that_the_alarm_has_forgotten_are_set_again() {
    let (story, alarm) = story();
    let reminder = once(1, in_minutes(60), story.now());
    story.create(&reminder);
    story.advance(minutes(5));
    assert_eq!(alarm.n_fills(), 1, "once, at the start");
    alarm.forget();
    story.advance(SignedDuration::from_millis(1));
    assert_eq!((alarm.at(reminder.id), alarm.n_fills()), (Some(in_minutes(60)), 2));
}

#[test]
fn an_alarm_that_is_away_delays_nothing_and_is_filled_when_it_is_back() {
    let (story, alarm) = story();
    alarm.set_away(true);
    let (soon, later) = (once(1, in_minutes(5), story.now()), every(2, Duration::from_secs(3600), story.now()));
    story.create(&soon);
    story.create(&later);
    story.advance(minutes(5));
    assert_eq!(story.phone.expect(WATER).sent_at, in_minutes(5));
    assert_eq!(alarm.at(later.id), None);
    alarm.forget();
    alarm.set_away(false);
    story.advance(SignedDuration::from_secs(3));
    assert_eq!(alarm.at(later.id), Some(in_minutes(60)));
}

#[test]
fn everything_is_set_afresh_once_a_day() {
    let (story, alarm) = story();
    let reminder = once(1, in_minutes(60 * 48), story.now());
    story.create(&reminder);
    story.advance(minutes(1));
    // Somebody removed the key, and nobody could notice.
    alarm.clear(vec![reminder.id]);
    story.advance(minutes(60 * 23));
    assert_eq!(alarm.at(reminder.id), None);
    story.advance(minutes(60 * 2));
    assert_eq!(alarm.at(reminder.id), Some(in_minutes(60 * 48)));
}

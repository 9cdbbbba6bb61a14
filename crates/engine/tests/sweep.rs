//! The safety sweep: what nobody noticed is delivered, counted, and a reason for alarm when it happens often.

use jiff::{SignedDuration, Timestamp, ToSpan};
use punctual_core::reminder::Reminder;
use punctual_core::store::{Create, NewReminder};
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::{BEGIN, Story};

const WATER: &str = "water the plants";

fn in_minutes(n: i64) -> Timestamp {
    instant(BEGIN) + n.minutes()
}

/// Writes reminders where nobody can tell the engine.
fn write_behind(story: &Story, reminders: &[Reminder], first_due_at: Timestamp) {
    let new = |reminder: &Reminder| NewReminder { reminder: reminder.clone(), first_due_at };
    let create =
        Create { reminders: reminders.iter().map(new).collect(), who: "sql".into(), answered: None, now: story.now() };
    let store = story.engine().store().clone();
    story.run(async move { store.create(create).await }).expect("the store works");
}

fn found(story: &Story) -> (u64, i64) {
    let metrics = story.engine().metrics();
    (metrics.fallback_found.get(), metrics.fallback_alert.get())
}

#[test]
fn every_find_is_counted_and_more_than_five_a_day_raise_the_alert() {
    let story = Story::default();
    story.advance(SignedDuration::from_mins(1));
    let due = |minute: i64| in_minutes(minute);
    let reminders: Vec<_> = (1..=5).map(|number| once(number, due(2), story.now())).collect();
    write_behind(&story, &reminders, due(2));
    story.advance(SignedDuration::from_mins(5));
    (0..5).for_each(|_| drop(story.phone.expect(WATER)));
    assert_eq!(found(&story), (5, 0), "five are no alert");
    let one = once(6, due(7), story.now());
    write_behind(&story, std::slice::from_ref(&one), due(7));
    story.advance(SignedDuration::from_mins(5));
    story.phone.expect(WATER);
    assert_eq!(found(&story), (6, 1), "the sixth is");
    story.advance(SignedDuration::from_hours(23));
    assert_eq!(found(&story), (6, 1));
    story.advance(SignedDuration::from_hours(2));
    assert_eq!(found(&story), (6, 0), "after a day without one it is over");
}

#[test]
fn a_healthy_engine_finds_nothing() {
    let story = Story::default();
    for number in 1..=20 {
        story.create(&once(number, in_minutes(i64::from(number)), story.now()));
    }
    story.advance(SignedDuration::from_hours(1));
    (0..20).for_each(|_| drop(story.phone.expect(WATER)));
    assert_eq!(found(&story), (0, 0));
}

//! Telling applications what happened.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::{SignedDuration, ToSpan};
use punctual_core::change::Change;
use punctual_core::channel::SendError;
use punctual_core::id::ReminderId;
use punctual_core::journal::Kind;
use punctual_core::reminder::Address;
use punctual_engine::{Settings, Subscription};
use punctual_testkit::sample::once;
use punctual_testkit::story::Story;

const A_WHILE: SignedDuration = SignedDuration::from_millis(200);

/// A story whose application, at `mail:app`, wants these kinds.
fn story(kinds: &[Kind]) -> Story {
    let to = Address::new("mail", "app");
    let subscription = Subscription { name: "app".into(), kinds: kinds.to_vec(), users: Vec::new(), tag: None, to };
    let story = Story::with(Settings { subscriptions: vec![subscription], ..Settings::default() });
    story.advance(A_WHILE);
    story
}

const CHANGES: [Kind; 3] = [Kind::Created, Kind::Changed, Kind::Cancelled];

/// Makes a reminder that is due another day.
fn remind(story: &Story, number: u8) -> ReminderId {
    story.create(&once(number, story.now() + 240.hours(), story.now())).reminder.id
}

fn cancel(story: &Story, id: ReminderId) {
    story.change(id, Change::Cancel).unwrap();
}

/// What the application was told: which kind, and from which position.
fn told(story: &Story) -> Vec<(String, i64)> {
    story.mail.notices().iter().map(|notice| (notice.entry.kind.clone(), notice.entry.position)).collect()
}

fn kinds(story: &Story) -> Vec<String> {
    told(story).into_iter().map(|(kind, _)| kind).collect()
}

fn unavailable() -> SendError {
    SendError::Unavailable("503".into())
}

#[test]
fn an_application_is_told_what_it_asked_for_and_what_became_of_reminders() {
    let story = story(&Subscription::RESULTS);
    story.create(&once(1, story.now() + 1.seconds(), story.now()));
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(story.phone.all().len(), 1);
    assert_eq!(told(&story), [("reminder.sent".to_owned(), 2)], "and not that it was made");
}

#[test]
fn entries_of_one_reminder_come_in_order_and_wait_for_each_other() {
    let story = story(&CHANGES);
    let waits = story.mail.then_wait();
    let (slow, quick) = (remind(&story, 1), remind(&story, 2));
    cancel(&story, slow);
    cancel(&story, quick);
    story.advance(A_WHILE);
    let reminders: Vec<_> =
        story.mail.notices().iter().map(|notice| (notice.entry.reminder.unwrap(), notice.entry.kind.clone())).collect();
    let expect = [(slow, "reminder.created"), (quick, "reminder.created"), (quick, "reminder.cancelled")];
    assert_eq!(reminders, expect.map(|(id, kind)| (id, kind.to_owned())));
    waits.notify_one();
    story.advance(A_WHILE);
    assert_eq!(kinds(&story), ["reminder.cancelled"]);
}

#[test]
fn while_the_receiver_is_away_nothing_is_given_up_and_then_everything_is_told() {
    let story = story(&CHANGES);
    story.mail.always_fail(Some(unavailable()));
    let ids: Vec<_> = (1..=20).map(|number| remind(&story, number)).collect();
    ids.iter().for_each(|id| cancel(&story, *id));
    story.advance(SignedDuration::from_hours(24));
    let n_tries = story.mail.notices().len();
    assert!((16..3000).contains(&n_tries), "it is asked now and then: {n_tries}");
    story.mail.always_fail(None);
    story.advance(SignedDuration::from_mins(6));
    let notices = story.mail.notices();
    for id in ids {
        let own: Vec<_> = notices
            .iter()
            .filter(|notice| notice.entry.reminder == Some(id))
            .map(|notice| notice.entry.kind.as_str())
            .collect();
        assert_eq!(own, ["reminder.created", "reminder.cancelled"]);
    }
}

#[test]
fn after_a_crash_what_was_not_written_down_is_told_again_under_its_key_and_the_rest_is_not() {
    let mut story = story(&CHANGES);
    remind(&story, 1);
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(told(&story), [("reminder.created".to_owned(), 1)]);
    remind(&story, 2);
    story.advance(A_WHILE);
    let before = told(&story);
    assert_eq!(before.len(), 1);
    story.crash();
    story.start();
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(told(&story), before, "the second again, and not the first");
    story.crash();
    story.start();
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(told(&story), [], "by then it was written down");
}

#[test]
fn a_stop_writes_down_how_far_it_came() {
    let mut story = story(&CHANGES);
    remind(&story, 1);
    story.advance(A_WHILE);
    assert_eq!(told(&story).len(), 1);
    story.stop();
    story.start();
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(told(&story), []);
    remind(&story, 2);
    story.advance(A_WHILE);
    assert_eq!(told(&story).len(), 1, "and it goes on");
}

#[test]
fn an_entry_that_is_refused_is_given_up_and_one_whose_receiver_is_gone_waits_for_a_restart() {
    let mut story = story(&CHANGES);
    story.mail.then_answer(Err(SendError::Refused("400".into())));
    remind(&story, 1);
    remind(&story, 2);
    story.advance(SignedDuration::from_mins(1));
    assert_eq!(told(&story).len(), 2, "once each");
    story.mail.then_answer(Err(SendError::Gone("410".into())));
    remind(&story, 3);
    story.advance(A_WHILE);
    remind(&story, 4);
    story.advance(SignedDuration::from_hours(1));
    assert_eq!(told(&story).len(), 1);
    story.stop();
    story.start();
    story.advance(A_WHILE);
    assert_eq!(told(&story).len(), 2, "the one that found nobody, and the next");
}

#[test]
fn while_nothing_happens_nothing_is_asked_of_the_store() {
    let story = story(&CHANGES);
    remind(&story, 1);
    story.advance(SignedDuration::from_secs(5));
    let n_calls = || ["journal", "place", "keep_duty", "take_duty"].map(|call| story.n_calls(call));
    let before = n_calls();
    story.advance(SignedDuration::from_hours(1));
    assert_eq!(n_calls(), before);
}

#[test]
fn after_an_outage_of_the_store_the_application_is_told_the_rest() {
    let story = story(&CHANGES);
    remind(&story, 1);
    story.advance(SignedDuration::from_secs(2));
    assert_eq!(told(&story).len(), 1);
    story.store_is_down(true);
    story.advance(SignedDuration::from_secs(30));
    story.store_is_down(false);
    remind(&story, 2);
    story.advance(SignedDuration::from_secs(5));
    assert_eq!(told(&story), [("reminder.created".to_owned(), 2)]);
}

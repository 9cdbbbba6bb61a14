//! The store is away for a while, and comes back.

use jiff::SignedDuration;
use punctual_core::occurrence::{AttemptStatus, StateKind};
use punctual_core::reminder::{OnUnknown, Reminder};
use punctual_testkit::sample::{every, once};
use punctual_testkit::story::Story;

/// Shorter and longer than a lease, which is 15 s.
const OUTAGES: [i64; 4] = [5, 14, 16, 30];

fn seconds(n: i64) -> SignedDuration {
    SignedDuration::from_secs(n)
}

/// What became of the first run of a reminder.
fn ended(story: &Story, reminder: &Reminder) -> (StateKind, Vec<AttemptStatus>) {
    let trail = &story.runs(reminder.id)[0];
    (trail.occurrence.state.kind(), trail.attempts.iter().map(|attempt| attempt.status).collect())
}

/// A story with one reminder that is claimed and about to be sent when the store goes away, and another that is due soon after, so that
/// the engine tries to claim all the while.
fn claimed(on_unknown: OnUnknown) -> (Story, [Reminder; 2]) {
    let story = Story::default();
    let reminder = |number, after| Reminder { on_unknown, ..once(number, story.now() + after, story.now()) };
    let reminders = [reminder(1, seconds(60)), reminder(2, seconds(62))];
    reminders.iter().for_each(|reminder| drop(story.create(reminder)));
    story.advance(SignedDuration::from_millis(59_990));
    (story, reminders)
}

/// Checks that each was sent once and is called delivered.
fn sent_once(story: &Story, reminders: &[Reminder], what: &str) {
    assert_eq!(story.phone.all().len(), reminders.len(), "{what}");
    for reminder in reminders {
        assert_eq!(ended(story, reminder), (StateKind::Delivered, vec![AttemptStatus::Sent]), "{what}");
    }
}

/// `on_unknown`, and the moment at which the store comes back: of all tasks that wait to try again, each is the
/// first at some of them.
fn cases() -> impl Iterator<Item = (OnUnknown, SignedDuration)> {
    let moments = || (0..500).step_by(45).map(SignedDuration::from_millis);
    [OnUnknown::Resend, OnUnknown::Hold].into_iter().flat_map(move |on| moments().map(move |moment| (on, moment)))
}

#[test]
fn a_run_that_was_sent_while_the_store_was_away_is_not_sent_again() {
    for outage in OUTAGES {
        for (on_unknown, moment) in cases() {
            let (story, reminders) = claimed(on_unknown);
            story.store_is_down(true);
            story.advance(seconds(outage) + moment);
            story.store_is_down(false);
            story.advance(seconds(60));
            sent_once(&story, &reminders, &format!("{on_unknown:?}, away for {outage} s and {moment:#}"));
        }
    }
}

#[test]
fn a_run_that_is_still_being_sent_when_the_store_comes_back_is_not_sent_again() {
    for outage in OUTAGES {
        for (on_unknown, moment) in cases() {
            for sends_for in [outage - 1, outage + 1, outage + 9].into_iter().filter(|span| *span < 29) {
                let (story, reminders) = claimed(on_unknown);
                let taken = story.phone.then_wait();
                // The send begins when the store is there.
                story.advance(SignedDuration::from_millis(10));
                let mut ends = [(seconds(outage) + moment, true), (seconds(sends_for), false)];
                ends.sort();
                story.store_is_down(true);
                let mut passed = SignedDuration::ZERO;
                for (at, is_store) in ends {
                    story.advance(at - passed);
                    passed = at;
                    if is_store { story.store_is_down(false) } else { taken.notify_one() }
                }
                story.advance(seconds(60));
                let what = format!("{on_unknown:?}, away for {outage} s and {moment:#}, sending for {sends_for} s");
                sent_once(&story, &reminders, &what);
            }
        }
    }
}

#[test]
fn a_series_goes_on_after_the_store_was_away() {
    let story = Story::default();
    let reminder = every(1, std::time::Duration::from_secs(60), story.now());
    story.create(&reminder);
    story.advance(SignedDuration::from_millis(59_990));
    story.store_is_down(true);
    story.advance(seconds(30));
    story.store_is_down(false);
    story.advance(seconds(5 * 60));
    let runs: Vec<u32> = story.phone.all().iter().map(|message| message.occurrence.run).collect();
    assert_eq!(runs, [1, 2, 3, 4, 5, 6]);
}

/// After the store has come back, the node waits until it has settled what it sent meanwhile. It is stopped at each moment of that
/// wait, with a run that is due and that nobody has claimed.
#[test]
fn a_node_that_is_stopped_while_it_catches_up_claims_nothing_more() {
    let mut n_open = 0;
    for moment in (0..500).step_by(45).map(SignedDuration::from_millis) {
        for stopped_after in [0, 20, 40, 80, 160, 320].map(SignedDuration::from_millis) {
            let (mut story, reminders) = claimed(OnUnknown::Resend);
            story.store_is_down(true);
            story.advance(seconds(5) + moment);
            story.store_is_down(false);
            story.advance(stopped_after);
            n_open += usize::from(story.runs(reminders[1].id)[0].attempts.is_empty());
            let n_claims = story.n_calls("claim");
            story.stop();
            let what = format!("away for {moment:#} more, stopped {stopped_after:#} after it came back");
            assert_eq!(story.n_calls("claim"), n_claims, "{what}");
        }
    }
    assert!(n_open > 0, "the second run was never left to be claimed");
}

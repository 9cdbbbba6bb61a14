//! A person is not disturbed in their quiet hours, in a pause, or in a silence.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_core::alert::VIA;
use punctual_core::id::OccurrenceId;
use punctual_core::reminder::{Priority, Reminder};
use punctual_core::user::{Except, User};

use super::{Evidence, silenced};
use crate::sim::ledger::PutUser;

/// A run that was claimed before its person asked for silence may still be sent: claims are made ahead, and a phone takes one message at
/// a time.
pub(super) const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(5);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let options = &evidence.options;
    if !options.is_punctual() || options.receivers_hang || options.tight {
        // A send that was on its way may be there for long.
        return Vec::new();
    }
    // A run that somebody fired by hand or sent again, and an alert for admins, is sent all the same.
    let fired = |id: OccurrenceId| {
        let mut of_it = evidence.rows.iter().filter(|row| row.view.reminder.id == id.reminder);
        of_it.any(|row| row.did("fire").chain(row.did("resend")).any(|entry| entry.run == Some(id.run)))
    };
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for sent in &book.sends {
        let reminder = &sent.message.reminder;
        if reminder.created_via == VIA || fired(sent.message.occurrence) {
            continue;
        }
        if let Some(silence) = silenced::by(&book.silences, sent) {
            let (id, at) = (sent.message.occurrence, sent.begun.at);
            found.push(format!("{id} was sent at {at}, in the silence {}", silence.id));
        }
        let theirs = || book.people.iter().filter(|put| put.user.id == reminder.user && put.begun < sent.begun);
        let is_settled =
            theirs().all(|put| put.acknowledged.is_some_and(|moment| sent.begun.elapsed - moment.elapsed > ON_ITS_WAY));
        // Of changes that were under way at the same time, any may have been written last.
        let is_last = |put: &&PutUser| !theirs().any(|other| put.acknowledged.is_some_and(|done| done < other.begun));
        let mut last = theirs().filter(is_last).peekable();
        let is_known = last.peek().is_some() && is_settled;
        if is_known && last.all(|put| must_wait(&put.user, reminder, sent.begun.at)) {
            let (id, at) = (sent.message.occurrence, sent.begun.at);
            found.push(format!("{id} was sent at {at}, when {} wanted silence", reminder.user));
        }
    }
    found
}

/// Simulated people with quiet hours are in UTC.
fn must_wait(user: &User, reminder: &Reminder, at: Timestamp) -> bool {
    if user.paused_until.is_some_and(|until| at < until) {
        return true;
    }
    let Some(quiet) = user.quiet_hours else { return false };
    let time = TimeZone::UTC.to_datetime(at).time();
    let within = match quiet.from < quiet.to {
        true => quiet.from <= time && time < quiet.to,
        false => quiet.from <= time || time < quiet.to,
    };
    let enough = if quiet.except == Except::High { Priority::High } else { Priority::Critical };
    within && reminder.priority < enough
}

//! Which of several reminders a text means.

use punctual_client::wire::Reminder;
use punctual_core::reminder::ReminderStatus;

/// The candidates that are meant: those that are not over before those that are, then those of that name before those that say so.
pub(crate) fn meant(candidates: Vec<Reminder<'static>>, text: &str) -> Vec<Reminder<'static>> {
    let is_open = |reminder: &Reminder<'_>| {
        reminder.status == ReminderStatus::Active || reminder.status == ReminderStatus::Paused
    };
    let is_named = |reminder: &Reminder<'_>| reminder.name.as_deref() == Some(text);
    preferred(preferred(candidates, is_open), is_named)
}

/// Those that `wanted` is true of, or all if it is true of none.
fn preferred<T>(candidates: Vec<T>, wanted: impl Fn(&T) -> bool) -> Vec<T> {
    match candidates.iter().any(&wanted) {
        true => candidates.into_iter().filter(wanted).collect(),
        false => candidates,
    }
}

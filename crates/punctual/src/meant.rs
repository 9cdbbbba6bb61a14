//! Finding the reminders that a text means.

use punctual_client::wire::{Reminder, ReminderQuery};
use punctual_client::{Client, Failure};
use punctual_core::reminder::ReminderStatus;

/// How many candidates of one status are looked at.
const CANDIDATES_MAX: usize = 500;
/// How many candidates somebody chooses from.
const CHOICES_MAX: usize = 20;

/// The reminders that a text means.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) reminders: Vec<Reminder<'static>>,
    /// Whether the server has more that were not looked at.
    pub(crate) more: bool,
}

impl Meant {
    /// Those among `candidates` that `text` means. Reminders that are not over go before those that are, then those of that name before those
    /// that say so.
    pub(crate) fn among(candidates: Vec<Reminder<'static>>, more: bool, text: &str) -> Self {
        let is_open = |reminder: &Reminder<'_>| {
            reminder.status == ReminderStatus::Active || reminder.status == ReminderStatus::Paused
        };
        let is_named = |reminder: &Reminder<'_>| reminder.name.as_deref() == Some(text);
        Self { reminders: preferred(preferred(candidates, is_open), is_named), more }
    }

    /// The only one, if it is certain that there is no other.
    pub(crate) fn only(&mut self) -> Option<Reminder<'static>> {
        if self.more || self.reminders.len() > 1 { None } else { self.reminders.pop() }
    }

    /// How many there are, in words.
    pub(crate) fn count(&self) -> String {
        let n = self.reminders.len();
        if self.more { format!("{n} or more") } else { n.to_string() }
    }

    /// The reminders that somebody chooses from, the next one first, and whether there are more than these.
    pub(crate) fn choices(mut self) -> (Vec<Reminder<'static>>, bool) {
        let more = self.more || self.reminders.len() > CHOICES_MAX;
        self.reminders.sort_by_key(|reminder| (reminder.next_run_at.is_none(), reminder.next_run_at));
        self.reminders.truncate(CHOICES_MAX);
        (self.reminders, more)
    }
}

/// Finds the reminders among those of `query` that `text` means.
///
/// The server is first asked for those that are not over, so that others of the same name that are cannot hide them.
pub(crate) async fn find(client: &Client, query: &ReminderQuery, text: &str) -> Result<Meant, Failure> {
    let (mut candidates, mut more) = (Vec::new(), false);
    for status in [Some(ReminderStatus::Active), Some(ReminderStatus::Paused), None] {
        if status.is_none() && !candidates.is_empty() {
            break;
        }
        let status = status.map(|status| status.as_str().to_owned());
        let page = client.reminders(&ReminderQuery { status, limit: Some(CANDIDATES_MAX), ..query.clone() }).await?;
        more |= page.next_cursor.is_some();
        candidates.extend(page.reminders);
    }
    Ok(Meant::among(candidates, more, text))
}

/// Those that `wanted` is true of, or all if it is true of none.
fn preferred<T>(candidates: Vec<T>, wanted: impl Fn(&T) -> bool) -> Vec<T> {
    match candidates.iter().any(&wanted) {
        true => candidates.into_iter().filter(wanted).collect(),
        false => candidates,
    }
}

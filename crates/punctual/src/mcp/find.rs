//! Finding the reminder that is meant: by its id or the end of it, its name, its message or a part of that.

use punctual_client::wire::{Reminder, ReminderQuery};
use punctual_core::invalid::Invalid;

use super::ask::Question;
use super::say::{self, quoted};
use super::scheduler::{Scheduler, Stop};
use crate::meant::meant;

/// How many candidates are looked at, and offered.
const CANDIDATES_MAX: usize = 20;
/// How many reminders are looked through for one that waits for an answer.
const WAITING_MAX: usize = 200;
/// The key of the question which one is meant.
const KEY: &str = "reminder";

impl Scheduler<'_> {
    /// The reminder that `text` names.
    pub(super) async fn find(&self, text: &str) -> Result<Reminder<'static>, Stop> {
        let text = text.trim();
        let exactly = ReminderQuery { matching: Some(text.to_owned()), limit: Some(CANDIDATES_MAX), ..self.whose() };
        let mut found = meant(self.client().reminders(&exactly).await?.reminders, text);
        if found.is_empty() {
            let partly = ReminderQuery { q: Some(text.to_owned()), limit: Some(CANDIDATES_MAX), ..self.whose() };
            found = meant(self.client().reminders(&partly).await?.reminders, text);
        }
        if found.is_empty() {
            let problem = format!(
                "{} is no reminder's id, name or part of a message; {{\"action\":\"list\"}} shows them",
                quoted(text)
            );
            return Err(Invalid::new("job_id", problem).into());
        }
        self.choose(found, &format!("{} means several reminders. Which one?", quoted(text))).await
    }

    /// The reminder that waits for an answer, where none was named.
    pub(super) async fn waiting(&self) -> Result<Reminder<'static>, Stop> {
        let query = ReminderQuery { limit: Some(WAITING_MAX), ..self.whose() };
        let mut found = self.client().reminders(&query).await?.reminders;
        found.retain(|reminder| reminder.last_status.as_ref().is_some_and(|state| state.as_str() == "awaiting_ack"));
        if found.is_empty() {
            let problem = "is missing, and no reminder waits for an answer; say which one: its id, its name or a part of its message";
            return Err(Invalid::new("job_id", problem).into());
        }
        found.truncate(CANDIDATES_MAX);
        self.choose(found, "Several reminders wait for an answer. Which one?").await
    }

    async fn choose(&self, mut found: Vec<Reminder<'static>>, words: &str) -> Result<Reminder<'static>, Stop> {
        if found.len() > 1 {
            found.sort_by_key(|reminder| reminder.next_run_at);
            let here = self.here(&found[0]).await;
            let choices = found.iter().map(|reminder| (reminder.id.clone(), say::choice(reminder, &here))).collect();
            let chosen = self.ask(Question::choice(KEY, words, choices))?;
            found.retain(|reminder| reminder.id == chosen);
        }
        found.pop().ok_or_else(|| Invalid::new("job_id", "what was chosen is no longer there; call again").into())
    }
}

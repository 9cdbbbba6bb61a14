//! Finding the reminder that is meant: by its id or the end of it, its name, its message or a part of that.

use std::collections::HashSet;

use punctual_client::wire::{DueQuery, Reminder, ReminderQuery};
use punctual_core::invalid::Invalid;
use punctual_core::occurrence::StateKind;

use super::ask::Question;
use super::say::{self, quoted};
use super::scheduler::{Scheduler, Stop};
use crate::meant::{self, Meant};

/// How many runs that wait for an answer are looked at.
const WAITING_MAX: usize = 500;
/// The key of the question which one is meant.
const KEY: &str = "reminder";

impl Scheduler<'_> {
    /// The reminder that `text` names.
    pub(super) async fn find(&self, text: &str) -> Result<Reminder<'static>, Stop> {
        let text = text.trim();
        let exactly = ReminderQuery { matching: Some(text.to_owned()), ..self.whose() };
        let mut found = meant::find(self.client(), &exactly, text).await?;
        if found.reminders.is_empty() {
            let partly = ReminderQuery { q: Some(text.to_owned()), ..self.whose() };
            found = meant::find(self.client(), &partly, text).await?;
        }
        if found.reminders.is_empty() {
            let problem = format!(
                "{} is no reminder's id, name or part of a message; {{\"action\":\"list\"}} shows them",
                quoted(text)
            );
            return Err(Invalid::new("job_id", problem).into());
        }
        self.choose(found, &format!("{} means several reminders.", quoted(text))).await
    }

    /// The reminder that waits for an answer, where none was named.
    pub(super) async fn waiting(&self) -> Result<Reminder<'static>, Stop> {
        let query = DueQuery {
            user: self.user().map(str::to_owned),
            status: Some(StateKind::AwaitingAck.as_str().to_owned()),
            order: Some("newest".to_owned()),
            limit: Some(WAITING_MAX),
            ..DueQuery::default()
        };
        let page = self.client().runs(&query).await?;
        // Several runs of one reminder may wait.
        let mut seen = HashSet::new();
        let mut reminders: Vec<_> = page.runs.into_iter().map(|run| run.reminder).collect();
        reminders.retain(|reminder| seen.insert(reminder.id.clone()));
        if reminders.is_empty() {
            let problem = "is missing, and no reminder waits for an answer; say which one: its id, its name or a part of its message";
            return Err(Invalid::new("job_id", problem).into());
        }
        let found = Meant { reminders, more: page.next_cursor.is_some() };
        self.choose(found, "Several reminders wait for an answer.").await
    }

    async fn choose(&self, mut found: Meant, words: &str) -> Result<Reminder<'static>, Stop> {
        if let Some(reminder) = found.only() {
            return Ok(reminder);
        }
        let (mut found, more) = found.choices();
        let here = self.here(&found[0]).await;
        let choices = found.iter().map(|reminder| (reminder.id.clone(), say::choice(reminder, &here))).collect();
        let more = if more {
            " There are more than these: name it more exactly, or by its id, if it is none of them."
        } else {
            ""
        };
        let chosen = self.ask(Question::choice(KEY, format!("{words} Which one?{more}"), choices))?;
        found.retain(|reminder| reminder.id == chosen);
        found.pop().ok_or_else(|| Invalid::new("job_id", "what was chosen is no longer there; call again").into())
    }
}

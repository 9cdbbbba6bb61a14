//! Finding the reminder somebody means: by id, by the end of an id as tables show it, by name, or by message.

use anyhow::anyhow;
use punctual_client::Client;
use punctual_core::id::ReminderId;

use super::list;
use super::style::{Paint, neutral};
use crate::meant::{self, Meant};
use crate::wire::{Reminder, ReminderQuery, UserQuery};

/// The reminder that `text` names, among those of `user`, or of whom the key means.
pub(super) async fn find(client: &Client, text: &str, user: Option<&str>) -> anyhow::Result<Reminder<'static>> {
    if let Ok(id) = text.parse::<ReminderId>() {
        return Ok(client.reminder(&id.to_string(), &UserQuery::of(user)).await?);
    }
    let whose =
        ReminderQuery { user: user.map(str::to_owned), mine: user.is_none().then_some(true), ..Default::default() };
    let mut found = matching(client, text, whose).await?;
    // The end of an id is unique enough to be looked for among everybody's.
    let is_id_end = text.len() >= 8 && text.chars().all(|c| c.is_ascii_hexdigit());
    if found.reminders.is_empty() && user.is_none() && is_id_end {
        found = matching(client, text, ReminderQuery::default()).await?;
    }
    choose(found, text)
}

async fn matching(client: &Client, text: &str, whose: ReminderQuery) -> anyhow::Result<Meant> {
    let query = ReminderQuery { matching: Some(text.to_owned()), ..whose };
    Ok(meant::find(client, &query, text).await?)
}

/// A text that means several reminders, which are listed so that one of them can be named.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` means {count} reminders; name one by its id:\n{table}")]
pub(super) struct Ambiguous {
    text: String,
    count: String,
    table: String,
}

impl Ambiguous {
    fn new(text: &str, meant: Meant) -> Self {
        let count = meant.count();
        let (choices, more) = meant.choices();
        let mut table = list::table(&choices, false).render(Paint::none()).trim_end().to_owned();
        if more {
            table.push_str("\nThere are more; `punctual list` shows them.");
        }
        Self { text: neutral(text), count, table }
    }
}

/// The reminder that is meant.
fn choose(mut meant: Meant, text: &str) -> anyhow::Result<Reminder<'static>> {
    match meant.only() {
        Some(reminder) => Ok(reminder),
        None if meant.reminders.is_empty() => Err(anyhow!(
            "no reminder has `{text}` as its name, its message or the end of its id; `punctual list` shows them"
        )),
        None => Err(Ambiguous::new(text, meant).into()),
    }
}

/// The end of a reminder's id, as tables show it.
pub(super) fn short_id(reminder: &Reminder<'_>) -> String {
    reminder.id.parse::<ReminderId>().map_or_else(|_| reminder.id.clone(), |id| id.short())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn candidate(n: u8, status: &str) -> Reminder<'static> {
        named(n, status, None)
    }

    fn named(n: u8, status: &str, name: Option<&str>) -> Reminder<'static> {
        let reminder = json!({
            "id": format!("0198c0de-0000-7000-8000-00000000000{n}"), "user": "me", "name": name, "message": "m",
            "schedule": { "type": "daily", "time": "08:00" }, "timezone": "UTC", "priority": "normal", "to": [], "only": false,
            "require_ack": false, "snooze_allowed": true, "max_retries": 3, "misfire": { "policy": "latest", "within": "24h" },
            "on_unknown": "auto", "created_via": "api", "metadata": {}, "status": status, "summary": "every day at 08:00, UTC",
            "total_runs": 0, "consecutive_errors": 0, "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-01T10:00:00Z",
        });
        serde_json::from_value(reminder).unwrap()
    }

    fn named_m(candidates: Vec<Reminder<'static>>) -> anyhow::Result<Reminder<'static>> {
        choose(Meant::among(candidates, false, "m"), "m")
    }

    #[test]
    fn the_only_open_one_is_meant() {
        let chosen = named_m(vec![candidate(1, "cancelled"), candidate(2, "active")]).unwrap();
        assert_eq!(short_id(&chosen), "00000002");
        assert_eq!(short_id(&named_m(vec![candidate(1, "cancelled")]).unwrap()), "00000001");
    }

    #[test]
    fn a_name_goes_before_a_message() {
        let named = named(9, "active", Some("m"));
        let chosen = named_m(vec![candidate(1, "active"), named.clone(), candidate(2, "active")]).unwrap();
        assert_eq!(short_id(&chosen), "00000009");
        assert!(named_m(vec![named.clone(), named]).is_err(), "two of one name");
    }

    #[test]
    fn an_ambiguous_name_is_answered_with_the_candidates() {
        let error = named_m(vec![candidate(1, "active"), candidate(2, "paused"), candidate(3, "completed")]);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("`m` means 2 reminders; name one by its id:\nID "), "{error}");
        assert!(error.contains("00000001") && error.contains("00000002") && !error.contains("00000003"), "{error}");
        assert!(named_m(vec![]).unwrap_err().to_string().contains("no reminder has `m` as its name"));
    }

    #[test]
    fn of_many_candidates_the_first_are_shown_and_it_is_said_that_there_are_more() {
        let many = (0..30).map(|_| candidate(1, "active")).collect();
        let error = named_m(many).unwrap_err().to_string();
        assert!(error.starts_with("`m` means 30 reminders"), "{error}");
        assert_eq!(
            error.lines().count(),
            23,
            "a line before, the head of the table, 20 reminders and a line after: {error}"
        );
        let one = Meant::among(vec![candidate(1, "active")], true, "m");
        assert!(
            choose(one, "m").unwrap_err().to_string().contains("means 1 or more reminders"),
            "others were not looked at"
        );
    }
}

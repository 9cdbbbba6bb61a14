//! Finding the reminder somebody means: by id, by the end of an id as tables show it, by name, or by message.

use anyhow::anyhow;
use punctual_client::Client;
use punctual_core::id::ReminderId;

use super::list;
use super::style::{Paint, neutral};
use crate::meant::meant;
use crate::wire::{Reminder, ReminderQuery, UserQuery};

/// How many candidates are looked at.
const CANDIDATES_MAX: usize = 20;

/// The reminder that `text` names, among those of `user`, or of whom the key means.
pub(super) async fn find(client: &Client, text: &str, user: Option<&str>) -> anyhow::Result<Reminder<'static>> {
    if let Ok(id) = text.parse::<ReminderId>() {
        return Ok(client.reminder(&id.to_string(), &UserQuery::of(user)).await?);
    }
    let whose =
        ReminderQuery { user: user.map(str::to_owned), mine: user.is_none().then_some(true), ..Default::default() };
    let mut candidates = matching(client, text, whose).await?;
    // The end of an id is unique enough to be looked for among everybody's.
    let is_id_end = text.len() >= 8 && text.chars().all(|c| c.is_ascii_hexdigit());
    if candidates.is_empty() && user.is_none() && is_id_end {
        candidates = matching(client, text, ReminderQuery::default()).await?;
    }
    choose(candidates, text)
}

async fn matching(client: &Client, text: &str, whose: ReminderQuery) -> anyhow::Result<Vec<Reminder<'static>>> {
    let query = ReminderQuery { matching: Some(text.to_owned()), limit: Some(CANDIDATES_MAX), ..whose };
    Ok(client.reminders(&query).await?.reminders)
}

/// A text that means several reminders, which are listed so that one of them can be named.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` means {n_candidates} reminders; name one by its id:\n{table}")]
pub(super) struct Ambiguous {
    text: String,
    n_candidates: usize,
    table: String,
}

impl Ambiguous {
    fn new(text: &str, mut candidates: Vec<Reminder<'_>>) -> Self {
        candidates.sort_by_key(|reminder| reminder.next_run_at);
        let table = list::table(&candidates, false).render(Paint::none());
        Self { text: neutral(text), n_candidates: candidates.len(), table: table.trim_end().to_owned() }
    }
}

/// The candidate that is meant.
fn choose(candidates: Vec<Reminder<'static>>, text: &str) -> anyhow::Result<Reminder<'static>> {
    let mut left = meant(candidates, text);
    match (left.len(), left.pop()) {
        (1, Some(reminder)) => Ok(reminder),
        (_, Some(last)) => {
            left.push(last);
            Err(Ambiguous::new(text, left).into())
        }
        (_, None) => Err(anyhow!(
            "no reminder has `{text}` as its name, its message or the end of its id; `punctual list` shows them"
        )),
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

    #[test]
    fn the_only_open_one_is_meant() {
        let chosen = choose(vec![candidate(1, "cancelled"), candidate(2, "active")], "m").unwrap();
        assert_eq!(short_id(&chosen), "00000002");
        assert_eq!(short_id(&choose(vec![candidate(1, "cancelled")], "m").unwrap()), "00000001");
    }

    #[test]
    fn a_name_goes_before_a_message() {
        let named = named(9, "active", Some("m"));
        let chosen = choose(vec![candidate(1, "active"), named.clone(), candidate(2, "active")], "m").unwrap();
        assert_eq!(short_id(&chosen), "00000009");
        assert!(choose(vec![named.clone(), named], "m").is_err(), "two of one name");
    }

    #[test]
    fn an_ambiguous_name_is_answered_with_the_candidates() {
        let error = choose(vec![candidate(1, "active"), candidate(2, "paused"), candidate(3, "completed")], "m");
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("`m` means 2 reminders; name one by its id:\nID "), "{error}");
        assert!(error.contains("00000001") && error.contains("00000002") && !error.contains("00000003"), "{error}");
        assert!(choose(vec![], "m").unwrap_err().to_string().contains("no reminder has `m` as its name"));
    }
}

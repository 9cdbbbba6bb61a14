//! Finding the reminder somebody means: by id, by the end of an id as tables show it, by name, or by message.

use anyhow::anyhow;
use punctual_core::id::ReminderId;
use serde_json::Value;

use super::client::Client;
use super::style::{Paint, neutral};
use super::{list, when};

/// How many candidates are looked at.
const CANDIDATES_MAX: usize = 20;

/// The reminder that `text` names, among those of `user`, or of whom the key means.
pub(super) async fn find(client: &Client, text: &str, user: Option<&str>) -> anyhow::Result<Value> {
    if let Ok(id) = text.parse::<ReminderId>() {
        return client.get(&format!("/v1/reminders/{id}"), &of(user)).await;
    }
    let mut candidates = matching(client, text, Some(user)).await?;
    // The end of an id is unique enough to be looked for among everybody's.
    let is_id_end = text.len() >= 8 && text.chars().all(|c| c.is_ascii_hexdigit());
    if candidates.is_empty() && user.is_none() && is_id_end {
        candidates = matching(client, text, None).await?;
    }
    choose(candidates, text)
}

async fn matching(client: &Client, text: &str, whose: Option<Option<&str>>) -> anyhow::Result<Vec<Value>> {
    let mut query = vec![("match", text.to_owned()), ("limit", CANDIDATES_MAX.to_string())];
    match whose {
        Some(Some(user)) => query.push(("user", user.to_owned())),
        Some(None) => query.push(("mine", "true".to_owned())),
        None => {}
    }
    let mut page = client.get("/v1/reminders", &query).await?;
    match page.get_mut("reminders").map(Value::take) {
        Some(Value::Array(reminders)) => Ok(reminders),
        _ => Err(anyhow!("the server's list has no reminders in it")),
    }
}

/// A text that means several reminders, which are listed so that one of them can be named.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` means {} reminders; name one by its id:\n{table}", candidates.len())]
pub(super) struct Ambiguous {
    text: String,
    candidates: Vec<Value>,
    table: String,
}

impl Ambiguous {
    fn new(text: &str, mut candidates: Vec<Value>) -> Self {
        candidates.sort_by_key(|reminder| when::instant(reminder, "next_run_at"));
        let table = list::table(&candidates.iter().collect::<Vec<_>>(), false).render(Paint::none());
        Self { text: neutral(text), candidates, table: table.trim_end().to_owned() }
    }
}

/// The candidate that is meant: one that is not over before one that is, then one of that name before one that says so.
fn choose(candidates: Vec<Value>, text: &str) -> anyhow::Result<Value> {
    let is_open = |reminder: &Value| matches!(reminder["status"].as_str(), Some("active" | "paused"));
    let is_named = |reminder: &Value| reminder["name"].as_str() == Some(text);
    let mut left = preferred(preferred(candidates, is_open), is_named);
    match (left.len(), left.pop()) {
        (1, Some(reminder)) => Ok(reminder),
        (_, Some(last)) => {
            left.push(last);
            Err(Ambiguous::new(text, left).into())
        }
        (_, None) => Err(anyhow!(
            "no reminder is named `{text}`, says so, or has an id that ends so; `punctual list` shows them"
        )),
    }
}

/// Those that `wanted` is true of, or all if it is true of none.
fn preferred(candidates: Vec<Value>, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    match candidates.iter().any(&wanted) {
        true => candidates.into_iter().filter(wanted).collect(),
        false => candidates,
    }
}

/// The end of a reminder's id, as tables show it.
pub(super) fn short_id(reminder: &Value) -> String {
    let id = reminder["id"].as_str().unwrap_or_default();
    id.parse::<ReminderId>().map_or_else(|_| id.to_owned(), |id| id.short())
}

/// The query that says for whom this is done, so that another's reminder is not touched.
pub(super) fn of(user: Option<&str>) -> Vec<(&'static str, String)> {
    user.map(|user| ("user", user.to_owned())).into_iter().collect()
}

/// The reminder's id in full.
pub(super) fn id(reminder: &Value) -> &str {
    reminder["id"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn candidate(n: u8, status: &str) -> Value {
        json!({"id": format!("0198c0de-0000-7000-8000-00000000000{n}"), "status": status, "message": "m"})
    }

    #[test]
    fn the_only_open_one_is_meant() {
        let chosen = choose(vec![candidate(1, "cancelled"), candidate(2, "active")], "m").unwrap();
        assert_eq!(short_id(&chosen), "00000002");
        assert_eq!(short_id(&choose(vec![candidate(1, "cancelled")], "m").unwrap()), "00000001");
    }

    #[test]
    fn a_name_goes_before_a_message() {
        let named =
            json!({"id": "0198c0de-0000-7000-8000-000000000009", "status": "active", "name": "m", "message": "other"});
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
        assert!(choose(vec![], "m").unwrap_err().to_string().contains("no reminder is named `m`"));
    }
}

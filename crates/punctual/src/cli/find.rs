//! Finding the reminder somebody means: by id, by the end of an id as tables show it, by name, or by message.

use anyhow::anyhow;
use punctual_core::id::ReminderId;
use serde_json::Value;

use super::client::Client;
use super::style::neutral;

/// How many candidates are looked at.
const CANDIDATES_MAX: usize = 20;

/// The reminder that `text` names, among those of `user`, or of whom the key means.
pub(super) async fn find(client: &Client, text: &str, user: Option<&str>) -> anyhow::Result<Value> {
    if let Ok(id) = text.parse::<ReminderId>() {
        return client.get(&format!("/v1/reminders/{id}"), &[]).await;
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

/// The only candidate, or the only one that is not over.
fn choose(candidates: Vec<Value>, text: &str) -> anyhow::Result<Value> {
    let n_all = candidates.len();
    let is_open = |reminder: &Value| matches!(reminder["status"].as_str(), Some("active" | "paused"));
    let n_open = candidates.iter().filter(|reminder| is_open(reminder)).count();
    match (n_all, n_open) {
        (0, _) => Err(anyhow!(
            "no reminder is named `{text}`, says so, or has an id that ends so; `punctual list` shows them"
        )),
        (1, _) => Ok(candidates.into_iter().next().unwrap_or_default()),
        (_, 1) => Ok(candidates.into_iter().find(is_open).unwrap_or_default()),
        _ => {
            let ambiguous: Vec<String> = candidates
                .iter()
                .filter(|reminder| n_open == 0 || is_open(reminder))
                .map(|reminder| {
                    format!("{} ({})", short_id(reminder), neutral(reminder["message"].as_str().unwrap_or("")))
                })
                .collect();
            Err(anyhow!("`{text}` is ambiguous; name one by its id: {}", ambiguous.join(", ")))
        }
    }
}

/// The end of a reminder's id, as tables show it.
pub(super) fn short_id(reminder: &Value) -> String {
    let id = reminder["id"].as_str().unwrap_or_default();
    id.parse::<ReminderId>().map_or_else(|_| id.to_owned(), |id| id.short())
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
    fn an_ambiguous_name_is_answered_with_the_candidates() {
        let error = choose(vec![candidate(1, "active"), candidate(2, "paused"), candidate(3, "completed")], "m");
        let error = error.unwrap_err().to_string();
        assert!(error.contains("00000001 (m), 00000002 (m)") && !error.contains("00000003"), "{error}");
        assert!(choose(vec![], "m").unwrap_err().to_string().contains("no reminder is named `m`"));
    }
}

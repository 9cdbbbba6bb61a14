//! Removing a person, once for every store.

/// Removes small things that are a person's own, by their name. `{}` stands before the name of a table.
pub(crate) const SMALL: [&str; 5] = [
    "delete from {}calendar_key where user_id = $1",
    "delete from {}feed where kind = 'user' and owner = $1",
    "delete from {}rota_shift where user_id = $1",
    "delete from {}watch_intent where user_id = $1",
    "delete from {}event_reminder where user_id = $1",
];

/// A person's name as it stands in JSON, without the quotes around it.
pub(crate) fn in_json(name: &str) -> String {
    let quoted = serde_json::to_string(name).unwrap_or_default();
    quoted.trim_matches('"').to_owned()
}

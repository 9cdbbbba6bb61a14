//! Removing a person, once for every store.

/// A person's name as it stands in JSON, without the quotes around it.
pub(crate) fn in_json(name: &str) -> String {
    let quoted = serde_json::to_string(name).unwrap_or_default();
    quoted.trim_matches('"').to_owned()
}

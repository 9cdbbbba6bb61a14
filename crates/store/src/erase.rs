//! Removing a person, once for every store.

use std::sync::LazyLock;

use punctual_core::id::WatchRunId;
use punctual_core::rules::redact;
use punctual_core::scope::escaped;
use punctual_core::store::ERASED_AT_ONCE;

use crate::rows;
use crate::watch::KeptBad;

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

/// A person's name as it stands in the scope of their defaults, in JSON, without the quotes around it.
pub(crate) fn in_path(name: &str) -> String {
    in_json(&escaped(name))
}

/// The rotas of groups of which something could not be read: that names people. `{}` stands before the name of a table.
pub(crate) static ROTAS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select {} from {{}}feed f where f.kind = 'group' and (f.problem is not null or f.problems is not null)",
        rows::FEED
    )
});

/// The run and the number of the row after which it goes on.
pub(crate) fn after_bad(after: &str) -> (WatchRunId, i64) {
    let place = after.split_once('/').and_then(|(run, number)| Some((run.parse().ok()?, number.parse().ok()?)));
    place.unwrap_or((WatchRunId::from_bytes([0; 16]), 0))
}

/// Takes a person out of a page of rows that could not be reminded of: those that are changed, and after which it goes on.
pub(crate) fn redact_bad(mut page: Vec<KeptBad>, person: &str) -> (Vec<KeptBad>, Option<String>) {
    let last = page.last().filter(|_| page.len() >= ERASED_AT_ONCE);
    let next = last.map(|KeptBad { run, number, .. }| format!("{run}/{number}"));
    page.retain_mut(|kept| redact::bad_row(&mut kept.bad, person));
    (page, next)
}

//! An entry of the journal as it is shown.

use punctual_core::journal::Placed;

use crate::wire::Entry;

/// One thing that happened.
pub(in crate::http) fn entry(entry: &Placed) -> Entry {
    Entry {
        id: entry.position,
        at: entry.at,
        kind: entry.kind.clone(),
        user: entry.user.clone(),
        reminder_id: entry.reminder.map(|id| id.to_string()),
        occurrence_id: entry.occurrence().map(|id| id.to_string()),
        actor: entry.actor.clone(),
        via: entry.via.clone(),
        node: entry.node.clone(),
        // Stored text that is no JSON must not break the answer.
        data: entry.data.as_deref().and_then(|text| serde_json::from_str(text).ok()),
    }
}

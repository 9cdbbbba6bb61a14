//! Delivery reports: what became of a message that Meta took.

use punctual_core::channel::receive::{Became, Inbound, What};
use punctual_core::id::OccurrenceId;
use serde::Deserialize;
use serde_json::Value;

use super::answer;

#[derive(Debug, Deserialize)]
struct Status {
    id: String,
    status: String,
    /// The key that the message was sent with.
    #[serde(default)]
    biz_opaque_callback_data: String,
    #[serde(default)]
    errors: Value,
}

/// The report that a status is; none where it says nothing new, or is about a message that is not ours.
///
/// Reports come twice and in no order. They need no id, because a message only ever moves forward.
pub(super) fn read(status: &Value) -> Option<Inbound> {
    let status = Status::deserialize(status).ok()?;
    let became = match status.status.as_str() {
        "delivered" | "read" => Became::Delivered,
        "failed" => Became::Failed(answer::reported(&status.errors)),
        // `sent` says that it has left Meta, which is what the send itself was answered with.
        _ => return None,
    };
    let occurrence = OccurrenceId::of_key(&status.biz_opaque_callback_data)?;
    Some(Inbound::new(What::Report { occurrence, message_id: status.id, became }, None))
}

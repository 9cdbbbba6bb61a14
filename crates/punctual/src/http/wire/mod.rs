//! Reminders, users and occurrences as JSON, both ways.
//!
//! Wire types live here and are converted by hand: the domain's types do not change for the API's
//! sake, and each mistake in an input names its field.

mod occurrence;
mod patch;
mod reminder;
mod user;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_core::channel::Channel;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Address;
use serde::Serialize;
use serde_json::Value;

pub(super) use occurrence::{AuditJson, OccurrenceJson};
pub(super) use patch::patch;
pub(super) use reminder::{Asked, NewReminder, is_heavy};
pub(super) use user::{UserJson, user};
pub(super) use view::ReminderJson;

use super::fields::Fields;
use crate::config::keys::nearest;

/// An answer in JSON.
pub(super) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, body).expect("what is shown always becomes JSON");
    answer_bytes(status, bytes)
}

/// An answer that is JSON already.
pub(super) fn answer_bytes(status: StatusCode, body: Vec<u8>) -> Response {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// One page of a list. `name` is the field the items stand in.
pub(super) fn page(name: &str, items: Vec<Value>, next_cursor: Option<String>) -> Response {
    let mut body = serde_json::Map::new();
    body.insert(name.to_owned(), items.into());
    body.insert("next_cursor".to_owned(), next_cursor.into());
    answer(StatusCode::OK, &body)
}

/// Cuts `items` to `limit` and returns the cursor of the next page, if one item more was read than
/// fits.
pub(super) fn cut<T>(items: &mut Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Option<String> {
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(cursor)
}

/// Addresses as `[{"channel","address"}]`.
fn addresses(fields: &mut Fields, name: &str) -> Result<Option<Vec<Address>>, Invalid> {
    let Some(items) = fields.list(name)? else { return Ok(None) };
    let read = |(index, item): (usize, Value)| {
        let at = format!("{name}[{index}]");
        let mut item = match item {
            // `webhook:https://…` is how the command line writes it.
            Value::String(text) => return text.parse().map_err(|invalid: Invalid| Invalid::new(at, invalid.problem)),
            Value::Object(_) => Fields::of(item, &at, &["channel", "address"], &[]).map_err(|i| i.within(&at))?,
            _ => return Err(Invalid::new(at, "must be an object such as {\"channel\":\"console\",\"address\":\"\"}")),
        };
        let channel = item.text("channel").map_err(|invalid| invalid.within(&at))?;
        let address = item.text("address").map_err(|invalid| invalid.within(&at))?;
        let channel = channel
            .ok_or_else(|| Invalid::new(format!("{at}.channel"), "is missing; name a channel such as webhook"))?;
        Ok(Address { channel, address: address.unwrap_or_default() })
    };
    items.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

/// Refuses addresses that no channel could reach.
pub(super) fn check_addresses(
    addresses: &[Address],
    name: &str,
    channels: &BTreeMap<String, Arc<dyn Channel>>,
) -> Result<(), Invalid> {
    for (index, address) in addresses.iter().enumerate() {
        let at = format!("{name}[{index}]");
        let Some(channel) = channels.get(&address.channel) else {
            return Err(Invalid::new(format!("{at}.channel"), unknown_channel(&address.channel, channels)));
        };
        channel.check_address(&address.address).map_err(|invalid| invalid.within(&at))?;
    }
    Ok(())
}

fn unknown_channel(name: &str, channels: &BTreeMap<String, Arc<dyn Channel>>) -> String {
    let known = || channels.keys().map(String::as_str);
    match nearest(name, known()) {
        Some(near) => format!("unknown channel `{name}`; did you mean `{near}`?"),
        None => format!("unknown channel `{name}`; known are {}", known().collect::<Vec<_>>().join(", ")),
    }
}

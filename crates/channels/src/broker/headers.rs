//! The headers of a message that belongs to an event of the application's: a consumer can choose by them without reading the body.

use punctual_core::channel::Message;
use serde_json::Value;

/// The most fields of the metadata that become headers; those after it stand in the body alone.
const FIELDS_MAX: usize = 32;
/// The longest name of a header, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// The longest value of a header, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// A header's name and value: a text, a number or a truth value.
pub(crate) type Header = (String, Value);

/// The headers of `message`; none if it belongs to no event.
///
/// They are the event's key, its start and the offset, and each field of the metadata that is a text, a number or a truth value, under its own
/// name. A field is left out whose name the broker gives a meaning (`CC`, `BCC`, `x-…` in RabbitMQ, `Nats-…` in NATS), and a value that
/// is long or has control characters: the body has it.
pub(crate) fn of(message: &Message) -> Vec<Header> {
    let Some(event) = &message.reminder.event else { return Vec::new() };
    let minutes = Value::Number(event.offset.number());
    let own = [
        ("event_key", event.key.as_str().into()),
        ("event_starts_at", event.starts_at.to_string().into()),
        ("event_offset_minutes", minutes.clone()),
        ("reminder_minutes", minutes),
    ];
    let mut headers: Vec<Header> = own.map(|(name, value)| (name.to_owned(), value)).into();
    headers.retain(|(_, value)| is_value(value));
    let Value::Object(fields) = message.reminder.metadata.to_value() else { return headers };
    let fields = fields.into_iter().filter(|(name, value)| is_name(name) && is_value(value));
    headers.extend(fields.take(FIELDS_MAX));
    headers
}

/// Names of headers that a field of the metadata cannot have, in lower case: our own, and those by which RabbitMQ sends copies elsewhere.
const TAKEN: &[&str] = &[
    "event_key",
    "event_starts_at",
    "event_offset_minutes",
    "reminder_minutes",
    "content-type",
    "reminder-id",
    "occurrence-id",
    "attempt",
    "cc",
    "bcc",
];

/// Whether a field of the metadata may be a header under this name.
fn is_name(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let lower = name.to_ascii_lowercase();
    let is_brokers = lower.starts_with("x-") || lower.starts_with("nats-");
    (1..=NAME_BYTES_MAX).contains(&name.len()) && is_plain && !is_brokers && !TAKEN.contains(&lower.as_str())
}

fn is_value(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= VALUE_BYTES_MAX && !text.chars().any(char::is_control),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::reminder::Metadata;
    use serde_json::json;

    use super::*;
    use crate::sample;

    #[test]
    fn a_message_of_an_event_names_it_and_one_of_none_has_no_headers() {
        assert_eq!(of(&sample::message("games")), []);
        let headers: serde_json::Map<_, _> = of(&sample::message_of_event("games")).into_iter().collect();
        let expect = json!({
            "event_key": "game:42", "event_starts_at": "2026-03-02T08:00:00Z", "event_offset_minutes": 60, "reminder_minutes": 60,
            "game_id": 42, "title": "Chess", "ranked": true, "fee": 1.5,
        });
        assert_eq!(Value::Object(headers), expect);
    }

    #[test]
    fn a_field_that_a_broker_would_act_on_or_that_is_no_plain_value_stays_in_the_body() {
        let metadata = json!({
            "CC": "other.queue", "bcc": "x", "x-delay": 5000, "Nats-Rollup": "all", "nats-msg-id": "forged", "event_key": "forged",
            "Reminder_Minutes": 1, "Attempt": 9, "": "x", "two words": "x", "ü": "x", "list": [1], "object": {}, "nothing": null,
            "line": "a\r\nNats-Rollup: all", "long": "x".repeat(257), "kept": "x".repeat(256),
        });
        let mut message = sample::message_of_event("games");
        let many: serde_json::Map<_, _> = (0..100).map(|n| (format!("n{n:03}"), n.into())).collect();
        let fields = |message: &Message| of(message).into_iter().skip(4).map(|(name, _)| name).collect::<Vec<_>>();
        sample::change(&mut message, |reminder| reminder.metadata = Metadata::new(metadata.as_object().unwrap()));
        assert_eq!(fields(&message), ["kept"]);
        sample::change(&mut message, |reminder| reminder.metadata = Metadata::new(&many));
        assert_eq!(fields(&message).len(), FIELDS_MAX);
    }
}

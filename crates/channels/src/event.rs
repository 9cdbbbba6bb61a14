//! The event that a program gets when a reminder is due, or when something happened that it asked to be told of: one JSON document, the
//! same for webhooks and brokers.

use std::fmt::{self, Display};

use jiff::Timestamp;
use punctual_core::channel::{Message, Notice};
use punctual_core::event::End;
use punctual_core::id::{OccurrenceId, ReminderId};
use serde::{Serialize, Serializer};
use serde_json::Number;
use serde_json::value::RawValue;

/// The type of the event that a reminder is due.
pub(crate) const DUE: &str = "reminder.due";

/// Writes the event for `message` as JSON.
///
/// `public_url` is where people and programs reach this server; without it the answer links are null.
pub(crate) fn to_json(message: &Message, public_url: Option<&str>) -> Vec<u8> {
    let reminder = &*message.reminder;
    let text = reminder.metadata.as_str();
    // Stored text that is no JSON must neither break the document nor stop the reminder.
    let metadata = serde_json::from_str(text).or_else(|_| serde_json::from_str("{}")).unwrap_or(RawValue::NULL);
    let event = Event {
        kind: DUE,
        // When it happened, after Standard Webhooks; when it was sent stands in the header.
        timestamp: message.due_at,
        data: Data {
            reminder_id: reminder.id,
            occurrence_id: message.occurrence,
            run_number: message.occurrence.run,
            attempt: message.attempt,
            attempt_key: &message.attempt_key,
            user: &reminder.user,
            message: &message.text,
            due_at: message.due_at,
            late_seconds: (message.late_seconds() * 1e6).round() / 1e6,
            priority: reminder.priority.as_str(),
            ack: reminder.ack.as_ref().map(|ack| {
                let link = |verb| public_url.map(|base| Link { base, id: reminder.id, verb });
                Ack {
                    prompt: ack.prompt.as_deref().unwrap_or(&reminder.message),
                    ack_url: link("ack"),
                    snooze_url: link("snooze").filter(|_| reminder.snooze_allowed),
                    dismiss_url: link("dismiss"),
                }
            }),
            event: reminder.event.as_ref().map(|event| Of {
                key: &event.key,
                starts_at: event.starts_at,
                ends_at: event.ends_at,
                offset_minutes: event.offset.number(),
                of: (event.offset.of == End::End).then_some("end"),
                instance: event.instance.as_deref(),
                metadata,
            }),
            metadata,
        },
    };
    let mut json = Vec::with_capacity(640 + message.text.len() + 2 * text.len());
    serde_json::to_writer(&mut json, &event).expect("texts and numbers always become JSON in memory");
    json
}

/// Writes the event for `notice` as JSON. Its `data` is the entry as the journal shows it everywhere.
pub(crate) fn notice_to_json(notice: &Notice) -> Vec<u8> {
    let entry = &*notice.entry;
    let kind = entry.kind.as_str();
    let text = entry.data.as_deref();
    let event = Event {
        kind,
        timestamp: entry.at,
        data: Entry {
            id: entry.position,
            at: entry.at,
            kind,
            user: entry.user.as_deref(),
            reminder_id: entry.reminder.map(|id| id.to_string()),
            occurrence_id: entry.occurrence().map(|id| id.to_string()),
            actor: &entry.actor,
            via: entry.via.as_deref(),
            node: entry.node.as_deref(),
            // Stored text that is no JSON must not break the document.
            data: text.and_then(|text| serde_json::from_str(text).ok()),
        },
    };
    let mut json = Vec::with_capacity(512 + text.map_or(0, str::len));
    serde_json::to_writer(&mut json, &event).expect("texts and numbers always become JSON in memory");
    json
}

#[derive(Serialize)]
struct Event<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    data: T,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: i64,
    at: Timestamp,
    kind: &'a str,
    user: Option<&'a str>,
    reminder_id: Option<String>,
    occurrence_id: Option<String>,
    actor: &'a str,
    via: Option<&'a str>,
    node: Option<&'a str>,
    data: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Data<'a> {
    #[serde(serialize_with = "as_text")]
    reminder_id: ReminderId,
    #[serde(serialize_with = "as_text")]
    occurrence_id: OccurrenceId,
    run_number: u32,
    attempt: u32,
    /// This attempt's alone; the key that a receiver goes by is the same for all attempts.
    attempt_key: &'a str,
    user: &'a str,
    message: &'a str,
    due_at: Timestamp,
    late_seconds: f64,
    priority: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ack: Option<Ack<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Of<'a>>,
    metadata: &'a RawValue,
}

/// The application's event that a reminder belongs to.
#[derive(Serialize)]
struct Of<'a> {
    key: &'a str,
    /// When this instance of it starts.
    starts_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Timestamp>,
    /// How many minutes before it this is; negative: after it.
    offset_minutes: Number,
    /// `end`: the offset is counted from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'static str>,
    /// Which of a series, by its original local start.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    metadata: &'a RawValue,
}

#[derive(Serialize)]
struct Ack<'a> {
    prompt: &'a str,
    ack_url: Option<Link<'a>>,
    snooze_url: Option<Link<'a>>,
    dismiss_url: Option<Link<'a>>,
}

/// Where an answer is sent to.
struct Link<'a> {
    base: &'a str,
    id: ReminderId,
    verb: &'static str,
}

impl Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.base.trim_end_matches('/');
        write!(f, "{base}/v1/reminders/{}/{}", self.id, self.verb)
    }
}

impl Serialize for Link<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_core::event::Offset;
    use punctual_core::reminder::Metadata;
    use serde_json::{Value, json};

    use super::*;
    use crate::sample;

    fn event(message: &Message, public_url: Option<&str>) -> Value {
        serde_json::from_slice(&to_json(message, public_url)).unwrap()
    }

    #[test]
    fn a_receiver_gets_exactly_the_documented_fields() {
        let message = sample::message("https://example.org/hook");
        let id = message.reminder.id;
        assert_eq!(
            event(&message, None),
            json!({
                "type": "reminder.due",
                "timestamp": "2026-03-02T07:00:00Z",
                "data": {
                    "reminder_id": id.to_string(),
                    "occurrence_id": format!("{id}-3"),
                    "run_number": 3,
                    "attempt": 2,
                    "attempt_key": message.attempt_key,
                    "user": "alice",
                    "message": "Take your \"medicine\"",
                    "due_at": "2026-03-02T07:00:00Z",
                    "late_seconds": 1.5,
                    "priority": "high",
                    "metadata": {"room": 7},
                },
            })
        );
    }

    #[test]
    fn a_reminder_of_an_event_names_it() {
        let mut message = sample::message_of_event("https://example.org/hook");
        let metadata = json!({"game_id": 42, "title": "Chess", "ranked": true, "fee": 1.5});
        let expect =
            json!({"key": "game:42", "starts_at": "2026-03-02T08:00:00Z", "offset_minutes": 60, "metadata": metadata});
        assert_eq!(event(&message, None)["data"]["event"], expect);
        sample::change(&mut message, |reminder| {
            let event = reminder.event.as_mut().unwrap();
            event.ends_at = Some("2026-03-02T09:30:00Z".parse().unwrap());
            event.offset = Offset { before_seconds: -450, of: End::End };
            event.instance = Some("20260302T090000".into());
        });
        let expect = json!({
            "key": "game:42", "starts_at": "2026-03-02T08:00:00Z", "ends_at": "2026-03-02T09:30:00Z", "offset_minutes": -7.5, "of": "end",
            "instance": "20260302T090000", "metadata": metadata,
        });
        assert_eq!(event(&message, None)["data"]["event"], expect);
    }

    #[test]
    fn an_answer_is_asked_for_with_links_where_the_server_has_an_address() {
        let mut message = sample::message("https://example.org/hook");
        sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Taken?")));
        let id = message.reminder.id;
        assert_eq!(
            event(&message, Some("https://p.example/"))["data"]["ack"],
            json!({
                "prompt": "Taken?",
                "ack_url": format!("https://p.example/v1/reminders/{id}/ack"),
                "snooze_url": format!("https://p.example/v1/reminders/{id}/snooze"),
                "dismiss_url": format!("https://p.example/v1/reminders/{id}/dismiss"),
            })
        );
        assert_eq!(
            event(&message, None)["data"]["ack"],
            json!({"prompt": "Taken?", "ack_url": null, "snooze_url": null, "dismiss_url": null})
        );
        sample::change(&mut message, |reminder| reminder.snooze_allowed = false);
        assert_eq!(event(&message, Some("https://p.example"))["data"]["ack"]["snooze_url"], Value::Null);
    }

    #[test]
    fn without_a_prompt_the_message_is_the_question() {
        let mut message = sample::message("https://example.org/hook");
        sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
        message.text = format!("[Late 2h] {}", message.text);
        assert_eq!(event(&message, None)["data"]["ack"]["prompt"], "Take your \"medicine\"");
        assert_eq!(event(&message, None)["data"]["message"], "[Late 2h] Take your \"medicine\"");
    }

    #[test]
    fn a_program_that_is_told_gets_the_entry_of_the_journal() {
        let mut notice = sample::notice("https://example.org/hook");
        let id = notice.entry.reminder.unwrap();
        let told = |notice: &Notice| serde_json::from_slice::<Value>(&notice_to_json(notice)).unwrap();
        let mut expect = json!({
            "type": "reminder.sent",
            "timestamp": "2026-03-02T07:00:01Z",
            "data": {
                "id": 812,
                "at": "2026-03-02T07:00:01Z",
                "kind": "reminder.sent",
                "user": "alice",
                "reminder_id": id.to_string(),
                "occurrence_id": format!("{id}-3"),
                "actor": "engine",
                "via": null,
                "node": "local",
                "data": {"channel": "telegram", "attempt": 2},
            },
        });
        assert_eq!(told(&notice), expect);
        Arc::make_mut(&mut notice.entry).data = Some("{\"a\": 1},\"forged\": true".into());
        expect["data"]["data"] = Value::Null;
        assert_eq!(told(&notice), expect, "stored data that is broken does not break the event");
    }

    #[test]
    fn stored_metadata_that_is_broken_does_not_break_the_event() {
        let mut message = sample::message("https://example.org/hook");
        let broken = Metadata::from_stored("{\"a\": 1},\"forged\": true".into());
        Arc::make_mut(&mut message.reminder).metadata = broken;
        assert_eq!(event(&message, None)["data"]["metadata"], json!({}));
        assert_eq!(event(&message, None)["forged"], Value::Null);
    }
}

//! Reads the messages in Meta's notifications.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::receive::{EventId, Handle, Inbound, NAME_CHARS_MAX, Sender, What};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::report;
use crate::common::buttons::pressed;
use crate::common::phone;

/// How long a copy of a message could come: Meta repeats a notification that was not taken for up to seven days.
const REMEMBER_FOR: Duration = Duration::from_secs(8 * 24 * 3600);

/// A part of a notification: about one number of a business.
#[derive(Debug, Default, Deserialize)]
struct Part {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    contacts: Vec<Contact>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    statuses: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    phone_number_id: String,
}

#[derive(Debug, Deserialize)]
struct Contact {
    #[serde(default)]
    wa_id: String,
    #[serde(default)]
    profile: Profile,
}

#[derive(Debug, Default, Deserialize)]
struct Profile {
    #[serde(default)]
    name: String,
}

/// A message that a person wrote, or a button that they pressed.
#[derive(Debug, Deserialize)]
struct Message {
    from: String,
    id: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    context: Option<Context>,
    #[serde(default)]
    text: Option<Text>,
    #[serde(default)]
    button: Option<TemplateButton>,
    #[serde(default)]
    interactive: Option<Interactive>,
}

/// The message that another is a reply to.
#[derive(Debug, Deserialize)]
struct Context {
    #[serde(default)]
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Text {
    #[serde(default)]
    body: String,
}

/// A button of a template.
#[derive(Debug, Deserialize)]
struct TemplateButton {
    #[serde(default)]
    payload: String,
}

/// A button, or a row of a list, of a message within 24 hours.
#[derive(Debug, Deserialize)]
struct Interactive {
    #[serde(default)]
    button_reply: Option<Chosen>,
    #[serde(default)]
    list_reply: Option<Chosen>,
}

#[derive(Debug, Deserialize)]
struct Chosen {
    #[serde(default)]
    id: String,
}

/// How the person is told something: as a reply to their message.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Back {
    pub(super) to: String,
    pub(super) message: String,
}

impl Back {
    pub(super) fn of(handle: &Handle) -> Option<Self> {
        serde_json::from_str(&handle.0).ok()
    }
}

/// Everything in a notification that is about our number. What is something else, such as a picture, is left out; so is what cannot
/// be read, because Meta would repeat it with the rest for a week.
pub(super) fn read(notification: &Value, phone_number_id: &str) -> Vec<Inbound> {
    let entries = notification["entry"].as_array().into_iter().flatten();
    let changes = entries.flat_map(|entry| entry["changes"].as_array().into_iter().flatten());
    let parts = changes.filter_map(|change| Part::deserialize(&change["value"]).ok());
    let ours = parts.filter(|part| part.metadata.phone_number_id == phone_number_id);
    ours.flat_map(|part| {
        let messages = part.messages.iter().filter_map(|message| answer(message, &part.contacts));
        let reports = part.statuses.iter().filter_map(report::read);
        messages.chain(reports).collect::<Vec<_>>()
    })
    .collect()
}

fn answer(message: &Value, contacts: &[Contact]) -> Option<Inbound> {
    let message = Message::deserialize(message).ok()?;
    let address = format!("+{}", message.from);
    phone::check("from", &address).ok()?;
    let data = message.interactive.and_then(|chosen| chosen.button_reply.or(chosen.list_reply)).map(|chosen| chosen.id);
    let data = data.or(message.button.map(|button| button.payload));
    let replied_to = message.context.and_then(|context| context.id);
    let what = match (data, message.text) {
        (Some(data), _) => What::Press { pressed: pressed(&data)?, message_id: replied_to },
        (None, Some(text)) if !text.body.trim().is_empty() => {
            What::Words { text: text.body, reply_to: replied_to, about: None }
        }
        _ => return None,
    };
    let contact = contacts.iter().find(|contact| contact.wa_id == message.from);
    let from = Sender {
        person: vec![address.clone()],
        chat: vec![address.clone()],
        is_group: false,
        name: contact.map(|contact| contact.profile.name.chars().take(NAME_CHARS_MAX).collect()).unwrap_or_default(),
    };
    let mut inbound = Inbound::new(what, Some(from));
    inbound.at = message.timestamp.parse().ok().and_then(|second| Timestamp::from_second(second).ok());
    inbound.id = Some(EventId { id: format!("message {}", message.id), remember_for: REMEMBER_FOR });
    let back = Back { to: address, message: message.id };
    inbound.handle = Handle(serde_json::to_string(&back).expect("texts alone"));
    Some(inbound)
}

//! Reads Telegram's updates, and makes the calls that tell a person about their answer.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::receive::{EventId, Handle, Inbound, NAME_CHARS_MAX, Reaction, Sender, What};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::address;
use super::markup;
use crate::common::buttons::{data, pressed};
use crate::common::fit::{Unit, fit};
use crate::common::reactions::said;
use punctual_core::phrase::Lang;

/// How long a copy of an update could come: Telegram keeps what was not confirmed for a day.
const REMEMBER_FOR: Duration = Duration::from_secs(25 * 3600);
/// The kinds of updates that we ask for.
pub(super) const KINDS: [&str; 2] = ["message", "callback_query"];
/// The longest text of a notice.
const NOTICE_CHARS_MAX: usize = 200;
/// The longest label of a button that is shown whole everywhere.
const LABEL_CHARS_MAX: usize = 60;

/// Something that happened.
#[derive(Debug, Deserialize)]
struct Update {
    #[serde(default)]
    message: Option<Written>,
    #[serde(default)]
    callback_query: Option<Query>,
}

/// A press on a button.
#[derive(Debug, Deserialize)]
struct Query {
    id: String,
    from: User,
    #[serde(default)]
    message: Option<Under>,
    #[serde(default)]
    data: Option<String>,
}

/// The message that a button is under. Of an old one little more than its ids is given.
#[derive(Debug, Deserialize)]
struct Under {
    message_id: i64,
    chat: Chat,
    #[serde(default)]
    message_thread_id: Option<i64>,
}

/// A message that a person wrote.
#[derive(Debug, Deserialize)]
struct Written {
    message_id: i64,
    #[serde(default)]
    date: i64,
    chat: Chat,
    #[serde(default)]
    message_thread_id: Option<i64>,
    #[serde(default)]
    from: Option<User>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    reply_to_message: Option<Quoted>,
}

/// The message that another is a reply to.
#[derive(Debug, Deserialize)]
struct Quoted {
    message_id: i64,
    #[serde(default)]
    from: Option<User>,
    #[serde(default)]
    reply_markup: Value,
}

#[derive(Debug, Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: String,
}

#[derive(Debug, Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    username: Option<String>,
}

impl Chat {
    /// Whether others are in it as well.
    fn is_group(&self) -> bool {
        self.kind != "private"
    }
}

/// How the person is told something.
#[derive(Debug, Serialize, Deserialize)]
enum Back {
    /// In the notice that follows their press.
    Query(String),
    /// In the chat, as a reply to their message.
    Chat { chat: i64, thread: Option<i64>, message: i64 },
}

/// The number of an update; every update has one.
pub(super) fn number(update: &Value) -> Option<i64> {
    update["update_id"].as_i64()
}

/// The press or the words in an update; none in others, such as a picture or another program's button.
pub(super) fn read(update: &Value) -> Result<Option<Inbound>, String> {
    let update =
        Update::deserialize(update).map_err(|error| format!("Telegram sent an update that is none: {error}"))?;
    Ok(match (update.callback_query, update.message) {
        (Some(query), _) => press(query),
        (None, Some(message)) => words(message),
        (None, None) => None,
    })
}

fn press(query: Query) -> Option<Inbound> {
    let pressed = pressed(query.data.as_deref()?)?;
    let under = query.message.as_ref();
    let message_id = under.map(|under| format!("{}/{}", under.chat.id, under.message_id));
    let place = under.map(|under| (&under.chat, under.message_thread_id));
    let mut inbound = Inbound::new(What::Press { pressed, message_id }, Some(sender(&query.from, place)));
    inbound.id = Some(EventId { id: format!("query {}", query.id), remember_for: REMEMBER_FOR });
    inbound.handle = back(&Back::Query(query.id));
    Some(inbound)
}

fn words(message: Written) -> Option<Inbound> {
    let from = message.from.filter(|from| !from.is_bot)?;
    let text = message.text.filter(|text| !text.trim().is_empty())?;
    let is_bots = |quoted: &Quoted| quoted.from.as_ref().is_none_or(|from| from.is_bot);
    // In a group, a reply to another person is no word to us.
    if message.chat.is_group() && message.reply_to_message.as_ref().is_some_and(|quoted| !is_bots(quoted)) {
        return None;
    }
    let quoted = message.reply_to_message.filter(is_bots);
    let about = quoted.as_ref().and_then(|quoted| about(&quoted.reply_markup));
    let chat = message.chat.id;
    let reply_to = quoted.map(|quoted| format!("{chat}/{}", quoted.message_id));
    let from = sender(&from, Some((&message.chat, message.message_thread_id)));
    let mut inbound = Inbound::new(What::Words { text, reply_to, about }, Some(from));
    inbound.id = Some(EventId { id: format!("message {chat}/{}", message.message_id), remember_for: REMEMBER_FOR });
    inbound.at = Timestamp::from_second(message.date).ok().filter(|_| message.date > 0);
    inbound.handle = back(&Back::Chat { chat, thread: message.message_thread_id, message: message.message_id });
    Some(inbound)
}

/// The run that the buttons under a message name.
fn about(reply_markup: &Value) -> Option<punctual_core::id::OccurrenceId> {
    let rows = reply_markup["inline_keyboard"].as_array()?.iter();
    let mut buttons = rows.flat_map(|row| row.as_array().into_iter().flatten());
    buttons.find_map(|button| pressed(button["callback_data"].as_str()?)).map(|pressed| pressed.occurrence)
}

fn sender(from: &User, place: Option<(&Chat, Option<i64>)>) -> Sender {
    let mut chat = Vec::new();
    if let Some((place, thread)) = place {
        chat.push(place.id.to_string());
        chat.extend(thread.map(|thread| format!("{}/{thread}", place.id)));
        chat.extend(place.username.as_ref().filter(|_| place.is_group()).map(|name| format!("@{name}")));
    }
    Sender {
        person: vec![from.id.to_string()],
        chat,
        is_group: place.is_some_and(|(chat, _)| chat.is_group()),
        name: from.first_name.chars().take(NAME_CHARS_MAX).collect(),
    }
}

fn back(back: &Back) -> Handle {
    Handle(serde_json::to_string(back).expect("texts and numbers"))
}

/// The method and the body that tell the person; none where there is nothing to tell.
///
/// A press is always answered, because the person's client waits for that.
pub(super) fn telling(inbound: &Inbound, reaction: &Reaction, now: Timestamp) -> Option<(&'static str, Value)> {
    let said = said(reaction, now);
    match serde_json::from_str(&inbound.handle.0).ok()? {
        Back::Query(id) => {
            let mut body = json!({ "callback_query_id": id });
            if let Some(said) = said {
                body["text"] = fit(&said.text, NOTICE_CHARS_MAX, Unit::Chars, Lang::En, str::to_owned).into();
                body["show_alert"] = said.is_no.into();
            }
            Some(("answerCallbackQuery", body))
        }
        Back::Chat { chat, thread, message } => {
            let said = said?;
            let text = fit(&said.text, super::TEXT_UNITS_MAX, Unit::Utf16, Lang::En, markup::escape);
            let mut body = json!({
                "chat_id": chat,
                "text": text,
                "parse_mode": "HTML",
                "link_preview_options": {"is_disabled": true},
                "reply_parameters": {"message_id": message, "allow_sending_without_reply": true},
            });
            if let Some(thread) = thread {
                body["message_thread_id"] = thread.into();
            }
            let rows: Vec<Value> = said
                .choices
                .iter()
                .map(|choice| {
                    let label = fit(&choice.label, LABEL_CHARS_MAX, Unit::Chars, Lang::En, str::to_owned);
                    let pressed = choice.pressed;
                    json!([{"text": label, "callback_data": data(pressed)}])
                })
                .collect();
            if !rows.is_empty() {
                body["reply_markup"] = json!({"inline_keyboard": rows});
            }
            Some(("sendMessage", body))
        }
    }
}

/// A message's chat and number, from its receipt.
pub(super) fn message(message_id: &str) -> Option<(address::Chat, i64)> {
    let (chat, id) = message_id.rsplit_once('/')?;
    let place: address::Place = chat.parse().ok()?;
    Some((place.chat, id.parse().ok()?))
}

//! Reads Slack's interactions and events.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::receive::{EventId, Handle, Inbound, NAME_CHARS_MAX, Sender, What};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::common::buttons::pressed;

/// How long a copy of a press could be taken for genuine: its signature is good for five minutes.
const PRESS_REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);
/// How long a copy of an event could come: Slack repeats one that was not acknowledged, at first after minutes, then by the hour.
const EVENT_REMEMBERED_FOR: Duration = Duration::from_secs(25 * 3600);

/// A press on a button, or something else that a person did with a message.
#[derive(Debug, Deserialize)]
struct Interaction {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    trigger_id: String,
    #[serde(default)]
    response_url: Option<String>,
    #[serde(default)]
    user: User,
    #[serde(default)]
    channel: Channel,
    #[serde(default)]
    container: Container,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Debug, Default, Deserialize)]
struct User {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
struct Channel {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
}

/// The message that a button is under.
#[derive(Debug, Default, Deserialize)]
struct Container {
    #[serde(default)]
    channel_id: String,
    #[serde(default)]
    message_ts: String,
}

#[derive(Debug, Deserialize)]
struct Action {
    #[serde(default)]
    value: Option<String>,
}

/// Something that happened in a workspace.
#[derive(Debug, Deserialize)]
struct Wrapped {
    #[serde(default)]
    event_id: String,
    event: Event,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    bot_id: Option<String>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    ts: String,
    #[serde(default)]
    thread_ts: Option<String>,
    #[serde(default)]
    channel: String,
    #[serde(default)]
    channel_type: Option<String>,
}

/// How the person is told something.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Back {
    /// By the URL of their press: only they see it.
    Response(String),
    /// In the channel, and in a thread of it.
    Channel { channel: String, thread: Option<String> },
}

impl Back {
    pub(super) fn of(handle: &Handle) -> Option<Self> {
        serde_json::from_str(&handle.0).ok()
    }

    fn handle(&self) -> Handle {
        Handle(serde_json::to_string(self).expect("texts alone"))
    }
}

/// The press that a payload is; none where it is no button of ours.
pub(super) fn press(payload: &Value, api_url: &str) -> Result<Option<Inbound>, String> {
    let wrong = |error| format!("Slack sent an interaction that is none: {error}");
    let interaction = Interaction::deserialize(payload).map_err(wrong)?;
    let value = |action: &Action| pressed(action.value.as_deref()?);
    let Some(pressed) = interaction.actions.iter().find_map(value).filter(|_| interaction.kind == "block_actions")
    else {
        return Ok(None);
    };
    let Container { channel_id, message_ts } = interaction.container;
    let channel = if channel_id.is_empty() { interaction.channel.id } else { channel_id };
    let message_id = (!message_ts.is_empty()).then(|| format!("{channel}/{message_ts}"));
    let user = interaction.user;
    let name = if user.name.is_empty() { user.username } else { user.name };
    let from = sender(&user.id, &channel, &interaction.channel.name, &name);
    let mut inbound = Inbound::new(What::Press { pressed, message_id }, Some(from));
    if !interaction.trigger_id.is_empty() {
        let id = format!("press {}", interaction.trigger_id);
        inbound.id = Some(EventId { id, remember_for: PRESS_REMEMBERED_FOR });
    }
    if let Some(url) = interaction.response_url.filter(|url| is_slacks(url, api_url)) {
        inbound.handle = Back::Response(url).handle();
    }
    Ok(Some(inbound))
}

/// The words that an event is: those of a direct message, and those that call the bot.
pub(super) fn words(payload: &Value) -> Result<Option<Inbound>, String> {
    let wrong = |error| format!("Slack sent an event that is none: {error}");
    let Wrapped { event_id, event } = Wrapped::deserialize(payload).map_err(wrong)?;
    let is_to_us = match event.kind.as_str() {
        "app_mention" => true,
        "message" => event.channel_type.as_deref() == Some("im"),
        _ => false,
    };
    let is_written = is_to_us && event.subtype.is_none() && event.bot_id.is_none();
    let Some((user, text)) = event.user.zip(event.text).filter(|_| is_written) else { return Ok(None) };
    let text = plain(&text);
    if text.is_empty() {
        return Ok(None);
    }
    let thread = event.thread_ts.filter(|thread| *thread != event.ts);
    let reply_to = thread.as_ref().map(|ts| format!("{}/{ts}", event.channel));
    let from = sender(&user, &event.channel, "", "");
    let mut inbound = Inbound::new(What::Words { text, reply_to, about: None }, Some(from));
    let id = if event_id.is_empty() { format!("{}/{}", event.channel, event.ts) } else { event_id };
    inbound.id = Some(EventId { id: format!("event {id}"), remember_for: EVENT_REMEMBERED_FOR });
    // Such as `1771234567.000200`.
    let second = event.ts.split('.').next().and_then(|second| second.parse().ok());
    inbound.at = second.and_then(|second| Timestamp::from_second(second).ok());
    // An answer in a channel belongs below what it answers, so that it disturbs nobody else.
    let thread = thread.or_else(|| (!is_direct(&event.channel)).then_some(event.ts));
    inbound.handle = Back::Channel { channel: event.channel, thread }.handle();
    Ok(Some(inbound))
}

fn sender(user: &str, channel: &str, channel_name: &str, name: &str) -> Sender {
    let mut chat = vec![channel.to_owned()];
    if !channel_name.is_empty() && !is_direct(channel) {
        chat.push(format!("#{channel_name}"));
    }
    // A person's own messages are nobody else's.
    let own = |chat: &String| if is_direct(channel) { chat.clone() } else { format!("{chat}@{user}") };
    Sender {
        person: [user.to_owned()].into_iter().chain(chat.iter().map(own)).collect(),
        is_group: !is_direct(channel),
        chat,
        name: name.chars().take(NAME_CHARS_MAX).collect(),
    }
}

/// Whether a channel is that of one person's own messages.
fn is_direct(channel: &str) -> bool {
    channel.starts_with('D')
}

/// A text as the person wrote it, without the mention of the bot that it begins with.
fn plain(text: &str) -> String {
    let text = text.trim();
    let rest = text.strip_prefix("<@").and_then(|rest| rest.split_once('>')).map_or(text, |(_, rest)| rest);
    rest.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Whether a URL leads to Slack, or to the server that is set in its place.
fn is_slacks(url: &str, api_url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let is_set = Url::parse(api_url).is_ok_and(|api| api.origin() == url.origin());
    let host = url.host_str().unwrap_or_default();
    is_set || url.scheme() == "https" && matches!(host, "hooks.slack.com" | "hooks.slack-gov.com")
}

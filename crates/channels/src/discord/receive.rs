//! Reads Discord's interactions and messages.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::receive::{EventId, Handle, Inbound, NAME_CHARS_MAX, Sender, What};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::common::buttons::pressed;

/// How long a copy of an event could come: a session is kept for minutes, and a signature is good for five.
const REMEMBER_FOR: Duration = Duration::from_secs(15 * 60);
/// A press on a button or another component of a message.
const COMPONENT: u64 = 3;

/// Something that a person did with a message of ours.
#[derive(Debug, Deserialize)]
struct Interaction {
    id: String,
    #[serde(rename = "type")]
    kind: u64,
    token: String,
    #[serde(default)]
    application_id: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    channel_id: String,
    #[serde(default)]
    guild_id: Option<String>,
    #[serde(default)]
    member: Option<Member>,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    message: Option<Under>,
}

#[derive(Debug, Default, Deserialize)]
struct Member {
    #[serde(default)]
    nick: Option<String>,
    #[serde(default)]
    user: Option<User>,
}

#[derive(Debug, Deserialize)]
struct User {
    id: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    global_name: Option<String>,
    #[serde(default)]
    bot: bool,
}

/// The message that a button is under.
#[derive(Debug, Deserialize)]
struct Under {
    id: String,
}

/// A message that a person wrote.
#[derive(Debug, Deserialize)]
struct Written {
    id: String,
    channel_id: String,
    author: User,
    #[serde(default)]
    member: Option<Member>,
    #[serde(default)]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    guild_id: Option<String>,
    #[serde(default)]
    mentions: Vec<User>,
    #[serde(default)]
    referenced_message: Option<Quoted>,
}

/// The message that another is a reply to.
#[derive(Debug, Deserialize)]
struct Quoted {
    id: String,
    #[serde(default)]
    components: Value,
}

/// How the person is told something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Back {
    /// By the token of their press, within three seconds; afterwards, for a quarter of an hour, by the application's.
    Interaction { id: String, token: String, application: String },
    /// In the channel, as a reply to their message.
    Channel { channel: String, message: String },
}

impl Back {
    pub(super) fn of(handle: &Handle) -> Option<Self> {
        serde_json::from_str(&handle.0).ok()
    }

    fn handle(&self) -> Handle {
        Handle(serde_json::to_string(self).expect("texts alone"))
    }
}

/// The press that an interaction is; none where it is no button of ours.
pub(super) fn press(interaction: &Value) -> Result<Option<Inbound>, String> {
    let wrong = |error| format!("Discord sent an interaction that is none: {error}");
    let interaction = Interaction::deserialize(interaction).map_err(wrong)?;
    let is_component = interaction.kind == COMPONENT;
    let Some(pressed) = interaction.data["custom_id"].as_str().filter(|_| is_component).and_then(pressed) else {
        return Ok(None);
    };
    let channel = interaction.channel_id;
    let message_id = interaction.message.map(|under| format!("{channel}/{}", under.id));
    let member = interaction.member.unwrap_or_default();
    let Some(user) = member.user.or(interaction.user) else {
        return Err("Discord sent a press of nobody".into());
    };
    // Ids stand in URLs.
    if !is_id(&interaction.id) || !interaction.token.bytes().all(is_url_safe) {
        return Err("Discord sent a press whose id or token is none".into());
    }
    let from = sender(&user, member.nick, &channel, interaction.guild_id.is_some());
    let mut inbound = Inbound::new(What::Press { pressed, message_id }, Some(from));
    inbound.id = Some(EventId { id: format!("interaction {}", interaction.id), remember_for: REMEMBER_FOR });
    let application = if is_id(&interaction.application_id) { interaction.application_id } else { String::new() };
    inbound.handle = Back::Interaction { id: interaction.id, token: interaction.token, application }.handle();
    Ok(Some(inbound))
}

/// The words that a message is: those of a direct message, and in a server those that call the bot.
pub(super) fn words(message: &Value, bot: &str) -> Result<Option<Inbound>, String> {
    let wrong = |error| format!("Discord sent a message that is none: {error}");
    let message = Written::deserialize(message).map_err(wrong)?;
    let is_server = message.guild_id.is_some();
    let is_called = message.mentions.iter().any(|user| user.id == bot);
    let text = plain(&message.content, bot);
    if message.author.bot || is_server && !is_called || text.is_empty() || !is_id(&message.channel_id) {
        return Ok(None);
    }
    let channel = message.channel_id;
    let reply_to = message.referenced_message.as_ref().map(|quoted| format!("{channel}/{}", quoted.id));
    let about = message.referenced_message.as_ref().and_then(|quoted| about(&quoted.components));
    let nick = message.member.unwrap_or_default().nick;
    let from = sender(&message.author, nick, &channel, is_server);
    let mut inbound = Inbound::new(What::Words { text, reply_to, about }, Some(from));
    inbound.id = Some(EventId { id: format!("message {}", message.id), remember_for: REMEMBER_FOR });
    inbound.at = message.timestamp;
    inbound.handle = Back::Channel { channel, message: message.id }.handle();
    Ok(Some(inbound))
}

/// The run that the buttons under a message name.
fn about(components: &Value) -> Option<punctual_core::id::OccurrenceId> {
    let rows = components.as_array()?.iter();
    let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    buttons.find_map(|button| pressed(button["custom_id"].as_str()?)).map(|pressed| pressed.occurrence)
}

fn sender(user: &User, nick: Option<String>, channel: &str, is_group: bool) -> Sender {
    let name = nick.or_else(|| user.global_name.clone()).unwrap_or_else(|| user.username.clone());
    // A person's own messages are nobody else's.
    let own = if is_group { format!("{channel}@{}", user.id) } else { channel.to_owned() };
    Sender {
        person: vec![format!("dm:{}", user.id), own],
        chat: vec![channel.to_owned()],
        is_group,
        name: name.chars().take(NAME_CHARS_MAX).collect(),
    }
}

/// A text without the mention of the bot that it begins with.
fn plain(text: &str, bot: &str) -> String {
    let text = text.trim();
    let mentions = [format!("<@{bot}>"), format!("<@!{bot}>")];
    let rest = mentions.iter().find_map(|mention| text.strip_prefix(mention.as_str()));
    rest.unwrap_or(text).trim().to_owned()
}

pub(super) fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

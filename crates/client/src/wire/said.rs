//! Words that a person wrote to an application's own bot.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::reminder::Reminder;

/// What a person wrote. `user` says who they are, or `channel` and `address` where they wrote.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct InboundInput {
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The channel on which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The address of the person or of their chat on that channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The message that they are a reply to, as its platform names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// What was made of it. With `handled` false it was no answer, or nobody knows the person, and nothing was kept of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Heard {
    /// Whether it was about a reminder.
    pub handled: bool,
    /// The answer that was understood: `ack`, `snooze` or `dismiss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// For how many minutes the reminder is put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// Until when it is put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The reminder that was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminder_id: Option<String>,
    /// The run that was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence_id: Option<String>,
    /// Why nothing was changed, in one word: `ambiguous`, `already_answered`, `cancelled`, `snooze_not_allowed`, `bad_time`, `being_sent` or `over`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What to say back, in the person's language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// Buttons to show under it, where several reminders may be meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The reminder that was made of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminder: Option<Box<Reminder<'static>>>,
}

/// A button.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Choice {
    /// What it says.
    pub label: String,
    /// What the button sends back: at most 64 bytes. punctual understands it wherever it receives presses.
    pub data: String,
    /// The run that it answers; none of a button that cancels a reminder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence_id: Option<String>,
    /// The reminder that it is about.
    pub reminder_id: String,
    /// Until when it puts the run off, if the person said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

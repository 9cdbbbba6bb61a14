//! Runs of reminders and their trail.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::journal::Entry;
use super::step::Escalation;
use super::word::{AttemptStatus, OccurrenceState, WaitingFor};

/// One run of a reminder, with its attempts, answers and entries of the journal.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Occurrence {
    pub(crate) id: String,
    pub(crate) reminder_id: String,
    pub(crate) run_number: u32,
    pub(crate) due_at: Timestamp,
    pub(crate) state: OccurrenceState,
    /// When a final state was reached, or when the person was reached.
    pub(crate) at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask_again_at: Option<Timestamp>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<WaitingFor>,
    /// Until when it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// How far asking further people has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escalation: Option<Escalation>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) responses: Vec<Response>,
    pub(crate) audit: Vec<Entry>,
}

/// One try at one address.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) channel: String,
    pub(crate) address: String,
    pub(crate) status: AttemptStatus,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) error: Option<String>,
    pub(crate) message_id: Option<String>,
    /// The same for every attempt to say the same thing at the same address. One message for several has one key.
    pub(crate) idempotency_key: String,
    /// This attempt's alone. One that went out in another's message has none: it has the other's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt_key: Option<String>,
    /// Whether it went out in one message with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) digest: bool,
}

/// What a person answered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Response {
    /// `ack`, `snooze` or `dismiss`.
    pub(crate) response: String,
    pub(crate) at: Timestamp,
    pub(crate) by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snooze_minutes: Option<u32>,
    /// Who answered, if it was a user.
    pub(crate) user_id: Option<String>,
    /// What they call themselves at the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// In their own words.
    pub(crate) response_text: Option<String>,
    /// Where they answered.
    pub(crate) channel: Option<String>,
}

/// A page of a reminder's runs, newest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Occurrences {
    pub(crate) occurrences: Vec<Occurrence>,
    /// Entries about the reminder itself, such as its creation.
    pub(crate) audit: Vec<Entry>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

//! Runs of reminders and their trail.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::journal::Entry;
use super::reminder::Reminder;
use super::step::Escalation;
use super::word::{AttemptStatus, OccurrenceState, WaitingFor};

/// One run of a reminder, with its attempts, answers and entries of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Occurrence {
    /// Its id.
    pub id: String,
    /// The reminder that it is a run of.
    pub reminder_id: String,
    /// Which run of the reminder, from 1.
    pub run_number: u32,
    /// When it is due.
    pub due_at: Timestamp,
    /// Where it stands.
    pub state: OccurrenceState,
    /// How many milliseconds after it was due it was first said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<f64>,
    /// When a final state was reached, or when the person was reached.
    pub at: Option<Timestamp>,
    /// When it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// When the person is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_again_at: Option<Timestamp>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<WaitingFor>,
    /// Until when it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How far asking further people has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// Each try, in order.
    pub attempts: Vec<Attempt>,
    /// What people answered.
    pub responses: Vec<Response>,
    /// What the journal says about it.
    pub audit: Vec<Entry>,
}

/// One try at one address.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// Which, from 1.
    pub number: u32,
    /// The channel.
    pub channel: String,
    /// The address in it.
    pub address: String,
    /// What became of it.
    pub status: AttemptStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the platform calls the message.
    pub message_id: Option<String>,
    /// The same for every attempt to say the same thing at the same address. One message for several has one key.
    pub idempotency_key: String,
    /// This attempt's alone. One that went out in another's message has none: it has the other's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_key: Option<String>,
    /// Whether it went out in one message with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub digest: bool,
}

/// What a person answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Response {
    /// `ack`, `snooze` or `dismiss`.
    pub response: String,
    /// When they answered.
    pub at: Timestamp,
    /// Who brought the answer: a key by its name, a link, a channel.
    pub by: String,
    /// Until when they put it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// For how many minutes they put it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snooze_minutes: Option<u32>,
    /// Who answered, if it was a user.
    pub user_id: Option<String>,
    /// What they call themselves at the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In their own words.
    pub response_text: Option<String>,
    /// Where they answered.
    pub channel: Option<String>,
}

/// A page of a reminder's runs, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Occurrences {
    /// The page.
    pub occurrences: Vec<Occurrence>,
    /// Entries about the reminder itself, such as its creation.
    pub audit: Vec<Entry>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// A run with its reminder. The journal's entries about it are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DueRun<'a> {
    /// The run, without entries of the journal.
    pub occurrence: Occurrence,
    /// The reminder that it is a run of.
    pub reminder: Reminder<'a>,
}

/// A page of a user's runs, by when they are due.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DueRuns<'a> {
    /// Whose they are.
    pub user: Cow<'a, str>,
    /// The page.
    pub runs: Vec<DueRun<'a>>,
    /// Begins the next page; null on the last. A page may have fewer runs than asked for, or none, and a `next_cursor` all the same.
    pub next_cursor: Option<String>,
}

/// Which runs to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct DueQuery {
    /// Whose; the user of the key, else `me`, if nobody says.
    pub user: Option<String>,
    /// Only those due from then on: a day, from its beginning, or a time. The beginning of today, if neither this nor `to` nor `awaiting_ack` is asked for.
    pub from: Option<String>,
    /// Only those due until then: a day, to its end, or a time. The end of today, if neither this nor `from` nor `awaiting_ack` is asked for.
    pub to: Option<String>,
    /// Only those in one of these states, with commas between. `awaiting_ack` alone finds all that wait for an answer, whenever they were due.
    pub status: Option<String>,
    /// `oldest`, or `newest` for those that are due last first.
    pub order: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

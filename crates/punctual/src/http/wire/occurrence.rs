//! An occurrence and its trail as they are shown.

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::{Attempt, AttemptStatus, State};
use punctual_core::reminder::Address;
use punctual_core::store::{AuditEntry, Trail};
use serde::Serialize;

/// An occurrence with its attempts, answers and audit entries.
#[derive(Serialize)]
pub(in crate::http) struct OccurrenceJson {
    id: String,
    reminder_id: String,
    run_number: u32,
    due_at: Timestamp,
    state: &'static str,
    /// When a final state was reached, or when the person was reached.
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_again_at: Option<Timestamp>,
    /// Why it waits, `quiet` or `paused`, and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    attempts: Vec<AttemptJson>,
    responses: Vec<ResponseJson>,
    audit: Vec<AuditJson>,
}

#[derive(Serialize)]
struct AttemptJson {
    number: u32,
    channel: String,
    address: String,
    status: &'static str,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    error: Option<String>,
    message_id: Option<String>,
    /// The same for every attempt to say the same thing at the same address. One message for several has one key.
    idempotency_key: String,
    /// This attempt's alone. One that went out in another's message has none: it has the other's.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_key: Option<String>,
    /// Whether it went out in one message with others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    digest: bool,
}

#[derive(Serialize)]
struct ResponseJson {
    response: &'static str,
    at: Timestamp,
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snooze_minutes: Option<u32>,
    /// Who answered.
    user_id: Option<String>,
    /// In their own words, and where.
    response_text: Option<String>,
    channel: Option<String>,
}

/// One thing that was done.
#[derive(Serialize)]
pub(in crate::http) struct AuditJson {
    number: i64,
    at: Timestamp,
    by: String,
    action: String,
    reminder_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl OccurrenceJson {
    /// The trail with those of the reminder's audit entries that concern this run.
    pub(in crate::http) fn new(trail: Trail, audit: &[AuditEntry]) -> Self {
        let Trail { occurrence, attempts, responses } = trail;
        let id = occurrence.id;
        let (retry_at, ask_again_at) = match occurrence.state {
            State::PendingRetry { retry_at, .. } => (Some(retry_at), None),
            State::AwaitingAck { ask_again_at, .. } => (None, Some(ask_again_at)),
            _ => (None, None),
        };
        let (why, until) = match &occurrence.state {
            State::Waiting { why } => (Some(why.as_str()), Some(occurrence.due_at)),
            _ => (None, None),
        };
        let responses = responses.into_iter().map(|response| ResponseJson {
            response: response.kind,
            at: response.at,
            by: response.actor,
            until: response.until,
            snooze_minutes: response.snooze_minutes,
            user_id: response.user,
            response_text: response.said.text,
            channel: response.said.channel,
        });
        Self {
            id: id.to_string(),
            reminder_id: id.reminder.to_string(),
            run_number: id.run,
            due_at: occurrence.due_at,
            state: occurrence.state.kind().as_str(),
            at: occurrence.state.at(),
            retry_at,
            ask_again_at,
            why,
            until,
            error: occurrence.state.error().map(str::to_owned),
            attempts: attempts_json(id, attempts),
            responses: responses.collect(),
            audit: audit.iter().filter(|entry| entry.run == Some(id.run)).map(AuditJson::from).collect(),
        }
    }
}

/// Attempts with the keys they were sent under.
fn attempts_json(id: OccurrenceId, attempts: Vec<Attempt>) -> Vec<AttemptJson> {
    // How often the person had been reached before: what is said again has a key of its own.
    let mut reached = 0;
    let json = |attempt: Attempt| {
        let address = Address { channel: attempt.channel, address: attempt.address };
        let own = id.idempotency_key(&address, reached);
        // A digest has the key of its first, and more.
        let leads = attempt.key.as_ref().is_none_or(|key| key.starts_with(&own));
        let attempt_key = attempt.attempt_key.filter(|_| leads);
        reached += u32::from(matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered));
        AttemptJson {
            number: attempt.number,
            channel: address.channel,
            address: address.address,
            status: attempt.status.as_str(),
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            error: attempt.error,
            message_id: attempt.message_id,
            digest: attempt.key.is_some(),
            idempotency_key: attempt.key.unwrap_or(own),
            attempt_key,
        }
    };
    attempts.into_iter().map(json).collect()
}

impl From<&AuditEntry> for AuditJson {
    fn from(entry: &AuditEntry) -> Self {
        Self {
            number: entry.number,
            at: entry.at,
            by: entry.actor.clone(),
            action: entry.action.clone(),
            reminder_id: entry.reminder.to_string(),
            run_number: entry.run,
            detail: entry.detail.clone(),
        }
    }
}

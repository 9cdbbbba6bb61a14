//! An occurrence and its trail as they are shown.

use punctual_core::id::OccurrenceId;
use punctual_core::journal::Placed;
use punctual_core::occurrence::{AttemptStatus, State};
use punctual_core::reminder::Address;
use punctual_core::rules::escalate::next_asked;
use punctual_core::step::Step;
use punctual_core::store::{self, Trail};

use super::entry;
use crate::wire::{Attempt, Escalated, Escalation, NextAsked, Occurrence, Response};

/// The trail with those of the reminder's entries that concern this run. `steps` is the plan by which further people are asked.
pub(in crate::http) fn occurrence(trail: Trail, audit: &[Placed], steps: &[Step]) -> Occurrence {
    let late_ms = trail.late().map(|late| late.as_micros() as f64 / 1000.0);
    let Trail { occurrence, attempts, responses, escalated } = trail;
    let id = occurrence.id;
    let (retry_at, ask_again_at) = match occurrence.state {
        State::PendingRetry { retry_at, .. } => (Some(retry_at), None),
        State::AwaitingAck { ask_again_at, .. } => (None, Some(ask_again_at)),
        _ => (None, None),
    };
    let why = occurrence.state.waits_for();
    let until = why.and(occurrence.state.wake_at(occurrence.due_at));
    Occurrence {
        id: id.to_string(),
        reminder_id: id.reminder.to_string(),
        run_number: id.run,
        due_at: occurrence.due_at,
        state: occurrence.state.kind().into(),
        late_ms,
        at: occurrence.state.at(),
        retry_at,
        ask_again_at,
        why: why.map(Into::into),
        until,
        error: occurrence.state.error().map(str::to_owned),
        escalation: occurrence.escalation.map(|escalation| shown_escalation(escalation, escalated, steps)),
        attempts: shown_attempts(id, attempts),
        responses: responses.into_iter().map(response).collect(),
        audit: audit.iter().filter(|entry| entry.run == Some(id.run)).map(entry).collect(),
    }
}

fn shown_escalation(
    escalation: punctual_core::occurrence::Escalation,
    to: Vec<store::Escalated>,
    steps: &[Step],
) -> Escalation {
    use punctual_core::occurrence::Escalation::{Asked, Planned};
    let (at, until) = match escalation {
        Planned { at } => (Some(at), None),
        Asked { until } => (None, Some(until)),
    };
    let show = |other: store::Escalated| Escalated {
        user: other.user,
        reminder_id: other.reminder.to_string(),
        due_at: other.due_at,
        state: other.state.into(),
        reached_at: other.reached_at,
    };
    let next = at.map(|at| next_asked(steps, at).map(|(at, to)| NextAsked { at, to: to.to_string() }).collect());
    Escalation {
        state: escalation.kind().as_str().to_owned(),
        at,
        until,
        to: to.into_iter().map(show).collect(),
        next: next.unwrap_or_default(),
    }
}

/// Attempts with the keys they were sent under.
fn shown_attempts(id: OccurrenceId, attempts: Vec<punctual_core::occurrence::Attempt>) -> Vec<Attempt> {
    // How often the person had been reached before: a question that is asked again has a key of its own.
    let mut reached = 0;
    let show = |attempt: punctual_core::occurrence::Attempt| {
        let address = Address { channel: attempt.channel, address: attempt.address };
        let own = id.idempotency_key(&address, reached);
        // A digest has the key of its first, and more.
        let leads = attempt.key.as_ref().is_none_or(|key| key.starts_with(&own));
        let attempt_key = leads.then(|| id.attempt_key(&address, attempt.number));
        reached += u32::from(matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered));
        Attempt {
            number: attempt.number,
            channel: address.channel,
            address: address.address,
            status: attempt.status.into(),
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            error: attempt.error,
            message_id: attempt.message_id,
            digest: attempt.key.is_some(),
            idempotency_key: attempt.key.unwrap_or(own),
            attempt_key,
        }
    };
    attempts.into_iter().map(show).collect()
}

fn response(response: store::Response) -> Response {
    Response {
        response: response.verb.as_str().into(),
        at: response.at,
        by: response.actor,
        until: response.until,
        snooze_minutes: response.snooze_minutes,
        user_id: response.user,
        name: response.said.name,
        response_text: response.said.text,
        channel: response.said.channel,
    }
}

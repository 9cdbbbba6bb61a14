//! An acknowledged reminder is delivered, or visibly in a named state.

use jiff::SignedDuration;
use punctual_core::occurrence::{AttemptStatus, State};

use super::Evidence;
use crate::sim::ledger::Answer;

/// A run that is overdue by more than this, when the world has been quiet so long, is forgotten.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_mins(6);
/// No retry waits longer: the longest delay is an hour, with a tenth of jitter.
const RETRY_MAX: SignedDuration = SignedDuration::from_mins(67);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for (id, created) in &book.creates {
        if created.acknowledged.is_some() && !evidence.rows.iter().any(|row| row.view.reminder.id == *id) {
            found.push(format!("{id} was acknowledged and is not there"));
        }
    }
    for trail in evidence.rows.iter().flat_map(|row| &row.trails) {
        let occurrence = &trail.occurrence;
        let id = occurrence.id;
        if let Some(moment) = occurrence.wake_at() {
            let overdue = evidence.now.duration_since(moment);
            if overdue > OVERDUE_AFTER {
                found.push(format!("{id} is {} and overdue by {overdue:#}", occurrence.state.kind()));
            }
        }
        if let State::PendingRetry { retry_at, .. } = &occurrence.state
            && retry_at.duration_since(evidence.now) > RETRY_MAX
        {
            found.push(format!("{id} is to be tried again at {retry_at}, which is never"));
        }
        // A message that the store calls sent must have arrived.
        for attempt in trail.attempts.iter().filter(|attempt| attempt.status == AttemptStatus::Sent) {
            let arrived = book.sends.iter().any(|sent| {
                sent.message.occurrence == id
                    && sent.message.attempt == attempt.number
                    && sent.effect.is_some()
                    && sent.answered.is_some_and(|(_, answer)| answer == Answer::Taken)
            });
            if !arrived {
                found.push(format!("{id} is called sent by attempt {}, which nobody received", attempt.number));
            }
        }
    }
    found
}

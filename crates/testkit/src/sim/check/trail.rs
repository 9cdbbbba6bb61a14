//! Every ending can be explained from the rows, and every send was written down.

use punctual_core::answer::Verb;
use punctual_core::journal::Kind;
use punctual_core::occurrence::{AttemptStatus, State};
use punctual_core::store::Trail;

use super::{Evidence, Row};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for row in &evidence.rows {
        if !row.has(&[Kind::Created]) {
            found.push(format!("{} has no entry of its creation", row.view.reminder.id));
        }
        for trail in &row.trails {
            if let Some(what) = unexplained(row, trail) {
                found.push(format!("{} is {} {what}", trail.occurrence.id, trail.occurrence.state.kind()));
            }
            let numbers = trail.attempts.iter().map(|attempt| attempt.number);
            if !numbers.eq(1..=trail.occurrence.tries.attempts) {
                found.push(format!("{} does not have the attempts it counts", trail.occurrence.id));
            }
        }
    }
    for sent in &evidence.ledger.read().sends {
        let id = sent.message.occurrence;
        let trail = evidence.rows.iter().flat_map(|row| &row.trails).find(|trail| trail.occurrence.id == id);
        let attempt = trail.and_then(|trail| trail.attempts.iter().find(|a| a.number == sent.message.attempt));
        if attempt.is_none() {
            found.push(format!("attempt {} of {id} was sent and is not written down", sent.message.attempt));
        }
    }
    found
}

fn unexplained(row: &Row, trail: &Trail) -> Option<&'static str> {
    let reached = trail.attempts.iter().any(|attempt| attempt.status == AttemptStatus::Sent);
    let run = trail.occurrence.id.run;
    let answered = |verb| trail.responses.iter().any(|response| response.verb == verb);
    let is_cancelled = row.has(&[Kind::Cancelled]);
    match &trail.occurrence.state {
        State::Delivered { .. } | State::Unanswered { .. } => (!reached).then_some("and no attempt was sent"),
        // Somebody who was asked in their place may have answered.
        State::Completed { .. } if !reached && !row.has(&[Kind::Escalated]) => Some("and no attempt was sent"),
        State::Completed { .. } => (!answered(Verb::Ack)).then_some("and nobody said so"),
        State::Dismissed { .. } => (!answered(Verb::Dismiss) && !is_cancelled).then_some("and nobody said so"),
        State::Cancelled { .. } => (!is_cancelled && row.did("skip").next().is_none()).then_some("and nobody said so"),
        State::Failed { error, .. } if error.is_empty() => Some("and nobody knows why"),
        State::Failed { .. } => trail.attempts.is_empty().then_some("and nothing was tried"),
        // A run missed along with others is counted in the entry of the first of them.
        State::Missed { .. } => (!row
            .entries
            .iter()
            .any(|entry| entry.kind == Kind::Missed.as_str() && entry.run.is_some_and(|first| first <= run)))
        .then_some("and nobody wrote it down"),
        _ => None,
    }
}

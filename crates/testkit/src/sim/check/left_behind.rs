//! When every engine has stopped in order, no lease and no attempt is open.

use punctual_core::occurrence::{AttemptStatus, StateKind};

use super::Evidence;
use crate::sim::ledger::Sent;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let book = evidence.ledger.read();
    // A call may take longer than a stop. The platform has it, and the next node asks what became of it.
    let is_going_on = |message_id: &str| {
        let call = message_id.parse().ok().and_then(|index: usize| book.sends.get(index));
        let has_ended = |call: &Sent| call.answered.is_some_and(|(at, _)| at.elapsed < evidence.stopping_since);
        call.is_some_and(|call| call.message.to.channel == "call" && !has_ended(call))
    };
    let mut found = Vec::new();
    for trail in evidence.rows.iter().flat_map(|row| &row.trails) {
        let occurrence = &trail.occurrence;
        let sending = occurrence.state.sending().and_then(|sending| sending.message_id.as_deref());
        if sending.is_some_and(is_going_on) {
            continue;
        }
        if occurrence.state.kind() == StateKind::Processing {
            found.push(format!("{} is still leased", occurrence.id));
        }
        for attempt in trail.attempts.iter().filter(|attempt| attempt.status == AttemptStatus::Sending) {
            found.push(format!("attempt {} of {} is still called sending", attempt.number, occurrence.id));
        }
    }
    found
}

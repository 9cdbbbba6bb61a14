//! When every engine has stopped in order, no lease and no attempt is open.

use punctual_core::occurrence::{AttemptStatus, StateKind};

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for trail in evidence.rows.iter().flat_map(|row| &row.trails) {
        let occurrence = &trail.occurrence;
        if occurrence.state.sending().is_some_and(|sending| sending.message_id.is_some()) {
            // A call may take longer than a stop. The platform has it, and the next node asks what became of it.
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

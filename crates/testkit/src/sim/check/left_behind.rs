//! When every engine has stopped in order, no lease and no attempt is open.

use punctual_core::occurrence::{AttemptStatus, StateKind};

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for trail in evidence.rows.iter().flat_map(|row| &row.trails) {
        let occurrence = &trail.occurrence;
        if occurrence.state.kind() == StateKind::Processing {
            found.push(format!("{} is still leased", occurrence.id));
        }
        for attempt in trail.attempts.iter().filter(|attempt| attempt.status == AttemptStatus::Sending) {
            found.push(format!("attempt {} of {} is still called sending", attempt.number, occurrence.id));
        }
    }
    found
}

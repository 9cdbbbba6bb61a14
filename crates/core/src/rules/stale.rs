//! Answers that come so late that they mean nothing, or something else.

use jiff::{SignedDuration, Timestamp};

use crate::model::trail::Trail;

/// Platforms count in whole seconds, by a clock of their own.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

/// Whether a press of `at` is older than the last answer to its run, or than the asking after that answer.
///
/// A platform may give an event again days later. It is recognised by its id as long as that is remembered; after that, by this.
pub fn is_stale(at: Timestamp, trail: &Trail) -> bool {
    let Some(answered_at) = trail.responses.last().map(|response| response.at) else { return false };
    let asked_since = trail.attempts.iter().map(|attempt| attempt.started_at).find(|started| *started > answered_at);
    is_before(at, asked_since.unwrap_or(answered_at))
}

/// Whether what a platform dates `at` was surely done before `instant`.
pub(crate) fn is_before(at: Timestamp, instant: Timestamp) -> bool {
    at.saturating_add(TOLERANCE).is_ok_and(|latest| latest < instant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Verb;
    use crate::common::{at, once, reminder};
    use crate::id::OccurrenceId;
    use crate::model::trail::{Response, Said};
    use crate::occurrence::{Attempt, AttemptStatus, Occurrence};

    fn check(attempts: &[i64], responses: &[i64], pressed: i64, expect: bool) {
        let id = OccurrenceId { reminder: reminder(once()).id, run: 1 };
        let attempt = |second: &i64| Attempt {
            number: 1,
            channel: "chat".into(),
            address: "11".into(),
            status: AttemptStatus::Sent,
            started_at: at(*second),
            ended_at: Some(at(*second)),
            error: None,
            message_id: None,
            key: None,
        };
        let response = |second: &i64| Response {
            occurrence: id,
            verb: Verb::Snooze,
            at: at(*second),
            actor: "test".into(),
            until: None,
            snooze_minutes: None,
            user: None,
            said: Said::default(),
        };
        let trail = Trail {
            occurrence: Occurrence::scheduled(id, at(0)),
            attempts: attempts.iter().map(attempt).collect(),
            responses: responses.iter().map(response).collect(),
            escalated: Vec::new(),
        };
        assert_eq!(
            is_stale(at(pressed), &trail),
            expect,
            "asked {attempts:?}, answered {responses:?}, pressed {pressed}"
        );
    }

    #[test]
    fn a_press_is_stale_once_a_later_answer_has_been_given() {
        check(&[0], &[], 30, false);
        check(&[0], &[], -30, false);
        check(&[0], &[100], 30, true);
        check(&[0], &[100], 130, false);
        check(&[0, 700], &[100], 130, true);
        check(&[0, 700], &[100], 730, false);
        check(&[0, 700], &[100, 800], 730, true);
    }

    #[test]
    fn clocks_that_differ_by_seconds_make_no_press_stale() {
        check(&[0], &[100], 96, false);
        check(&[0, 700], &[100], 696, false);
    }
}

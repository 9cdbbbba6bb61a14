//! How an occurrence got where it is: its attempts, and what people answered.

use jiff::{SignedDuration, Timestamp};

use super::answer::Verb;
use crate::id::{OccurrenceId, ReminderId};
use crate::occurrence::{Attempt, AttemptStatus, Occurrence, StateKind};

/// An occurrence and how it got where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Trail {
    /// The occurrence.
    pub occurrence: Occurrence,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// What people answered, in order.
    pub responses: Vec<Response>,
    /// Who was asked in its person's place, in order.
    pub escalated: Vec<Escalated>,
}

/// Somebody who is asked in another's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalated {
    /// Who.
    pub user: String,
    /// Their own reminder.
    pub reminder: ReminderId,
    /// When they are asked.
    pub due_at: Timestamp,
    /// Where that run stands.
    pub state: StateKind,
    /// When they were first reached.
    pub reached_at: Option<Timestamp>,
}

impl Trail {
    /// An occurrence with its attempts that have ended; the one that is under way stands in the occurrence.
    pub fn new(occurrence: Occurrence, mut attempts: Vec<Attempt>, responses: Vec<Response>) -> Self {
        if let Some(sending) = occurrence.state.sending() {
            let number = occurrence.tries.attempts;
            attempts.push(Attempt {
                number,
                channel: sending.to.channel.clone(),
                address: sending.to.address.clone(),
                status: AttemptStatus::Sending,
                started_at: sending.since,
                ended_at: None,
                error: None,
                message_id: sending.message_id.clone(),
                key: None,
            });
        }
        Self { occurrence, attempts, responses, escalated: Vec::new() }
    }

    /// How long after its due instant the run was first said. What was said before a snooze or quiet hours moved that instant does not count.
    pub fn late(&self) -> Option<SignedDuration> {
        let due_at = self.occurrence.due_at;
        let is_said = |attempt: &&Attempt| {
            matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered) && attempt.started_at >= due_at
        };
        self.attempts.iter().find(is_said).map(|attempt| attempt.started_at.duration_since(due_at))
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// To which occurrence.
    pub occurrence: OccurrenceId,
    /// Their answer.
    pub verb: Verb,
    /// When.
    pub at: Timestamp,
    /// Through whom.
    pub actor: String,
    /// Until when it was put off.
    pub until: Option<Timestamp>,
    /// By how many minutes.
    pub snooze_minutes: Option<u32>,
    /// Who answered: the user the caller acts for, else the reminder's; none for somebody in a group who is no user.
    pub user: Option<String>,
    /// What they said and where.
    pub said: Said,
}

/// A person's answer in their own words, and where they gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The words, if there were any.
    pub text: Option<String>,
    /// The channel, if it is known.
    pub channel: Option<String>,
    /// What the person calls themselves there.
    pub name: Option<String>,
}

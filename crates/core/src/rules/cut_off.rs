//! An attempt that was cut off: its node died, or an answer ended its lease.

use jiff::Timestamp;

use crate::journal::{Data, Entry, Kind};
use crate::occurrence::{Attempt, AttemptStatus, Occurrence};
use crate::writes::EndedAttempt;

/// The error of an attempt whose node died.
pub const CUT_OFF: &str = "cut off in flight";

/// The attempt of a run whose node died, or whose lease was ended by an answer: nobody knows what became of it.
pub(crate) fn cut_off(occurrence: &Occurrence, now: Timestamp) -> Option<EndedAttempt> {
    let sending = occurrence.state.sending()?;
    let number = occurrence.tries.attempts;
    let attempt = Attempt {
        number,
        channel: sending.to.channel.clone(),
        address: sending.to.address.clone(),
        status: AttemptStatus::Unknown,
        started_at: sending.since,
        ended_at: Some(now),
        error: Some(CUT_OFF.to_owned()),
        message_id: sending.message_id.clone(),
        key: None,
    };
    Some(EndedAttempt { occurrence: occurrence.id, attempt })
}

impl EndedAttempt {
    /// The entry of an attempt that was cut off.
    pub(crate) fn entry_of_cut_off(&self, user: Option<&str>, now: Timestamp) -> Entry {
        let data = Data::of_attempt(&self.attempt, None);
        Entry::of_engine(now, Kind::AttemptFailed, self.occurrence, user, data)
    }
}

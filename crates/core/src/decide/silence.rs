//! Runs that wait are looked at again when their silence is ended before its time.

use std::time::Duration;

use jiff::Timestamp;

use super::person::look_again;
use crate::journal::{Data, Entry, Kind, Who};
use crate::occurrence::{Occurrence, Why};
use crate::shard::shard_of;
use crate::silence::{SILENCES_MAX, SILENCES_OF_USER_MAX, Silence, Silent};
use crate::writes::Writes;

/// How many runs are looked at again in one transaction: others must not wait for long.
pub const RELEASED_AT_ONCE: usize = 10_000;

/// A run that waits for the end of a silence, whichever that is.
#[derive(Debug, Clone)]
pub struct SilencedRun {
    /// The run.
    pub occurrence: Occurrence,
    /// Its reminder's user,
    pub user: String,
    /// its reminder's tags,
    pub tags: Vec<String>,
    /// and how long its reminder waits for an answer.
    pub ack_timeout: Option<Duration>,
}

/// How many silences that have not ended there are beside a new one. A store counts no further than to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// All of them.
    pub all: usize,
    /// Those for the same user; 0 if it is not for a user.
    pub of_user: usize,
}

/// A silence is made beside those that there are; `None` if there is no room for it.
pub fn silenced(silence: &Silence, beside: Beside, who: Who) -> Option<Writes> {
    let now = silence.created_at;
    let has_room = beside.all < SILENCES_MAX && beside.of_user < SILENCES_OF_USER_MAX;
    has_room.then(|| Writes { entries: vec![entry(Kind::SilenceCreated, silence, who, now)], ..Writes::new(now) })
}

fn entry(kind: Kind, silence: &Silence, who: Who, now: Timestamp) -> Entry {
    let Silence { id, user, group, tag, from, until, .. } = silence.clone();
    let data = Data::Silence { silence: id.to_string(), group, tag, from, until };
    Entry { at: now, kind, who, user, reminder: None, run: None, data }
}

/// Lets go of the `runs` that `ended` was about. They are looked at now, and wait on if there is another reason.
/// With the last of them, `by` is who has ended it.
pub fn released(ended: &Silent, runs: Vec<SilencedRun>, by: Option<Who>, now: Timestamp) -> Writes {
    let mut writes = Writes::new(now);
    writes.entries.extend(by.map(|who| entry(Kind::SilenceDeleted, &ended.silence, who, now)));
    for SilencedRun { mut occurrence, user, tags, ack_timeout } in runs {
        if occurrence.state.waits_for() == Some(Why::Silenced) && ended.is_about(&user, &tags) {
            look_again(&mut occurrence, ack_timeout, now);
            writes.change(occurrence, shard_of(&user));
        }
    }
    writes
}

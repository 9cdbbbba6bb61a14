//! What changes for a person's open runs when the person changes.
//!
//! A run that waits for the end of quiet hours or of a pause is looked at again, and a person with other addresses has refused
//! nothing.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::later;
use crate::journal::{Data, Entry, Kind, Who};
use crate::model::version::Version;
use crate::occurrence::{Occurrence, State};
use crate::shard::shard_of;
use crate::user::User;
use crate::writes::Writes;

/// An open run of a person's that waits for them, or has tried one of their addresses.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// The run.
    pub occurrence: Occurrence,
    /// How long its reminder waits for an answer.
    pub ack_timeout: Option<Duration>,
    /// It goes to its reminder's own addresses and to no other.
    pub only: bool,
}

/// A person as they were.
#[derive(Debug, Clone, PartialEq)]
pub enum Before {
    /// They had no entry.
    Unknown,
    /// They cannot be read, so anything may have been different.
    Unreadable,
    /// This.
    Known(Box<User>),
}

impl Before {
    /// Which state of the person a caller may have seen. One who cannot be read is there all the same.
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::Unknown => None,
            Self::Unreadable => Some(Version::of(&"unreadable")),
            Self::Known(user) => Some(user.version()),
        }
    }
}

/// What is different about a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// They have other addresses.
    pub addresses: bool,
    /// They may be disturbed at other times.
    pub times: bool,
}

impl Difference {
    /// They may be disturbed at other times, and nothing else is different.
    pub const TIMES: Self = Self { addresses: false, times: true };

    /// The person's entry was removed.
    pub const REMOVED: Self = Self { addresses: true, times: true };

    /// From `before` to `after`.
    pub fn between(before: &Before, after: &User) -> Self {
        match before {
            Before::Unreadable => Self { addresses: true, times: true },
            Before::Unknown => Self { addresses: !after.addresses.is_empty(), times: false },
            Before::Known(before) => {
                Self { addresses: before.addresses != after.addresses, times: before.is_disturbed_unlike(after) }
            }
        }
    }

    /// Whether it may concern this open run: one that waits for the person, has tried an address, or is just being sent.
    fn concerns(self, run: &Occurrence) -> bool {
        let has_tried = run.tries.refused != 0 || run.tries.position != 0 || run.state.sending().is_some();
        self.times && run.state.waits_for().is_some() || self.addresses && has_tried
    }

    /// Whether the person's open runs need not be looked at.
    pub fn is_none(self) -> bool {
        !self.addresses && !self.times
    }
}

/// The entry of a person who was `before` and is `after` now, as `who` asked; `after` is `None` when they were removed. A person who is
/// written as they were has none.
pub fn entry(id: &str, before: &Before, after: Option<&User>, who: Who, now: Timestamp) -> Option<Entry> {
    let data = match after {
        None => Data::Deleted { deleted: true },
        Some(after) => Data::Fields { fields: fields(before, after) },
    };
    let is_as_before = matches!((before, &data), (Before::Known(_), Data::Fields { fields }) if fields.is_empty());
    let entry =
        Entry { at: now, kind: Kind::UserChanged, who, user: Some(id.to_owned()), reminder: None, run: None, data };
    (!is_as_before).then_some(entry)
}

/// The names of the fields that have another value than before; of a new person, those that have one at all.
fn fields(before: &Before, after: &User) -> Vec<&'static str> {
    let blank = || User {
        id: String::new(),
        timezone: None,
        language: None,
        addresses: Vec::new(),
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: crate::habits::Habits::default(),
        admin: false,
        created_at: after.created_at,
        updated_at: after.updated_at,
    };
    let is_known = !matches!(before, Before::Unreadable);
    let before = match before {
        Before::Known(before) => (**before).clone(),
        Before::Unknown | Before::Unreadable => blank(),
    };
    let differs = [
        ("timezone", before.timezone != after.timezone),
        ("language", before.language != after.language),
        ("addresses", before.addresses != after.addresses),
        ("quiet_hours", before.quiet_hours != after.quiet_hours),
        ("paused_until", before.paused_until != after.paused_until),
        ("escalate", before.escalate != after.escalate),
        ("admin", before.admin != after.admin),
    ];
    differs.into_iter().filter(|(_, differs)| *differs || !is_known).map(|(name, _)| name).collect()
}

/// Decides what becomes of a person's open runs. `entry` says what was changed, if anything was.
pub fn person_changed(
    open: Vec<OpenRun>,
    user: &str,
    difference: Difference,
    entry: Option<Entry>,
    now: Timestamp,
) -> Writes {
    let mut writes = Writes::new(now);
    writes.entries.extend(entry);
    let shard = shard_of(user);
    for OpenRun { mut occurrence, ack_timeout, only } in open {
        if !difference.concerns(&occurrence) {
            continue;
        }
        let before = occurrence.clone();
        if difference.addresses && !only {
            occurrence.readdress();
        }
        if difference.times {
            look_again(&mut occurrence, ack_timeout, now);
        }
        if occurrence == before {
            // A claim may have stepped around it just now, because it was locked. It is looked at again when its moment comes.
            let wake_at = occurrence.wake_at();
            writes.moments.extend(wake_at.filter(|_| occurrence.state.sending().is_none()).map(|at| (shard, at)));
        } else if occurrence.state.sending().is_some() {
            writes.occurrences.push(occurrence);
        } else {
            writes.change(occurrence, shard);
        }
    }
    writes
}

/// Makes a run that was put off due for a look now, which decides again; never before the instant it was put off from.
pub(super) fn look_again(occurrence: &mut Occurrence, ack_timeout: Option<Duration>, now: Timestamp) {
    let sooner = |at: Timestamp, instead: Timestamp| at.min(now.max(instead));
    match &mut occurrence.state {
        State::Waiting { from, .. } => {
            let not_before = (*from).max(occurrence.made_for);
            occurrence.due_at = sooner(occurrence.due_at, not_before);
        }
        State::PendingRetry { retry_at, waits_for: waits_for @ Some(_), .. } => {
            *retry_at = sooner(*retry_at, now);
            *waits_for = None;
        }
        State::AwaitingAck { delivered_at, ask_again_at, waits_for: waits_for @ Some(_) } => {
            let asked_again = later(*delivered_at, ack_timeout.unwrap_or_default());
            *ask_again_at = sooner(*ask_again_at, asked_again);
            *waits_for = None;
        }
        _ => {}
    }
}

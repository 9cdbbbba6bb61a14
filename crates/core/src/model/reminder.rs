//! What a user asked for.

use std::time::Duration;

use jiff::Timestamp;
use punctual_time::words;

pub use super::address::Address;
use super::event::OfEvent;
use super::step::{self, Step};
use super::tag;
use crate::id::{OccurrenceId, ReminderId};
use crate::invalid::{Faults, Invalid};
use crate::schedule::Schedule;
use crate::zone::Zone;

/// The longest message. Every platform's own limit is far below it.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// The longest name, user id, prompt or address.
pub const TEXT_BYTES_MAX: usize = 2048;
/// The largest metadata document.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;
/// The most addresses one reminder has, and one user; a reminder tries at most both.
pub const ADDRESSES_MAX: usize = 32;

/// What a user asked for: a message, when, to whom, and how much it matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Reminder {
    /// Its name for machines.
    pub id: ReminderId,
    /// Whose it is.
    pub user: String,
    /// Its name for people.
    pub name: Option<String>,
    /// What to say.
    pub message: String,
    /// When to say it.
    pub schedule: Schedule,
    /// The zone in which the schedule's local times are meant.
    pub timezone: Zone,
    /// How much it matters; sets the retry delay and who goes first in a backlog.
    pub priority: Priority,
    /// Where to send it, in order of preference; the user's other addresses come after these.
    pub to: Vec<Address>,
    /// Only the addresses in `to` are tried.
    pub only: bool,
    /// Whether and how an answer is asked for.
    pub ack: Option<AckPolicy>,
    /// Who is asked when its person does not answer; empty: as their own entry says.
    pub escalate: Vec<Step>,
    /// The run that nobody has answered, if this reminder asks somebody else about it.
    pub escalates: Option<OccurrenceId>,
    /// The event that it belongs to. Only the planner of events says so.
    pub event: Option<OfEvent>,
    /// Whether a person may put it off.
    pub snooze_allowed: bool,
    /// How many times to try again after every address has failed.
    pub retries_max: u32,
    /// What to do with runs that were missed.
    pub misfire: Misfire,
    /// What to do when a send was cut off and nobody knows whether it arrived.
    pub on_unknown: OnUnknown,
    /// Which door it came through: `api`, `cli`, `chat`, …
    pub created_via: String,
    /// The words it was asked for with.
    pub original_text: Option<String>,
    /// The application's own JSON, carried along and handed to the receiver.
    pub metadata: Metadata,
    /// Words by which it is found and silenced together with others, as [`tag::kept`] makes them.
    pub tags: Vec<String>,
    /// Where it stands.
    pub status: ReminderStatus,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was last changed by a command.
    pub updated_at: Timestamp,
}

impl Reminder {
    /// Checks what the types cannot: lengths and emptiness. Doors call it before anything is written.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        faults.note(text("user", &self.user, 1, 256));
        if faults.note(text("message", &self.message, 1, MESSAGE_BYTES_MAX)).is_some() && self.message.trim().is_empty()
        {
            faults.add(Invalid::new("message", "is empty; say what to be reminded of"));
        }
        if let Some(name) = &self.name {
            faults.note(text("name", name, 1, 256));
        }
        if let Some(ack) = &self.ack {
            faults.note(ack.validate());
        }
        if let Some(words) = &self.original_text {
            faults.note(text("original_text", words, 0, MESSAGE_BYTES_MAX));
        }
        faults.note(text("created_via", &self.created_via, 1, 64));
        if self.metadata.as_str().len() > METADATA_BYTES_MAX {
            faults.add(Invalid::new("metadata", format!("is larger than {METADATA_BYTES_MAX} bytes")));
        }
        if self.to.len() > ADDRESSES_MAX {
            let problem = format!("has {} addresses; at most {ADDRESSES_MAX} are tried", self.to.len());
            faults.add(Invalid::new("to", problem));
        }
        if self.only && self.to.is_empty() {
            let problem = "says that nothing but `to` is tried, and `to` is empty; write `to`, or leave it out";
            faults.add(Invalid::new("only", problem));
        }
        if self.retries_max > 100 {
            faults.add(Invalid::new("max_retries", format!("is {}; at most 100", self.retries_max)));
        }
        for (index, address) in self.to.iter().enumerate().take(ADDRESSES_MAX) {
            faults.note(text(&format!("to[{index}].channel"), &address.channel, 1, 64));
            faults.note(text(&format!("to[{index}].address"), &address.address, 0, TEXT_BYTES_MAX));
        }
        if !self.escalate.is_empty() && self.ack.is_none() {
            faults.add(Invalid::new("escalate", "needs an answer to wait for; leave out require_ack: false"));
        }
        faults.note(step::check("escalate", &self.escalate));
        faults.note(tag::check("tags", &self.tags));
        faults.note(self.schedule.validate().map_err(|invalid| invalid.within("schedule")));
        faults.finish()
    }
}

fn text(field: &str, value: &str, min: usize, max: usize) -> Result<(), Invalid> {
    if value.len() < min {
        return Err(Invalid::new(field, "is empty"));
    }
    if value.len() > max {
        return Err(Invalid::new(field, format!("is {} bytes long; at most {max} are accepted", value.len())));
    }
    if value.contains('\0') {
        return Err(Invalid::new(field, "contains a NUL character"));
    }
    Ok(())
}

/// How much a reminder matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

impl Priority {
    /// All of them, most urgent first.
    pub const URGENT_FIRST: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// The number stores keep: 0 is low, 3 is critical.
    pub fn rank(self) -> u8 {
        self as u8
    }

    /// The priority of this rank; an unknown rank is the highest, so that a mistake is loud and not lost.
    pub fn from_rank(rank: u8) -> Self {
        match rank {
            0 => Self::Low,
            1 => Self::Normal,
            2 => Self::High,
            _ => Self::Critical,
        }
    }
}

/// How an answer is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckPolicy {
    /// The question; without it the message is the question.
    pub prompt: Option<String>,
    /// How long to wait for an answer before asking again.
    pub timeout: Duration,
    /// How many times to ask again.
    pub reminders_max: u32,
}

impl Default for AckPolicy {
    fn default() -> Self {
        Self { prompt: None, timeout: Duration::from_secs(600), reminders_max: 3 }
    }
}

impl AckPolicy {
    /// Checks what the types cannot, also where no answer is asked for in the end.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        if let Some(prompt) = &self.prompt {
            faults.note(text("ack_prompt", prompt, 1, TEXT_BYTES_MAX));
        }
        if self.timeout < Duration::from_secs(1) || self.timeout > Duration::from_secs(366 * 86_400) {
            faults.add(Invalid::new("ack_timeout", "must be between 1s and 366d, such as 10m"));
        }
        if self.reminders_max > 1000 {
            faults.add(Invalid::new("max_ack_reminders", format!("is {}; at most 1000", self.reminders_max)));
        }
        faults.finish()
    }
}

/// What to do with runs that were missed while nothing was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfire {
    /// Which of the missed runs to deliver.
    pub policy: MisfirePolicy,
    /// How old a missed run of a recurring reminder may be and still be delivered.
    pub within: Duration,
}

impl Default for Misfire {
    fn default() -> Self {
        Self { policy: MisfirePolicy::Latest, within: Duration::from_secs(24 * 3600) }
    }
}

/// Which missed runs to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MisfirePolicy {
    /// Only the latest.
    #[default]
    Latest,
    /// Each of them, oldest first.
    All,
    /// None.
    Skip,
}

/// What to do when a send was cut off and nobody knows whether it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// As suits the channel: hold where a repeat would be worse than silence (phone calls, SMS), else resend.
    #[default]
    Auto,
    /// Send again, under the same key.
    Resend,
    /// Do not send again: the occurrence fails and says why.
    Hold,
}

impl OnUnknown {
    /// Whether a message that may have arrived is held, where its channel does so by default or not.
    pub(crate) fn holds(self, by_default: bool) -> bool {
        match self {
            Self::Hold => true,
            Self::Resend => false,
            Self::Auto => by_default,
        }
    }
}

/// Where a reminder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReminderStatus {
    /// Something is still to come.
    #[default]
    Active,
    /// It sends nothing until it is resumed.
    Paused,
    /// Its last run has ended.
    Completed,
    /// Somebody cancelled it.
    Cancelled,
}

/// The application's own JSON object, kept as the text it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata(String);

impl Metadata {
    /// Takes an object.
    pub fn new(value: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self(serde_json::Value::Object(value.clone()).to_string())
    }

    /// Takes text that a store kept. Text that is no JSON object becomes an empty one.
    pub fn from_stored(text: String) -> Self {
        if text.starts_with('{') { Self(text) } else { Self::default() }
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The object.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or_else(|_| serde_json::Value::Object(serde_json::Map::new()))
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self("{}".into())
    }
}

words!(Priority as "priority" { "low" => Low, "normal" => Normal, "high" => High, "critical" => Critical });
words!(MisfirePolicy as "misfire.policy" { "latest" => Latest, "all" => All, "skip" => Skip });
words!(OnUnknown as "on_unknown" { "auto" => Auto, "resend" => Resend, "hold" => Hold });
words!(ReminderStatus as "status" { "active" => Active, "paused" => Paused, "completed" => Completed, "cancelled" => Cancelled });

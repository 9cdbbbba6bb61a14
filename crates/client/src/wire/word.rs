//! Words of a fixed list, as they go over the wire.

use punctual_core::channel;
use punctual_core::group::Mode;
use punctual_core::invalid::Invalid;
use punctual_core::occurrence::{self, StateKind, Why};
use punctual_core::reminder;
use punctual_core::store;
use punctual_core::user::Except;
use punctual_core::watch;
use punctual_core::words::Words;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of core's words. A word that this version does not know is kept as it came: a client may talk to a newer server, and a server says
/// itself what is wrong with a word that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<T> {
    /// A word of the list.
    Known(T),
    /// Any other.
    Other(String),
}

/// Where a reminder stands.
pub type ReminderStatus = Word<reminder::ReminderStatus>;
/// How urgent a reminder is.
pub type Priority = Word<reminder::Priority>;
/// Which runs that were missed are sent.
pub type MisfirePolicy = Word<reminder::MisfirePolicy>;
/// What is done when nobody knows whether a send arrived.
pub type OnUnknown = Word<reminder::OnUnknown>;
/// Where a run stands.
pub type OccurrenceState = Word<StateKind>;
/// Why a run waits.
pub type WaitingFor = Word<Why>;
/// What became of an attempt.
pub type AttemptStatus = Word<occurrence::AttemptStatus>;
/// The least priority that may disturb somebody in quiet hours.
pub type QuietExcept = Word<Except>;
/// Where a run of a watch stands.
pub type RunState = Word<watch::RunState>;
/// Whether a node lives.
pub type NodeState = Word<store::NodeState>;
/// What became of one send.
pub type SendOutcome = Word<channel::SendOutcome>;
/// Whether the users of a group are asked one after the other or all at once.
pub type GroupMode = Word<Mode>;

impl<T: Words> Word<T> {
    /// `word`, whether it is known or not.
    pub fn new(word: &str) -> Self {
        word.parse().map_or_else(|_| Self::Other(word.to_owned()), Self::Known)
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(value) => value.word(),
            Self::Other(word) => word,
        }
    }

    /// What the word stands for; the error names `field` and all words there are.
    pub fn known(self, field: &str) -> Result<T, Invalid> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Other(word) => word.parse().map_err(|invalid: Invalid| Invalid::new(field, invalid.problem)),
        }
    }
}

impl<T: Words> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(value) if value == other)
    }
}

impl<T: Words> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(&String::deserialize(deserializer)?))
    }
}

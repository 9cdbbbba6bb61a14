//! What was made of an event of a platform.

/// What was made of an event of a platform, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A person's answer was taken.
    Answered,
    /// The run had its answer, or its end.
    Already,
    /// The run cannot be answered so, or not yet.
    NotNow,
    /// Words that answer nothing.
    NoAnswer,
    /// It was taken before.
    Replayed,
    /// It is older than the last answer.
    Stale,
    /// The sender was not asked.
    NotYours,
    /// No user is the sender.
    UnknownSender,
    /// The platform said what became of a message.
    Report,
    /// The store could not be used: the platform gives it again.
    Unavailable,
    /// It is not from the platform.
    Forged,
    /// It cannot be read.
    Malformed,
}

impl Outcome {
    /// The metrics' word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Already => "already",
            Self::NotNow => "not_now",
            Self::NoAnswer => "no_answer",
            Self::Replayed => "replayed",
            Self::Stale => "stale",
            Self::NotYours => "not_yours",
            Self::UnknownSender => "unknown_sender",
            Self::Report => "report",
            Self::Unavailable => "unavailable",
            Self::Forged => "forged",
            Self::Malformed => "malformed",
        }
    }
}

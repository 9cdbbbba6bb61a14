//! One try at one address.

use jiff::Timestamp;
use punctual_time::words;

/// One try at one address.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Which try of the occurrence, counted from 1.
    pub number: u32,
    /// Where to; empty when there was nowhere to send.
    pub channel: String,
    /// The person's place in the channel.
    pub address: String,
    /// What became of it.
    pub status: AttemptStatus,
    /// When it was written down, just before the send.
    pub started_at: Timestamp,
    /// When the channel answered.
    pub ended_at: Option<Timestamp>,
    /// What went wrong.
    pub error: Option<String>,
    /// The platform's own id of the message.
    pub message_id: Option<String>,
    /// The key that it was sent under, where that is not its own: it went out in one message with others.
    pub key: Option<String>,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptStatus {
    /// Written down; the send may have begun.
    Sending,
    /// The channel took it.
    Sent,
    /// The platform says the person has it.
    Delivered,
    /// It did not work; another try may.
    Failed,
    /// It will never work at this address.
    Refused,
    /// Cut off in flight: nobody knows.
    Unknown,
}

words!(AttemptStatus as "status" {
    "sending" => Sending, "sent" => Sent, "delivered" => Delivered, "failed" => Failed, "refused" => Refused, "unknown" => Unknown,
});

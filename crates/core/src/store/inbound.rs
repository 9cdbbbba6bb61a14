//! The types with which a store takes answers from the platforms.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::channel::receive::{Became, EventId, Place};
use crate::clock::later;
use crate::id::OccurrenceId;
use crate::model::trail::Trail;
use crate::reminder::{Address, Reminder};
use crate::retry::RetryPolicy;
use crate::user::User;

/// A run that somebody answers, with what is needed to judge that.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its reminder.
    pub reminder: Reminder,
    /// The run, its attempts and the answers so far.
    pub trail: Trail,
    /// The entry of the reminder's user, if there is one that can be read.
    pub user: Option<User>,
}

/// The most runs that words can be about; nobody is asked about more at once.
pub const ASKED_MAX: usize = 32;

/// How an answer came, where its platform may give it again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Came {
    /// The event, so that a copy of it is refused.
    pub seen: Option<Seen>,
    /// How far its connection was read.
    pub place: Option<PlaceMove>,
}

/// An event of a platform that is taken once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The channel.
    pub channel: String,
    /// The first half of the SHA-256 of its name: 128 bits, whatever the platform's names look like.
    pub id: [u8; 16],
    /// Until when it is remembered.
    pub until: Timestamp,
}

impl Seen {
    /// An event that comes at `now`.
    pub fn new(channel: &str, event: &EventId, now: Timestamp) -> Self {
        let digest = Sha256::digest(&event.id);
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self { channel: channel.to_owned(), id, until: later(now, event.remember_for) }
    }
}

/// How far a connection was read, written by the node that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceMove {
    /// The channel.
    pub channel: String,
    /// The number under which the node holds it. Under any other number nothing is written.
    pub lease: u64,
    /// The place: [`Place::text`].
    pub text: String,
}

/// A channel's connection, of which there is one at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldConnection {
    /// The channel.
    pub channel: String,
    /// The node that has it.
    pub node: String,
    /// Rises whenever another node takes it.
    pub lease: u64,
    /// How far it was read.
    pub place: Option<Place>,
}

/// What a platform says about a message that it took.
#[derive(Debug, Clone)]
pub struct Report {
    /// The run that the message was sent for.
    pub run: OccurrenceId,
    /// The channel.
    pub channel: String,
    /// The platform's own id of the message.
    pub message_id: String,
    /// What became of it.
    pub became: Became,
    /// All addresses of the run, in order, for going another way.
    pub route: Vec<Address>,
    /// When it is tried again,
    pub policy: RetryPolicy,
    /// and by how much that is spread: `0.0..1.0`.
    pub jitter: f64,
}

/// What a report led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Something was written.
    Changed,
    /// It says nothing new, or nothing is known of the message.
    Nothing,
    /// The message is being sent, and its id is not written down yet: the report counts when it comes again.
    NotYet,
}

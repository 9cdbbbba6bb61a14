//! The promise a channel makes.

/// What comes back from a platform: presses, words and delivery reports.
pub mod receive;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_time::words;

use self::receive::{Edits, Receive};
use crate::id::OccurrenceId;
use crate::invalid::Invalid;
use crate::journal::Placed;
use crate::phrase::Lang;
use crate::reminder::{Address, Reminder};

/// One way to reach people.
///
/// A channel knows its platform and nothing of schedules or retries. It sends once and says what happened.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// What it is, such as `discord`; several channels of one kind may have names of their own.
    fn kind(&self) -> &'static str;

    /// Sends `message`. Dropping the future abandons the send; whether it arrived is then unknown.
    async fn send(&self, message: &Message) -> Result<Receipt, SendError>;

    /// Tells a program what happened. Only a channel that [takes notices](Channel::takes_notices) is asked to.
    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        let _ = notice;
        Err(SendError::Refused(format!("{} tells people, not programs", self.kind())))
    }

    /// Whether a program listens there, which can be told what happened.
    fn takes_notices(&self) -> bool {
        false
    }

    /// Asks what became of a message whose receipt is [`Receipt::pending`].
    async fn follow(&self, message_id: &str) -> Result<Followed, SendError> {
        let _ = message_id;
        Ok(Followed::Reached)
    }

    /// Refuses an address that cannot be right, when a reminder is created rather than when it is due.
    fn check_address(&self, address: &str) -> Result<(), Invalid>;

    /// The same rule in words that a database understands: reminders are also made in SQL. A test compares the two, kind by kind.
    fn address_rule(&self) -> AddressRule {
        AddressRule::anything(crate::reminder::TEXT_BYTES_MAX)
    }

    /// How much may be sent.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Whether a message that may have arrived is not sent again, unless its reminder says otherwise: what rings a phone or costs
    /// money must not be repeated on a guess.
    fn holds_unknown(&self) -> bool {
        false
    }

    /// How many characters a digest may have, which is one message for several to one person; a message that does not fit goes into
    /// the next. A person reads a list; a program wants each message, so `None`.
    fn digest_max(&self) -> Option<usize> {
        None
    }

    /// The limit of the platform that an address falls under. Addresses with the same name share it: what one of them is told
    /// to wait, all wait.
    fn bucket(&self, address: &str) -> Bucket {
        Bucket { name: address.to_owned(), rate: self.limits().address_rate }
    }

    /// Which receiver an address belongs to: who answers when it is called. Sends to one receiver share its limits, so that a
    /// receiver that hangs holds back its own messages and nobody else's.
    fn receiver(&self, address: &str) -> String {
        address.to_owned()
    }

    /// The part that hears what people answer. `None`: their answers come another way, or not at all.
    fn receives(&self) -> Option<&dyn Receive> {
        None
    }

    /// The part that changes messages which were sent. `None`: a message stays as it is.
    fn edits(&self) -> Option<&dyn Edits> {
        None
    }
}

/// Which addresses a channel takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressRule {
    /// A text.
    Text {
        /// A regular expression as PostgreSQL reads it; an empty one takes everything.
        pattern: String,
        /// At most so many bytes of UTF-8.
        bytes_max: usize,
        /// The error for an address that is not taken.
        problem: String,
    },
    /// A URL of http or https.
    Url {
        /// Whether it may be that of a private network.
        allow_private: bool,
    },
}

impl AddressRule {
    /// Any text of at most `bytes_max` bytes.
    pub fn anything(bytes_max: usize) -> Self {
        Self::Text { pattern: String::new(), bytes_max, problem: format!("is longer than {bytes_max} bytes") }
    }

    /// Texts that match `pattern` as a whole.
    pub fn matching(pattern: &str, problem: impl Into<String>) -> Self {
        let bytes_max = crate::reminder::TEXT_BYTES_MAX;
        Self::Text { pattern: format!("^({pattern})$"), bytes_max, problem: problem.into() }
    }
}

/// How much may be sent. A message above it waits its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many sends may run at once to one receiver.
    pub concurrency: usize,
    /// How fast to one receiver, all its addresses together.
    pub rate: Option<Rate>,
    /// How fast to one address.
    pub address_rate: Option<Rate>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 64, rate: None, address_rate: None }
    }
}

/// The longest wait that is obeyed. A platform that asks for more is called again after it.
pub const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

/// A limit that addresses share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// The name that tells it from other limits of the channel.
    pub name: String,
    /// How fast.
    pub rate: Option<Rate>,
}

/// So many in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many, at least 1.
    pub n: u32,
    /// In how much time.
    pub per: Duration,
}

impl Rate {
    /// `n` in every second.
    pub const fn per_second(n: u32) -> Self {
        Self { n, per: Duration::from_secs(1) }
    }

    /// `n` in every minute.
    pub const fn per_minute(n: u32) -> Self {
        Self { n, per: Duration::from_secs(60) }
    }
}

impl fmt::Display for Rate {
    /// Such as `5/1s`, as it is also written in a setting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per.as_millis() {
            millis if millis % 1000 == 0 => write!(f, "{}/{}s", self.n, millis / 1000),
            millis => write!(f, "{}/{millis}ms", self.n),
        }
    }
}

impl std::str::FromStr for Rate {
    type Err = String;

    /// Reads `30/s`, `20/min`, `5/2s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no rate; write such as 30/s, 20/min or 5/2s");
        let (n, per) = text.split_once('/').ok_or_else(wrong)?;
        let n = n.trim().parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        let per = match per.trim() {
            "s" => Duration::from_secs(1),
            "min" | "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            span => crate::span::parse(span).map_err(|_| wrong())?,
        };
        if per.is_zero() || per > Duration::from_secs(86_400) {
            return Err(wrong());
        }
        Ok(Self { n, per })
    }
}

/// A message that is handed to a channel: one attempt to tell one person one thing.
#[derive(Debug, Clone)]
pub struct Message {
    /// The occurrence this is an attempt for.
    pub occurrence: OccurrenceId,
    /// Which attempt, counted from 1.
    pub attempt: u32,
    /// The reminder it belongs to.
    pub reminder: Arc<Reminder>,
    /// Where it goes.
    pub to: Address,
    /// The same for every attempt of this occurrence to this address.
    pub idempotency_key: String,
    /// Another one for every attempt: for finding it again in the books of a platform.
    pub attempt_key: String,
    /// What to say, with a `[Late …]` prefix where it applies.
    pub text: String,
    /// The language of whatever is said beside it.
    pub language: Lang,
    /// When it was due.
    pub due_at: Timestamp,
    /// The date that it bears, where the platform shows one: the same for every attempt under one key.
    pub dated: Timestamp,
    /// When this attempt begins. Never before `due_at`.
    pub sent_at: Timestamp,
}

impl Message {
    /// How late this attempt begins, in seconds.
    pub fn late_seconds(&self) -> f64 {
        self.sent_at.duration_since(self.due_at).as_secs_f64().max(0.0)
    }
}

/// An entry of the journal on its way to a program that asked for such entries: one attempt.
#[derive(Debug, Clone)]
pub struct Notice {
    /// What happened.
    pub entry: Arc<Placed>,
    /// Where it goes.
    pub to: Address,
    /// When this attempt begins.
    pub sent_at: Timestamp,
}

impl Notice {
    /// The key a receiver can rely on to see this entry once: the same for every attempt, node and restart. Its instant stands in it, too,
    /// because another server, or this one with a new database, has an entry at the same position. It contains no full stop, because
    /// Standard Webhooks signs `id.timestamp.body`.
    pub fn idempotency_key(&self) -> String {
        format!("evt-{}-{:x}", self.entry.position, self.entry.at.as_microsecond())
    }
}

/// What a channel returns for a message it took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// The platform's own id of the message, if it gives one.
    pub message_id: Option<String>,
    /// It was taken, and whether the person was reached is known later: [`Channel::follow`] tells.
    pub pending: bool,
    /// No person saw the message or can answer it: it counts as delivered, whatever the reminder asks. Only a rehearsal says so.
    pub unanswerable: bool,
}

impl Receipt {
    /// The platform took it under this id.
    pub fn of(message_id: impl Into<String>) -> Self {
        Self { message_id: Some(message_id.into()), ..Self::default() }
    }
}

/// What has become of a message that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// The person was reached.
    Reached,
    /// Not known yet: ask again after this long.
    AskAgain(Duration),
}

/// Whom a wait that a platform asks for is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The whole receiver.
    Receiver,
    /// The address alone.
    Address,
    /// The receiver is shared by strangers, as a web host is, and did not say whom it meant: the address waits, and the receiver
    /// for a moment when several users' addresses there meet a wait.
    Shared,
}

/// What became of one send, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// It was taken.
    Sent,
    /// [`SendError::Throttled`].
    Throttled,
    /// [`SendError::Unavailable`].
    Unavailable,
    /// [`SendError::Refused`].
    Refused,
    /// [`SendError::Gone`].
    Gone,
    /// [`SendError::Unknown`].
    Unknown,
}

words!(SendOutcome as "outcome" {
    "sent" => Sent, "throttled" => Throttled, "unavailable" => Unavailable, "refused" => Refused, "gone" => Gone, "unknown" => Unknown
});

/// Why a send did not work, named by what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform asks to wait; it costs no attempt.
    #[error("throttled for {wait:?}")]
    Throttled {
        /// How long.
        wait: Duration,
        /// Who has to wait.
        whom: Whom,
    },
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
    /// This message will never be taken at this address.
    #[error("{0}")]
    Refused(String),
    /// The address is dead.
    #[error("gone: {0}")]
    Gone(String),
    /// Cut off in flight: it may have arrived.
    #[error("{0}")]
    Unknown(String),
}

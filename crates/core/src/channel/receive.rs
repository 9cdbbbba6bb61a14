//! Events from a platform: presses, words and delivery reports.
//!
//! A channel turns each event, by a connection that it opened or by a request to this server, into an [`Inbound`] and hands it to
//! [`Inlet::take`]. That returns after the answer is committed, and only then does the channel acknowledge to the platform. So an answer
//! that the platform counts as taken is never lost, and one that it gives again is recognised.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{Timestamp, Zoned};

use super::{Message, SendError};
use crate::id::OccurrenceId;
use crate::model::answer::{Pressed, Verb};
use crate::occurrence::StateKind;
use crate::phrase::Lang;

/// The longest name of a person that is kept, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// One thing that came from a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    /// What it is.
    pub what: What,
    /// The person whom it is from; a delivery report has none.
    pub from: Option<Sender>,
    /// The platform's name for this event. Every press has one, also one that comes by a connection with a place: an answer whose commit
    /// was not answered is given to the store again, and must not count twice. `None`: a copy of it does no harm.
    pub id: Option<EventId>,
    /// Where the connection goes on after this event. Only events of a connection that can be resumed have one.
    pub place: Option<String>,
    /// When the person did it, where the platform says so under its signature: a press that is older than the last answer is stale, and
    /// words are about nothing that was said after them.
    pub at: Option<Timestamp>,
    /// What the channel needs to tell this person something. Only the channel reads it.
    pub handle: Handle,
}

impl Inbound {
    /// Something from `from`, with nothing else known of it.
    pub fn new(what: What, from: Option<Sender>) -> Self {
        Self { what, from, id: None, place: None, at: None, handle: Handle::default() }
    }
}

/// What came.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A person pressed a button under a message.
    Press {
        /// The button.
        pressed: Pressed,
        /// The message that it was under, as [`Receipt::message_id`](super::Receipt::message_id) names it.
        message_id: Option<String>,
    },
    /// A person wrote something.
    Words {
        /// The words, without a mention of the bot.
        text: String,
        /// The message that they are a reply to, as [`Receipt::message_id`](super::Receipt::message_id) names it.
        reply_to: Option<String>,
        /// The run of that message, where its buttons name it.
        about: Option<OccurrenceId>,
    },
    /// The platform says what became of a message.
    Report {
        /// The run that it was sent for.
        occurrence: OccurrenceId,
        /// The message, as [`Receipt::message_id`](super::Receipt::message_id) names it.
        message_id: String,
        /// What became of it.
        became: Became,
    },
}

/// The fate of a message that its platform took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// The person has it; that they have read it says the same.
    Delivered,
    /// It did not reach the person.
    Failed(SendError),
}

/// A person at a platform, in the channel's own syntax of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// Every address that means this one person.
    pub person: Vec<String>,
    /// Every address that means the chat where it happened.
    pub chat: Vec<String>,
    /// Whether others are in that chat as well.
    pub is_group: bool,
    /// The name they have chosen; empty where the platform does not say it. It is cut to [`NAME_CHARS_MAX`].
    pub name: String,
}

/// The platform's name for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventId {
    /// The name; a channel's events never have the same one twice.
    pub id: String,
    /// How long a copy of the event could still be taken for genuine.
    pub remember_for: Duration,
}

/// A platform's own handle for an event, such as the URL of a reply. Whoever knows it may write to the person, so it is never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Handle(pub String);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The reaction to an event; the channel puts it into words.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// The answer is recorded.
    Answered {
        /// Which answer.
        verb: Verb,
        /// Until when the reminder is put off, in the person's zone.
        until: Option<Zoned>,
        /// What the pressed message shows now; only where [`Receive::edits_in_reply`].
        edit: Option<Box<Edit>>,
        /// The person's language.
        language: Lang,
    },
    /// The run awaits no answer any more: it was answered, cancelled, or has ended; or this is a copy of an answer that was taken.
    Already {
        /// How it stands; none if nothing is known of it any more.
        state: Option<StateKind>,
        /// What the pressed message shows now; only where [`Receive::edits_in_reply`].
        edit: Option<Box<Edit>>,
        /// The person's language.
        language: Lang,
    },
    /// The reminder is for somebody else.
    NotYours {
        /// The language of the reminder's person.
        language: Lang,
    },
    /// It cannot be answered so, or not at this moment.
    NotNow {
        /// Why.
        why: NotNow,
        /// The person's language.
        language: Lang,
    },
    /// An answer to what a person wrote.
    Say {
        /// The words, in the person's language.
        text: String,
        /// Buttons under them.
        choices: Vec<Choice>,
        /// They confirm that an answer was recorded, and say nothing else.
        is_taken: bool,
    },
    /// The person is told nothing: it was no answer, or a report.
    Nothing,
}

/// Why a press changes nothing although the run is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNow {
    /// The reminder must not be put off.
    SnoozeNotAllowed,
    /// Its message is being sent again at this moment.
    BeingSent,
    /// Nobody has been asked yet.
    NotAsked,
}

/// A button under an answer in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its label; a channel cuts it to what fits.
    pub label: String,
    /// What it says when it is pressed.
    pub pressed: Pressed,
}

/// Why an event was not taken. The channel does not acknowledge it, so that the platform gives it again or tells the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTaken {
    /// Another node has the connection now.
    LeaseLost,
    /// The store cannot write now.
    Unavailable,
}

/// Takes what comes from one channel.
#[async_trait]
pub trait Inlet: Send + Sync {
    /// Notes that the connection is open: the platform has accepted it.
    fn connected(&self);

    /// Takes `inbound`. When it has returned a reaction, what was made of it survives power loss.
    async fn take(&self, inbound: Inbound) -> Result<Reaction, NotTaken>;
}

/// How a channel hears what people answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By a connection that this server opens: it needs no public address.
    Connection,
    /// By requests of the platform to `/v1/inbound/{channel}`.
    Webhook,
}

punctual_time::words!(Way as "receive" { "connection" => Connection, "webhook" => Webhook });

/// The part of a channel that hears what people answer.
#[async_trait]
pub trait Receive: Send + Sync {
    /// Which way.
    fn way(&self) -> Way;

    /// Opens a connection, from `place` on where there is one, and hands over what comes, one event after the other; returns when it has
    /// ended. Dropping the future closes it. Only one node at a time calls it.
    async fn connect(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        let _ = (place, inlet);
        Ended::Refused("this channel opens no connection".into())
    }

    /// Tells the platform where to send its requests, where it can be told. Only one node at a time calls it, when it begins to hold the channel.
    async fn register(&self) -> Result<(), Ended> {
        Ok(())
    }

    /// Reads a request that says it comes from the platform. Its proof is looked at before anything of its body is.
    fn read(&self, call: &Call<'_>, now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        let _ = (call, now);
        Err(NotRead::Forged)
    }

    /// The reply to a request of which everything was taken: `taken` has what was read and what was made of it.
    fn reply(&self, taken: &[(Inbound, Reaction)]) -> Reply {
        let _ = taken;
        Reply::empty(200)
    }

    /// Tells a person by a request of our own what a reply could not say.
    async fn react(&self, inbound: &Inbound, reaction: &Reaction) -> Result<(), SendError> {
        let _ = (inbound, reaction);
        Ok(())
    }

    /// Whether the reply to a press also changes the message under which the button was. If not, the engine edits it like the others.
    fn edits_in_reply(&self) -> bool {
        false
    }
}

/// How far a connection was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// [`Inbound::place`] of the last event that was taken.
    pub text: String,
    /// When that was.
    pub at: Timestamp,
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It broke, or the platform closed it; another is opened soon.
    Broken(String),
    /// The platform asks to be left alone for so long.
    Wait(Duration),
    /// Only an operator can mend it: a wrong token, a missing permission, another program that uses the same bot.
    Refused(String),
    /// [`Inlet::take`] said [`NotTaken::LeaseLost`], or the platform says that somebody else connected.
    Replaced,
}

/// A request that says it comes from the platform.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Whether it is a GET; else it is a POST.
    pub is_get: bool,
    /// Its path and query, as they came.
    pub path_and_query: &'a str,
    /// Its headers; the names are in small letters.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Its body, as it came.
    pub body: &'a [u8],
}

impl Call<'_> {
    /// The first header of this name, which is in small letters; none if it is no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| *known == name)?;
        std::str::from_utf8(value).ok()
    }
}

/// Why nothing was read from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRead {
    /// It does not prove that it comes from the platform.
    Forged,
    /// Its proof is too old or from the future.
    Stale,
    /// It comes from the platform and cannot be understood; the text says why.
    Malformed(String),
    /// It only asks whether this server is there: this is the reply.
    Answer(Reply),
}

/// A reply over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Reply {
    /// Only a status.
    pub fn empty(status: u16) -> Self {
        Self { status, content_type: "text/plain", body: String::new() }
    }

    /// 200 with this JSON.
    pub fn json(body: &serde_json::Value) -> Self {
        Self { status: 200, content_type: "application/json", body: body.to_string() }
    }
}

/// The part of a channel that changes messages which it has sent.
#[async_trait]
pub trait Edits: Send + Sync {
    /// Changes a message. One that shows it already, or was deleted, is no error.
    async fn edit(&self, edit: &Edit) -> Result<(), SendError>;
}

/// A message that was sent, and what it shows now.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The message as it was sent.
    pub message: Message,
    /// The platform's own id of it.
    pub message_id: String,
    /// What it shows now; its buttons are gone.
    pub shows: Shows,
}

/// What became of a run, as its messages show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shows {
    /// What became of it.
    pub end: End,
    /// By whom, as they call themselves, where that is known. A channel escapes it as it does a message: it may be `@everyone`.
    pub by: Option<String>,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// It is done.
    Done,
    /// It was put off until then, in its person's zone.
    Snoozed(Zoned),
    /// It is not needed.
    NotNeeded,
    /// It was cancelled.
    Cancelled,
    /// Nobody answered in time.
    Unanswered,
}

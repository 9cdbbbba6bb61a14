//! The journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

/// One thing that happened.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Entry {
    /// Its position. Positions rise in the order in which things were committed.
    pub(crate) id: i64,
    pub(crate) at: Timestamp,
    /// Such as `reminder.sent`.
    pub(crate) kind: String,
    /// Whose it is.
    pub(crate) user: Option<String>,
    pub(crate) reminder_id: Option<String>,
    pub(crate) occurrence_id: Option<String>,
    /// By whom: `engine`, `admin`, or a key by its name.
    pub(crate) actor: String,
    /// Through which door, such as `api` or `sql`.
    pub(crate) via: Option<String>,
    /// Which node wrote it.
    pub(crate) node: Option<String>,
    /// What else there is to know; it depends on the kind.
    #[schema(value_type = Option<Object>)]
    pub(crate) data: Option<Box<RawValue>>,
}

/// A page of the journal.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Journal {
    pub(crate) entries: Vec<Entry>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// Which entries of the journal to list.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JournalQuery {
    /// Only this user's.
    pub(crate) user: Option<String>,
    /// Only those of the user of the key, else of `me`.
    pub(crate) mine: Option<bool>,
    /// Only those about this reminder.
    pub(crate) reminder: Option<String>,
    /// Only those about reminders that have this tag now.
    pub(crate) tag: Option<String>,
    /// Only of this kind, such as `reminder.sent`; several with commas between.
    pub(crate) kind: Option<String>,
    /// Only by this actor, such as `engine` or `key app`.
    pub(crate) actor: Option<String>,
    /// Only what happened from then on: a day, from its beginning, or a time.
    pub(crate) from: Option<String>,
    /// Only what happened until then: a day, to its end, or a time.
    pub(crate) to: Option<String>,
    /// `oldest` or `newest` first; `oldest` if nobody says.
    pub(crate) order: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the page before; or the position of an entry, to go on after it.
    pub(crate) cursor: Option<String>,
}

/// Which entries of the journal to stream.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Only this user's.
    pub(crate) user: Option<String>,
    /// Only those about this reminder.
    pub(crate) reminder: Option<String>,
    /// Only those about reminders that have this tag now.
    pub(crate) tag: Option<String>,
    /// Only of this kind, such as `reminder.sent`; several with commas between.
    pub(crate) kind: Option<String>,
    /// Begins after this position; from now on if nobody says. The header `Last-Event-ID` goes before it.
    pub(crate) after: Option<i64>,
}

/// Why a stream ends, in its last event, which is called `end`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StreamEnd {
    /// `too_slow`, `stopping`, `key_deleted` or `key_expired`.
    pub(crate) reason: String,
    /// The same for people.
    pub(crate) detail: String,
    /// The position after which a reader goes on.
    pub(crate) resume_after: i64,
}

/// An application that is told what happens, and how far it has been told.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Subscription {
    /// Under which it is kept how far the application was told.
    pub(crate) name: String,
    /// What it is told.
    pub(crate) kinds: Vec<String>,
    /// Whose; none is everybody's.
    pub(crate) users: Vec<String>,
    /// Only about reminders that have this tag.
    pub(crate) tag: Option<String>,
    /// By which channel. Its address may be a secret, and is not shown.
    pub(crate) channel: String,
    /// The node that tells it, if one does now.
    pub(crate) node: Option<String>,
    /// Everything up to here has been told; null before a node has begun.
    pub(crate) position: Option<i64>,
    /// How many entries of the journal come after that, whether it asks for them or not.
    pub(crate) behind: Option<i64>,
    /// What an operator should know, such as an entry that its receiver refused.
    pub(crate) note: Option<String>,
}

/// All subscriptions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Subscriptions {
    pub(crate) subscriptions: Vec<Subscription>,
    /// Always null: there is one page.
    pub(crate) next_cursor: Option<String>,
}

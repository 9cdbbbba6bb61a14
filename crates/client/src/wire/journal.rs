//! The journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One thing that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Entry {
    /// Its position. Positions rise in the order in which things were committed.
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Such as `reminder.sent`.
    pub kind: String,
    /// Whose it is.
    pub user: Option<String>,
    /// The reminder that it is about.
    pub reminder_id: Option<String>,
    /// The run that it is about.
    pub occurrence_id: Option<String>,
    /// By whom: `engine`, `admin`, or a key by its name.
    pub actor: String,
    /// Through which door, such as `api` or `sql`.
    pub via: Option<String>,
    /// Which node wrote it.
    pub node: Option<String>,
    /// What else there is to know; it depends on the kind.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub data: Option<Box<RawValue>>,
}

/// A page of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Journal {
    /// The page.
    pub entries: Vec<Entry>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// Which entries of the journal to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct JournalQuery {
    /// Only this user's.
    pub user: Option<String>,
    /// Only those of the user of the key, else of `me`.
    pub mine: Option<bool>,
    /// Only those about this reminder.
    pub reminder: Option<String>,
    /// Only those about reminders that have this tag now.
    pub tag: Option<String>,
    /// Only of this kind, such as `reminder.sent`; several with commas between.
    pub kind: Option<String>,
    /// Only by this actor, such as `engine` or `key app`.
    pub actor: Option<String>,
    /// Only what happened from then on: a day, from its beginning, or a time.
    pub from: Option<String>,
    /// Only what happened until then: a day, to its end, or a time.
    pub to: Option<String>,
    /// `oldest` or `newest` first; `oldest` if nobody says.
    pub order: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before; or the position of an entry, to go on after it.
    pub cursor: Option<String>,
}

/// Which entries of the journal to stream.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct StreamQuery {
    /// Only this user's.
    pub user: Option<String>,
    /// Only those about this reminder.
    pub reminder: Option<String>,
    /// Only those about reminders that have this tag now.
    pub tag: Option<String>,
    /// Only of this kind, such as `reminder.sent`; several with commas between.
    pub kind: Option<String>,
    /// Begins after this position; from now on if nobody says. The header `Last-Event-ID` goes before it.
    pub after: Option<i64>,
}

/// Why a stream ends, in its last event, which is called `end`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StreamEnd {
    /// `too_slow`, `stopping`, `key_deleted` or `key_expired`.
    pub reason: String,
    /// The same for people.
    pub detail: String,
    /// The position after which a reader goes on.
    pub resume_after: i64,
}

/// An application that is told what happens, and how far it has been told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Subscription {
    /// Under which it is kept how far the application was told.
    pub name: String,
    /// What it is told.
    pub kinds: Vec<String>,
    /// Whose; none is everybody's.
    pub users: Vec<String>,
    /// Only about reminders that have this tag.
    pub tag: Option<String>,
    /// By which channel. Its address may be a secret, and is not shown.
    pub channel: String,
    /// The node that tells it, if one does now.
    pub node: Option<String>,
    /// Everything up to here has been told; null before a node has begun.
    pub position: Option<i64>,
    /// How many entries of the journal come after that, whether it asks for them or not.
    pub behind: Option<i64>,
    /// What an operator should know, such as an entry that its receiver refused.
    pub note: Option<String>,
}

/// All subscriptions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Subscriptions {
    /// By name.
    pub subscriptions: Vec<Subscription>,
    /// Always null: there is one page.
    pub next_cursor: Option<String>,
}

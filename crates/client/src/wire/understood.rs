//! What a text says about time.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reminder::Schedule;

/// A text to be understood.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ParseInput {
    /// The words. They must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Their language; without it the user's, else it is worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// When they are said; the present if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// The zone its local times are meant in; without it the user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// Who says it; without it the user of the key, else `me`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// What was understood. Instants have their local offset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Understood {
    /// One instant.
    Instant {
        /// When.
        at: String,
        /// How exactly it was said, such as `minute`.
        grain: Cow<'static, str>,
        /// The text without the time.
        rest: String,
        /// The time in the text's own language.
        summary: String,
        /// The language it was understood in.
        lang: Cow<'static, str>,
    },
    /// Something that comes again and again.
    Recurring {
        /// The schedule.
        schedule: Schedule,
        /// The first runs; fewer where it ends before.
        next: Vec<String>,
        /// The text without the time.
        rest: String,
        /// The time in the text's own language.
        summary: String,
        /// The language it was understood in.
        lang: Cow<'static, str>,
    },
    /// A stretch of time.
    Interval {
        /// When it begins.
        from: String,
        /// When it ends.
        to: String,
        /// How exactly its beginning was said, such as `minute`.
        grain: Cow<'static, str>,
        /// The text without the time.
        rest: String,
        /// The time in the text's own language.
        summary: String,
        /// The language it was understood in.
        lang: Cow<'static, str>,
    },
    /// A length of time.
    Duration {
        /// How long it is.
        seconds: u64,
        /// When it is over, if it begins now.
        at: String,
        /// The text without the time.
        rest: String,
        /// The time in the text's own language.
        summary: String,
        /// The language it was understood in.
        lang: Cow<'static, str>,
    },
    /// Nothing that can be relied on.
    None {
        /// A sentence for the person who wrote it.
        reason: String,
    },
    /// A kind that only a newer server knows, as it came.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

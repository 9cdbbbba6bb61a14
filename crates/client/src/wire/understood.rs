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
        /// What else the same words can mean: 2 o'clock at night, the other order of day and month.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<Reading>,
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
        /// What else the same words can mean: 2 o'clock at night, the other order of day and month.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<Reading>,
    },
    /// A stretch of time.
    Interval {
        /// When it begins.
        from: String,
        /// When it ends.
        to: String,
        /// When a reminder of it comes, where no moment of it was said: `tomorrow afternoon` is due at 15:00. Without it, a reminder comes
        /// when the stretch begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<String>,
        /// How exactly its beginning was said, such as `minute`.
        grain: Cow<'static, str>,
        /// The text without the time.
        rest: String,
        /// The time in the text's own language.
        summary: String,
        /// The language it was understood in.
        lang: Cow<'static, str>,
        /// What else the same words can mean: 2 o'clock at night, the other order of day and month.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<Reading>,
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
        /// What the text most likely means, where a part of it was not understood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<Box<Reading>>,
    },
    /// A kind that only a newer server knows, as it came.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl Understood {
    /// What else the same words can mean.
    #[must_use]
    pub fn alternatives(&self) -> &[Reading] {
        match self {
            Self::Instant { alternatives, .. }
            | Self::Recurring { alternatives, .. }
            | Self::Interval { alternatives, .. } => alternatives,
            Self::Duration { .. } | Self::None { .. } | Self::Other(_) => &[],
        }
    }
}

/// One thing that a text can mean.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Reading {
    /// When an instant is, or when a duration that begins now is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// When an interval begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// When an interval ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The schedule of what comes again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// The time in the text's own language.
    pub summary: String,
}

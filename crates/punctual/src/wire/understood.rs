//! What a text says about time.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::phrase::{Meaning, Parsed};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::reminder::Schedule as ScheduleJson;

/// How many runs of what comes again are shown.
const NEXT_MAX: usize = 5;

/// A text to be understood.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ParseInput {
    /// The words. They must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Their language; without it the user's, else it is worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lang: Option<String>,
    /// When they are said; the present if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<String>,
    /// The zone its local times are meant in; without it the user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tz: Option<String>,
    /// Who says it; without it the user of the key, else `me`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
}

/// What was understood. Instants have their local offset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Understood {
    /// One instant.
    Instant {
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
        schedule: ScheduleJson,
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
        from: String,
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

impl Understood {
    /// `parsed` as it is shown to somebody in `zone` at `now`. Where the request has few `steps` left, fewer runs are shown.
    pub(crate) fn of(parsed: Parsed, zone: &Zone, now: Timestamp, steps: &Steps) -> Self {
        let summary = parsed.summary(zone);
        let Parsed { meaning, rest, lang } = parsed;
        let (exact, lang) = (|at| exact(at, zone), lang.tag().into());
        match meaning {
            Meaning::Instant { at, grain } => {
                Self::Instant { at: exact(at), grain: grain.word().into(), rest, summary, lang }
            }
            Meaning::Recurring(schedule) => Self::Recurring {
                next: runs(&schedule, zone, now, steps).map(exact).collect(),
                schedule: ScheduleJson(schedule.to_json()),
                rest,
                summary,
                lang,
            },
            Meaning::Interval { from, to, grain } => {
                Self::Interval { from: exact(from), to: exact(to), grain: grain.word().into(), rest, summary, lang }
            }
            Meaning::Duration { seconds, at } => Self::Duration { seconds, at: exact(at), rest, summary, lang },
            Meaning::None { reason } => Self::None { reason },
        }
    }
}

/// The first runs of `schedule` after `now`, as many as are shown.
pub(crate) fn runs(schedule: &Schedule, zone: &Zone, now: Timestamp, steps: &Steps) -> impl Iterator<Item = Timestamp> {
    let count = schedule.count.map_or(NEXT_MAX, |count| NEXT_MAX.min(usize::try_from(count).unwrap_or(NEXT_MAX)));
    let next = move |after: &Timestamp| schedule.next_within(zone, *after, steps);
    std::iter::successors(next(&now), next).take(count)
}

/// The instant with its local offset, as other programs read it.
pub(crate) fn exact(at: Timestamp, zone: &Zone) -> String {
    at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

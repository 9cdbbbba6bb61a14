//! What a text says about time, as the command line and the API answer it.

use jiff::Timestamp;
use punctual_core::phrase::{Meaning, Parsed};
use punctual_core::schedule::Schedule;
use punctual_core::zone::Zone;
use serde::Serialize;
use serde_json::Value;

/// How many runs of what comes again are shown.
const NEXT_MAX: usize = 5;

/// What was understood, as JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Understood {
    /// One instant.
    Instant {
        at: String,
        grain: &'static str,
        #[serde(flatten)]
        words: Words,
    },
    /// Something that comes again and again.
    Recurring {
        schedule: Value,
        /// The first runs; fewer where it ends before.
        next: Vec<String>,
        #[serde(flatten)]
        words: Words,
    },
    /// A stretch of time.
    Interval {
        from: String,
        to: String,
        grain: &'static str,
        #[serde(flatten)]
        words: Words,
    },
    /// A length of time.
    Duration {
        seconds: u64,
        /// When it is over, if it begins now.
        at: String,
        #[serde(flatten)]
        words: Words,
    },
    /// Nothing that can be relied on.
    None { reason: String },
}

/// What is said with every time that was understood.
#[derive(Debug, Serialize)]
pub(crate) struct Words {
    rest: String,
    summary: String,
    lang: &'static str,
}

impl Understood {
    /// `parsed` as it is shown to somebody in `zone` at `now`.
    pub(crate) fn of(parsed: Parsed, zone: &Zone, now: Timestamp) -> Self {
        let summary = parsed.summary(zone);
        let words = Words { rest: parsed.rest, summary, lang: parsed.lang.tag() };
        match parsed.meaning {
            Meaning::Instant { at, grain } => Self::Instant { at: exact(at, zone), grain: grain.word(), words },
            Meaning::Recurring(schedule) => Self::Recurring {
                schedule: schedule.to_json(),
                next: runs(&schedule, zone, now).map(|at| exact(at, zone)).collect(),
                words,
            },
            Meaning::Interval { from, to, grain } => {
                Self::Interval { from: exact(from, zone), to: exact(to, zone), grain: grain.word(), words }
            }
            Meaning::Duration { seconds, at } => Self::Duration { seconds, at: exact(at, zone), words },
            Meaning::None { reason } => Self::None { reason },
        }
    }
}

/// The first runs of `schedule` after `now`, as many as are shown.
pub(crate) fn runs(schedule: &Schedule, zone: &Zone, now: Timestamp) -> impl Iterator<Item = Timestamp> {
    let count = schedule.count.map_or(NEXT_MAX, |count| NEXT_MAX.min(usize::try_from(count).unwrap_or(NEXT_MAX)));
    let next = move |after: &Timestamp| schedule.next_after(zone, *after);
    std::iter::successors(next(&now), next).take(count)
}

/// The instant with its local offset, as other programs read it.
pub(crate) fn exact(at: Timestamp, zone: &Zone) -> String {
    at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

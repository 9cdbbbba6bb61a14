//! What a text says about time, as the API and the command line show it.

use jiff::Timestamp;
use punctual_core::phrase::{Lang, Meaning, Parsed};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

use crate::wire::{self, Reading, Understood};

/// How many runs of what comes again are shown.
const NEXT_MAX: usize = 5;

/// `parsed` as it is shown to somebody in `zone` at `now`. Where the request has few `steps` left, fewer runs are shown.
pub(crate) fn understood(parsed: Parsed, zone: &Zone, now: Timestamp, steps: &Steps) -> Understood {
    let summary = parsed.summary(zone);
    let reading = |meaning: &Meaning| reading(meaning, parsed.lang, zone);
    let alternatives: Vec<Reading> = parsed.alternatives.iter().map(reading).collect();
    let suggestion = parsed.suggestion.as_deref().map(reading).map(Box::new);
    let Parsed { meaning, rest, lang, .. } = parsed;
    let (exact, lang) = (|at| exact(at, zone), lang.tag().into());
    match meaning {
        // Where words name a stretch, both are said: the stretch, and the moment of it that was taken.
        Meaning::Instant { at, grain, within: Some((from, to)) } => {
            let (from, to, due, grain) = (exact(from), exact(to), Some(exact(at)), grain.word().into());
            Understood::Interval { from, to, due, grain, rest, summary, lang, alternatives }
        }
        Meaning::Instant { at, grain, within: None } => {
            Understood::Instant { at: exact(at), grain: grain.word().into(), rest, summary, lang, alternatives }
        }
        Meaning::Recurring(schedule) => Understood::Recurring {
            next: runs(&schedule, zone, now, steps).map(exact).collect(),
            schedule: wire::Schedule(schedule.to_json()),
            rest,
            summary,
            lang,
            alternatives,
        },
        Meaning::Interval { from, to, grain } => {
            let (from, to, grain) = (exact(from), exact(to), grain.word().into());
            Understood::Interval { from, to, due: None, grain, rest, summary, lang, alternatives }
        }
        Meaning::Duration { seconds, at } => Understood::Duration { seconds, at: exact(at), rest, summary, lang },
        Meaning::None { reason } => Understood::None { reason, suggestion },
    }
}

/// One thing that a text can mean.
fn reading(meaning: &Meaning, lang: Lang, zone: &Zone) -> Reading {
    let summary = meaning.summary_in(lang, zone);
    let exact = |at: &Timestamp| Some(exact(*at, zone));
    match meaning {
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => {
            Reading { at: exact(at), summary, ..Reading::default() }
        }
        Meaning::Interval { from, to, .. } => {
            Reading { from: exact(from), to: exact(to), summary, ..Reading::default() }
        }
        Meaning::Recurring(schedule) => {
            Reading { schedule: Some(wire::Schedule(schedule.to_json())), summary, ..Reading::default() }
        }
        Meaning::None { .. } => Reading { summary, ..Reading::default() },
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

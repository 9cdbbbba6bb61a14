//! The request of a sentence: `remind me tomorrow at 8 to call mom` says what, and when.
//!
//! Every door hands its sentences here, so that the same words mean the same everywhere.

use jiff::Timestamp;
use jiff::civil::Time;

use crate::habits::Habits;
use crate::invalid::Invalid;
use crate::phrase::{self, Lang, Meaning, Parsed, TEXT_MAX};
use crate::schedule::{Rule, Schedule};
use crate::steps::Steps;
use crate::zone::Zone;

/// A sentence that says when.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// When it asks to be reminded.
    pub schedule: Schedule,
    /// The time that the sentence says, and the rest of it.
    pub parsed: Parsed,
}

/// Why a sentence asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    /// No time was found in it, or none that can be relied on.
    #[error("{0}")]
    NoTime(String),
    /// It says something about time, and a part of that was not understood; the sentence says what, and what is likely.
    #[error("{0}")]
    Unclear(String),
    /// Its time was understood, and nobody can be reminded then.
    #[error("{0}")]
    NoReminder(String),
}

impl NotUnderstood {
    /// The same as a problem of the field that holds the sentence.
    pub fn in_field(&self, field: &str) -> Invalid {
        Invalid::new(field, self.to_string())
    }
}

/// Reads what `text` asks for, said by somebody without habits of their own; see [`read_for`].
pub fn read(
    text: &str,
    lang: Option<Lang>,
    zone: &Zone,
    now: Timestamp,
    steps: &Steps,
) -> Result<Sentence, NotUnderstood> {
    read_for(text, lang, zone, now, Habits::default(), steps)
}

/// Reads what `text` asks for, said in `zone` at `now`, as a part of a request that has so many steps left. Without `lang` its language is
/// worked out.
pub fn read_for(
    text: &str,
    lang: Option<Lang>,
    zone: &Zone,
    now: Timestamp,
    habits: Habits,
    steps: &Steps,
) -> Result<Sentence, NotUnderstood> {
    if text.len() > TEXT_MAX {
        return Err(NotUnderstood::NoReminder(format!("is {} bytes long; at most {TEXT_MAX}", text.len())));
    }
    let parsed = phrase::parse_for(text, lang, zone, now, habits, steps);
    let summary = || parsed.summary(zone);
    let once = |at: Timestamp| Schedule::new(Rule::Once { at });
    let schedule = match &parsed.meaning {
        // The text may well have a time; there was no more work to be spent on it.
        Meaning::None { reason } if steps.are_spent() => return Err(NotUnderstood::NoReminder(reason.clone())),
        Meaning::None { reason } if parsed.suggestion.is_some() => {
            return Err(NotUnderstood::Unclear(parsed.with_suggestion(reason, zone)));
        }
        Meaning::None { reason } => return Err(NotUnderstood::NoTime(reason.clone())),
        Meaning::Instant { at, .. } if *at < now => {
            return Err(NotUnderstood::NoReminder(phrase::not_to_come(parsed.lang, false, &summary())));
        }
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => once(*at),
        // `until friday` begins now; to be reminded now is not what it asks for.
        Meaning::Interval { from, .. } if *from <= now => {
            return Err(NotUnderstood::NoReminder(phrase::not_to_come(parsed.lang, true, &summary())));
        }
        // Of whole days the first begins at midnight, and nobody wants to be reminded then.
        Meaning::Interval { from, .. } => once(awake(*from, zone, habits)),
        Meaning::Recurring(schedule) => (**schedule).clone(),
    };
    // A schedule in words passes the checks that one in fields passes.
    let schedule = Schedule::from_input_within(&schedule.to_json(), zone, now, steps);
    let schedule = schedule.map_err(|invalid| NotUnderstood::NoReminder(invalid.problem))?;
    Ok(Sentence { schedule, parsed })
}

/// The moment at which to be reminded of what begins at `from`.
fn awake(from: Timestamp, zone: &Zone, habits: Habits) -> Timestamp {
    let local = zone.rules().to_datetime(from);
    if local.time() != Time::midnight() {
        return from;
    }
    zone.rules().to_timestamp(local.date().to_datetime(habits.on_day())).unwrap_or(from)
}

impl Sentence {
    /// The thing to be reminded of; a sentence may say only when.
    pub fn message(&self) -> Option<&str> {
        Some(self.parsed.rest.as_str()).filter(|rest| !rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The request of `text` at ten on a Sunday in Berlin.
    fn asked(text: &str) -> Result<Sentence, NotUnderstood> {
        let zone = Zone::named("Europe/Berlin").unwrap();
        read(text, Some(Lang::En), &zone, "2026-03-01T10:00:00+01:00".parse().unwrap(), &Steps::of_request(1))
    }

    #[test]
    fn a_sentence_says_what_and_when() {
        let once = |at: &str| {
            let at: Timestamp = at.parse().unwrap();
            json!({ "type": "once", "at": at.to_string() })
        };
        let rows: [(&str, &str, Value); 9] = [
            ("take my medicine in 5 minutes", "take my medicine", once("2026-03-01T10:05:00+01:00")),
            ("in 5 minutes take my medicine", "take my medicine", once("2026-03-01T10:05:00+01:00")),
            ("In 1h 30m to call mum", "call mum", once("2026-03-01T11:30:00+01:00")),
            ("put the cake in the oven in 10m", "put the cake in the oven", once("2026-03-01T10:10:00+01:00")),
            ("call mom tomorrow at 8", "call mom", once("2026-03-02T08:00:00+01:00")),
            ("finish it by friday", "finish it", once("2026-03-06T09:00:00+01:00")),
            ("20 minutes pizza", "pizza", once("2026-03-01T10:20:00+01:00")),
            ("lunch with Ann tomorrow from 12:00 to 13:30", "lunch with Ann", once("2026-03-02T12:00:00+01:00")),
            (
                "every weekday at 7:30 stand up",
                "stand up",
                json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] }),
            ),
        ];
        for (text, message, schedule) in rows {
            let sentence = asked(text).unwrap();
            assert_eq!((sentence.message(), sentence.schedule.to_json()), (Some(message), schedule), "{text}");
        }
        assert_eq!(asked("in 5 minutes").unwrap().message(), None, "it says only when");
    }

    #[test]
    fn a_sentence_that_nobody_can_be_reminded_by_is_refused_with_the_reason() {
        for (text, words) in [
            ("call mom yesterday at 5", "in the past: Sat 28 Feb 2026"),
            ("be away until friday", "has begun already: from Sun 1 Mar 2026"),
        ] {
            let error = asked(text).unwrap_err();
            assert!(matches!(&error, NotUnderstood::NoReminder(reason) if reason.contains(words)), "{text}: {error}");
        }
        for text in ["put the cake in the oven", ""] {
            let error = asked(text).unwrap_err();
            assert!(
                matches!(&error, NotUnderstood::NoTime(reason) if reason.contains("no time was found")),
                "{text}: {error}"
            );
        }
        let long = "so ".repeat(30_000);
        assert_eq!(asked(&long).unwrap_err().to_string(), "is 90000 bytes long; at most 65536");
    }
}

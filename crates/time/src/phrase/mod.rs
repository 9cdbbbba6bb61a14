//! Time as people say it: `tomorrow at 8`, `jeden Werktag um 7:30`, `za sat i po`.
//!
//! One grammar engine, and a table of words and rules for each language in `tables/`. The way of a text:
//! [`token`] cuts it, [`table`] knows the words and rules of a language, [`grammar`] matches them to [`atom`]s, [`find`]
//! joins atoms to the longest [`plan`] that holds together, [`understand`] picks the phrase that is meant, and [`resolve`]
//! and [`recur`] say which instant or schedule that is, here and now. [`rest`] is what else the text says.
//!
//! An ambiguous phrase means the next sensible time to come, and the summary says which. A text that is not understood has no
//! meaning but a reason; the parser never guesses.

mod action;
mod answer;
mod atom;
mod command;
mod feast;
mod find;
mod grammar;
mod lang;
mod language;
mod list;
mod plan;
mod recur;
mod resolve;
mod rest;
mod stretch;
mod table;
mod token;
mod understand;
mod when;

use jiff::Timestamp;

pub use answer::{ANSWER_MAX, Answer, answer, answer_in};
pub use command::{COMMAND_MAX, Command, Mention, command, mention};
pub use lang::Lang;
pub(crate) use token::fold as fold_letter;

use self::resolve::Here;
use self::token::Tokens;
use self::understand::Understanding;
use crate::schedule::Schedule;
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// A text as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What was understood.
    pub meaning: Meaning,
    /// The text without the time phrase.
    pub rest: String,
    /// The language it was understood in.
    pub lang: Lang,
}

/// What was understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// One instant, known as exactly as `grain` says.
    Instant {
        /// The instant.
        at: Timestamp,
        /// How exactly it was said.
        grain: Grain,
    },
    /// A stretch of time.
    Interval {
        /// Its beginning.
        from: Timestamp,
        /// Its end.
        to: Timestamp,
        /// How exactly its beginning was said.
        grain: Grain,
    },
    /// A length of time, such as `20 minutes`, that is not said to begin anywhere.
    Duration {
        /// The length; a month in it is thirty days.
        seconds: u64,
        /// When it is over, if it begins now.
        at: Timestamp,
    },
    /// Something that comes again and again.
    Recurring(Box<Schedule>),
    /// No time that anybody can rely on, and why.
    None {
        /// A sentence for the person who wrote it.
        reason: String,
    },
}

/// How exactly an instant was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// To the second.
    Second,
    /// To the minute.
    Minute,
    /// To the hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// Three months.
    Quarter,
    /// A year.
    Year,
}

impl Grain {
    /// Its name, such as `minute`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }
}

/// The longest text that is looked at, in bytes; a reminder is far shorter.
pub const TEXT_MAX: usize = 64 * 1024;

/// How many bytes of text, and how many steps of the grammar, take about as long as one look at a month.
const TEXT_BYTES_PER_STEP: u64 = 4;
const GRAMMAR_STEPS_PER_STEP: u64 = 2;

/// Works out what `text` says about time, for somebody in `zone` at `now`. Without `lang` the language is worked out too.
pub fn parse(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Parsed {
    parse_within(text, lang, zone, now, &Steps::of_request(1))
}

/// The same as a part of a request that has so many steps left. A text that takes more says nothing.
pub fn parse_within(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp, steps: &Steps) -> Parsed {
    read(text, lang, zone, now, false, steps)
}

/// The schedule that `text` describes, such as `workdays at 8, weekends at 10`. What names days without saying `every`
/// is taken to mean each of them: `last day of the month at 9`. The error is a sentence.
pub fn series(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Result<Schedule, String> {
    series_within(text, lang, zone, now, &Steps::of_request(1))
}

/// The same as a part of a request that has so many steps left.
pub(crate) fn series_within(
    text: &str,
    lang: Option<Lang>,
    zone: &Zone,
    now: Timestamp,
    steps: &Steps,
) -> Result<Schedule, String> {
    let Parsed { meaning, rest, .. } = read(text, lang, zone, now, true, steps);
    match meaning {
        // A zone at the end is that of the summary it was copied from.
        Meaning::Recurring(schedule) if rest.is_empty() || rest == zone.name() => Ok(*schedule),
        Meaning::Recurring(_) => Err(format!("`{rest}` in it does not say when")),
        Meaning::None { reason } => Err(reason),
        Meaning::Instant { .. } | Meaning::Interval { .. } | Meaning::Duration { .. } => {
            Err("it names one time; say how often, such as `every day at 8`".into())
        }
    }
}

fn read(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp, is_series: bool, steps: &Steps) -> Parsed {
    let nothing = |reason: String| Parsed {
        meaning: Meaning::None { reason },
        rest: text.to_owned(),
        lang: lang.unwrap_or(Lang::En),
    };
    if text.len() > TEXT_MAX {
        return nothing(format!("the text is longer than {TEXT_MAX} bytes"));
    }
    if steps.take(1 + text.len() as u64 / TEXT_BYTES_PER_STEP).is_none() {
        return nothing(TOO_MUCH.to_owned());
    }
    let tokens = Tokens::of(text);
    let (language, mut grammar, tried) = language::choose(lang, &tokens, zone);
    let phrases = find::find(&mut grammar, language.symbols);
    let here = Here::new(now, zone.rules(), language.is_next_coming);
    let asked = rest::asked(&mut grammar, language);
    let understanding =
        Understanding { text, tokens: &tokens, phrases: &phrases, here: &here, zone, asked, is_series, steps };
    let (meaning, used) = understanding.meaning();
    // One text takes only so many steps, so they are counted when they have been taken.
    if steps.take((tried + grammar.taken()) as u64 / GRAMMAR_STEPS_PER_STEP).is_none() {
        return nothing(TOO_MUCH.to_owned());
    }
    let (meaning, rest) = match understand::doubt(&mut grammar, language, &meaning, &used) {
        Some(reason) => (Meaning::None { reason: reason.into() }, None),
        None if matches!(meaning, Meaning::None { .. }) => (meaning, None),
        None => (meaning, Some(rest::rest(text, &mut grammar, language, &used))),
    };
    Parsed { meaning, rest: rest.unwrap_or_else(|| text.trim().to_owned()), lang: language.lang }
}

//! Time as people say it: `tomorrow at 8`, `jeden Werktag um 7:30`, `za sat i po`.
//!
//! One grammar engine, and a table of words and rules for each language in `tables/`. The way of a text:
//! [`token`] cuts it, [`table`] knows the words and rules of a language, [`grammar`] matches them to [`atom`]s, [`find`]
//! joins atoms to the longest [`plan`] that holds together, [`understand`] picks the phrase that is meant, and [`resolve`]
//! [`range`] and [`recur`] say which instant, stretch or schedule that is, here and now. [`left`] looks for time that was not read, and refuses the text
//! then; [`rest`] is what else the text says. Text that [`mask`] covers is never a time.
//!
//! An ambiguous phrase means the next sensible time to come, and the summary says which; the others are its alternatives. A text that is not understood has no
//! meaning but a [`reason`] in its own language; the parser never guesses.

mod action;
mod answer;
mod atom;
mod command;
mod feast;
mod find;
mod foreign;
mod grammar;
mod lang;
mod language;
mod left;
mod list;
mod mask;
mod moved;
mod plan;
mod range;
mod reason;
mod recur;
mod resolve;
mod rest;
mod stretch;
mod table;
mod token;
mod understand;
mod unsaid;
mod when;
mod whole;

use jiff::Timestamp;

pub use answer::{ANSWER_MAX, Answer, answer, answer_in};
pub use command::{COMMAND_MAX, Command, Mention, command, mention};
pub use lang::Lang;
pub(crate) use token::fold as fold_letter;

use self::language::Language;
use self::left::Left;
use self::reason::Why;
use self::resolve::Here;
use self::token::Tokens;
use self::understand::{Understanding, Understood};
use crate::habits::Habits;
use crate::schedule::Schedule;
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// A text as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The meaning.
    pub meaning: Meaning,
    /// The text without the time phrase.
    pub rest: String,
    /// The language it was understood in.
    pub lang: Lang,
    /// The other meanings that the same words can have, the likelier first: `at 2` is at night as well.
    pub alternatives: Vec<Meaning>,
    /// Of a text that was not understood, what it most likely means.
    pub suggestion: Option<Box<Meaning>>,
    /// Words with a letter amiss, and what they were read as.
    pub slips: Vec<(String, String)>,
}

/// The meaning of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// One instant, known as exactly as `grain` says.
    Instant {
        /// The instant.
        at: Timestamp,
        /// How exactly it was said.
        grain: Grain,
        /// From when to when the stretch is that was named, where the instant is only a moment of it: the afternoon of `tomorrow afternoon`.
        within: Option<(Timestamp, Timestamp)>,
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
    parse_for(text, lang, zone, now, Habits::default(), steps)
}

/// The same for somebody with these habits.
pub fn parse_for(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp, habits: Habits, steps: &Steps) -> Parsed {
    read(text, lang, zone, &Said { now, habits, is_series: false }, steps)
}

/// How a text is said.
struct Said {
    now: Timestamp,
    habits: Habits,
    /// Whether something is wanted that comes again and again.
    is_series: bool,
}

/// The schedule that `text` describes, such as `workdays at 8, weekends at 10`. A text that names days without saying `every`
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
    let Parsed { meaning, rest, lang, .. } =
        read(text, lang, zone, &Said { now, habits: Habits::default(), is_series: true }, steps);
    match meaning {
        // A zone at the end is that of the summary it was copied from.
        Meaning::Recurring(schedule) if rest.is_empty() || rest == zone.name() => Ok(*schedule),
        Meaning::Recurring(_) => Err(Language::of(lang).says(&Why::about("besides", rest))),
        Meaning::None { reason } => Err(reason),
        Meaning::Instant { .. } | Meaning::Interval { .. } | Meaning::Duration { .. } => {
            Err(Language::of(lang).says(&Why::of("one time")))
        }
    }
}

fn read(text: &str, lang: Option<Lang>, zone: &Zone, said: &Said, steps: &Steps) -> Parsed {
    let Said { now, habits, is_series } = *said;
    let nothing = |reason: String| Parsed {
        meaning: Meaning::None { reason },
        rest: text.to_owned(),
        lang: lang.unwrap_or(Lang::En),
        alternatives: Vec::new(),
        suggestion: None,
        slips: Vec::new(),
    };
    if text.len() > TEXT_MAX {
        return nothing(format!("the text is longer than {TEXT_MAX} bytes"));
    }
    if steps.take(1 + text.len() as u64 / TEXT_BYTES_PER_STEP).is_none() {
        return nothing(TOO_MUCH.to_owned());
    }
    let tokens = Tokens::of(text);
    let is_unsaid = lang.is_none() && !tokens.is_cyrillic;
    let (language, mut grammar, tried) = language::choose(lang, &tokens, zone);
    let mut phrases = find::find(&mut grammar, language.symbols);
    // Text in quotation marks is a time only if nothing else is.
    let is_quoted = |phrase: &find::Phrase| left::is_quoted(&grammar, phrase.from, phrase.to);
    if !phrases.iter().all(is_quoted) {
        phrases.retain(|phrase| !is_quoted(phrase));
    }
    let hangs = left::hangs(&mut grammar, language, &phrases);
    phrases.retain(|phrase| {
        let is_in = |hang: &left::Hang| (hang.from..hang.to).contains(&phrase.from);
        let is_its = |hang: &left::Hang| {
            left::is_length(phrase) || left::is_ago(phrase) || (hang.part.is_some() && left::is_part_only(phrase))
        };
        !hangs.iter().any(|hang| is_in(hang) && is_its(hang))
    });
    let here = Here::new(now, zone.rules(), language, habits);
    let asked = rest::asked(&mut grammar, language);
    // The work for the next quarter is a thing to talk about, and no time to be reminded at.
    phrases.retain(|phrase| !left::is_topic_stretch(&grammar, language, asked, phrase));
    let is_alarm = is_alarm(&mut grammar, language);
    // What runs until Friday has begun: its end is the one moment to be reminded at, and is offered.
    let mut ends = Vec::new();
    for phrase in &mut phrases {
        if left::is_end_of_running(&grammar, language, phrase) {
            phrase.plan.mark = None;
            ends.push(phrase.from);
        }
    }
    let understanding = Understanding {
        text,
        tokens: &tokens,
        phrases: &phrases,
        here: &here,
        language,
        zone,
        asked,
        is_series,
        is_alarm,
        hangs: &hangs,
        steps,
    };
    let Understood { meaning, alternatives, used, is_complete, has_day, is_once, is_misfit } = understanding.meaning();
    // One text takes only so many steps, so they are counted when they have been taken.
    if steps.take((tried + grammar.taken()) as u64 / GRAMMAR_STEPS_PER_STEP).is_none() {
        return nothing(TOO_MUCH.to_owned());
    }
    let used = rest::with_tails(&mut grammar, language, used);
    let is_length = matches!(meaning, Ok(Meaning::Duration { .. }));
    let is_used = |at: usize| used.iter().any(|(from, to)| (*from..*to).contains(&at));
    let lasts =
        |phrase: &find::Phrase| phrase.plan.length.is_some() && !phrase.plan.is_recurring() && is_used(phrase.from);
    let has_length = is_length || phrases.iter().any(lasts);
    let doubt = understand::doubt(&mut grammar, language, has_length, &used);
    let refused = |why: Why, suggestion: Option<Meaning>| Parsed {
        meaning: Meaning::None { reason: language.says(&why) },
        rest: text.trim().to_owned(),
        lang: language.lang,
        alternatives: Vec::new(),
        suggestion: suggestion.map(Box::new),
        slips: Vec::new(),
    };
    // Demain à 8h is not in eight hours: what looks like another language has to be said to be.
    let has_other_fault = meaning.as_ref().is_err_and(|why| !why.is(Why::NO_TIME));
    if is_unsaid
        && !has_other_fault
        && let Some(other) = foreign::language(&tokens, &used)
    {
        let reason = Language::of(other).says(&Why::of("other language"));
        return Parsed { meaning: Meaning::None { reason }, ..refused(Why::of(Why::NO_TIME), None) };
    }
    if unsaid::has_no_date(&mut grammar, language, asked, &used) {
        return refused(Why::of("no such date"), None);
    }
    let is_recurring = matches!(meaning, Ok(Meaning::Recurring(_)));
    if is_recurring && unsaid::has_hours(&mut grammar, language, &phrases, &used) {
        return refused(Why::of("no hours"), None);
    }
    match (doubt, meaning) {
        (Some(why), _) => refused(why, None),
        (None, Err(why)) => refused(understand::better_reason(&mut grammar, language, why), None),
        (None, Ok(meaning)) => {
            let mut left = Left {
                text,
                grammar: &mut grammar,
                language,
                phrases: &phrases,
                used: &used,
                asked,
                is_complete,
                has_day,
                is_once,
                is_series: is_recurring,
                is_length,
            };
            if let Some((from, to)) = left.counted_of() {
                let words = &text[tokens.list[from].start..tokens.list[to - 1].end];
                return refused(Why::about(Why::NOT_UNDERSTOOD, words), None);
            }
            if let Some((from, to)) = left.unread() {
                // Tomorrow 7 catch the train is most likely tomorrow at seven.
                let hour = left.bare_hour().filter(|(at, _)| *at == from);
                // Three times a day for a week: the hours are missing, and nobody means in a week.
                let often = language.symbols.often;
                if often.is_some_and(|often| !grammar.find(often, from).is_empty()) {
                    return refused(Why::of("no hours"), None);
                }
                let words = &text[tokens.list[from].start..tokens.list[to - 1].end];
                let at_hour = hour.and_then(|(_, plan)| understanding.meaning_of(plan, &used).ok());
                return refused(Why::about(Why::NOT_UNDERSTOOD, words), Some(at_hour.unwrap_or(meaning)));
            }
            if let Some((from, to)) = used.iter().find(|(from, _)| ends.contains(from)) {
                let words = &text[tokens.list[from - 1].start..tokens.list[to - 1].end];
                return refused(Why::about(Why::NOT_UNDERSTOOD, words), Some(meaning));
            }
            if is_misfit && let (Some((from, _)), Some((_, to))) = (used.first(), used.last()) {
                let words = &text[tokens.list[*from].start..tokens.list[*to - 1].end];
                return refused(Why::about(Why::NOT_UNDERSTOOD, words), Some(meaning));
            }
            let slipped = |at: usize| {
                let token = &tokens.list[at];
                grammar.slipped(at).map(|word| (text[token.start..token.end].to_owned(), word.to_owned()))
            };
            let slips = used.iter().flat_map(|(from, to)| (*from..*to).filter_map(slipped)).collect();
            let rest = rest::rest(text, &mut grammar, language, &used);
            Parsed { meaning, rest, lang: language.lang, alternatives, suggestion: None, slips }
        }
    }
}

/// Why nobody can be reminded at a time that was understood, in the language of the text: `summary` says the time.
pub(crate) fn not_to_come(lang: Lang, has_begun: bool, summary: &str) -> String {
    let key = if has_begun { "has begun" } else { "in the past" };
    Language::of(lang).says(&Why::about(key, summary))
}

/// Whether somebody asks to be woken: then six is in the morning.
fn is_alarm(grammar: &mut grammar::Grammar<'_>, language: &language::Language) -> bool {
    language.wake.is_some_and(|wake| (0..grammar.len()).any(|at| !grammar.find(wake, at).is_empty()))
}

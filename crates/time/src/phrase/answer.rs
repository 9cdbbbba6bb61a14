//! The answer that a person gives in words: `done`, `noch 10 Minuten`, `ne treba`.
//!
//! The same engine as for times, with tables of its own: `tables/answer.common.table` and one for each language. The
//! rules there name the things people say in an answer, from a single `yes` to `i haven't taken it yet`. A text is an
//! answer only if such things explain all of it, without a word to spare: taking an ordinary sentence for an answer
//! marks a medicine as taken that was not, and a reply that was not understood is only asked for again.
//!
//! [`decide`] weighs the things that are said together, and of two possible readings it takes the one that asks again:
//!
//! - a bare `no` is a snooze: the question was whether it is done, and it is not;
//! - so is a promise (`will do`), unless it may be broken (`maybe i'll do it`), and an assent with a time to come (`yes, at 9`);
//! - an assent is none in a question (`done?`), beside a `maybe`, or where something else contradicts it;
//! - having done it is an answer if it was today (`took it at 8`), and not if it is a guess (`i think i took it`).

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};

use super::action::Value;
use super::atom::{Atom, Dur};
use super::find::{self, Phrase};
use super::grammar::Grammar;
use super::lang::Lang;
use super::language::Language;
use super::table::{Symbol, Table};
use super::token::Tokens;
use super::{Grain, Meaning};
use crate::zone::Zone;

/// The answer of a person who was reminded of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Ack,
    /// Not now; ask again.
    Snooze {
        /// When to ask again; without it, when a snooze usually does.
        until: Option<Timestamp>,
    },
    /// It need not be done, and not be asked for again.
    Dismiss,
}

impl Answer {
    /// Its name, such as `snooze`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Snooze { .. } => "snooze",
            Self::Dismiss => "dismiss",
        }
    }

    /// How many minutes after `now` to ask again, rounded up, if the answer says when.
    pub fn minutes(self, now: Timestamp) -> Option<u32> {
        let Self::Snooze { until: Some(until) } = self else {
            return None;
        };
        // Rounded up, because asking early is asking in vain.
        let millis = u128::try_from(until.duration_since(now).as_millis()).unwrap_or(0);
        u32::try_from(millis.div_ceil(60_000)).ok()
    }
}

/// The longest text that can be an answer, in bytes; a longer one is a story, and is not looked at.
pub const ANSWER_MAX: usize = 200;
/// A snooze for less than this is not meant to the second: `one sec`.
const SNOOZE_MIN: SignedDuration = SignedDuration::from_secs(10);
/// Up to this, a number that can be a length or a time of day is a length.
const LENGTH_MAX: SignedDuration = SignedDuration::from_hours(4);
/// A snooze for longer than this was not meant as one.
const SNOOZE_MAX: SignedDuration = SignedDuration::from_hours(24 * 366);
/// How long ago something may have been done to be what was asked for: `took it an hour ago`, but not `last week`.
const DONE_AGO_MAX: SignedDuration = SignedDuration::from_hours(24);

/// Works out what `text` answers to a reminder, for somebody in `zone` at `now`; `None` if it is no answer.
///
/// With `lang` only that language counts, and the words that are the same everywhere (`ok`, `stop`, a thumb up). Without
/// it any language may recognise the answer, as long as no other takes it for something else.
pub fn answer(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Option<Answer> {
    answer_in(text, lang, zone, now).map(|(answer, _)| answer)
}

/// The same, with the language in which it is an answer: the first of those that recognise it.
pub fn answer_in(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Option<(Answer, Lang)> {
    if text.len() > ANSWER_MAX {
        return None;
    }
    let text = plain(text);
    let tokens = Tokens::of(&text);
    let langs: &[Lang] = match lang {
        Some(lang) => &[lang],
        None if tokens.is_cyrillic => &[Lang::SrCyrl],
        None => &[Lang::En, Lang::De, Lang::Hr],
    };
    let mut found = None;
    for lang in langs {
        match (found, in_language(&text, &tokens, *lang, zone, now)) {
            (_, None) => {}
            (None, Some(answer)) => found = Some((answer, *lang)),
            (Some((one, first)), Some(other)) => found = Some((common(one, other)?, first)),
        }
    }
    found
}

/// The answer on which two languages agree.
fn common(one: Answer, other: Answer) -> Option<Answer> {
    match (one, other) {
        (Answer::Snooze { until: None }, Answer::Snooze { .. }) => Some(other),
        (Answer::Snooze { .. }, Answer::Snooze { until: None }) => Some(one),
        _ => (one == other).then_some(one),
    }
}

/// The text without what only colours it: `yesssss` is `yes`, and a thumb up is one in every colour.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let is_colour = |c: char| matches!(c, '\u{fe0f}' | '\u{200d}' | '\u{1f3fb}'..='\u{1f3ff}');
    let mut chars = text.chars().filter(|c| !is_colour(*c)).peekable();
    while let Some(c) = chars.next() {
        let mut times = 1;
        while chars.next_if(|next| c.is_alphabetic() && next.to_lowercase().eq(c.to_lowercase())).is_some() {
            times += 1;
        }
        // No word of these languages has a letter three times in a row, but many have one twice.
        (0..if times == 2 { 2 } else { 1 }).for_each(|_| plain.push(c));
    }
    plain
}

fn in_language(text: &str, tokens: &Tokens, lang: Lang, zone: &Zone, now: Timestamp) -> Option<Answer> {
    let vocabulary = Vocabulary::of(lang);
    let mut grammar = Grammar::new(&vocabulary.table, tokens);
    let times = TimeSaid::find(text, tokens, lang, zone, now);
    let mut readings: Vec<Reading> = Vec::with_capacity(times.len() + 1);
    // With a time first: `in a minute` says when, and can be read as `soon` as well.
    for time in &times {
        readings.extend(read(&mut grammar, vocabulary, &time.used, |said| decide_with(said, time, now)));
    }
    readings.extend(read(&mut grammar, vocabulary, &[], |said| decide(said, now)));
    readings.into_iter().min_by_key(|reading| reading.pieces).map(|reading| reading.answer)
}

// --- the words ------------------------------------------------------------------------------------------------------

/// Defines the things that can be said in an answer, by the names that the tables give them.
macro_rules! things {
    ($($(#[doc = $doc:literal])+ $name:ident = $bit:literal $text:literal,)+) => {
        $($(#[doc = $doc])+ const $name: u16 = 1 << $bit;)+
        const THINGS: &[(&str, u16)] = &[$(($text, $name),)+];
    };
}

things! {
    /// An assent: `yes`.
    YES = 0 "yes",
    /// It is done, which may be said of the talk as well: `done`.
    DONE = 1 "done",
    /// The person has done what was asked, without a doubt: `i took it`.
    TOOK = 2 "took",
    /// A denial that says nothing else: `no`.
    NO = 3 "no",
    /// Not now: `later`, `not yet`.
    LATER = 4 "later",
    /// Not at all: `cancel`.
    DROP = 5 "drop",
    /// No more asking, which fits with having done it: `stop asking me`, `no need`.
    HUSH = 6 "hush",
    /// Words that belong to a time and mean nothing without one: `give me`.
    LEAD = 7 "lead",
    /// Words that make a request or a question, so that nothing beside them is an assent: `can you`, `maybe`.
    ASK = 8 "ask",
    /// Not being sure, with which nothing is done: `i think i took it`.
    GUESS = 9 "guess",
    /// It will be done: `i'll take it`.
    PROMISE = 10 "promise",
    /// `maybe`.
    MAYBE = 11 "maybe",
}
/// A time was said.
const TIME: u16 = 1 << 12;

/// The words of a language's answers.
struct Vocabulary {
    table: Table,
    /// Words that say nothing: `please`, `i think`.
    filler: Option<Symbol>,
    /// A number that is meant as minutes: `snooze 10`.
    minutes: Option<Symbol>,
    things: Vec<(Symbol, u16)>,
}

impl Vocabulary {
    fn of(lang: Lang) -> &'static Self {
        const COMMON: (&str, &str) = ("answer.common", include_str!("tables/answer.common.table"));
        const EN: (&str, &str) = ("answer.en", include_str!("tables/answer.en.table"));
        const DE: (&str, &str) = ("answer.de", include_str!("tables/answer.de.table"));
        const SLAVIC: (&str, &str) = ("answer.slavic", include_str!("tables/answer.slavic.table"));
        const ES: (&str, &str) = ("answer.es", include_str!("tables/answer.es.table"));
        const FR: (&str, &str) = ("answer.fr", include_str!("tables/answer.fr.table"));
        static ES_: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(&[COMMON, ES]));
        static FR_: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(&[COMMON, FR]));
        static EN_: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(&[COMMON, EN]));
        static DE_: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(&[COMMON, DE]));
        static SLAVIC_: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(&[COMMON, SLAVIC]));
        match lang {
            Lang::En => &EN_,
            Lang::Es => &ES_,
            Lang::Fr => &FR_,
            Lang::De => &DE_,
            Lang::Hr | Lang::Sr | Lang::SrCyrl | Lang::Bs => &SLAVIC_,
        }
    }

    fn read(files: &[(&str, &str)]) -> Self {
        // The tables are part of the program, and a test reads each of them.
        let table = Table::read(files).unwrap_or_else(|problem| panic!("{problem}"));
        let symbol = |name: &str| table.find_symbol(name);
        let things = THINGS.iter().filter_map(|(name, thing)| Some((symbol(name)?, *thing))).collect();
        Self { filler: symbol("filler"), minutes: symbol("minutes"), things, table }
    }
}

/// The things said up to some word, and the minutes if any were said.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Said {
    things: u16,
    minutes: Option<u16>,
    /// In how many pieces it was said.
    pieces: u16,
}

impl Said {
    fn has(self, things: u16) -> bool {
        self.things & things != 0
    }

    /// The same in fewer things: a promise says `later`, and `maybe` asks. Together they are talk: `i will take it later today, maybe`.
    fn weighed(self) -> Option<Self> {
        if self.has(PROMISE) && self.has(MAYBE) {
            return None;
        }
        let later = if self.has(PROMISE) { LATER } else { 0 };
        let asks = if self.has(MAYBE) { ASK } else { 0 };
        Some(Self { things: self.things | later | asks, ..self })
    }
}

/// One reading of a whole text.
struct Reading {
    pieces: u16,
    answer: Answer,
}

/// Reads the whole text as things said one after the other, and decides on what the fewest pieces say: `no thanks` is
/// one thing, and not `no` and `thanks`.
///
/// `used` are the tokens that say a time. The set of phrases is small, so the work is linear in the length.
fn read(
    grammar: &mut Grammar<'_>,
    vocabulary: &Vocabulary,
    used: &[(usize, usize)],
    decide: impl Fn(Said) -> Option<Answer>,
) -> Option<Reading> {
    let end = grammar.len();
    let mut reached: Vec<Vec<Said>> = vec![Vec::new(); end + 1];
    reached[0].push(Said::default());
    for at in 0..end {
        let here = std::mem::take(&mut reached[at]);
        if here.is_empty() {
            continue;
        }
        let mut reach = |to: usize, things: u16, minutes: Option<u16>| {
            for before in &here {
                let minutes = before.minutes.or(minutes);
                let said = Said { things: before.things | things, minutes, pieces: before.pieces + 1 };
                let is_same = |other: &&mut Said| (other.things, other.minutes) == (said.things, said.minutes);
                match reached[to].iter_mut().find(is_same) {
                    Some(other) => other.pieces = other.pieces.min(said.pieces),
                    None => reached[to].push(said),
                }
            }
        };
        if let Some((_, to)) = used.iter().find(|(from, _)| *from == at) {
            reach(*to, TIME, None);
            continue;
        }
        let room = used.iter().map(|(from, _)| *from).filter(|from| *from > at).min().unwrap_or(end);
        let named = vocabulary.things.iter().copied().chain(vocabulary.filler.map(|symbol| (symbol, 0)));
        for (symbol, thing) in named {
            for index in grammar.find(symbol, at) {
                let to = grammar.get(index).end;
                if to <= room {
                    reach(to, thing, None);
                }
            }
        }
        for index in vocabulary.minutes.map_or(0..0, |symbol| grammar.find(symbol, at)) {
            let found = grammar.get(index);
            if let Value::Num(minutes) = found.value
                && found.end <= room
            {
                reach(found.end, LATER, Some(minutes as u16));
            }
        }
    }
    // The reading with the fewest pieces counts even if it means nothing: a question must not be read as an answer in pieces.
    let pieces = reached[end].iter().map(|said| said.pieces).min()?;
    let answers = reached[end].iter().filter(|said| said.pieces == pieces).filter_map(|said| decide(said.weighed()?));
    // Of two that are left the one that asks again is safe; done and not needed are not to be guessed between.
    let answer = answers.map(Some).reduce(|one, other| match (one?, other?) {
        (snooze @ Answer::Snooze { .. }, _) | (_, snooze @ Answer::Snooze { .. }) => Some(snooze),
        (one, other) => (one == other).then_some(one),
    });
    Some(Reading { pieces, answer: answer?? })
}

// --- what it means --------------------------------------------------------------------------------------------------

/// The answer in the things that were said, where they name no time.
fn decide(said: Said, now: Timestamp) -> Option<Answer> {
    // Words that lead to a time need one, be it as vague as `later`.
    if said.has(LEAD) && !said.has(LATER) {
        return None;
    }
    let is_done = said.has(DONE | TOOK);
    if is_done && said.has(GUESS) {
        return None;
    }
    let is_later = said.has(NO | LATER);
    if said.has(DROP | HUSH) {
        return match (is_done, said.has(LATER)) {
            (_, true) => None,
            (false, _) => Some(Answer::Dismiss),
            // `Done, no need to ask` is done. `Done, cancel` may be either.
            (true, _) => (!said.has(DROP | NO | ASK)).then_some(Answer::Ack),
        };
    }
    match (is_later, is_done || said.has(YES)) {
        (false, false) => None,
        (false, true) => (!said.has(ASK)).then_some(Answer::Ack),
        // `Yes, later` is later. `No, done` is anybody's guess, and so is `yes, no`.
        (true, true) if is_done || said.has(NO) => None,
        (true, _) => {
            let minutes = said.minutes.map(|minutes| SignedDuration::from_mins(i64::from(minutes)));
            let until = minutes.map(|minutes| now.checked_add(minutes)).transpose().ok()?;
            Some(Answer::Snooze { until })
        }
    }
}

/// The answer in the things that were said with a time.
fn decide_with(said: Said, time: &TimeSaid, now: Timestamp) -> Option<Answer> {
    let is_done = said.has(DONE | TOOK);
    let is_assent = is_done || said.has(YES);
    let is_torn = (is_done && said.has(LATER | GUESS)) || (is_assent && said.has(NO));
    if is_torn || said.has(DROP | HUSH) || said.minutes.is_some() {
        return None;
    }
    match time.at {
        // A time of day is the next one, unless it is told of: `took it at 8`.
        At::Ahead { is_clock, .. } if is_done => (is_clock && said.has(TOOK) && !said.has(ASK)).then_some(Answer::Ack),
        At::Ahead { at, .. } => {
            let wait = at.duration_since(now);
            let until = (wait >= SNOOZE_MIN).then_some(at);
            (wait <= SNOOZE_MAX).then_some(Answer::Snooze { until })
        }
        At::Within if is_assent => None,
        At::Within => Some(Answer::Snooze { until: None }),
        At::Behind => (is_assent && !said.has(LATER | LEAD | ASK)).then_some(Answer::Ack),
    }
}

/// The time in a text, and the tokens that say it.
struct TimeSaid {
    at: At,
    used: Vec<(usize, usize)>,
}

/// Where a time lies.
#[derive(Clone, Copy)]
enum At {
    /// To come; `is_clock` if it is a time of day, which may be of today's past too.
    Ahead { at: Timestamp, is_clock: bool },
    /// It has begun and is not over: `tonight`, said at night.
    Within,
    /// Just over.
    Behind,
}

impl TimeSaid {
    /// The times that a text can be read with: those it has together, or each alone.
    fn find(text: &str, tokens: &Tokens, lang: Lang, zone: &Zone, now: Timestamp) -> Vec<Self> {
        let language = Language::of(lang);
        let mut grammar = Grammar::new(&language.table, tokens);
        let phrases = find::find(&mut grammar, language.symbols);
        let mut groups: Vec<&[Phrase]> = phrases.chunks(1).collect();
        // A day and a time of day may stand apart: `tomorrow please, at 8`.
        if phrases.len() == 2 {
            groups.insert(0, &phrases);
        }
        let mut times: Vec<Self> =
            groups.iter().filter_map(|group| Self::of(group, text, tokens, lang, zone, now)).collect();
        if let Some((time, dur)) = Self::length(&mut grammar, language, now) {
            // A bare `1h` is an hour, and a bare `17h` is a time of day.
            let place = if dur <= LENGTH_MAX { 0 } else { times.len() };
            times.insert(place, time);
        }
        times
    }

    fn of(phrases: &[Phrase], text: &str, tokens: &Tokens, lang: Lang, zone: &Zone, now: Timestamp) -> Option<Self> {
        let used: Vec<_> = phrases.iter().map(|phrase| (phrase.from, phrase.to)).collect();
        let pieces = used.iter().map(|(from, to)| &text[tokens.list[*from].start..tokens.list[*to - 1].end]);
        let parsed = super::parse(&pieces.collect::<Vec<_>>().join(" "), Some(lang), zone, now);
        if !parsed.rest.is_empty() {
            return None;
        }
        let is_clock = phrases.iter().all(|phrase| {
            let when = &phrase.plan.when;
            !when.clocks.is_empty() && (!when.has_day() || when.rel == Some(0))
        });
        let ahead = |at: Timestamp| At::Ahead { at, is_clock };
        let behind = |at: Timestamp, grain: Grain| {
            (grain <= Grain::Hour && now.duration_since(at) <= DONE_AGO_MAX).then_some(At::Behind)
        };
        let at = match parsed.meaning {
            Meaning::Instant { at, .. } if at > now => ahead(at),
            Meaning::Instant { at, grain, .. } if at < now => behind(at, grain)?,
            Meaning::Interval { from, .. } if from > now => ahead(from),
            // Until something is from now on.
            Meaning::Interval { from, to, .. } if from == now => ahead(to),
            Meaning::Interval { to, .. } if to > now => At::Within,
            Meaning::Interval { to, grain, .. } => behind(to, grain)?,
            Meaning::Duration { at, .. } if at > now => ahead(at),
            _ => return None,
        };
        Some(Self { at, used })
    }

    /// The longest length of time in a text: `an hour`, which is too little for a time elsewhere, is one in an answer.
    fn length(grammar: &mut Grammar<'_>, language: &Language, now: Timestamp) -> Option<(Self, SignedDuration)> {
        let mut longest: Option<(usize, usize, Dur)> = None;
        for from in 0..grammar.len() {
            for index in grammar.find(language.symbols.atom, from) {
                let found = grammar.get(index);
                if let Value::Atom(Atom::Length(dur) | Atom::Lasting(dur)) = found.value
                    && longest.is_none_or(|(first, last, _)| found.end - from > last - first)
                    && !grammar.is_cut(from, found.end)
                {
                    longest = Some((from, found.end, dur));
                }
            }
        }
        let (from, to, dur) = longest?;
        let dur = SignedDuration::from_secs(dur.elapsed_seconds());
        let at = now.checked_add(dur).ok()?;
        (at > now).then(|| (Self { at: At::Ahead { at, is_clock: false }, used: vec![(from, to)] }, dur))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday, half past ten in the morning in Berlin.
    const NOW: &str = "2026-03-02T10:30:00+01:00";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// The answer in short: `ack`, `dismiss`, `snooze`, `snooze 5` with minutes, or `-` for none.
    fn said(text: &str, lang: Option<Lang>) -> String {
        let zone = Zone::named("Europe/Berlin").unwrap();
        match answer(text, lang, &zone, now()) {
            None => "-".into(),
            Some(answer) => {
                answer.minutes(now()).map_or(answer.word().into(), |minutes| format!("{} {minutes}", answer.word()))
            }
        }
    }

    /// Checks every line of a table: what is expected, a colon, and texts with bars between.
    fn check(lang: Option<Lang>, table: &str) {
        let mut wrong = Vec::new();
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (expected, texts) = line.split_once(": ").unwrap();
            for text in texts.split('|').map(str::trim) {
                let got = said(text, lang);
                if got != expected {
                    wrong.push(format!("{text}: {got}, not {expected}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn english_answers_are_understood() {
        let table = "
            ack: done | Done! | yes | Yes. | yep | yesss | YEAH | ok | okay | k | sure | of course | for sure | absolutely
            ack: took it | I took it | i just took it | I already took it | already taken | I've taken my pills | did it | i did
            ack: yes i did | I have | yes, I have | all done | it's done | that's done | finished | I'm done | i drank it
            ack: I took my medicine | took my meds this morning | took them | yes, already did | had it | took care of it
            ack: that's right | that is correct | correct | exactly | i agree | sounds good | go ahead | you bet | it's true
            ack: i would have to say yes | that's affirmative | I believe that is true | yes please | yes, thank you | 100% yes
            ack: I took it at 8 | took it an hour ago | yes, 20 minutes ago | I took it at 8:15 this morning | took it today
            ack: done, stop asking me | I already took it, no need | oh yes sorry | well, yes | uh-huh | mm-hmm
            ack: I'm sure | that's for sure | most definitely | hell yes | it sure is | that will work | that's exactly it | i'd say so
            ack: 👍 | 👍🏽 | ✅ | ✔️ done | 👌 | yes! 🎉 | don't worry, i took it | you're not wrong
            snooze: later | not yet | not now | no | nope | nah | no, not yet | I didn't | I haven't | i haven't taken it yet
            snooze: not done yet | I'm not done | still not | soon | remind me later | remind me again | ask me later | snooze
            snooze: wait | hold on | one moment | just a moment | one sec | i forgot | I'm busy | I'm busy right now | almost done
            snooze: I'll do it | I will | will do | i'll take it later | yes, later | ok, later | on it | in a bit | give me a moment
            snooze: not right now | i can't right now | didn't take it | 👎 | ⏰ | maybe later | doing it now | not just yet
            snooze: i don't want it now | i won't take it right now | no i didn't take it | later please | need more time
            snooze 5: 5 more minutes | 5 minutes | give me 5 minutes | in 5 minutes | 5 min please | no, 5 more minutes | in 5
            snooze 5: five more minutes | wait 5 minutes | remind me in 5 minutes | snooze for 5 minutes | another 5 minutes
            snooze 20: in 20 min | 20 min | in twenty minutes | can you remind me in 20 minutes? | not yet, give me 20 minutes
            snooze 10: snooze 10 | give me another 10 | 10 more | ok in 10 minutes | i'll take it in 10 minutes | 10m
            snooze 60: in an hour | an hour | give me an hour | 1h | one more hour | remind me again in an hour | later, in an hour
            snooze 30: half an hour | in half an hour | in 30 minutes | at 11 | at 11:00 | yes, at 11 | remind me at 11
            snooze 1290: tomorrow at 8 | remind me tomorrow at 8 | tomorrow, please, at 8 | ask me tomorrow at 8
            dismiss: cancel | stop | never mind | nevermind | skip it | skip | skip this one | forget it | cancel that | abort
            dismiss: don't do that | scratch that | i changed my mind | no thanks | no need | not needed | i don't need it
            dismiss: I don't want it anymore | not today | dismiss | please stop | could you stop please | stop it now! | shut up
            dismiss: leave me alone | stop asking me | don't remind me again | no more reminders | ok cancel | no, skip it
            dismiss: wait, cancel that | I won't take it | ignore this | please cancel the reminder | drop it | that's enough
            dismiss: skip today | stop already | i don't want to | you can stop now | 🛑 | i no longer need it | don't bother
        ";
        check(Some(Lang::En), table);
    }

    #[test]
    fn english_that_is_no_answer_is_left_alone() {
        let table = "
            -: hello | thanks | thank you | good morning | good night | please | what | what time is it | who are you | hm
            -: are you sure | are you done | is that right | is it true | is it done | did i take it | have i taken it | done?
            -: yes? | right? | ok? | really | actually | right now | now | ok google | make sure | not sure | i'm not sure | i don't know
            -: i took it, won't | i won't, took it | yes or no | yes no | no, done | done, not yet | done, cancel | not done, done | say yes | tell her yes | i think i took it
            -: maybe | perhaps | probably | maybe yes | i might have | did you do it | when i'm done | if done | done with work now
            -: call mom | call her at 9 | i need to call her at 9 | set a timer for 5 minutes | set an alarm for 8 | wake me up at 8
            -: remind me to call mom | remind me tomorrow at 8 to call mom | cancel my flight | cancel my order | cancel my alarm
            -: stop the music | skip to the next song | stop whispering | i took the bus | took a photo | i did my homework
            -: cancel all my reminders | delete all my reminders | delete everything | kill me | every day at 8 | it is 5 pm
            -: it was an hour ago | yesterday | i took it yesterday | i took it tomorrow | done in 5 minutes | taken in 5 minutes
            -: don't forget | don't stop | i don't want to stop | i want it | you took it | he said yes | tell me again | try again
            -: play music | what is the weather | i am josh | correct my spelling | true crime podcasts | is 5 right | 5 | 10 | 2026
            -: right behind you | sure looks like rain | no way out | later alligator song | undo | pause | how to cancel | a b c
            -: i took it tomorrow at 8 | it really | that will | i am in pain | i'm positive for covid | to be or not to be
            -: yes123 | done.com | done@example.com | ok.txt | 5 minutes of fame | i have a question | i am hungry | it was good
            -: i had lunch | took it out | i'm fine | that's great | nice | cool | stop by the store | i need 5 eggs | !!! | 🤔
        ";
        check(Some(Lang::En), table);
        check(None, table);
    }

    #[test]
    fn german_answers_are_understood() {
        let table = "
            ack: ja | Ja! | jaaa | jep | jo | jawohl | klar | na klar | natürlich | selbstverstaendlich | genau | stimmt | das stimmt
            ack: richtig | das ist richtig | ok | okay | passt | alles klar | in Ordnung | gut | na gut | ja bitte | ja, danke | aber ja
            ack: erledigt | Erledigt! | schon erledigt | ist erledigt | alles erledigt | fertig | bin fertig | ich bin fertig | done
            ack: hab ich | habe ich | hab ich schon | hab ich gemacht | hab ich schon genommen | habe ich bereits gemacht | hab's | habs
            ack: ja hab ich | ja, habe ich schon | ich habe es genommen | ich hab sie schon genommen | habe meine Tabletten genommen
            ack: genommen | schon genommen | eingenommen | gemacht | geschafft | schon passiert | ist gemacht | gerade genommen
            ack: ich habe die Tablette gerade genommen | die Tabletten hab ich genommen | hab ich eben getrunken | bezahlt | ja gemacht
            ack: um 8 genommen | hab ich um 8 genommen | vor einer Stunde genommen | ja, vor 10 Minuten | 👍 | ✅ | auf jeden Fall
            ack: hab ich schon, hör auf zu fragen | genommen, danke | schon erledigt, nicht nötig | jup, erledigt | ja schon | abgehakt | einverstanden
            snooze: später | spaeter | gleich | bald | nachher | noch nicht | nein | nö | ne | nein noch nicht | leider noch nicht
            snooze: jetzt nicht | nicht jetzt | gerade nicht | im Moment nicht | hab ich nicht | hab ich noch nicht | noch nicht genommen
            snooze: ich habe es noch nicht genommen | noch nicht fertig | bin noch nicht fertig | ich bin noch nicht dazu gekommen
            snooze: hab ich vergessen | vergessen | keine Zeit | ich hab gerade keine Zeit | Moment | einen Moment | Moment bitte | warte
            snooze: warte mal | mach ich | mach ich gleich | mache ich später | nehme ich gleich | ich nehme sie später | wird gemacht
            snooze: ich mach's | ja gleich | ok später | ja, später | erinnere mich später | erinner mich nochmal | frag mich später
            snooze: etwas später | sofort | bin dabei | ich bin beschäftigt | fast fertig | verschieben | snooze | vielleicht später
            snooze: brauch ich jetzt nicht | ich werde es machen | 👎 | eine Sekunde | bin unterwegs | später nochmal
            snooze 10: noch 10 Minuten | in 10 Minuten | 10 Minuten | gib mir noch 10 Minuten | nein, noch 10 Minuten | 10 min bitte
            snooze 10: noch zehn Minuten | erinnere mich in 10 Minuten | frag in 10 Minuten nochmal | ok, in 10 Minuten | noch 10
            snooze 60: in einer Stunde | in 1 Stunde | noch eine Stunde | eine Stunde | erinner mich in einer Stunde wieder
            snooze 30: halbe Stunde | in einer halben Stunde | um 11 | um 11 Uhr | erst um 11 | erinnere mich um 11 | ja, um 11
            snooze 1290: morgen um 8 | morgen um 8 Uhr | erinnere mich morgen um 8 | bitte morgen um 8
            dismiss: abbrechen | stopp | stop | lass gut sein | lass es gut sein | lass es | lass das | lass sein | vergiss es | egal
            dismiss: brauch ich nicht | brauche ich nicht | brauch ich nicht mehr | ich brauche es nicht | nicht nötig | nicht noetig
            dismiss: nicht mehr nötig | unnötig | überspringen | ueberspringen | heute nicht | nicht heute | nein danke | danke nein
            dismiss: will ich nicht | ich will nicht | ich will das nicht | möchte ich nicht | hör auf | hör auf damit | ruhe | sei still
            dismiss: schluss | genug | es reicht | schon gut | hat sich erledigt | das hat sich erledigt | muss nicht sein | doch nicht
            dismiss: erinnere mich nicht mehr | frag mich nicht mehr | keine Erinnerungen mehr | nehme ich heute nicht | lieber nicht
            dismiss: ja, abbrechen | bitte abbrechen | nein, lass gut sein | kannst du aufhören | ich hab es mir anders überlegt
        ";
        check(Some(Lang::De), table);
    }

    #[test]
    fn german_that_is_no_answer_is_left_alone() {
        let table = "
            -: hallo | danke | vielen Dank | bitte | guten Morgen | guten Abend | gute Nacht | wie geht es dir | wer bist du | hm
            -: habe ich sie genommen | habe ich meine Tabletten schon genommen | hast du das gemacht | ist das richtig | stimmt das
            -: erledigt? | ja? | fertig? | ja oder nein | ja nein | nein, erledigt | vielleicht | weiß nicht | keine Ahnung | jetzt
            -: ruf Mama an | erinnere mich morgen um 8 an den Müll | stell einen Wecker auf 8 | Timer auf 5 Minuten | spiel Musik
            -: wie spät ist es | wie ist das Wetter | wann kommt der Bus | nicht vergessen | vergiss es nicht | mach das Licht aus
            -: ich habe Hunger | ich habe eine Frage | hab ich vor | ich bin krank | ich glaube, ich habe sie genommen | kein Problem
            -: gestern | gestern genommen | fertig in 5 Minuten | jeden Tag um 8 | 5 | 10 | super | prima | toll | das ist gut gemacht von dir
            -: storniere meinen Flug | lösche alle Erinnerungen | lass uns essen gehen | genommen wird um 9 | ich möchte eine Pizza
            -: hab ich das heute schon gemacht? | was hab ich gemacht | wer hat das gemacht | nimm den Bus | ich nehme den Bus um 9
            -: kauf Milch | wo bin ich | erzähl einen Witz | wie sagt man ja auf Englisch | sag ja | später Vogel | schreib Anna ok
            -: ist gut für dich | alles Gute | ja aber nein | noch | erst | gib mir | um | die Tabletten | fast food
        ";
        check(Some(Lang::De), table);
        check(None, table);
    }

    #[test]
    fn south_slavic_answers_are_understood() {
        let table = "
            ack: da | Da! | daaa | jesam | jesam, popio sam | jeste | naravno | svakako | točno | tačno | tako je | u redu | važi | vazi
            ack: može | ok | okej | dobro | gotovo | gotov sam | gotova sam | sve gotovo | završeno | zavrseno | obavljeno | riješeno
            ack: popio sam | popila sam | popio | popila | popio sam ga | popila sam lijek | popio sam lek | uzeo sam | uzela sam
            ack: uzeo | uzela sam tabletu | uzeo sam terapiju | već sam popio | vec sam popila | već sam uzela | upravo sam uzeo
            ack: sad sam popio | završio sam | zavrsila sam | završila | napravio sam | uradio sam | uradila sam | obavila sam | sredio
            ack: da, popio sam | da popila sam | evo popio sam | sve sam popila | danas sam uzeo | jutros sam popio | popio sam u 8
            ack: uzela sam prije sat vremena | popila sam pre sat vremena | да | попио сам | попила сам | готово | јесам | узео сам
            ack: већ сам узела | у реду | завршила сам | 👍 | ✅ | done | pa da | kako da ne | hvala, popio sam | popio sam hvala
            ack: popio sam, nemoj me više podsjećati | jesam hvala | ne treba, već sam popio | ma da | platio sam | nazvala sam | jesam uzeo
            snooze: kasnije | poslije | posle | malo kasnije | ne | ne još | još ne | još nisam | jos nisam | nisam | nisam još
            snooze: nisam popio | nisam još popila | još nisam uzela | nisam ga popio | ne sada | ne sad | sad ne | trenutno ne
            snooze: nemam vremena | ne mogu sada | zauzet sam | zauzeta sam | zaboravio sam | zaboravila sam | čekaj | cekaj malo
            snooze: samo malo | trenutak | sekundu | uskoro | odmah | evo odmah | sad ću | sad cu | hoću | hocu | popit ću | popiću
            snooze: uzet ću kasnije | uzeću kasnije | sada ću popiti | da, kasnije | može kasnije | podsjeti me kasnije | podseti me posle
            snooze: pitaj me kasnije | podsjeti me opet | odgodi | odloži | možda kasnije | snooze | skoro gotovo | samo što nisam
            snooze: касније | не | још нисам | нисам | сад ћу | подсети ме касније | 👎 | još malo | nije gotovo | ne odmah
            snooze 5: još 5 minuta | jos 5 minuta | za 5 minuta | 5 minuta | daj mi 5 minuta | daj mi još 5 minuta | ne, još 5 minuta
            snooze 5: za 5 min | još pet minuta | podsjeti me za 5 minuta | može za 5 minuta | још 5 минута | за 5 минута | za 5
            snooze 60: za sat vremena | za sat | za jedan sat | još sat vremena | podseti me za sat vremena | за сат времена
            snooze 30: za pola sata | pola sata | u 11 | u 11 sati | tek u 11 | podsjeti me u 11 | popit ću u 11 | за пола сата
            snooze 1290: sutra u 8 | podsjeti me sutra u 8 | сутра у 8
            dismiss: ne treba | ne treba mi | ne treba više | otkaži | otkazi | otkaži to | preskoči | preskoci | preskoči danas | stop
            dismiss: prekini | stani | zaboravi | zaboravi to | nema veze | pusti | pusti to | pusti me | ostavi me na miru | neću
            dismiss: necu | neću piti | ne želim | ne zelim | ne hvala | hvala ne | danas ne | ne danas | poništi | odustani | odustajem
            dismiss: dosta | dosta je | tišina | šuti | prestani | nije potrebno | nema potrebe | nije važno | nije bitno | nebitno
            dismiss: predomislio sam se | predomislila sam se | nemoj me više podsjećati | ne podsećaj me više | ne moram | svejedno
            dismiss: отkaži | не треба | откажи | прескочи | нема везе | нећу | не, хвала | ok otkaži | ne, preskoči | ipak ne
        ";
        for lang in [Lang::Hr, Lang::Sr, Lang::SrCyrl, Lang::Bs] {
            check(Some(lang), table);
        }
    }

    #[test]
    fn south_slavic_that_is_no_answer_is_left_alone() {
        let table = "
            -: zdravo | bok | hvala | hvala lijepo | molim | dobro jutro | dobra večer | dobro veče | laku noć | kako si | tko si ti
            -: jesam li popio | da li sam popio | jesi li popio | je li popio | popio? | gotovo? | da? | je li to točno | sada
            -: neću, popio sam | popio sam nemoj | da ili ne | da ne | ne, popio sam da | možda | možda sam popio | mislim da sam popio | ne znam | nisam siguran
            -: nazovi mamu | podsjeti me da nazovem mamu | podsjeti me sutra u 8 da bacim smeće | postavi alarm za 8 | pusti muziku
            -: koliko je sati | kakvo je vrijeme | kad ide autobus | nemoj zaboraviti | ne zaboravi | upali svjetlo | ispričaj vic
            -: gladan sam | imam pitanje | popio bih kavu | popio sam kavu | uzeo sam autobus | bolestan sam | nema problema
            -: jučer | jučer sam popio | svaki dan u 8 | 5 | 10 | super | odlično | bravo | gotovo za 5 minuta | idem u dućan
            -: otkaži let | otkaži sve podsjetnike | obriši sve podsjetnike | preskoči pjesmu | kupi mlijeko | gdje sam | reci da
            -: što si popio | tko je popio | sam | popit | još | za | u | daj mi | treba mi | lijek | tablete | a ti | evo
            -: како си | хвала | добро јутро | да ли сам попио | пусти музику | колико је сати | можда | подсети ме да купим млеко
            -: zaboravi lozinku | stani kod trgovine | kasnije ćemo razgovarati o tome | neću stići na sastanak | dosta mi je posla
        ";
        for lang in [Lang::Hr, Lang::Sr, Lang::Bs] {
            check(Some(lang), table);
        }
        check(None, table);
    }

    #[test]
    fn the_language_is_worked_out_and_words_that_are_the_same_everywhere_count_in_each() {
        let mixed = "
            ack: done | yes | erledigt | hab ich | popio sam | попио сам | ok | da | ja | 👍
            snooze: not yet | noch nicht | još nisam | no | nein | ne | не | later | später | kasnije
            snooze 5: 5 more minutes | noch 5 Minuten | još 5 minuta | још 5 минута | in 5 min
            dismiss: stop | cancel | lass gut sein | ne treba | never mind | откажи
        ";
        check(None, mixed);
        let same = "ack: ok | done | yes | 👍 | ✅\nsnooze: later | snooze\nsnooze 10: snooze 10\ndismiss: stop | cancel | skip";
        Lang::ALL.into_iter().for_each(|lang| check(Some(lang), same));
        // A language that was asked for is the only one.
        check(Some(Lang::En), "-: erledigt | popio sam | noch nicht | ne treba | да");
        check(Some(Lang::De), "-: took it | popio sam | not yet | ne treba");
        check(Some(Lang::Hr), "-: took it | hab ich | noch nicht | never mind");
    }

    #[test]
    fn spanish_and_french_are_understood_where_somebody_says_that_it_is() {
        let spanish = "
            ack: sí | hecho | ya está | ya lo he hecho | lo hice | ya tomé la pastilla | vale, hecho | listo, gracias
            snooze: no | todavía no | aún no | más tarde | luego | ahora no | no lo he hecho todavía | lo haré luego
            snooze 5: en 5 minutos | dentro de 5 minutos | en 5
            dismiss: cancela | no hace falta | olvídalo | no, gracias | hoy no
            -: creo que lo hice | qué hora es | compra leche | puedes hacerlo
        ";
        check(Some(Lang::Es), spanish);
        let french = "
            ack: oui | fait | c'est fait | je l'ai fait | j'ai déjà pris mes médicaments | d'accord | déjà fait, merci
            snooze: non | pas encore | plus tard | pas maintenant | je ne l'ai pas encore fait | je vais le faire
            snooze 5: dans 5 minutes | encore 5 minutes | dans 5
            dismiss: annule | laisse tomber | pas besoin | non merci | pas aujourd'hui
            -: je crois que je l'ai fait | quelle heure est-il | achète du lait | peux-tu le faire
        ";
        check(Some(Lang::Fr), french);
    }

    #[test]
    fn a_snooze_says_when() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let until = |text: &str| match answer(text, None, &zone, now()) {
            Some(Answer::Snooze { until }) => until,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(until("tomorrow at 8"), Some("2026-03-03T08:00:00+01:00".parse().unwrap()));
        assert_eq!(until("um 9"), until("at 9"));
        assert_eq!(until("later"), None);
        let half = Answer::Snooze { until: Some("2026-03-02T10:34:30+01:00".parse().unwrap()) };
        assert_eq!(half.minutes(now()), Some(5));
        assert_eq!(half.minutes("2026-03-02T11:00:00+01:00".parse().unwrap()), Some(0));
    }

    #[test]
    fn a_long_text_or_noise_is_no_answer() {
        let zone = Zone::utc();
        let long = "yes ".repeat(60);
        assert_eq!(answer(&long, None, &zone, now()), None);
        for text in "\u{fe0f}|ßßß|....|0|999999999999|\u{0}|e\u{301}\u{301}|'|👍🏽🏽?| ||".split('|') {
            assert_eq!(answer(text, None, &zone, now()), None, "{text}");
        }
        assert_eq!(answer(&"yes ".repeat(50), None, &zone, now()), Some(Answer::Ack));
    }

    #[test]
    fn the_public_corpus_is_understood() {
        let Some(path) = crate::report::public("answers/clinc_en.jsonl") else { return };
        let corpus = std::fs::read_to_string(path).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        for line in corpus.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let expected = row["answer"].as_str().unwrap_or("-");
            let (n, right) = counts.entry(expected.to_owned()).or_insert((0, 0));
            *n += 1;
            *right += usize::from(said(row["text"].as_str().unwrap(), Some(Lang::En)) == expected);
        }
        for (expected, least) in [("ack", 90), ("dismiss", 85)] {
            let (n, right) = counts[expected];
            assert!(right * 100 >= n * least, "{expected}: {right} of {n}");
        }
        let (n, right) = counts["-"];
        assert!((n - right) * 1000 <= n, "{} of {n} are taken for an answer", n - right);
        crate::report::ran(&format!("answers/clinc_en.jsonl, how many there are and how many are right: {counts:?}"));
    }

    proptest::proptest! {
        /// Any text, and any mixture of the words that answers are made of, is read without a panic.
        #[test]
        fn no_text_makes_the_reader_of_answers_panic(
            text in ".{0,80}", words in proptest::collection::vec(0..35_usize, 0..20),
        ) {
            let mixture: Vec<_> = words.into_iter().filter_map(|index| WORDS.split(' ').nth(index)).collect();
            let zone = Zone::utc();
            for lang in [None, Some(Lang::En), Some(Lang::De), Some(Lang::Sr)] {
                answer(&text, lang, &zone, now());
                answer(&mixture.join(" "), lang, &zone, now());
            }
        }
    }

    const WORDS: &str = "yes no not yet i took it in 5 minutes at 9 stop later ? hab ich nicht noch um popio sam nisam još \
        za sat 👍 now tomorrow 999999999 years ago";
}

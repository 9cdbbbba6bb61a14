//! The time that a text says besides what was read. The parser does not ignore what it did not read.

use super::action::Value;
use super::atom::{Atom, Cal, Clock, DayPart, Dur, Mark, Unit};
use super::find::Phrase;
use super::grammar::{Grammar, Match};
use super::language::Language;
use super::table::{Class, Symbol};
use super::token::Kind;
use super::understand::is_past;

/// Tokens from one to before another.
pub(super) type Range = (usize, usize);

/// So long before or after something that is named apart from it: the `1 hour before` of `1 hour before my flight at 18:40`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hang {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) dur: Dur,
    /// The part of the day that is meant instead of its time: the `evening before` of `the evening before my flight on Friday`.
    pub(super) part: Option<DayPart>,
}

/// The lengths before or after something in a text, besides those that are in a phrase.
pub(super) fn hangs(grammar: &mut Grammar<'_>, language: &Language, phrases: &[Phrase]) -> Vec<Hang> {
    let Some(symbol) = language.hang else {
        return Vec::new();
    };
    let mut hangs = Vec::new();
    let mut at = 0;
    let is_timed = phrases.iter().any(|phrase| !phrase.plan.when.clocks.is_empty());
    while at < grammar.len() {
        let is_here = |phrase: &&Phrase| (phrase.from..phrase.to).contains(&at);
        let phrase = phrases.iter().find(|phrase| !is_length(phrase) && is_here(phrase));
        // The longest is the first.
        let found = grammar.find(symbol, at).next().map(|index| grammar.get(index));
        // `am Abend vor der Reise am Freitag`: the evening is that of the day before.
        let is_part = matches!(found, Some(Match { value: Value::Atom(Atom::PartBeside { .. }), .. }));
        let is_dated = |end: usize| phrases.iter().any(|phrase| phrase.from >= end && phrase.plan.when.has_day());
        let found = found.filter(|found| !is_part || is_dated(found.end));
        if let Some(phrase) = phrase
            && !(found.is_some() && is_part && is_part_only(phrase))
            && !(is_timed && found.is_some_and(|found| found.end == phrase.to) && is_ago(phrase))
        {
            at = phrase.to;
            continue;
        }
        match found.map(|found| (found.end, found.value)) {
            Some((to, Value::Atom(Atom::Then(dur)))) => {
                let to = closed(grammar, language, to);
                hangs.push(Hang { from: at, to, dur, part: None });
                at = to;
            }
            Some((to, Value::Atom(Atom::PartBeside { part, days }))) => {
                let day = Dur::of(1.0, Unit::Day).map(|day| if days < 0 { day.negated() } else { day });
                hangs.extend(day.map(|dur| Hang { from: at, to, dur, part: Some(part) }));
                at = to;
            }
            _ => at += 1,
        }
    }
    hangs
}

/// Where a text ends, if only words that close it follow: the `Bescheid` of `sag mir 25 Minuten vorher Bescheid`.
fn closed(grammar: &mut Grammar<'_>, language: &Language, to: usize) -> usize {
    let closing = language.tail.map_or(0..0, |tail| grammar.find(tail, to));
    let end = closing.map(|index| grammar.get(index).end).max();
    end.filter(|end| (*end..grammar.len()).all(|at| !grammar.is_word(at))).unwrap_or(to)
}

/// A text whose meaning was found, and what the search left.
pub(super) struct Left<'a, 'g> {
    pub(super) text: &'a str,
    pub(super) grammar: &'a mut Grammar<'g>,
    pub(super) language: &'static Language,
    pub(super) phrases: &'a [Phrase],
    /// The tokens that said the meaning.
    pub(super) used: &'a [Range],
    /// Where the words end that ask for a reminder.
    pub(super) asked: usize,
    /// Whether the meaning has its time of day, so that what hangs on a noun belongs to the noun.
    pub(super) is_complete: bool,
    /// Whether the meaning has its day.
    pub(super) has_day: bool,
    /// Whether its day comes only once, so that an `every` is that of something else: check every room tomorrow.
    pub(super) is_once: bool,
    /// Whether it comes again and again, and whether it is a length and nothing else.
    pub(super) is_series: bool,
    pub(super) is_length: bool,
}

impl Left<'_, '_> {
    /// The words that say something about time and were not read.
    pub(super) fn unread(&mut self) -> Option<Range> {
        let left = self.phrase().or_else(|| self.beside()).or_else(|| self.looks_like_time());
        let left = left.or_else(|| self.place()).or_else(|| self.every()).or_else(|| self.numbered());
        left.or_else(|| self.bare_hour().map(|(at, _)| (at, at + 1)))
            .or_else(|| self.bare_before())
            .or_else(|| self.counted())
            .or_else(|| self.condition())
            .or_else(|| self.lasts())
    }

    /// So many days or weeks and what they are of: the last two weeks of April are not the last two weeks, and two hours a day not two hours.
    pub(super) fn counted_of(&self) -> Option<Range> {
        const WORDS_BETWEEN: usize = 2;
        let is_class = |at: usize, class: Option<Class>| class.is_some_and(|class| self.grammar.has_class(at, class));
        let small = [self.language.preposition, self.language.symbols.determiner, self.language.per];
        let is_small = |at: &usize| small.into_iter().any(|class| is_class(*at, class));
        let is_counted = |phrase: &&Phrase| is_length(phrase) || phrase.plan.when.window.is_some();
        let phrase = self.phrases.iter().filter(is_counted).find(|phrase| self.is_used(phrase.from))?;
        let n_small = (phrase.to..phrase.to + WORDS_BETWEEN).take_while(is_small).count();
        let of = phrase.to + n_small;
        let is_month = is_class(of, self.language.month);
        let is_unit = n_small > 0 && is_class(of, Some(self.language.symbols.unit));
        (is_month || is_unit).then_some((phrase.from, of + 1))
    }

    /// The time of a place, right after a clock: `5pm Tokyo time`, `20 Uhr New Yorker Zeit`.
    fn place(&self) -> Option<Range> {
        const NAME_WORDS_MAX: usize = 3;
        let is_class = |at: usize, class: Option<Class>| class.is_some_and(|class| self.grammar.has_class(at, class));
        for (_, end) in self.used {
            // In the Lisbon time zone.
            let n_leading = (*end..end + 2).take_while(|at| is_class(*at, self.language.zone_in)).count();
            // At 9 (Tokyo time).
            let is_bracket = self.is_sign(*end, '(') && !self.is_sign(end + 2, ')');
            let to = &(end + n_leading + usize::from(is_bracket));
            // Hora de Londres.
            let of = (*to..to + 2).rev().find(|at| self.is_name(at + 1) && self.grammar.is_word(*at));
            if let Some(of) = of.filter(|_| is_class(*to, self.language.zone_of)) {
                return Some((*end, of + 2));
            }
            // Tomorrow at 9 (Lisbon).
            if self.is_sign(*to, '(') && self.is_name(to + 1) && self.is_sign(to + 2, ')') && self.is_city(to + 1) {
                return Some((*to, to + 3));
            }
            // After `po` the name of the place may be small: po londonskom vremenu.
            let is_led = is_class(*to, self.language.zone_lead);
            let is_name = |at: usize| self.is_name(at) || (is_led && self.grammar.is_word(at));
            for n in 1..=NAME_WORDS_MAX {
                if is_class(to + n, self.language.zone_word) && (*to..to + n).all(is_name) {
                    return Some((*end, to + n + 1));
                }
            }
        }
        None
    }

    /// Whether a word is the name of a city that has a time zone of its own.
    fn is_city(&self, at: usize) -> bool {
        let token = self.grammar.tokens.list[at];
        let name = &self.text[token.start..token.end];
        jiff::tz::db()
            .available()
            .any(|zone| zone.as_str().rsplit_once('/').is_some_and(|(_, city)| city.eq_ignore_ascii_case(name)))
    }

    /// An `every` near what was read: `every even week on Monday` is not one Monday.
    fn every(&self) -> Option<Range> {
        const WORDS_BETWEEN: usize = 2;
        let every = self.language.every.filter(|_| !self.is_once)?;
        for (from, to) in self.used {
            let is_open =
                |at: &usize| self.grammar.is_word(*at) && !self.is_used(*at) && !self.is_quoted((*at, at + 1));
            let before = (from.saturating_sub(WORDS_BETWEEN + 1)..*from).rev().take_while(is_open);
            if let Some(at) = before.into_iter().find(|at| self.grammar.has_class(*at, every) && *at >= self.asked) {
                return Some((at, *from));
            }
            if is_open(to) && self.grammar.has_class(*to, every) {
                return Some((*to, to + 1));
            }
        }
        None
    }

    /// A bare number between a noun and a day may be the noun's or the hour: `chapter 7 tomorrow`.
    fn numbered(&self) -> Option<Range> {
        // 300 is a sum of money as well as three o'clock; 8.30 is a time.
        let is_day = |cal: &Cal| cal.day.is_some() && cal.month.is_none() && cal.year.is_none();
        let is_bare = |at: usize, atom: Option<&Atom>| match atom {
            // Habitación 12 a las 10: nothing but a number says that it is a day.
            Some(Atom::Cal { cal, is_weak: true }) => is_day(cal) && self.is_undotted(at),
            Some(Atom::Clock(Clock { is_weak: true, finest: Unit::Hour, .. })) => true,
            Some(Atom::Clock(Clock { is_weak: true, .. })) => self.has_figures(at, 3),
            _ => false,
        };
        let phrase = self.phrases.iter().find(|phrase| {
            let is_number = self.is_number(phrase.from) && is_bare(phrase.from, phrase.atoms.first());
            is_number && self.is_used(phrase.from) && phrase.plan.to.is_none() && phrase.plan.when.clocks.len() == 1
        })?;
        let noun = phrase.from.checked_sub(1)?;
        let no_nouns = [self.language.preposition, self.language.adverb];
        let is_link = no_nouns.into_iter().flatten().any(|class| self.grammar.has_class(noun, class));
        let is_open = |at: usize| self.grammar.is_word(at) && !self.is_used(at) && at >= self.asked;
        // A table for 4 on Friday.
        let is_for = self.language.purpose.is_some_and(|purpose| self.grammar.has_class(noun, purpose));
        let is_counted = is_for && noun.checked_sub(1).is_some_and(is_open);
        (is_open(noun) && (!is_link || is_counted)).then_some((noun, phrase.from + 1))
    }

    /// Whether a token is a word with a capital letter that the table does not know as a time.
    fn is_name(&self, at: usize) -> bool {
        self.grammar.is_word(at) && !self.is_used(at) && self.is_capital(at)
    }

    /// A whole phrase that is not part of the meaning.
    fn phrase(&self) -> Option<Range> {
        let is_unread = |phrase: &&Phrase| {
            let range = (phrase.from, phrase.to);
            // At six, tomorrow's agenda; but tomorrow's meeting at six may be the meeting's six.
            let is_after = self.used.first().is_some_and(|(from, _)| *from < phrase.from);
            let is_its = phrase.is_owner && self.is_complete && (is_after || is_past(&phrase.plan));
            !self.is_used(phrase.from)
                && !is_length(phrase)
                && !self.is_quoted(range)
                && !phrase.is_adjective
                && !is_its
                && !self.is_of_noun(range)
                && !self.is_purpose(phrase)
        };
        self.phrases.iter().find(is_unread).map(|phrase| (phrase.from, phrase.to))
    }

    /// Words right before or after what was read that would have changed it: `next`, `pm`, a number.
    fn beside(&mut self) -> Option<Range> {
        for index in 0..self.used.len() {
            let (from, to) = self.used[index];
            for at in from.saturating_sub(3).max(self.asked)..from {
                let ends_here = self.ends(self.language.before, at).contains(&from);
                if ends_here && !self.is_used(at) && !self.is_quoted((at, from)) {
                    return Some((at, from));
                }
            }
            // `feed the cat 7 and 19 daily`: a number before what has no time of day may be that time.
            let is_hour = from > self.asked && self.is_small_number(from - 1) && !self.is_used(from - 1);
            if !self.is_complete && is_hour && !self.is_quoted((from - 1, from)) {
                return Some((from - 1, from));
            }
            // `december at 8`: a month before a time of day was meant to say when, and does not say the day.
            if from > self.asked && self.is_month_name(from - 1) && !self.is_quoted((from - 1, from)) {
                return Some((from - 1, from));
            }
            let after = if self.is_sign(to, ',') { to + 1 } else { to };
            if self.is_used(after) || after >= self.grammar.len() {
                continue;
            }
            if let Some(end) = self.ends(self.language.after, after).into_iter().max() {
                return Some((after, end));
            }
            if !self.is_complete
                && let Some(end) = self.ends(self.language.open, after).into_iter().max()
            {
                return Some((after, (end + 1).min(self.grammar.len())));
            }
            // Every two hours and a quarter of an hour.
            let is_more = |phrase: &Phrase| is_length(phrase) && phrase.from == to + 1;
            if self.is_join(to) && self.phrases.iter().any(is_more) {
                return Some((to, to + 2));
            }
            if self.is_number(after) && self.counts_nothing(after) {
                return Some((after, after + 1));
            }
            // `Mon-Fri 9-17`: two hours are a stretch, unless something follows that they count.
            let is_stretch = self.is_small_number(after) && self.is_sign(after + 1, '-') && self.is_hour(after + 2);
            if is_stretch && self.counts_nothing(after + 2) {
                return Some((after, after + 3));
            }
            // `every day 7 & 9 pm`: the first number of a list is as good a time as the last.
            if let Some(end) = self.list_end(after) {
                return Some((after, end));
            }
            // `daily at 8 and 20 feed the cat`: the 20 may be a time.
            let is_listed = self.is_join(to) && self.is_small_number(to + 1) && !self.is_used(to + 1);
            if is_listed && (self.is_complete || self.counts_nothing(to + 1)) {
                return Some((to, to + 2));
            }
            // Between two pieces that were read.
            if self.is_number(to) && self.is_used(to + 1) {
                return Some((to, to + 1));
            }
        }
        let (first, _) = *self.used.first()?;
        (first == 1 && self.is_number(0) && self.asked == 0).then_some((0, 1))
    }

    /// Words anywhere that are a time and nothing else: a clock, a date, `every`, `except`.
    fn looks_like_time(&mut self) -> Option<Range> {
        let mut none_before = 0;
        for at in self.asked..self.grammar.len() {
            // Words that look like a time and are none: good morning.
            none_before = none_before.max(self.ends(self.language.symbols.not, at).into_iter().max().unwrap_or(0));
            // The phrases have been looked at.
            let is_judged = self.phrases.iter().any(|phrase| (phrase.from..phrase.to).contains(&at));
            if is_judged || at < none_before || self.is_used(at) || self.grammar.is_masked(at) {
                continue;
            }
            let ends = self.ends(self.language.left, at);
            let Some(end) = ends.into_iter().filter(|end| (at..*end).all(|token| !self.is_used(token))).max() else {
                continue;
            };
            let is_piece = self.grammar.is_cut(at, end);
            if !is_piece && !self.is_quoted((at, end)) && !self.is_of_noun((at, end)) {
                return Some((at, end));
            }
        }
        None
    }

    pub(super) fn ends(&mut self, symbol: Option<Symbol>, at: usize) -> Vec<usize> {
        let Some(symbol) = symbol else {
            return Vec::new();
        };
        self.grammar.find(symbol, at).map(|index| self.grammar.get(index).end).collect()
    }

    pub(super) fn is_used(&self, at: usize) -> bool {
        self.used.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.grammar.is_sign(at, sign)
    }

    pub(super) fn is_number(&self, at: usize) -> bool {
        self.grammar.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Number { digits: 1..=4, .. }))
    }

    /// Whether a number has neither a dot nor anything else that makes it one of an order: 14th, 14.
    fn is_undotted(&self, at: usize) -> bool {
        let tokens = &self.grammar.tokens.list;
        !tokens[at].has_dot && tokens.get(at + 1).is_none_or(|next| !next.is_glued)
    }

    /// Whether a token is a number of that many figures.
    fn has_figures(&self, at: usize, n: u8) -> bool {
        let token = self.grammar.tokens.list.get(at);
        token.is_some_and(|token| matches!(token.kind, Kind::Number { digits, .. } if digits == n))
    }

    /// Whether a token is a month that is nobody's name, unlike April and Marta, and was not read.
    fn is_month_name(&self, at: usize) -> bool {
        const LETTERS_MIN: usize = 6;
        let token = &self.grammar.tokens.list[at];
        let is_month = self.language.month.is_some_and(|month| self.grammar.has_class(at, month));
        is_month && !self.is_used(at) && self.text[token.start..token.end].chars().count() >= LETTERS_MIN
    }

    /// Whether a token is a number that can be an hour.
    fn is_small_number(&self, at: usize) -> bool {
        let token = self.grammar.tokens.list.get(at);
        token.is_some_and(|token| {
            !token.is_masked
                && !token.is_glued
                && matches!(token.kind, Kind::Number { value: Some(0..=24), digits: 1..=2 })
        })
    }

    /// The same for a number that may be joined to what is before it.
    fn is_hour(&self, at: usize) -> bool {
        let token = self.grammar.tokens.list.get(at);
        token.is_some_and(|token| {
            !token.is_masked && matches!(token.kind, Kind::Number { value: Some(0..=24), digits: 1..=2 })
        })
    }

    /// The end of a list of numbers that can be hours, such as `7 and 19`; what was read may be the last of them.
    fn list_end(&self, at: usize) -> Option<usize> {
        let is_hour = |at: usize| self.is_small_number(at) && !self.is_quoted((at, at + 1));
        let is_joined = self.is_join(at + 1) || self.is_sign(at + 1, ',') || self.is_sign(at + 1, '/');
        let is_list = is_hour(at) && is_joined && (self.is_number(at + 2) || self.is_used(at + 2));
        is_list.then(|| if self.is_used(at + 2) { at + 1 } else { at + 3 })
    }

    /// Whether a token joins two of a kind: `and`, `&`.
    fn is_join(&self, at: usize) -> bool {
        let is_and = self.language.and.is_some_and(|and| self.grammar.has_class(at, and));
        is_and || self.is_sign(at, '&') || self.is_sign(at, '+')
    }

    /// Whether nothing follows a number that it could be the number of.
    pub(super) fn counts_nothing(&self, at: usize) -> bool {
        self.grammar.tokens.list.get(at + 1).is_none_or(|token| match token.kind {
            Kind::Sign(sign) => matches!(sign, ',' | '.' | ';' | '!' | '?' | ')') && !token.is_glued || sign == '.',
            Kind::Word { .. } | Kind::Number { .. } => false,
        })
    }

    /// Whether tokens stand within quotation marks.
    pub(super) fn is_quoted(&self, (from, to): Range) -> bool {
        is_quoted(self.grammar, from, to)
    }

    /// Whether it is what something is for: to prepare for Monday.
    fn is_purpose(&self, phrase: &Phrase) -> bool {
        let is_for = |at: usize| self.language.purpose.is_some_and(|purpose| self.grammar.has_class(at, purpose));
        let is_day = phrase.plan.when.has_day() && !phrase.plan.when.has_time() && !phrase.plan.is_recurring();
        self.has_day && is_day && (is_for(phrase.from) || (phrase.from > 0 && is_for(phrase.from - 1)))
    }

    /// Whether a time belongs to a noun before it, once another time is there: `the meeting on Friday`, `den Bericht vom Montag`.
    fn is_of_noun(&self, (from, to): Range) -> bool {
        if !self.is_complete {
            return false;
        }
        let is_class = |at: usize, class: Option<super::table::Class>| {
            class.is_some_and(|class| self.grammar.has_class(at, class))
        };
        let is_before = |at: usize| is_class(at, self.language.symbols.determiner);
        let is_adjective = is_before(from) || (from > 0 && is_before(from - 1));
        if is_adjective && self.grammar.is_word(to) {
            return true;
        }
        let mut at = from;
        while at > 0 && is_class(at - 1, self.language.preposition) {
            at -= 1;
        }
        let Some(noun) = at.checked_sub(1) else {
            return false;
        };
        let is_in_phrase = self.phrases.iter().any(|phrase| (phrase.from..phrase.to).contains(&noun));
        if !self.grammar.is_word(noun) || is_in_phrase || self.is_used(noun) || noun < self.asked {
            return false;
        }
        if self.language.has_capital_nouns && noun > 0 && self.is_capital(noun) {
            return true;
        }
        let before =
            (noun.saturating_sub(3)..noun).rev().take_while(|at| self.grammar.is_word(*at) && !self.is_used(*at));
        let mut before = before.filter(|at| at + 1 >= self.asked);
        // `remind me tomorrow at 9 na sastanak u petak`: what follows the time is what it is about.
        let is_after_time = |at: usize| self.asked > 0 && self.used.iter().any(|(_, end)| *end == at);
        before.any(|at| {
            is_after_time(at) && is_class(at, self.language.preposition)
                || is_class(at, self.language.symbols.determiner)
                || is_class(at, self.language.symbols.topic)
        })
    }

    fn is_capital(&self, at: usize) -> bool {
        let start = self.grammar.tokens.list[at].start;
        self.text[start..].chars().next().is_some_and(char::is_uppercase)
    }
}

/// Whether tokens stand within quotation marks.
pub(super) fn is_quoted(grammar: &Grammar<'_>, from: usize, to: usize) -> bool {
    grammar.tokens.list[from..to].iter().all(|token| token.is_quoted)
}

/// Whether a phrase is so long ago and nothing else, which beside a time is so long before it: `20 minuta ranije`.
pub(super) fn is_ago(phrase: &Phrase) -> bool {
    matches!(phrase.atoms.as_slice(), [Atom::Offset(dur)] if dur.elapsed_seconds() < 0)
}

/// Whether a phrase is a part of the day and nothing else: in the evening.
pub(super) fn is_part_only(phrase: &Phrase) -> bool {
    let when = &phrase.plan.when;
    when.part.is_some() && when.clocks.is_empty() && !when.has_day() && !phrase.plan.is_recurring()
}

/// Whether a phrase is a quarter or a season for which there is something: `sales for the current quarter`.
pub(super) fn is_topic_stretch(grammar: &Grammar<'_>, language: &Language, asked: usize, phrase: &Phrase) -> bool {
    let when = &phrase.plan.when;
    let is_stretch = when.season.is_some() || matches!(when.period, Some((Unit::Quarter, _)));
    let is_for = |at: usize| language.purpose.is_some_and(|purpose| grammar.has_class(at, purpose));
    let is_noun = |at: usize| at >= asked && grammar.is_word(at);
    let is_article = |at: &usize| language.symbols.determiner.is_some_and(|article| grammar.has_class(*at, article));
    // Where the word for `for` is: the first of the phrase, or before it and its article.
    let before = phrase.from.checked_sub(1);
    let led = [Some(phrase.from), before, before.filter(is_article).and_then(|at| at.checked_sub(1))];
    let led = led.into_iter().flatten().find(|at| is_for(*at));
    is_stretch
        && !when.has_time()
        && phrase.plan.to.is_none()
        && led.and_then(|at| at.checked_sub(1)).is_some_and(is_noun)
}

/// Whether a phrase is the end of something that goes on already: the parking runs `until 16:00`. Nobody says when to be reminded of it.
pub(super) fn is_end_of_running(grammar: &Grammar<'_>, language: &Language, phrase: &Phrase) -> bool {
    let is_verb = |at: usize| language.goes_on.is_some_and(|verb| grammar.has_class(at, verb));
    let is_until = phrase.plan.mark == Some(Mark::Until) && !phrase.plan.is_recurring();
    is_until && phrase.from.checked_sub(1).is_some_and(is_verb)
}

/// Whether a phrase is a length and nothing else: a 20 minute walk.
pub(super) fn is_length(phrase: &Phrase) -> bool {
    phrase.plan.length.is_some() && phrase.plan.when.is_empty() && !phrase.plan.is_recurring()
}

//! What a text says about time besides what was read. What was not read is not ignored.

use super::atom::{Atom, Dur};
use super::find::Phrase;
use super::grammar::Grammar;
use super::language::Language;
use super::table::Symbol;
use super::token::Kind;

/// Tokens from one to before another.
type Range = (usize, usize);

/// So long before or after something that is named apart from it: the `1 hour before` of `1 hour before my flight at 18:40`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hang {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) dur: Dur,
}

/// The lengths before or after something in a text, besides those that are in a phrase.
pub(super) fn hangs(grammar: &mut Grammar<'_>, language: &Language, phrases: &[Phrase]) -> Vec<Hang> {
    let Some(symbol) = language.hang else {
        return Vec::new();
    };
    let mut hangs = Vec::new();
    let mut at = 0;
    while at < grammar.len() {
        if let Some(phrase) = phrases.iter().find(|phrase| !is_length(phrase) && (phrase.from..phrase.to).contains(&at))
        {
            at = phrase.to;
            continue;
        }
        let found = grammar.find(symbol, at).map(|index| grammar.get(index)).max_by_key(|found| found.end);
        match found.map(|found| (found.end, found.value)) {
            Some((to, super::action::Value::Atom(Atom::Then(dur)))) => {
                hangs.push(Hang { from: at, to, dur });
                at = to;
            }
            _ => at += 1,
        }
    }
    hangs
}

/// A text whose meaning was found, and what the search left.
pub(super) struct Left<'a, 'g> {
    pub(super) text: &'a str,
    pub(super) grammar: &'a mut Grammar<'g>,
    pub(super) language: &'static Language,
    pub(super) phrases: &'a [Phrase],
    /// What said the meaning.
    pub(super) used: &'a [Range],
    /// Where the words end that ask for a reminder.
    pub(super) asked: usize,
    /// Whether the meaning has its time of day, so that what hangs on a noun belongs to the noun.
    pub(super) is_complete: bool,
    /// Whether the meaning has its day.
    pub(super) has_day: bool,
}

impl Left<'_, '_> {
    /// The words that say something about time and were not read.
    pub(super) fn unread(&mut self) -> Option<Range> {
        self.phrase().or_else(|| self.beside()).or_else(|| self.looks_like_time())
    }

    /// A whole phrase that is not part of the meaning.
    fn phrase(&self) -> Option<Range> {
        let is_unread = |phrase: &&Phrase| {
            let range = (phrase.from, phrase.to);
            !self.is_used(phrase.from)
                && !is_length(phrase)
                && !self.is_quoted(range)
                && !phrase.is_adjective
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
            if self.is_number(after) && self.counts_nothing(after) {
                return Some((after, after + 1));
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
            // What looks like a time and is none: good morning.
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

    fn ends(&mut self, symbol: Option<Symbol>, at: usize) -> Vec<usize> {
        let Some(symbol) = symbol else {
            return Vec::new();
        };
        self.grammar.find(symbol, at).map(|index| self.grammar.get(index).end).collect()
    }

    fn is_used(&self, at: usize) -> bool {
        self.used.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.grammar.tokens.list.get(at).is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    fn is_number(&self, at: usize) -> bool {
        self.grammar.tokens.list.get(at).is_some_and(|token| matches!(token.kind, Kind::Number { digits: 1..=4, .. }))
    }

    /// Whether nothing follows a number that it could be the number of.
    fn counts_nothing(&self, at: usize) -> bool {
        self.grammar.tokens.list.get(at + 1).is_none_or(|token| match token.kind {
            Kind::Sign(sign) => matches!(sign, ',' | '.' | ';' | '!' | '?' | ')') && !token.is_glued || sign == '.',
            Kind::Word { .. } | Kind::Number { .. } => false,
        })
    }

    /// Whether tokens stand within quotation marks.
    fn is_quoted(&self, (from, to): Range) -> bool {
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
    let is_mark = |at: &usize| {
        let kind = grammar.tokens.list[*at].kind;
        matches!(kind, Kind::Sign('"' | '“' | '”' | '„' | '«' | '»' | '‟' | '‹' | '›'))
    };
    let before = (0..from).filter(is_mark).count();
    before % 2 == 1 && (to..grammar.len()).any(|at| is_mark(&at))
}

/// Whether a phrase is a length and nothing else: a 20 minute walk.
pub(super) fn is_length(phrase: &Phrase) -> bool {
    phrase.plan.length.is_some() && phrase.plan.when.is_empty() && !phrase.plan.is_recurring()
}

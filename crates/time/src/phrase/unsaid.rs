//! What a text makes its time depend on and does not say: a condition, the length of a `before`, a day that there is not.

use super::action::Value;
use super::atom::{Atom, Clock, Half, Unit};
use super::find::Phrase;
use super::grammar::Grammar;
use super::language::Language;
use super::left::{Left, Range, is_length};
use super::plan::Plan;
use super::table::Class;
use super::token::{Kind, Token};

impl Left<'_, '_> {
    /// Before something that has a time: `remind me before the meeting at 4` leaves open when.
    pub(super) fn bare_before(&self) -> Option<Range> {
        const WORDS_MAX: usize = 4;
        const NOUN_WORDS_MAX: usize = 2;
        let before = self.language.before_word?;
        let is_link = |at: usize| {
            [self.language.preposition, self.language.symbols.determiner]
                .into_iter()
                .flatten()
                .any(|class| self.grammar.has_class(at, class))
        };
        // Before leaving work, today by six: that is a day and its time.
        let is_named =
            |from: usize| self.phrases.iter().any(|phrase| phrase.from == from && phrase.plan.when.rel.is_some());
        for (from, _) in self.used {
            if is_named(*from) {
                continue;
            }
            let mut nouns = 0;
            for at in (from.saturating_sub(WORDS_MAX).max(self.asked)..*from).rev() {
                if !self.grammar.is_word(at) || self.is_used(at) || self.is_quoted((at, at + 1)) {
                    break;
                }
                if self.grammar.has_class(at, before) {
                    // Vor dem Kino is a place as well, unless it leads.
                    let is_led = at == self.asked || self.is_used(at - 1);
                    let is_event =
                        |at: usize| self.language.event.is_some_and(|event| self.grammar.has_class(at, event));
                    let is_time = is_led || !self.language.has_capital_nouns || (at..*from).any(is_event);
                    if nouns > 0 && is_time {
                        return Some((at, *from));
                    }
                    break;
                }
                nouns += usize::from(!is_link(at));
                if nouns > NOUN_WORDS_MAX {
                    break;
                }
            }
        }
        None
    }

    /// A number after an hour that may be its minutes or count what follows (`um 18 Uhr 30 Leute`), or has its half of the day after it.
    pub(super) fn counted(&mut self) -> Option<Range> {
        for index in 0..self.used.len() {
            let (_, to) = self.used[index];
            if to == 0 || !self.is_number(to - 1) || self.grammar.tokens.list[to - 1].is_glued {
                continue;
            }
            let is_class =
                |at: usize, class: Option<Class>| class.is_some_and(|class| self.grammar.has_class(at, class));
            let is_counted =
                to > 1 && is_class(to - 2, self.language.clock_word) && is_class(to, self.language.counted);
            // Tomorrow 8 30 train is at half past eight, or there are thirty trains.
            let token = self.grammar.tokens.list.get(to).filter(|token| !token.is_glued && !token.is_masked);
            let is_minutes = |token: &Token| matches!(token.kind, Kind::Number { value: Some(0..=59), digits: 2 });
            let is_hour = |phrase: &Phrase| {
                let last = phrase.atoms.last();
                phrase.to == to
                    && matches!(last, Some(Atom::Clock(Clock { finest: Unit::Hour, half: Half::Either, .. })))
            };
            let is_split = token.is_some_and(is_minutes) && self.phrases.iter().any(is_hour);
            if is_split && !self.is_used(to) && !self.is_counted_thing(to + 1) {
                return Some((to - 1, to + 1));
            }
            // Im Mai 3 mal is not on the third, and every may 3 times may be.
            let is_month = |at: usize| is_class(at, self.language.month);
            let is_after_month = to > 1 && is_month(to - 2) && (to < 3 || !self.is_number(to - 3));
            if is_after_month && let Some(end) = self.count_end(to - 1) {
                return Some((to - 1, end));
            }
            if is_counted || !self.ends(self.language.half_word, to).is_empty() {
                return Some((to - 1, to + 1));
            }
        }
        None
    }

    /// A number right after a day, which may be its hour or count what follows (`tomorrow 7 catch the train`), and the day at that hour.
    pub(super) fn bare_hour(&self) -> Option<(usize, Plan)> {
        if self.is_complete {
            return None;
        }
        let is_day = |phrase: &&Phrase| {
            let is_daily = phrase.plan.when.has_day() || phrase.plan.is_recurring();
            self.is_used(phrase.from) && is_daily && !phrase.plan.is_complete()
        };
        self.phrases.iter().filter(is_day).find_map(|phrase| {
            let is_joined = self.is_sign(phrase.to, ',') || self.is_sign(phrase.to, '-');
            let from = if is_joined { phrase.to + 1 } else { phrase.to };
            // Tous les jours à 8 appelle: without its h it may be anything.
            let is_lead_at =
                |at: usize| self.language.symbols.lead.is_some_and(|lead| self.grammar.has_class(at, lead));
            let is_lead = is_lead_at(from);
            let at = if is_lead { from + 1 } else { from };
            let is_counted =
                self.is_counted_thing(at + 1) || (self.is_sign(at + 2, '-') && self.is_counted_thing(at + 3));
            let is_length = |phrase: &Phrase| is_length(phrase) && phrase.from == at;
            let is_counted = (is_counted && !is_lead) || self.phrases.iter().any(is_length);
            // Demain appelle maman à 8.
            let is_end = |at: &usize| is_lead_at(*at - 1) && self.counts_nothing(*at);
            let right_after = Some(at).filter(|_| !is_counted);
            right_after.into_iter().chain((self.asked + 1..self.grammar.len()).filter(is_end)).find_map(|at| {
                let hour = self.hour(at).filter(|_| !self.is_used(at))?;
                let plan = phrase.plan.with(Atom::Clock(hour)).filter(Plan::is_whole)?;
                Some((at, plan))
            })
        })
    }

    /// The time of day that a bare number is, if it is one.
    fn hour(&self, at: usize) -> Option<Clock> {
        let token =
            self.grammar.tokens.list.get(at).filter(|token| !token.is_masked && !token.has_dot && !token.is_quoted)?;
        let goes_on = self.grammar.tokens.list.get(at + 1).is_some_and(|next| match next.kind {
            // Money and shares are no time.
            Kind::Sign('€' | '$' | '£' | '%' | '°' | '½' | '¼' | '¾') => true,
            Kind::Sign(sign) => next.is_glued && !matches!(sign, ',' | ';' | ':' | '!' | '?' | ')' | '"'),
            Kind::Word { .. } | Kind::Number { .. } => next.is_glued,
        });
        let Kind::Number { value: Some(value @ 0..=24), digits: 1..=2 } = token.kind else {
            return None;
        };
        let half = if (1..=12).contains(&value) { Half::Either } else { Half::Known };
        let clock = Clock { hour: u8::try_from(value).ok()?, half, finest: Unit::Hour, ..Clock::default() };
        (!goes_on && !token.is_glued).then_some(clock)
    }

    /// Whether a token is something that a number before it counts for sure.
    fn is_counted_thing(&self, at: usize) -> bool {
        let classes = [self.language.thing, self.language.counted, Some(self.language.symbols.unit)];
        classes.into_iter().flatten().any(|class| self.grammar.has_class(at, class))
    }

    /// Where the words end that say how many times, if such begin here.
    fn count_end(&mut self, at: usize) -> Option<usize> {
        let found = self.grammar.find(self.language.symbols.atom, at).map(|index| self.grammar.get(index));
        found.filter(|found| matches!(found.value, Value::Atom(Atom::Count(_)))).map(|found| found.end).max()
    }

    /// How long something takes is no time to be reminded: `der Film dauert zwei Stunden`.
    pub(super) fn lasts(&mut self) -> Option<Range> {
        const WORDS_MAX: usize = 2;
        let (from, _) = *self.used.first().filter(|_| self.is_length)?;
        let mut before = from.saturating_sub(WORDS_MAX).max(self.asked)..from;
        before.find(|at| self.ends(self.language.lasts, *at).contains(&from)).map(|at| (at, from))
    }

    /// What a series depends on, and no schedule knows: `every monday unless it rains`.
    pub(super) fn condition(&mut self) -> Option<Range> {
        const WORDS_MAX: usize = 4;
        for index in 0..self.used.len() {
            let (from, to) = self.used[index];
            // Some Monday is no Monday that anybody knows.
            let is_day = |phrase: &Phrase| phrase.from == from && phrase.plan.when.days.is_some();
            let is_weekday = self.is_series || self.phrases.iter().any(is_day);
            for at in from.saturating_sub(WORDS_MAX).max(self.asked)..from {
                let is_open = is_weekday && !self.is_used(at) && !self.is_quoted((at, from));
                if is_open && self.ends(self.language.condition_before, at).contains(&from) {
                    return Some((at, from));
                }
            }
            let after = if self.is_sign(to, ',') { to + 1 } else { to };
            if self.is_series
                && after < self.grammar.len()
                && !self.is_used(after)
                && let Some(end) = self.ends(self.language.condition_after, after).into_iter().max()
            {
                return Some((after, end));
            }
        }
        if !self.is_series {
            return None;
        }
        for at in self.asked..self.grammar.len() {
            if self.is_used(at) || self.grammar.is_masked(at) || self.is_quoted((at, at + 1)) {
                continue;
            }
            if let Some(end) = self.ends(self.language.condition, at).into_iter().max() {
                return Some((at, end));
            }
        }
        None
    }
}

/// Whether a text has numbers that were meant as a date, and are none: `31/04`, `the 32nd`.
pub(super) fn has_no_date(grammar: &mut Grammar<'_>, language: &Language, asked: usize, used: &[Range]) -> bool {
    let is_used = |at: usize| used.iter().any(|(from, to)| (*from..*to).contains(&at));
    for at in asked..grammar.len() {
        let token = grammar.tokens.list[at];
        let is_inside = token.is_glued && at > 0 && grammar.tokens.list[at - 1].kind != Kind::Sign('(');
        if token.is_masked || token.is_quoted || is_inside {
            continue;
        }
        let ends = language.no_date.map_or(0..0, |symbol| grammar.find(symbol, at));
        // The 26/27 of 26/27.9.2026 is a piece of something longer.
        let goes_on = |end: usize| {
            let token = |at: usize| grammar.tokens.list.get(at).filter(|token| token.is_glued).map(|token| token.kind);
            matches!(token(end), Some(Kind::Sign(_))) && matches!(token(end + 1), Some(Kind::Number { .. }))
        };
        if ends.map(|index| grammar.get(index).end).max().is_some_and(|end| !goes_on(end)) {
            return true;
        }
        // The 42nd floor is one.
        let ends = language.no_day.map_or(0..0, |symbol| grammar.find(symbol, at));
        let end = ends.map(|index| grammar.get(index).end).max();
        let counts = |end: usize| {
            let is_preposition = language.preposition.is_some_and(|class| grammar.has_class(end, class));
            grammar.is_word(end) && !is_used(end) && !is_preposition
        };
        if end.is_some_and(|end| !counts(end)) {
            return true;
        }
    }
    false
}

/// Whether a series of days is said to go from one hour to another: `de lunes a viernes de 9 a 17`.
pub(super) fn has_hours(grammar: &mut Grammar<'_>, language: &Language, phrases: &[Phrase], used: &[Range]) -> bool {
    let is_small = |phrase: &Phrase| phrase.plan.every.is_some_and(|(_, unit)| unit < Unit::Day);
    let Some(range) = language.hours_range.filter(|_| !phrases.iter().any(is_small)) else {
        return false;
    };
    used.iter().any(|(from, to)| (*from..*to).any(|at| !grammar.find(range, at).is_empty()))
}

//! Finds the time phrases in a text.
//!
//! From each token on, the longest sequence of atoms that makes a whole plan is a phrase. How many sequences are tried
//! is bounded by the length of the text.

use super::action::Value;
use super::atom::{Atom, Cal, Clock, Mark, Unit};
use super::grammar::Grammar;
use super::plan::Plan;
use super::table::{Class, Symbol};

/// How many atoms may be tried in all, besides some for each token.
const TRIES_MIN: usize = 10_000;
const TRIES_PER_TOKEN: usize = 1;
/// How many steps of the grammar take as long as trying one atom.
const STEPS_PER_TRY: usize = 4;
/// How many atoms may be tried from one token on.
const TRIES_PER_START: usize = 6000;
/// How many atoms may be tried in vain once a phrase has been found: the longest are tried first.
const PATIENCE: usize = 2000;
/// How many atoms one phrase may have.
const ATOMS_MAX: usize = 24;
/// How many phrases of one text are looked at.
const PHRASES_MAX: usize = 8;

/// A time phrase in a text.
#[derive(Debug, Clone)]
pub(super) struct Phrase {
    /// The tokens that it is made of.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) atoms: Vec<Atom>,
    pub(super) plan: Plan,
    /// Whether it belongs to what the reminder is about: `about the 2 o'clock meeting`.
    pub(super) is_topic: bool,
    /// Where the word is that says so, a few words before it: `about the meeting on Friday`.
    pub(super) topic: Option<usize>,
    /// Whether it says of what kind something is: the `weekly` of `the weekly report`.
    pub(super) is_adjective: bool,
    /// Whether it is a time of day between an article and a noun: `the 8 o'clock news`.
    pub(super) is_determined: bool,
    /// Whether something is said to be its own: `tomorrow's agenda`.
    pub(super) is_owner: bool,
    /// Whether it may say whose the thing before it is: `the agenda of tomorrow`.
    pub(super) is_of: bool,
}

/// The symbols of the grammar that phrases are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbols {
    /// A piece of time.
    pub(super) atom: Symbol,
    /// Words between two pieces, or before the first.
    pub(super) joint: Symbol,
    /// Words that look like a time and are none: `the second half`.
    pub(super) not: Option<Symbol>,
    /// The class of units, after which an ordinal is not a day: `the first week`.
    pub(super) unit: Class,
    /// The class of words that say what a reminder is about.
    pub(super) topic: Option<Class>,
    /// How often in a unit: of `three times a day`, no part is anything by itself.
    pub(super) often: Option<Symbol>,
    /// The class of articles, possessives and their like.
    pub(super) determiner: Option<Class>,
    /// The class of articles: `a day` alone is no length.
    pub(super) article: Class,
    /// Words that join a time to the thing to be done.
    pub(super) link: Option<Symbol>,
    /// The class of words after which it follows whose something is.
    pub(super) of: Option<Class>,
    /// The class of words that lead a time of day and never a count: the `at` of `at 7 times table practice`.
    pub(super) lead: Option<Class>,
    /// The class of months.
    pub(super) month: Option<Class>,
}

/// All phrases of a text, from left to right.
pub(super) fn find(grammar: &mut Grammar<'_>, symbols: Symbols) -> Vec<Phrase> {
    let tries = TRIES_MIN + TRIES_PER_TOKEN * grammar.len();
    let mut search = Search { symbols, tries, left: 0, patience: 0, best: None, atoms: Vec::new() };
    let mut phrases = Vec::new();
    let mut at = 0;
    while at < grammar.len() && phrases.len() < PHRASES_MAX && search.tries > 0 {
        if let Some(end) = symbols.not.and_then(|not| grammar.find(not, at).map(|index| grammar.get(index).end).max()) {
            at = end;
            continue;
        }
        match search.longest(grammar, at) {
            Some(phrase) => {
                at = phrase.to;
                phrases.push(phrase);
            }
            None => {
                let often =
                    symbols.often.and_then(|often| grammar.find(often, at).map(|index| grammar.get(index).end).max());
                at = often.unwrap_or(at + 1);
            }
        }
    }
    grammar.count(STEPS_PER_TRY * (tries - search.tries));
    if search.tries == 0 {
        grammar.give_up();
    }
    phrases
}

struct Search {
    symbols: Symbols,
    /// How many atoms may still be tried, in all and from this token on.
    tries: usize,
    left: usize,
    /// How many may be tried without finding anything better.
    patience: usize,
    best: Option<Phrase>,
    atoms: Vec<Atom>,
}

impl Search {
    fn longest(&mut self, grammar: &mut Grammar<'_>, from: usize) -> Option<Phrase> {
        self.left = TRIES_PER_START;
        self.patience = PATIENCE;
        self.best = None;
        self.atoms.clear();
        self.extend(grammar, &Plan::default(), from, from);
        // A text that was not looked at to its end may mean something else.
        if self.left == 0 {
            grammar.give_up();
        }
        self.best.take()
    }

    fn extend(&mut self, grammar: &mut Grammar<'_>, plan: &Plan, from: usize, at: usize) {
        if self.atoms.len() >= ATOMS_MAX {
            return;
        }
        self.extend_with(grammar, plan, from, at);
        // A preposition may lead, a sign may not: `-5m` is not five minutes.
        if self.atoms.is_empty() && !grammar.is_word(at) {
            return;
        }
        for index in grammar.find(self.symbols.joint, at) {
            let joint = grammar.get(index);
            // The `:20` of `19th May 20:20` is no further piece.
            if grammar.is_glued_number(joint.end) {
                continue;
            }
            self.extend_with(grammar, plan, from, joint.end);
        }
    }

    fn extend_with(&mut self, grammar: &mut Grammar<'_>, plan: &Plan, from: usize, at: usize) {
        if self.symbols.not.is_some_and(|not| !grammar.find(not, at).is_empty()) {
            return;
        }
        let matches = grammar.find(self.symbols.atom, at);
        if matches.is_empty() {
            return;
        }
        let is_often = self.symbols.often.is_some_and(|often| !grammar.find(often, at).is_empty());
        for index in matches {
            let found = grammar.get(index);
            let Value::Atom(atom) = found.value else {
                continue;
            };
            // `za 4 sata, petak` does not begin with four o'clock: what leads a bare number says how it is meant.
            if self.atoms.is_empty() && at > from && matches!(atom, Atom::Clock(Clock { is_weak: true, .. })) {
                continue;
            }
            // `first and third` does not begin with `and`.
            if self.atoms.is_empty() && matches!(atom, Atom::Mark(Mark::And | Mark::Or)) {
                continue;
            }
            if is_often && matches!(atom, Atom::Count(_) | Atom::Every { .. }) {
                continue;
            }
            // Every Monday at 8 times is neither eight times nor on the 8th.
            let is_day =
                matches!(atom, Atom::Cal { cal: Cal { year: None, month: None, day: Some(_) }, is_weak: true });
            if (matches!(atom, Atom::Count(_)) && (self.is_led(grammar, at) || self.is_dated(grammar, at)))
                || (is_day && self.is_led(grammar, at))
            {
                continue;
            }
            // Pull 3 weeds: a word near a unit is one only where something says that a time is meant.
            let is_all = from == 0 && found.end == grammar.len();
            let is_length = matches!(atom, Atom::Length(_));
            if is_length && !is_all && (at..found.end).any(|token| grammar.slipped(token).is_some()) {
                continue;
            }
            if self.left == 0 || self.tries == 0 || self.patience == 0 {
                return;
            }
            self.left -= 1;
            self.tries -= 1;
            if self.best.is_some() {
                self.patience -= 1;
            }
            let Some(next) = plan.with(atom) else {
                continue;
            };
            self.atoms.push(atom);
            if (next.is_whole() || (is_all && next.is_whole_alone())) && self.is_better(grammar, &next, from, found.end)
            {
                let is_topic = self.symbols.topic.is_some_and(|topic| from > 0 && grammar.has_class(from - 1, topic));
                self.patience = PATIENCE;
                let (atoms, plan, to) = (self.atoms.clone(), next.clone(), found.end);
                let is_one = matches!(atoms.as_slice(), [Atom::Every { .. }]) && to <= from + 2;
                let is_adjective = is_one && to > 1 && grammar.is_word(to) && self.is_determined(grammar, to - 1);
                let topic = self.topic_before(grammar, from);
                let is_clock = matches!(atoms.as_slice(), [Atom::Clock(_)]);
                let has_article =
                    self.is_determined(grammar, from + 1) || (from > 0 && self.is_determined(grammar, from));
                let is_determined = is_clock && has_article && grammar.is_word(to);
                let is_owner = grammar.tokens.list[to - 1].is_owner && grammar.is_word(to);
                let is_of = self.is_of(grammar, from);
                self.best = Some(Phrase {
                    is_topic,
                    topic,
                    is_adjective,
                    is_determined,
                    is_owner,
                    is_of,
                    from,
                    to,
                    atoms,
                    plan,
                });
            }
            self.extend(grammar, &next, from, found.end);
            self.atoms.pop();
        }
    }

    /// Whether a number is a time of day, whatever it could count: at 8 x.
    fn is_led(&self, grammar: &Grammar<'_>, at: usize) -> bool {
        let is_lead = |at: usize| self.symbols.lead.is_some_and(|lead| grammar.has_class(at, lead));
        at.checked_sub(1).is_some_and(|before| is_lead(before) || grammar.is_sign(before, '@'))
    }

    /// Whether a number is a day of the month before it: feb 29 x. After 29 feb, it counts.
    fn is_dated(&self, grammar: &Grammar<'_>, at: usize) -> bool {
        let is_month = |at: usize| self.symbols.month.is_some_and(|month| grammar.has_class(at, month));
        let has_day = at.checked_sub(2).is_some_and(|day| grammar.is_number(day));
        at.checked_sub(1).is_some_and(is_month) && !has_day
    }

    /// Whether an article or its like stands before a token.
    fn is_determined(&self, grammar: &Grammar<'_>, from: usize) -> bool {
        self.symbols.determiner.is_some_and(|determiner| grammar.has_class(from - 1, determiner))
    }

    /// Whether a word such as `of` leads it that stands right after another word.
    fn is_of(&self, grammar: &Grammar<'_>, from: usize) -> bool {
        let is_of = |at: usize| self.symbols.of.is_some_and(|of| grammar.has_class(at, of));
        let of = if is_of(from) { Some(from) } else { from.checked_sub(1).filter(|at| is_of(*at)) };
        of.and_then(|at| at.checked_sub(1)).is_some_and(|noun| grammar.is_word(noun))
    }

    /// The word a few words before that says what a reminder is about.
    fn topic_before(&self, grammar: &Grammar<'_>, from: usize) -> Option<usize> {
        let topic = self.symbols.topic?;
        let words = (from.saturating_sub(5)..from).rev().take_while(|at| grammar.is_word(*at));
        words.into_iter().find(|at| grammar.has_class(*at, topic))
    }

    /// The longest is the best, and of two that are as long, the one found first.
    fn is_better(&self, grammar: &mut Grammar<'_>, plan: &Plan, from: usize, end: usize) -> bool {
        if grammar.is_cut(from, end) {
            return false;
        }
        if matches!(self.atoms.last(), Some(Atom::Minutes(_))) && grammar.is_word(end) {
            return false;
        }
        // `1 hour before the flight` is before the flight, and not before what went before.
        let is_back = matches!(self.atoms.last(), Some(Atom::Then(dur)) if dur.elapsed_seconds() < 0);
        if is_back && end > 0 && grammar.is_word(end - 1) && grammar.is_word(end) {
            return false;
        }
        // Buy 2-3 apples: two numbers before what they count are no date.
        if matches!(self.atoms.as_slice(), [Atom::Dashed(_)] | [Atom::Each(_), Atom::Dashed(_)]) && grammar.is_word(end)
        {
            return false;
        }
        // `u 20 sati 2 tablete`: the number counts what follows, and no minutes.
        let is_counted = end >= 2 && grammar.is_figure(end - 1) && grammar.has_class(end - 2, self.symbols.unit);
        if is_counted && matches!(self.atoms.last(), Some(Atom::Clock(_))) && grammar.is_word(end) {
            return false;
        }
        let is_length = matches!(self.atoms.as_slice(), [Atom::Length(_) | Atom::Lasting(_)]);
        let is_all = from == 0 && end == grammar.len();
        if is_length && !is_all && end - from == 2 && grammar.has_class(from, self.symbols.article) {
            return false;
        }
        let is_ordinal =
            matches!(self.atoms.last(), Some(Atom::Cal { cal: Cal { year: None, month: None, day: Some(_) }, .. }));
        if is_ordinal && grammar.has_class(end, self.symbols.unit) {
            return false;
        }
        // `daily at 7, five apples`: the last number of a list is a time only where nothing follows that it could count.
        let is_last_bare = matches!(
            self.atoms.last(),
            Some(Atom::Clock(Clock { is_weak: true, is_worded: false, finest: Unit::Hour, .. }))
        );
        // `daily at 8 and 20 to feed the cat` counts no cats.
        let is_link =
            |grammar: &mut Grammar<'_>| self.symbols.link.is_some_and(|link| !grammar.find(link, end).is_empty());
        let is_listed = is_last_bare && plan.when.clocks.len() > 1 && plan.when.part.is_none();
        if is_listed && grammar.is_word(end) && !is_link(grammar) {
            return false;
        }
        // A bare number after a day is a time only where nothing follows that it could count.
        let is_time = |clock: &Clock| clock.is_worded && clock.hour > 12;
        let mut clocks = plan.when.clocks.iter();
        let is_bare = clocks.any(|clock| clock.is_weak && clock.finest == Unit::Hour && !is_time(clock));
        let is_open = plan.to.is_none() || (plan.is_to_bare() && !plan.when.has_day());
        if is_bare && is_open && plan.when.part.is_none() && grammar.is_word(end) {
            return false;
        }
        let Some(best) = &self.best else {
            return true;
        };
        end > best.to || (end == best.to && likeness(plan) > likeness(&best.plan))
    }
}

/// How likely a plan is meant, of two that are as long. `6 jan - 6:37` is no stretch, but `from 3 to 4` is, and several days that come
/// once are nothing at all.
fn likeness(plan: &Plan) -> u8 {
    let is_stretch = plan.to.is_some();
    // Between the 11th and 12th of December are no hours of a month.
    let is_month = plan.when.cal.month.is_some() && plan.when.cal.day.is_none() && plan.when.nths.is_empty();
    let is_hours_of_month = is_month && is_stretch && !plan.when.clocks.is_empty() && !plan.is_recurring();
    let is_asked = plan.mark == Some(Mark::From) || plan.is_range();
    match plan {
        _ if plan.when.is_several && !plan.is_recurring() => 0,
        _ if is_hours_of_month => 0,
        // `viernes de 15 a 16` is from hour to hour, and not the 15th at four.
        _ if (is_asked || plan.is_recurring()) && plan.has_hours() => 3,
        // Today 10.05 is a time, unless nothing else makes sense.
        _ if plan.when.rel.is_some() && plan.when.is_cal_weak => 1,
        _ if is_stretch != is_asked => 1,
        _ => 2,
    }
}

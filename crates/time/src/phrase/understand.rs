//! Which of the phrases in a text is meant, and what it means.

use super::atom::{Clock, Half, Mark, Unit};
use super::find::Phrase;
use super::grammar::Grammar;
use super::language::Language;
use super::plan::Plan;
use super::resolve::{Here, Point, Why, too_long};
use super::token::Tokens;
use super::when::When;
use super::{Grain, Meaning, recur};
use crate::steps::Steps;
use crate::zone::Zone;

/// A text whose phrases have been found.
pub(super) struct Understanding<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a Tokens,
    pub(super) phrases: &'a [Phrase],
    pub(super) here: &'a Here,
    pub(super) zone: &'a Zone,
    /// Where the words end that ask for a reminder.
    pub(super) asked: usize,
    /// Whether something is wanted that comes again and again.
    pub(super) is_series: bool,
    /// What the request may still take.
    pub(super) steps: &'a Steps,
}

/// Tokens from one to before another.
type Used = Vec<(usize, usize)>;

impl Understanding<'_> {
    /// The meaning of the text, and the tokens that said so.
    pub(super) fn meaning(&self) -> (Meaning, Used) {
        let mut why = None;
        let mut order: Vec<&Phrase> = self.phrases.iter().collect();
        order.sort_by_key(|phrase| self.rank(phrase));
        for phrase in order {
            let (plan, used) = with_others(phrase, self.phrases);
            let is_loose = |other: &&Phrase| is_beside(phrase, other) && !used.contains(&(other.from, other.to));
            let meaning = match self.phrases.iter().find(is_loose) {
                Some(other) => {
                    let both = self.said(&[(phrase.from.min(other.from), phrase.to.max(other.to))]);
                    Err(format!("it is not clear how `{both}` belongs together"))
                }
                None => self.meaning_of(plan, &used),
            };
            match meaning {
                Ok(meaning) => return (meaning, used),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        let nothing = || "no time was found in it; say when, such as `tomorrow at 8` or `in 5 minutes`".into();
        (Meaning::None { reason: why.unwrap_or_else(nothing) }, Vec::new())
    }

    /// The lower, the likelier. The thing to be done may have a time of its own: the time that is meant opens the text, or
    /// closes it. A bare length is a time only if there is nothing better: a 20 minute walk at 5.
    fn rank(&self, phrase: &Phrase) -> u8 {
        let is_length = phrase.plan.length.is_some() && phrase.plan.when.is_empty() && !phrase.plan.is_recurring();
        match phrase {
            _ if is_length => 4,
            _ if phrase.is_topic => 3,
            _ if phrase.from <= self.asked => 0,
            _ if phrase.to == self.tokens.list.len() => 1,
            _ => 2,
        }
    }

    /// The words that said it.
    fn said(&self, used: &[(usize, usize)]) -> String {
        let piece = |(from, to): &(usize, usize)| {
            let (start, end) = (self.tokens.list[*from].start, self.tokens.list[*to - 1].end);
            &self.text[start..end]
        };
        used.iter().map(piece).collect::<Vec<_>>().join(" ")
    }

    fn meaning_of(&self, mut plan: Plan, used: &[(usize, usize)]) -> Result<Meaning, Why> {
        if self.is_series {
            plan.make_series();
        }
        if plan.is_recurring() {
            let schedule = recur::schedule(&plan, self.here, self.zone, &self.said(used), self.steps)?;
            return Ok(Meaning::Recurring(Box::new(schedule)));
        }
        if let Some(to) = &plan.to {
            return stretch(&plan.when, to, self.here);
        }
        if plan.mark == Some(Mark::Before) {
            return Err("`before` leaves open when; say how long before, or at what time".into());
        }
        if plan.length.is_some() {
            return length(&plan, self.here);
        }
        let point = self.here.point(&plan.when)?;
        Ok(match plan.mark {
            Some(Mark::Until) if point.at > self.here.now => {
                Meaning::Interval { from: self.here.now, to: point.at, grain: Grain::Second }
            }
            _ => Meaning::Instant { at: point.at, grain: point.grain },
        })
    }
}

/// The reason to doubt a meaning that looked good: words beside it were meant as a time, and are none.
pub(super) fn doubt(
    grammar: &mut Grammar<'_>,
    language: &Language,
    meaning: &Meaning,
    used: &[(usize, usize)],
) -> Option<&'static str> {
    if grammar.is_exhausted() {
        return Some("the text is too long and tangled to find the one time in it");
    }
    // A thirtieth of February right before a time was meant to be its day.
    if let Some(broken) = language.broken {
        let begins = used.iter().flat_map(|(from, _)| (from.saturating_sub(4)..*from).map(|at| (at, *from)));
        for (at, from) in begins.collect::<Vec<_>>() {
            if grammar.find(broken, at).any(|index| grammar.get(index).end == from) {
                return Some("it names a date that does not exist");
            }
        }
    }
    let mut follows = |symbol: Option<super::table::Symbol>| {
        let is_used = |at: usize| used.iter().any(|(from, _)| *from == at);
        symbol
            .is_some_and(|symbol| used.iter().any(|(_, end)| !is_used(*end) && !grammar.find(symbol, *end).is_empty()))
    };
    if follows(language.broken) {
        return Some("it names a date or a time of day that does not exist");
    }
    if matches!(meaning, Meaning::Duration { .. }) && follows(language.dangling) {
        return Some("it does not say before or after what");
    }
    None
}

/// Whether one phrase follows right after the other.
fn is_beside(phrase: &Phrase, other: &Phrase) -> bool {
    other.from == phrase.to || other.to == phrase.from
}

/// A day and a time of day may stand apart: `tomorrow call mom at 8`.
fn with_others(phrase: &Phrase, phrases: &[Phrase]) -> (Plan, Used) {
    let mut plan = phrase.plan.clone();
    let mut used = vec![(phrase.from, phrase.to)];
    if plan.to.is_some() || plan.mark.is_some() || plan.length.is_some() {
        return (plan, used);
    }
    let has_day = |plan: &Plan| plan.when.has_day() || plan.is_recurring();
    let is_only_day = |plan: &Plan| has_day(plan) && !plan.when.has_time();
    let is_only_time = |plan: &Plan| plan.when.has_time() && !has_day(plan);
    for other in phrases.iter().filter(|other| other.from != phrase.from && !other.is_topic) {
        let is_plain = other.plan.to.is_none() && other.plan.mark.is_none() && other.plan.length.is_none();
        let completes =
            (is_only_day(&plan) && is_only_time(&other.plan)) || (is_only_time(&plan) && is_only_day(&other.plan));
        if !is_plain || !completes {
            continue;
        }
        let both = other.atoms.iter().try_fold(plan.clone(), |both, atom| both.with(*atom));
        if let Some(both) = both.filter(Plan::is_whole) {
            plan = both;
            used.push((other.from, other.to));
        }
    }
    used.sort_unstable();
    (plan, used)
}

/// So long from now, or from a point on.
fn length(plan: &Plan, here: &Here) -> Result<Meaning, Why> {
    let Some(length) = plan.length.filter(|length| length.finest != Unit::Quarter) else {
        return Err(too_long());
    };
    let after = |at: jiff::Timestamp| {
        let there = here.moved_to(at, &here.zone);
        there.point(&When { offset: Some(length), ..When::default() })
    };
    if plan.when.is_empty() {
        let seconds = u64::try_from(length.elapsed_seconds()).unwrap_or(0);
        return Ok(Meaning::Duration { seconds, at: after(here.now)?.at });
    }
    let Point { at, grain } = here.point(&plan.when)?;
    Ok(Meaning::Interval { from: at, to: after(at)?.at, grain })
}

/// From one point to another; each takes from the other what it leaves out.
fn stretch(from: &When, to: &When, here: &Here) -> Result<Meaning, Why> {
    let mut from = from.clone();
    let mut to = to.clone();
    for clock in from.clocks.iter_mut().chain(&mut *to.clocks) {
        clock.is_weak = false;
    }
    // Of `13 to 15 July` both are in July; on `9:30 to 11:00 on Thursday` both are on Thursday.
    from.cal.month = from.cal.month.or(if from.cal.day.is_some() { to.cal.month } else { None });
    from.cal.year = from.cal.year.or(if from.cal.month.is_some() { to.cal.year } else { None });
    if !from.has_day() && to.has_day() {
        from = When { clocks: from.clocks, part: from.part, ..to.clone() };
        to = When { clocks: to.clocks, part: to.part, zone: to.zone, ..When::default() };
    }
    if from.zone.is_none() && !from.clocks.is_empty() {
        from.zone = to.zone;
    }
    if let ([first], Some(last)) = (&mut *from.clocks, to.clocks.first())
        && from.part.is_none()
    {
        choose_half(first, *last, to.part);
    }
    let begins = here.point(&from)?;
    let there = here.moved_to(begins.at, &here.zone);
    let ends = there.point(&to)?;
    if ends.at <= begins.at {
        return Err("it ends before it begins".into());
    }
    Ok(Meaning::Interval { from: begins.at, to: ends.at, grain: begins.grain })
}

/// From 9 to 11 pm begins at 21:00, and from 9 to 5 pm at 9:00: as late as can be before the end.
fn choose_half(first: &mut Clock, last: Clock, part: Option<super::atom::DayPart>) {
    let last = part.and_then(|part| super::action::in_part(last, part)).unwrap_or(last);
    if first.half == Half::Either && last.half == Half::Known {
        let later = first.hour % 12 + 12;
        let is_before = (later, first.minute) < (last.hour, last.minute);
        first.hour = if is_before { later } else { first.hour % 12 };
        first.half = Half::Known;
    }
}

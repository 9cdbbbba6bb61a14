//! Which of the phrases in a text is meant, and what it means.

use jiff::SignedDuration;

use super::atom::{Atom, Cal, Clock, DayPart, Half, Mark, Unit, Which};
use super::find::Phrase;
use super::grammar::Grammar;
use super::language::Language;
use super::left::Hang;
use super::plan::Plan;
use super::resolve::{Here, Point, Why, too_far, too_long};
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
    /// Whether somebody asks to be woken.
    pub(super) is_alarm: bool,
    /// Lengths before or after something that is named apart from them.
    pub(super) hangs: &'a [Hang],
    /// What the request may still take.
    pub(super) steps: &'a Steps,
}

/// Tokens from one to before another.
type Used = Vec<(usize, usize)>;

/// What a text means.
pub(super) struct Understood {
    pub(super) meaning: Meaning,
    /// What else the same words can mean.
    pub(super) alternatives: Vec<Meaning>,
    /// The tokens that said so.
    pub(super) used: Used,
    /// Whether it says at what time of the day.
    pub(super) is_complete: bool,
    /// Whether it says on which day.
    pub(super) has_day: bool,
    /// Whether the time of day is none of the part of the day that was named.
    pub(super) is_misfit: bool,
}

impl Understanding<'_> {
    /// The meaning of the text, and the tokens that said so.
    pub(super) fn meaning(&self) -> Understood {
        let mut why = None;
        let mut order: Vec<&Phrase> = self.phrases.iter().collect();
        order.sort_by_key(|phrase| self.rank(phrase));
        for phrase in order {
            let (mut plan, mut used) = with_others(phrase, self.phrases);
            self.wake(&mut plan);
            let is_loose = |other: &&Phrase| {
                !other.is_adjective && is_beside(phrase, other) && !used.contains(&(other.from, other.to))
            };
            let meaning = match self.phrases.iter().find(is_loose) {
                Some(other) => {
                    let both = self.said(&[(phrase.from.min(other.from), phrase.to.max(other.to))]);
                    Err(format!("it is not clear how `{both}` belongs together"))
                }
                None => self.hang(&mut plan, &mut used).and_then(|()| self.meaning_of(plan.clone(), &used)),
            };
            match meaning {
                Ok(mut meaning) => {
                    self.say_again(&plan, &mut meaning, &mut used);
                    let alternatives = self.alternatives(&plan, &used, &meaning);
                    let (is_complete, has_day) = (plan.is_complete(), plan.when.has_day() || plan.is_recurring());
                    let is_misfit = is_misfit(&plan);
                    return Understood { meaning, alternatives, used, is_complete, has_day, is_misfit };
                }
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        let nothing = || match self.hangs {
            [] => format!("{NOTHING}; say when, such as `tomorrow at 8` or `in 5 minutes`"),
            _ => "it does not say before or after what; name its time as well".into(),
        };
        let meaning = Meaning::None { reason: why.unwrap_or_else(nothing) };
        Understood {
            meaning,
            alternatives: Vec::new(),
            used: Vec::new(),
            is_complete: false,
            has_day: false,
            is_misfit: false,
        }
    }

    /// What is said twice is said once: `1 hour from now, Tue 10 Mar 2026 at 10:15`. Of a length, the moment beside it tells whether it is
    /// elapsed time or days of the calendar, which are shorter or longer twice a year.
    fn say_again(&self, plan: &Plan, meaning: &mut Meaning, used: &mut Used) {
        let at_of = |meaning: &Meaning| match meaning {
            Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => Some(*at),
            _ => None,
        };
        let Some(at) = at_of(meaning) else {
            return;
        };
        let length = plan.when.offset.or(plan.length).map(|dur| SignedDuration::from_secs(dur.elapsed_seconds()));
        let elapsed = length.and_then(|length| self.here.now.checked_add(length).ok());
        for other in self.phrases {
            let range = (other.from, other.to);
            if used.iter().any(|(from, to)| (*from..*to).contains(&other.from)) {
                continue;
            }
            let Ok(again) = self.meaning_of(other.plan.clone(), &[range]) else {
                continue;
            };
            let said = at_of(&again);
            if said.is_some() && (said == Some(at) || said == elapsed) {
                used.push(range);
                if said != Some(at) {
                    *meaning = again;
                }
            }
        }
        used.sort_unstable();
    }

    /// Who wants to be woken at six means the morning.
    fn wake(&self, plan: &mut Plan) {
        if self.is_alarm && plan.when.part.is_none() && plan.when.rel != Some(0) {
            for clock in plan.when.clocks.iter_mut().filter(|clock| clock.half == Half::Either) {
                if (4..=11).contains(&clock.hour) {
                    clock.half = Half::Known;
                }
            }
        }
    }

    /// `1 hour before my flight at 18:40` is at 17:40, and so is `flight at 18:40, 1 hour before`.
    fn hang(&self, plan: &mut Plan, used: &mut Used) -> Result<(), Why> {
        let hang = match self.hangs {
            [] => return Ok(()),
            [hang] => hang,
            [first, ..] => return Err(self.unclear(first)),
        };
        let (first, last) = (used.first().map_or(0, |(from, _)| *from), used.last().map_or(0, |(_, to)| *to));
        let is_open = |at: usize| matches!(self.tokens.list[at].kind, super::token::Kind::Sign(_));
        let is_at_end = (hang.to..self.tokens.list.len()).all(is_open);
        let is_point = plan.to.is_none() && plan.mark.is_none() && plan.length.is_none() && !plan.is_recurring();
        let fits = is_point && plan.when.then.is_none() && plan.when.offset.is_none() && !plan.when.is_now;
        if !fits || !(hang.to <= first || (hang.from >= last && is_at_end)) {
            return Err(self.unclear(hang));
        }
        plan.when.then = Some(hang.dur);
        used.push((hang.from, hang.to));
        used.sort_unstable();
        Ok(())
    }

    fn unclear(&self, hang: &Hang) -> Why {
        format!("it is not clear what `{}` belongs to", self.said(&[(hang.from, hang.to)]))
    }

    /// What the same words mean where the half of the day, or the order of day and month, is the other.
    fn alternatives(&self, plan: &Plan, used: &Used, meaning: &Meaning) -> Vec<Meaning> {
        let mut others: Vec<Plan> = Vec::new();
        let open = |clock: &Clock| clock.half == Half::Either && (1..=12).contains(&clock.hour);
        if let [clock] = *plan.when.clocks
            && open(&clock)
            && plan.when.part.is_none()
        {
            for hour in [clock.hour % 12, clock.hour % 12 + 12] {
                let mut other = plan.clone();
                other.when.clocks[0] = Clock { hour, half: Half::Known, ..clock };
                others.push(other);
            }
        }
        if plan.when.is_swappable && plan.when.cal.day != plan.when.cal.month {
            for (month, day) in [(plan.when.cal.month, plan.when.cal.day), (plan.when.cal.day, plan.when.cal.month)] {
                let mut other = plan.clone();
                other.when.cal = Cal { month, day, ..plan.when.cal };
                other.when.is_swappable = false;
                others.push(other);
            }
        }
        let mut meanings: Vec<Meaning> = Vec::new();
        for other in others {
            if let Ok(other) = self.meaning_of(other, used)
                && other != *meaning
                && !meanings.contains(&other)
            {
                meanings.push(other);
            }
        }
        meanings
    }

    /// The lower, the likelier. The thing to be done may have a time of its own: the time that is meant opens the text, or
    /// closes it. A bare length is a time only if there is nothing better: a 20 minute walk at 5.
    fn rank(&self, phrase: &Phrase) -> u8 {
        let is_length = phrase.plan.length.is_some() && phrase.plan.when.is_empty() && !phrase.plan.is_recurring();
        match phrase {
            _ if is_length => 5,
            _ if phrase.is_topic || phrase.is_adjective => 4,
            _ if phrase.from <= self.asked => 0,
            // A day with its time is said on purpose; a day alone may be that of something else.
            _ if phrase.plan.when.has_day() && phrase.plan.when.has_time() => 1,
            _ if phrase.to == self.tokens.list.len() => 2,
            _ => 3,
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
        if let Some((n, unit)) = plan.when.window {
            let (from, to) = self.here.window(n, unit)?;
            return Ok(Meaning::Interval { from: from.at, to, grain: from.grain });
        }
        if let Some((days, Which::Range)) = plan.when.days {
            return weekdays(&plan.when, days, self.here);
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

/// Whether a clock and a part of the day do not go together: tonight at 3 may be before or after midnight, and twelve is no afternoon.
fn is_misfit(plan: &Plan) -> bool {
    let is_today = plan.when.is_part_today;
    let is_open = |clock: &Clock| clock.half != Half::Known;
    plan.when.clocks.iter().filter(|clock| is_open(clock)).any(|clock| match plan.when.part {
        Some(DayPart::Tonight) => (1..=3).contains(&clock.hour),
        Some(DayPart::Afternoon) => is_today && clock.hour == 12 && clock.finest == Unit::Hour,
        _ => false,
    })
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
    // `at 5 about the meeting on Friday`: the Friday is the meeting's.
    let is_mine = |other: &&Phrase| {
        other.from != phrase.from && !other.is_topic && !other.is_adjective && other.topic != Some(phrase.to)
    };
    // `weekly team meeting on friday at 10` is every Friday; the weekly report is one of its kind.
    let is_bare_every =
        |phrase: &Phrase| matches!(phrase.atoms.as_slice(), [Atom::Every { unit, .. }] if *unit >= Unit::Day);
    let can_come_again = |plan: &Plan| {
        let when = &plan.when;
        let is_day = matches!(when.days, Some((_, Which::Bare | Which::Each)))
            || when.cal.day.is_some()
            || !when.nths.is_empty();
        (is_day || when.cal.month.is_some()) && when.rel.is_none() && when.cal.year.is_none() && when.period.is_none()
    };
    for other in phrases.iter().filter(is_mine) {
        let (every, day) = if is_bare_every(phrase) { (phrase, other) } else { (other, phrase) };
        let is_series = is_bare_every(every)
            && !every.is_adjective
            && can_come_again(&day.plan)
            && day.plan.every.is_none()
            && day.plan.each.is_none();
        if is_series && used.len() == 1 {
            let both = day.atoms.iter().try_fold(every.plan.clone(), |both, atom| both.with(*atom));
            if let Some(both) = both.filter(Plan::is_whole) {
                plan = both;
                used.push((other.from, other.to));
                continue;
            }
        }
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

/// From a day of the week to another: `Tuesday - Friday`.
fn weekdays(when: &When, days: u8, here: &Here) -> Result<Meaning, Why> {
    let is_in = |day: u8| days & (1 << (day % 7)) != 0;
    let first = (0..7).find(|day| is_in(*day) && !is_in(day + 6)).ok_or_else(too_far)?;
    let last = (0..7).find(|day| is_in(*day) && !is_in(day + 1)).ok_or_else(too_far)?;
    let day = |day: u8| When { days: Some((1 << day, Which::Bare)), is_several: false, ..when.clone() };
    stretch(&day(first), &When { days: Some((1 << last, Which::Bare)), ..When::default() }, here)
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
        && !to.has_day()
    {
        choose_half(first, *last, to.part);
    }
    let ends_of = |from: &When| {
        let begins = here.point(from)?;
        let ends = here.moved_to(begins.at, &here.zone).point(&to)?;
        Ok::<_, Why>((begins, ends))
    };
    let (mut begins, mut ends) = ends_of(&from)?;
    // 12.09. to 14.09.: the second can have the day first only, so that the first has it first as well.
    if ends.at <= begins.at && from.is_swappable && !to.is_swappable {
        let cal = Cal { month: from.cal.day, day: from.cal.month, ..from.cal };
        (begins, ends) = ends_of(&When { cal, is_swappable: false, ..from })?;
    }
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

/// A reason that says more, where what was meant can be seen.
pub(super) fn better_reason(grammar: &mut Grammar<'_>, language: &Language, reason: String) -> String {
    let mut has = |symbol: Option<super::table::Symbol>| {
        symbol.is_some_and(|symbol| (0..grammar.len()).any(|at| !grammar.find(symbol, at).is_empty()))
    };
    match reason.starts_with(NOTHING) {
        true if has(language.symbols.often) => {
            "it does not say at which hours; say them as well, such as `every day at 8 and 20`".into()
        }
        true if has(language.bad_date) => "it names a date that does not exist".into(),
        _ => reason,
    }
}

/// How the reason begins where nothing was found.
const NOTHING: &str = "no time was found in it";

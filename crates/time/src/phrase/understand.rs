//! Which of the phrases in a text is meant, and what it means.

use jiff::SignedDuration;

use super::atom::{Atom, Cal, Clock, DayPart, Half, Mark, Unit, Which};
use super::find::Phrase;
use super::grammar::Grammar;
use super::language::Language;
use super::left::Hang;
use super::list::List;
use super::plan::Plan;
use super::range::{length, months, stretch, weekdays};
use super::resolve::{Here, Why};
use super::token::{Token, Tokens};
use super::when::When;
use super::whole::whole;
use super::{Grain, Meaning, recur};
use crate::steps::Steps;
use crate::zone::Zone;

/// A text whose phrases have been found.
pub(super) struct Understanding<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a Tokens,
    pub(super) phrases: &'a [Phrase],
    pub(super) here: &'a Here,
    pub(super) language: &'static Language,
    pub(super) zone: &'a Zone,
    /// Where the words end that ask for a reminder.
    pub(super) asked: usize,
    /// Whether something is wanted that comes again and again.
    pub(super) is_series: bool,
    /// Whether somebody asks to be woken.
    pub(super) is_alarm: bool,
    /// Lengths before or after something that is named apart from them.
    pub(super) hangs: &'a [Hang],
    /// The steps that the request may still take.
    pub(super) steps: &'a Steps,
}

/// Tokens from one to before another.
type Used = Vec<(usize, usize)>;

/// The meaning of a text.
pub(super) struct Understood {
    pub(super) meaning: Result<Meaning, Why>,
    /// The other meanings that the same words can have.
    pub(super) alternatives: Vec<Meaning>,
    /// The tokens that said so.
    pub(super) used: Used,
    /// Whether it says at what time of the day.
    pub(super) is_complete: bool,
    /// Whether it says on which day.
    pub(super) has_day: bool,
    /// Whether its day comes only once: tomorrow, on May 3.
    pub(super) is_once: bool,
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
            let other_halves = share_half(&mut plan);
            let is_loose = |other: &&Phrase| {
                !other.is_adjective && is_beside(phrase, other) && !used.contains(&(other.from, other.to))
            };
            let meaning = match self.phrases.iter().find(is_loose) {
                Some(other) => {
                    let both = self.said(&[(phrase.from.min(other.from), phrase.to.max(other.to))]);
                    Err(Why::about("together", both))
                }
                None => self.hang(&mut plan, &mut used).and_then(|()| self.meaning_of(plan.clone(), &used)),
            };
            match meaning {
                Ok(mut meaning) => {
                    self.say_again(&plan, &mut meaning, &mut used);
                    let mut alternatives = self.alternatives(&plan, &used, &meaning);
                    alternatives.extend(other_halves.and_then(|plan| self.meaning_of(plan, &used).ok()));
                    let (is_complete, has_day) = (plan.is_complete(), plan.when.has_day() || plan.is_recurring());
                    let is_misfit = self.is_misfit(&plan);
                    let is_once = plan.when.is_once() && !plan.is_recurring();
                    let meaning = Ok(meaning);
                    return Understood { meaning, alternatives, used, is_complete, has_day, is_once, is_misfit };
                }
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        let nothing = || match self.hangs {
            [] => Why::of(Why::NO_TIME),
            _ => Why::of("before what"),
        };
        Understood {
            meaning: Err(why.unwrap_or_else(nothing)),
            alternatives: Vec::new(),
            used: Vec::new(),
            is_complete: false,
            has_day: false,
            is_once: false,
            is_misfit: false,
        }
    }

    /// A time that is said twice counts once: `1 hour from now, Tue 10 Mar 2026 at 10:15`. Of a length, the moment beside it tells whether it is
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

    /// A person who wants to be woken at six means the morning.
    fn wake(&self, plan: &mut Plan) {
        if self.is_alarm && plan.when.part.is_none() && plan.when.rel != Some(0) {
            for clock in plan.when.clocks.iter_mut().filter(|clock| clock.half == Half::Either) {
                if (4..=11).contains(&clock.hour) {
                    clock.half = Half::Known;
                }
            }
        }
    }

    /// Whether a clock and a part of the day do not go together: twelve is no afternoon, and a person who says in the morning `tonight
    /// at 3` may mean the afternoon. Later in the day it is the hour after midnight.
    fn is_misfit(&self, plan: &Plan) -> bool {
        // Every day at 8 i 20 may be at 8:20, and at 8 and at 20.
        if plan.is_recurring() && plan.when.clocks.iter().any(|clock| clock.is_split) {
            return true;
        }
        let is_today = plan.when.is_part_today;
        let is_other_day = plan.when.days.is_some() || plan.when.rel.is_some_and(|rel| rel > 0);
        let is_morning = (4..12).contains(&self.here.local.hour());
        let is_open = |clock: &Clock| clock.half != Half::Known;
        plan.when.clocks.iter().filter(|clock| is_open(clock)).any(|clock| match plan.when.part {
            Some(DayPart::Tonight) => is_morning && (1..=3).contains(&clock.hour),
            // Saturday night at 1 is on Sunday, and on Saturday in a way.
            Some(DayPart::Night) => is_other_day && (1..=4).contains(&clock.hour),
            Some(DayPart::Afternoon) => is_today && clock.hour == 12 && clock.finest == Unit::Hour,
            _ => false,
        })
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
        // Of `the day before the exam at 9` nobody knows the day.
        let is_dayless = hang.part.is_none() && hang.dur.finest >= Unit::Day && !plan.when.has_day();
        let fits =
            is_point && plan.when.then.is_none() && plan.when.offset.is_none() && !plan.when.is_now && !is_dayless;
        if !fits || !(hang.to <= first || (hang.from >= last && is_at_end)) {
            return Err(self.unclear(hang));
        }
        if let Some(part) = hang.part {
            // Without its day nobody can tell which evening it is.
            let is_before = hang.dur.days < 0;
            // The evening before is the day before, and the morning after the day after; the morning before may be the same day's.
            let is_clear = match part {
                DayPart::Evening | DayPart::Night => is_before,
                DayPart::Morning | DayPart::EarlyMorning => !is_before,
                _ => false,
            };
            if !is_clear || !plan.when.has_day() {
                return Err(self.unclear(hang));
            }
            (plan.when.part, plan.when.is_part_weak) = (Some(part), false);
            plan.when.clocks = List::default();
        }
        plan.when.then = Some(hang.dur);
        used.push((hang.from, hang.to));
        used.sort_unstable();
        Ok(())
    }

    fn unclear(&self, hang: &Hang) -> Why {
        Why::about("belongs", self.said(&[(hang.from, hang.to)]))
    }

    /// The meanings of the same words where the half of the day, or the order of day and month, is the other.
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
        // A time that is over is no choice, unless all of them are.
        let is_ahead = |meaning: &Meaning| match meaning {
            Meaning::Instant { at, .. } | Meaning::Interval { from: at, .. } => *at > self.here.now,
            _ => true,
        };
        // From 2 to 4 pm is no meeting of fourteen hours.
        let is_long = |meaning: &Meaning| match meaning {
            Meaning::Interval { from, to, .. } => to.duration_since(*from) > SignedDuration::from_hours(12),
            _ => false,
        };
        for other in others {
            if let Ok(other) = self.meaning_of(other, used)
                && other != *meaning
                && (is_ahead(&other) || !is_ahead(meaning))
                && (is_long(meaning) || !is_long(&other))
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
            _ if phrase.is_topic || phrase.is_adjective || phrase.is_owner => 4,
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

    /// Whether a day of the week is said in the few letters that calendars have for it.
    fn has_short_weekday(&self, used: &[(usize, usize)]) -> bool {
        const LETTERS_MAX: usize = 4;
        let table = &self.language.table;
        let is_day = |token: &Token| {
            let word = self.tokens.word_of(token);
            let mut meanings = table.meanings(word).iter();
            word.len() <= LETTERS_MAX && meanings.any(|meaning| self.language.weekdays.contains(&meaning.class))
        };
        used.iter().any(|(from, to)| self.tokens.list[*from..*to].iter().any(is_day))
    }

    pub(super) fn meaning_of(&self, mut plan: Plan, used: &[(usize, usize)]) -> Result<Meaning, Why> {
        if self.is_series {
            plan.make_series();
        }
        if plan.when.days.is_some() && plan.when.cal.day.is_some() {
            plan.when.is_weekday_full = !self.has_short_weekday(used);
        }
        if plan.is_recurring() {
            // Every 5/4 is the same day as 5/4.
            if plan.when.is_swappable && self.here.is_other_way_round(&plan.when) {
                plan.when.cal = Cal { month: plan.when.cal.day, day: plan.when.cal.month, ..plan.when.cal };
                plan.when.is_swappable = false;
            }
            let schedule = recur::schedule(&plan, self.here, self.zone, &self.said(used), self.steps)?;
            return Ok(Meaning::Recurring(Box::new(schedule)));
        }
        if let Some(to) = &plan.to {
            // Monday to Friday from 9 to 17 is no stretch of one day.
            let is_days = |when: &When| matches!(when.days, Some((_, Which::Range)));
            if is_days(&plan.when) || is_days(to) {
                return Err(Why::about("together", self.said(used)));
            }
            if let Some(first) = plan.when.cal.month.filter(|_| plan.is_range() && plan.when.cal.day.is_none()) {
                return months(first, plan.when.cal.year, to, self.here);
            }
            // From the 6th to the 7th at seven ends at seven as well.
            let is_days = plan.is_range() && to.cal.day.is_some() && !to.has_time();
            let clocks = if is_days { plan.when.clocks } else { to.clocks };
            return stretch(&plan.when, &When { clocks, ..(**to).clone() }, self.here);
        }
        if plan.mark == Some(Mark::Before) {
            return Err(Why::of("before"));
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
        if plan.mark.is_none()
            && let Some(whole) = whole(&plan.when, self.phrases.len() == 1, self.here)?
        {
            return Ok(whole);
        }
        let point = self.here.point(&plan.when)?;
        Ok(match plan.mark {
            Some(Mark::Until) if point.at > self.here.now => {
                Meaning::Interval { from: self.here.now, to: point.at, grain: Grain::Second }
            }
            // A person who says "by Friday" does not want to be reminded now.
            Some(Mark::By) if point.at > self.here.now => {
                Meaning::Instant { at: point.at, grain: point.grain, within: Some((self.here.now, point.at)) }
            }
            _ => {
                let within = if plan.mark.is_none() { self.here.within(&plan.when, point) } else { None };
                Meaning::Instant { at: point.at, grain: point.grain, within }
            }
        })
    }
}

/// The reason to doubt a meaning that looked good: words beside it were meant as a time, and are none.
pub(super) fn doubt(
    grammar: &mut Grammar<'_>,
    language: &Language,
    is_length: bool,
    used: &[(usize, usize)],
) -> Option<Why> {
    if grammar.is_exhausted() {
        return Some(Why::of("tangled"));
    }
    // A thirtieth of February right before a time was meant to be its day.
    if let Some(broken) = language.broken {
        let begins = used.iter().flat_map(|(from, _)| (from.saturating_sub(4)..*from).map(|at| (at, *from)));
        for (at, from) in begins.collect::<Vec<_>>() {
            if grammar.find(broken, at).any(|index| grammar.get(index).end == from) {
                return Some(Why::of("no such date"));
            }
        }
    }
    let mut follows = |symbol: Option<super::table::Symbol>| {
        let is_used = |at: usize| used.iter().any(|(from, _)| *from == at);
        symbol
            .is_some_and(|symbol| used.iter().any(|(_, end)| !is_used(*end) && !grammar.find(symbol, *end).is_empty()))
    };
    if follows(language.broken) {
        return Some(Why::of("no such time"));
    }
    if is_length && follows(language.dangling) {
        return Some(Why::of("before what"));
    }
    None
}

/// Every day at 7 and 9 pm is at 19 and at 21; the plan as it was is the other reading. At 8 and 2 pm is at 8 in the morning. At 6 and 22 is at
/// 6 in the morning, because 22 is of a clock of 24 hours.
fn share_half(plan: &mut Plan) -> Option<Plan> {
    let is_24_hours = |clock: &Clock| clock.hour > 12 && !clock.has_half;
    if plan.when.part.is_none() && plan.when.clocks.iter().any(is_24_hours) {
        plan.when
            .clocks
            .iter_mut()
            .filter(|clock| clock.half == Half::Either)
            .for_each(|clock| clock.half = Half::Known);
        return None;
    }
    let last = plan.when.clocks.last().copied().filter(|last| last.has_half && last.hour > 12)?;
    let before = plan.clone();
    let is_before = |clock: &Clock| clock.half == Half::Either && clock.hour % 12 < last.hour - 12;
    let mut is_shared = false;
    for clock in plan.when.clocks.iter_mut().filter(|clock| is_before(clock)) {
        (clock.hour, clock.half, is_shared) = (clock.hour % 12 + 12, Half::Known, true);
    }
    is_shared.then_some(before)
}

/// Whether a plan names a day that is over, on which nobody is reminded.
pub(super) fn is_past(plan: &Plan) -> bool {
    let when = &plan.when;
    when.rel.is_some_and(|rel| rel < 0)
        || when.period.is_some_and(|(_, rel)| rel < 0)
        || matches!(when.days, Some((_, Which::Last)))
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
        let is_about = other.topic.is_some_and(|topic| topic >= phrase.to);
        // `at 6pm read the notes from yesterday's standup`: what follows a time of day and is said of a thing is no day to do it on.
        let (first, second) = if phrase.from < other.from { (phrase, *other) } else { (*other, phrase) };
        let is_its = (second.is_owner || second.is_of) && first.plan.when.has_time();
        let is_past = |phrase: &Phrase| is_past(&phrase.plan);
        other.from != phrase.from
            && !other.is_topic
            && !other.is_adjective
            && !other.is_determined
            && !is_about
            && !is_its
            && !is_past(first)
            && !is_past(second)
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

/// A reason that says more, where what was meant can be seen.
pub(super) fn better_reason(grammar: &mut Grammar<'_>, language: &Language, why: Why) -> Why {
    let mut has = |symbol: Option<super::table::Symbol>| {
        symbol.is_some_and(|symbol| (0..grammar.len()).any(|at| !grammar.find(symbol, at).is_empty()))
    };
    match why.is(Why::NO_TIME) {
        true if has(language.symbols.often) => Why::of("no hours"),
        true if has(language.bad_date) => Why::of("no such date"),
        true if has(language.no_clock) => Why::of("no such time"),
        _ => why,
    }
}

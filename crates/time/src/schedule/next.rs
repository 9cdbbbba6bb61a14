//! The next instant of a schedule, and those that were missed.
//!
//! `daily` and `weekly` go from local date to local date and turn each into an instant: a time in a gap is shifted
//! forward by the length of the gap, a repeated one counts the first time. Two dates may then name one instant (a zone
//! that skipped a whole day); because the answer is always strictly later than the question, it counts once.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};

use super::{Anchor, Rule, Schedule, Weekdays};
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// How many steps the search for one next run may take at most, whenever it is made.
pub(crate) const NEXT_STEPS_MAX: u64 = 200_000;
/// How many it may take when the schedule is accepted: every month of 400 years, twice. Later searches take about as many, because
/// rules repeat; the exceptions that lie ahead are few, and each is passed over once.
const ADMITTED_STEPS_MAX: u64 = 10_000;
/// How many steps it may take to count missed runs. Where it takes more, only the latest are looked for.
const COUNT_STEPS_MAX: u64 = 250_000;
/// The most missed instants that are counted one by one, a month of minutes. Where there are more, only the latest are
/// looked for and the total is a lower bound. Intervals are always counted exactly.
const MISSED_COUNTED_MAX: usize = 50_000;
/// How many excepted stretches in a row are passed over: all months of 400 years, after which the calendar repeats. A
/// rule that has met nothing but exceptions until then is not due any more.
const SKIPS_MAX: usize = 4800;

/// The instants of a schedule in a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// The latest of them, oldest first.
    pub instants: Vec<Timestamp>,
    /// How many there are, listed or not.
    pub total: usize,
    /// Whether `total` is exact; if not, there are at least that many.
    pub is_exact: bool,
}

impl Schedule {
    /// When a reminder made or changed at `now` is first due. A single instant that has just passed still counts: it
    /// was asked for, so it is sent at once.
    pub fn first_after(&self, zone: &Zone, now: Timestamp) -> Option<Timestamp> {
        match self.rule {
            Rule::Once { at } => Some(at),
            _ => self.next_after(zone, now),
        }
    }

    /// The first instant strictly after `after` that the rule makes due, within `starts_at` and `ends_at`, both inclusive.
    ///
    /// `None` when there is none. `count` is not looked at: only the caller knows how many runs there have been.
    ///
    /// Time is bounded: a schedule that has needed [`NEXT_STEPS_MAX`] to find nothing is not due any more. One that was
    /// accepted needs a fraction of that.
    pub fn next_after(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        self.next_within(zone, after, &Steps::new(NEXT_STEPS_MAX))
    }

    /// The same with a bounded number of steps: when they are spent there is no answer.
    pub fn next_within(&self, zone: &Zone, after: Timestamp, steps: &Steps) -> Option<Timestamp> {
        let mut after = self.after_start(after);
        for _ in 0..SKIPS_MAX {
            let next = self.next_by_rule(zone, after, steps)?;
            let is_over = self.ends_at.is_some_and(|ends_at| next > ends_at);
            match self.except.end_if_excepted(zone, next, steps) {
                _ if is_over || steps.are_spent() => return None,
                None => return Some(next),
                Some(end) => after = just_before(end).max(next),
            }
        }
        None
    }

    /// Refuses a schedule whose next run takes long to find: it would have to be found after every run.
    pub(super) fn admit(&self, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<(), String> {
        let before = steps.left();
        let (next, is_too_much) = steps.part(NEXT_STEPS_MAX, |steps| self.next_within(zone, now, steps));
        // A schedule that is never due is refused elsewhere, with a better reason.
        let is_costly = next.is_some() && before - steps.left() > ADMITTED_STEPS_MAX;
        if is_too_much || is_costly { Err(TOO_MUCH.to_owned()) } else { Ok(()) }
    }

    /// The first instant strictly after `after` that the rule alone makes due.
    fn next_by_rule(&self, zone: &Zone, after: Timestamp, steps: &Steps) -> Option<Timestamp> {
        steps.take(1)?;
        match &self.rule {
            Rule::Once { at } => Some(*at).filter(|at| after < *at),
            Rule::Interval { .. } => {
                let grid = self.grid()?;
                grid.instant(grid.index_at(after).checked_add(1)?.max(grid.first))
            }
            Rule::Daily { time } => next_on(zone, *time, Weekdays::ALL, after),
            Rule::Weekly { time, days } => next_on(zone, *time, *days, after),
            Rule::Cron(expr) => expr.next_within(zone, after, steps),
            Rule::Smart(smart) => smart.next_within(zone, after, steps),
        }
    }

    /// When an interval that is counted from answers is due after an answer at `at`: once it has passed, and again for as
    /// long as that is excepted.
    pub fn after_answer(&self, zone: &Zone, every: Duration, at: Timestamp) -> Option<Timestamp> {
        let rule = Rule::Interval { every, anchor: Anchor::Start, origin: at };
        let counted = Self { ends_at: self.ends_at, except: self.except.clone(), ..Self::new(rule) };
        counted.next_after(zone, at)
    }

    /// The `n`th instant after `after`; the last there is, if there are fewer; `after` itself for none.
    pub fn nth_after(&self, zone: &Zone, after: Timestamp, n: u32) -> Timestamp {
        if let Some(grid) = self.grid().filter(|_| self.except.is_empty()) {
            let first = (grid.index_at(self.after_start(after)) + 1).max(grid.first);
            let nth = grid.instant(first + i128::from(n) - 1).unwrap_or(Timestamp::MAX);
            return self.ends_at.map_or(nth, |ends_at| ends_at.min(nth)).max(after);
        }
        let steps = Steps::new(COUNT_STEPS_MAX);
        let next = |at: &Timestamp| self.next_within(zone, *at, &steps);
        let instants = std::iter::successors(next(&after), next);
        instants.take(n.min(MISSED_COUNTED_MAX as u32) as usize).last().unwrap_or(after)
    }

    /// The instants in (`after`, `until`]: the latest `keep` of them, and how many there are.
    ///
    /// Time and memory are bounded whatever the rule and however long the stretch.
    pub fn latest_between(&self, zone: &Zone, after: Timestamp, until: Timestamp, keep: usize) -> Missed {
        if let Some(grid) = self.grid().filter(|_| self.except.is_empty()) {
            return self.latest_on(&grid, after, until, keep);
        }
        let steps = Steps::new(COUNT_STEPS_MAX);
        let mut latest = VecDeque::new();
        let mut total = 0;
        let mut cursor = after;
        while let Some(next) = self.next_within(zone, cursor, &steps).filter(|next| *next <= until) {
            if total == MISSED_COUNTED_MAX {
                break;
            }
            total += 1;
            cursor = next;
            if latest.len() == keep {
                latest.pop_front();
            }
            if keep > 0 {
                latest.push_back(next);
            }
        }
        if total == MISSED_COUNTED_MAX || steps.are_spent() {
            let mut instants = self.latest_by_search(zone, cursor, until, keep);
            if instants.is_empty() {
                instants = latest.into();
            }
            return Missed { total: total.max(instants.len()), instants, is_exact: false };
        }
        Missed { instants: latest.into(), total, is_exact: true }
    }

    /// `starts_at` is inclusive, so nothing before the moment just before it needs to be looked at.
    fn after_start(&self, after: Timestamp) -> Timestamp {
        self.starts_at.map_or(after, |start| just_before(start).max(after))
    }

    fn grid(&self) -> Option<Grid> {
        let Rule::Interval { every, origin, .. } = &self.rule else {
            return None;
        };
        // The origin itself is due when somebody asked for it, and not when it is only the creation.
        let first = if self.starts_at == Some(*origin) { 0 } else { 1 };
        let every = i128::try_from(every.as_nanos()).ok().filter(|every| *every > 0)?;
        Some(Grid { origin: origin.as_nanosecond(), every, first })
    }

    fn latest_on(&self, grid: &Grid, after: Timestamp, until: Timestamp, keep: usize) -> Missed {
        let until = self.ends_at.map_or(until, |ends_at| ends_at.min(until));
        let first = (grid.index_at(self.after_start(after)) + 1).max(grid.first);
        let last = grid.index_at(until);
        let total = usize::try_from((last - first + 1).max(0)).unwrap_or(usize::MAX);
        let kept = i128::try_from(total.min(keep)).unwrap_or(i128::MAX);
        let instants = (last - kept + 1..=last).filter_map(|index| grid.instant(index)).collect();
        Missed { instants, total, is_exact: true }
    }

    /// The latest `keep` instants in (`after`, `until`], found from the end.
    fn latest_by_search(&self, zone: &Zone, after: Timestamp, until: Timestamp, keep: usize) -> Vec<Timestamp> {
        let steps = Steps::new(COUNT_STEPS_MAX);
        let mut instants = VecDeque::new();
        let mut until = Some(until);
        while instants.len() < keep
            && let Some(last) = until.and_then(|until| self.last_in(zone, after, until, &steps))
        {
            instants.push_front(last);
            until = last.checked_sub(SignedDuration::from_nanos(1)).ok();
        }
        instants.into()
    }

    /// The last instant in (`after`, `until`].
    ///
    /// Steps back ever further until something lies between, then halves the stretch in which the last one must be.
    fn last_in(&self, zone: &Zone, after: Timestamp, until: Timestamp, steps: &Steps) -> Option<Timestamp> {
        let next_within = |from| self.next_within(zone, from, steps).filter(|next| *next <= until);
        let mut step = Duration::from_secs(1);
        let mut empty_from = until;
        let (mut last, mut full_from) = loop {
            let from = until.checked_sub(step).unwrap_or(Timestamp::MIN).max(after);
            match next_within(from) {
                Some(next) => break (next, next),
                None if from == after || steps.are_spent() => return None,
                None => empty_from = from,
            }
            step = step.saturating_mul(2);
        };
        while empty_from > full_from {
            let half = empty_from.duration_since(full_from) / 2;
            let middle = full_from.checked_add(half).ok()?;
            match next_within(middle) {
                Some(next) => (last, full_from) = (next, next),
                None if steps.are_spent() => return None,
                None => empty_from = middle,
            }
        }
        Some(last)
    }
}

/// The instants of an interval, in nanoseconds: `origin` has the index 0.
struct Grid {
    origin: i128,
    every: i128,
    /// The index of the first instant that is due.
    first: i128,
}

impl Grid {
    /// How many whole intervals `at` is from the origin.
    fn index_at(&self, at: Timestamp) -> i128 {
        (at.as_nanosecond() - self.origin).div_euclid(self.every)
    }

    fn instant(&self, index: i128) -> Option<Timestamp> {
        let nanos = index.checked_mul(self.every)?.checked_add(self.origin)?;
        Timestamp::from_nanosecond(nanos).ok()
    }
}

fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN)
}

/// The first instant strictly after `after` at local `time` on one of `days`.
fn next_on(zone: &Zone, time: Time, days: Weekdays, after: Timestamp) -> Option<Timestamp> {
    if days.is_empty() {
        return None;
    }
    let today = zone.rules().to_datetime(after).date();
    // Yesterday's time may have been shifted into today, by a zone that skipped a day.
    let mut date = today.yesterday().unwrap_or(Date::MIN);
    loop {
        if days.contains(date.weekday()) {
            let at = zone.rules().to_timestamp(date.to_datetime(time)).ok();
            if let Some(at) = at.filter(|at| *at > after) {
                return Some(at);
            }
        }
        date = date.tomorrow().ok()?;
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Weekday;
    use proptest::prelude::*;

    use super::super::{CronExpr, Exceptions, Smart};
    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn daily(clock: &str) -> Schedule {
        Schedule::new(Rule::Daily { time: clock.parse().unwrap() })
    }

    fn weekly(clock: &str, days: &[Weekday]) -> Schedule {
        let days = days.iter().fold(Weekdays::NONE, |days, day| days.with(*day));
        Schedule::new(Rule::Weekly { time: clock.parse().unwrap(), days })
    }

    fn every(seconds: u64, origin: &str) -> Schedule {
        Schedule::new(Rule::Interval {
            every: Duration::from_secs(seconds),
            anchor: Anchor::Start,
            origin: instant(origin),
        })
    }

    /// Asks for the instants after `after`, and expects these, written as local times with their offset.
    fn check(schedule: &Schedule, zone: &str, after: &str, expect: &[&str]) {
        let zone = Zone::named(zone).unwrap();
        let mut cursor = instant(after);
        for expected in expect {
            let next = schedule.next_after(&zone, cursor).expect("something is due");
            let local = next.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z");
            assert_eq!(local.to_string(), *expected, "{schedule:?} in {zone} after {cursor}");
            cursor = next;
        }
    }

    #[test]
    fn a_daily_time_in_a_gap_is_shifted_by_the_length_of_the_gap() {
        check(
            &daily("02:30"),
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            &["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"],
        );
        // Half an hour in Lord Howe, two hours at Troll station.
        check(
            &daily("02:10"),
            "Australia/Lord_Howe",
            "2026-10-03T12:00:00Z",
            &["2026-10-04T02:40:00+11:00", "2026-10-05T02:10:00+11:00"],
        );
        check(
            &daily("01:30"),
            "Antarctica/Troll",
            "2026-03-28T12:00:00Z",
            &["2026-03-29T03:30:00+02:00", "2026-03-30T01:30:00+02:00"],
        );
    }

    #[test]
    fn a_midnight_that_does_not_exist_is_one_in_the_morning() {
        check(
            &daily("00:00"),
            "America/Santiago",
            "2026-09-05T12:00:00Z",
            &["2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"],
        );
    }

    #[test]
    fn a_repeated_daily_time_counts_once_and_is_the_first() {
        check(
            &daily("02:30"),
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        );
        // Asked between the two passes, the second pass is still not a run.
        check(&daily("02:30"), "Europe/Berlin", "2026-10-25T00:45:00Z", &["2026-10-26T02:30:00+01:00"]);
        // The clock goes back over midnight: 23:30 is repeated on the day before.
        check(
            &daily("23:30"),
            "America/Santiago",
            "2026-04-04T12:00:00Z",
            &["2026-04-04T23:30:00-03:00", "2026-04-05T23:30:00-04:00"],
        );
    }

    #[test]
    fn a_day_that_a_zone_skipped_does_not_make_two_runs() {
        check(
            &daily("12:00"),
            "Pacific/Apia",
            "2011-12-28T00:00:00Z",
            &[
                "2011-12-28T12:00:00-10:00",
                "2011-12-29T12:00:00-10:00",
                "2011-12-31T12:00:00+14:00",
                "2012-01-01T12:00:00+14:00",
            ],
        );
    }

    #[test]
    fn a_weekly_run_on_a_skipped_day_is_shifted_to_the_next() {
        check(
            &weekly("12:00", &[Weekday::Friday]),
            "Pacific/Apia",
            "2011-12-24T00:00:00Z",
            &["2011-12-31T12:00:00+14:00", "2012-01-06T12:00:00+14:00"],
        );
    }

    #[test]
    fn zones_with_odd_offsets_are_no_different() {
        check(
            &daily("08:00"),
            "Asia/Kathmandu",
            "2026-01-01T00:00:00Z",
            &["2026-01-01T08:00:00+05:45", "2026-01-02T08:00:00+05:45"],
        );
        check(
            &daily("02:46"),
            "Pacific/Chatham",
            "2026-09-26T00:00:00Z",
            &["2026-09-27T03:46:00+13:45", "2026-09-28T02:46:00+13:45"],
        );
        check(&daily("08:00"), "-02:00", "2026-01-01T00:00:00Z", &["2026-01-01T08:00:00-02:00"]);
    }

    #[test]
    fn weeks_go_over_the_end_of_the_year_and_over_leap_days() {
        check(
            &weekly("09:00", &[Weekday::Monday, Weekday::Wednesday]),
            "Europe/Berlin",
            "2025-12-29T08:00:00Z",
            &["2025-12-31T09:00:00+01:00", "2026-01-05T09:00:00+01:00"],
        );
        check(
            &weekly("23:59", &[Weekday::Tuesday]),
            "UTC",
            "2028-02-28T00:00:00Z",
            &["2028-02-29T23:59:00+00:00", "2028-03-07T23:59:00+00:00"],
        );
    }

    #[test]
    fn an_interval_is_elapsed_time_whatever_the_clocks_do() {
        check(
            &every(3600, "2026-03-29T00:00:00Z"),
            "Europe/Berlin",
            "2026-03-29T00:00:00Z",
            &["2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"],
        );
    }

    #[test]
    fn the_origin_of_an_interval_is_due_only_if_it_was_asked_for() {
        let mut schedule = every(60, "2026-01-01T00:00:00Z");
        check(&schedule, "UTC", "2020-01-01T00:00:00Z", &["2026-01-01T00:01:00+00:00"]);
        schedule.starts_at = Some(instant("2026-01-01T00:00:00Z"));
        check(&schedule, "UTC", "2020-01-01T00:00:00Z", &["2026-01-01T00:00:00+00:00"]);
    }

    #[test]
    fn both_bounds_are_inclusive() {
        let mut schedule = daily("08:00");
        schedule.starts_at = Some(instant("2026-01-02T08:00:00Z"));
        schedule.ends_at = Some(instant("2026-01-03T08:00:00Z"));
        check(&schedule, "UTC", "2020-01-01T00:00:00Z", &["2026-01-02T08:00:00+00:00", "2026-01-03T08:00:00+00:00"]);
        assert_eq!(schedule.next_after(&Zone::utc(), instant("2026-01-03T08:00:00Z")), None);
    }

    #[test]
    fn a_once_is_due_only_before_its_instant() {
        let at = instant("2026-01-01T00:00:00.5Z");
        let schedule = Schedule::new(Rule::Once { at });
        assert_eq!(schedule.next_after(&Zone::utc(), instant("2026-01-01T00:00:00Z")), Some(at));
        assert_eq!(schedule.next_after(&Zone::utc(), at), None);
    }

    #[test]
    fn missed_runs_are_counted_and_the_latest_are_listed() {
        let (after, until) = (instant("2026-01-01T08:00:00Z"), instant("2026-01-11T08:00:00Z"));
        let missed = daily("08:00").latest_between(&Zone::utc(), after, until, 2);
        let latest = vec![instant("2026-01-10T08:00:00Z"), until];
        assert_eq!(missed, Missed { instants: latest.clone(), total: 10, is_exact: true });
        let missed = every(86_400, "2026-01-01T08:00:00Z").latest_between(&Zone::utc(), after, until, 2);
        assert_eq!(missed, Missed { instants: latest, total: 10, is_exact: true });
        let missed = daily("08:00").latest_between(&Zone::utc(), after, until, 0);
        assert_eq!(missed, Missed { instants: vec![], total: 10, is_exact: true });
    }

    #[test]
    fn a_year_of_missed_seconds_is_neither_walked_nor_kept() {
        let (after, until) = (instant("2025-01-01T00:00:00Z"), instant("2026-01-01T00:00:00Z"));
        let schedule = Schedule::new(Rule::Cron(CronExpr::parse("* * * * * *").unwrap()));
        let missed = schedule.latest_between(&Zone::utc(), after, until, 3);
        assert_eq!(
            missed.instants,
            ["2025-12-31T23:59:58Z", "2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z"].map(instant)
        );
        assert_eq!((missed.total, missed.is_exact), (MISSED_COUNTED_MAX, false));

        // A burst once a year: the latest lie far back and close together.
        let schedule = Schedule::new(Rule::Cron(CronExpr::parse("* * * 1 2 *").unwrap()));
        let missed = schedule.latest_between(&Zone::utc(), after, until, 2);
        let expected = ["2025-02-01T23:59:58Z", "2025-02-01T23:59:59Z"].map(instant);
        assert_eq!((missed.instants.as_slice(), missed.is_exact), (&expected[..], false));

        let second = every(1, "2025-01-01T00:00:00Z").latest_between(&Zone::utc(), after, until, 1);
        assert_eq!(second, Missed { instants: vec![until], total: 31_536_000, is_exact: true });
    }

    #[test]
    fn the_ends_of_time_are_no_place_to_panic() {
        let zones = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"];
        let cron = Schedule::new(Rule::Cron(CronExpr::parse("0 0 29 2 *").unwrap()));
        let anchor = jiff::civil::date(2026, 1, 1).at(0, 0, 0, 0);
        let rules = [
            "FREQ=SECONDLY;INTERVAL=1000000000",
            "FREQ=WEEKLY;INTERVAL=99;BYDAY=MO,FR;BYSETPOS=-1",
            "FREQ=YEARLY;BYWEEKNO=53",
        ];
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let smart = Schedule::new(Rule::Smart(Smart::new("", rules, anchor)));
        let except = Exceptions { dates: vec![Date::MIN, Date::MAX], ..Exceptions::default() };
        for (schedule, zone) in [
            Schedule { except: except.clone(), ..smart },
            Schedule { except, ..daily("00:00") },
            daily("00:00"),
            daily("23:59"),
            weekly("12:00", &[Weekday::Friday]),
            every(1, "2026-01-01T00:00:00Z"),
            cron,
        ]
        .iter()
        .flat_map(|schedule| zones.map(|zone| (schedule, Zone::named(zone).unwrap())))
        {
            assert_eq!(schedule.next_after(&zone, Timestamp::MAX), None);
            assert!(schedule.next_after(&zone, Timestamp::MIN).is_some());
            schedule.latest_between(&zone, Timestamp::MIN, Timestamp::MAX, 1);
        }
    }

    fn any_rule() -> impl Strategy<Value = Rule> {
        let time =
            (0..24_i8, 0..60_i8, 0..60_i8).prop_map(|(hour, minute, second)| Time::constant(hour, minute, second, 0));
        let seconds = -2_000_000_000..4_000_000_000_i64;
        let days = (1..128_u8).prop_map(Weekdays);
        let cron = prop::sample::select(vec![
            "* * * * *",
            "*/15 * * * *",
            "30 2 * * *",
            "0 2,14 * * 0",
            "15 0-3 * * *",
            "30 1 L * *",
            "0 0 29 2 *",
            "*/7 59 23 * * 5#2",
            "10 */5 1W 3,10 *",
        ]);
        prop_oneof![
            time.clone().prop_map(|time| Rule::Daily { time }),
            (time, days).prop_map(|(time, days)| Rule::Weekly { time, days }),
            (1..10_000_000_u64, seconds.clone()).prop_map(|(every, origin)| Rule::Interval {
                every: Duration::from_secs(every),
                anchor: Anchor::Start,
                origin: Timestamp::from_second(origin).unwrap(),
            }),
            cron.prop_map(|expr| Rule::Cron(CronExpr::parse(expr).unwrap())),
            seconds.prop_map(|at| Rule::Once { at: Timestamp::from_second(at).unwrap() }),
        ]
    }

    fn any_zone() -> impl Strategy<Value = Zone> {
        let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        prop::sample::select(names).prop_filter_map("a zone by name", |name| Zone::named(&name).ok())
    }

    /// Instants, most of them within two days of a change of the clocks.
    fn any_instant() -> impl Strategy<Value = (i64, i64)> {
        (-2_000_000_000..4_000_000_000_i64, -172_800..172_800_i64)
    }

    fn near_change(zone: &Zone, (seconds, offset): (i64, i64)) -> Timestamp {
        let at = Timestamp::from_second(seconds).unwrap();
        let change = zone.rules().following(at).next().map_or(at, |change| change.timestamp());
        change.checked_add(SignedDuration::from_secs(offset)).unwrap()
    }

    proptest! {
        #[test]
        fn the_next_instant_is_later_and_never_skips_one(
            rule in any_rule(), zone in any_zone(), at in any_instant(), back in 0..200_000_i64,
        ) {
            let schedule = Schedule::new(rule);
            let after = near_change(&zone, at);
            let earlier = after.checked_sub(SignedDuration::from_secs(back)).unwrap();
            let next = schedule.next_after(&zone, after);
            prop_assert!(next.is_none_or(|next| next > after));
            // Asked earlier, the answer is the same or lies between the two questions.
            let first = schedule.next_after(&zone, earlier);
            prop_assert!(first == next || first.is_some_and(|first| first <= after));
        }

        #[test]
        fn missed_runs_are_those_that_would_have_been_next(
            rule in any_rule(), zone in any_zone(), at in any_instant(), keep in 0..5_usize,
        ) {
            let schedule = Schedule::new(rule);
            let after = near_change(&zone, at);
            let until = after.checked_add(SignedDuration::from_hours(26)).unwrap();
            let next = |at: &Timestamp| schedule.next_after(&zone, *at).filter(|at| *at <= until);
            let all: Vec<_> = std::iter::successors(next(&after), next).take(100_000).collect();
            let missed = schedule.latest_between(&zone, after, until, keep);
            prop_assert_eq!(missed.total, all.len());
            let latest = &all[all.len().saturating_sub(keep)..];
            prop_assert_eq!(&missed.instants, latest);
            prop_assert_eq!(schedule.latest_by_search(&zone, after, until, keep), latest);
        }

        #[test]
        fn json_keeps_everything(
            rule in any_rule(), starts: Option<u32>, ends: Option<u32>, count: Option<u32>,
        ) {
            let at = |seconds: u32| Timestamp::new(seconds.into(), 123_000_001).unwrap();
            let schedule =
                Schedule { rule, starts_at: starts.map(at), ends_at: ends.map(at), count, except: Exceptions::default() };
            let json = schedule.to_json().to_string();
            prop_assert_eq!(Schedule::from_stored(&json), Ok(schedule));
        }
    }
}

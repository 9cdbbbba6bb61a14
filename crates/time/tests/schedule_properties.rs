//! Properties of every schedule: rules, zones and instants are drawn at random.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod naive;

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use punctual_time::schedule::{
    Anchor, CronExpr, Exceptions, Freq, Months, NthDay, Recurrence, Rule, Schedule, Smart, Weekdays,
};
use punctual_time::zone::Zone;
use serde_json::json;

fn any_civil() -> impl Strategy<Value = DateTime> {
    (1970..2060_i16, 1..=12_i8, 1..=31_i8, 0..24_i8, 0..60_i8, select(vec![0_i8, 0, 0, 17]))
        .prop_filter_map("a date that exists", |(year, month, day, hour, minute, second)| {
            Some(Date::new(year, month, day).ok()?.at(hour, minute, second, 0))
        })
}

fn any_weekday() -> impl Strategy<Value = Weekday> {
    (0..7_i8).prop_map(|day| Weekday::from_monday_zero_offset(day).unwrap())
}

/// Mostly nothing, sometimes a few.
fn few<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>, one_in: u32) -> impl Strategy<Value = Vec<T>> {
    let most = values.len().min(4);
    prop_oneof![
        one_in - 1 => Just(Vec::new()),
        1 => subsequence(values, 1..=most),
    ]
}

fn any_days(freq: Freq) -> impl Strategy<Value = Vec<NthDay>> {
    let nth = match freq {
        Freq::Monthly => vec![1, 2, 3, 4, 5, -1, -2, -5],
        Freq::Yearly => vec![1, 5, 20, 53, -1, -20, -53],
        _ => vec![],
    };
    let nth = prop_oneof![2 => Just(None), 1 => select(if nth.is_empty() { vec![None] } else {
        nth.into_iter().map(Some).collect()
    })];
    prop_oneof![1 => Just(Vec::new()), 1 => vec((nth, any_weekday()).prop_map(|(nth, day)| NthDay { nth, day }), 1..4)]
}

fn any_recurrence() -> impl Strategy<Value = Recurrence> {
    let freqs = [Freq::Yearly, Freq::Monthly, Freq::Weekly, Freq::Daily, Freq::Hourly, Freq::Minutely, Freq::Secondly];
    select(freqs.to_vec()).prop_flat_map(|freq| {
        let dates = (
            few((1..=12).collect(), 3),
            few(vec![1, 2, 20, 52, 53, -1, -53], 8),
            few(vec![1, 60, 100, 200, 365, 366, -1, -100, -366], 8),
            few(vec![1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -31], 3),
            any_days(freq),
        );
        let times = (few((0..24).collect(), 3), few((0..60).collect(), 3), few((0..60).collect(), 6));
        let rest = (
            prop_oneof![3 => Just(1_u32), 2 => 2..5_u32, 1 => 5..40_u32],
            few(vec![1, 2, 3, -1, -2, 5, -10], 4),
            any_weekday(),
            prop::option::weighted(0.1, any_civil()),
        );
        (dates, times, rest).prop_map(move |(dates, times, rest)| {
            let (by_month, by_week_no, by_year_day, by_month_day, mut by_day) = dates;
            let (by_hour, by_minute, by_second) = times;
            let (interval, mut by_set_pos, week_start, until) = rest;
            if !by_week_no.is_empty() {
                by_day.iter_mut().for_each(|day| day.nth = None);
            }
            if by_day.is_empty() && by_month_day.is_empty() && by_hour.is_empty() && by_minute.is_empty() {
                by_set_pos.clear();
            }
            Recurrence {
                freq,
                interval,
                by_month,
                by_week_no,
                by_year_day,
                by_month_day,
                by_day,
                by_hour,
                by_minute,
                by_second,
                by_set_pos,
                week_start,
                until,
            }
            .normal()
        })
    })
}

/// A union of rules of which at least one is due at some time, as every door demands.
fn any_smart() -> impl Strategy<Value = Smart> {
    (vec(any_recurrence(), 1..3), any_civil(), vec(any_civil(), 0..2)).prop_filter_map(
        "rules that are due",
        |(rules, anchor, mut dates)| {
            let rules: Vec<_> =
                rules.into_iter().filter(|rule| rule.next_at_or_after(anchor, anchor).is_some()).collect();
            dates.sort_unstable();
            dates.dedup();
            (!rules.is_empty()).then(|| Smart { dates, ..Smart::new("", rules, anchor) })
        },
    )
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let time = || (0..24_i8, 0..60_i8, select(vec![0_i8, 0, 30])).prop_map(|(h, m, s)| Time::constant(h, m, s, 0));
    let days = (1..128_u8).prop_map(|bits| {
        (0..7_i8)
            .filter(|day| bits & (1 << day) != 0)
            .map(|day| Weekday::from_monday_zero_offset(day).unwrap())
            .collect()
    });
    let cron = select(vec![
        "*/15 * * * *",
        "30 2 * * *",
        "0 2,14 * * 0",
        "15 0-3 * * *",
        "30 1 L * *",
        "0 9 13 * FRI",
        "0 0 29 2 *",
        "*/7 59 23 * * 5#2",
        "10 */5 1W 3,10 *",
        "0 8 * * 1-5",
    ]);
    prop_oneof![
        1 => time().prop_map(|time| Rule::Daily { time }),
        1 => (time(), days).prop_map(|(time, days)| Rule::Weekly { time, days }),
        1 => (1..10_000_000_u64, 0..2_000_000_000_i64).prop_map(|(every, origin)| Rule::Interval {
            every: Duration::from_secs(every),
            anchor: Anchor::Start,
            origin: Timestamp::from_second(origin).unwrap(),
        }),
        2 => cron.prop_map(|expr| Rule::Cron(CronExpr::parse(expr).unwrap())),
        4 => any_smart().prop_map(Rule::Smart),
    ]
}

fn any_exceptions() -> impl Strategy<Value = Exceptions> {
    let date = || any_civil().prop_map(|time| time.date());
    let some = (
        vec(date(), 0..3),
        vec(any_civil(), 0..3),
        subsequence((0..7_i8).collect::<Vec<_>>(), 0..4),
        subsequence((1..=12_i8).collect::<Vec<_>>(), 0..4),
        vec((date(), 0..400_i32), 0..2),
    )
        .prop_map(|(mut dates, mut times, days, months, ranges)| {
            dates.sort_unstable();
            dates.dedup();
            times.sort_unstable();
            times.dedup();
            let mut ranges: Vec<_> =
                ranges.into_iter().map(|(first, days)| (first, first.checked_add(days.days()).unwrap())).collect();
            ranges.sort_unstable();
            ranges.dedup();
            Exceptions {
                dates,
                times,
                weekdays: days.iter().map(|day| Weekday::from_monday_zero_offset(*day).unwrap()).collect::<Weekdays>(),
                months: months.iter().fold(Months::NONE, |set, month| set.with(*month)),
                ranges,
            }
        });
    prop_oneof![1 => Just(Exceptions::default()), 1 => some]
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let bound = || prop::option::weighted(0.15, 0..3_000_000_000_i64);
    (any_rule(), bound(), bound(), any_exceptions()).prop_map(|(rule, starts, ends, except)| {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        Schedule { starts_at: starts.map(at), ends_at: ends.map(at), except, ..Schedule::new(rule) }
    })
}

fn any_zone() -> impl Strategy<Value = Zone> {
    let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    select(names).prop_filter_map("a zone by name", |name| Zone::named(&name).ok())
}

/// An instant near a change of the clocks, where everything that is hard happens.
fn any_instant() -> impl Strategy<Value = (i64, i64)> {
    (0..2_500_000_000_i64, -172_800..172_800_i64)
}

fn near_change(zone: &Zone, (seconds, offset): (i64, i64)) -> Timestamp {
    let at = Timestamp::from_second(seconds).unwrap();
    let change = zone.rules().following(at).next().map_or(at, |change| change.timestamp());
    change.checked_add(SignedDuration::from_secs(offset)).unwrap()
}

/// Whether `at` comes from a local time that `is_named`: by the clock at `at`, or by that before the last change.
fn comes_from(zone: &Zone, at: Timestamp, is_named: impl Fn(DateTime) -> bool) -> bool {
    let rules = zone.rules();
    let shown = rules.to_datetime(at);
    let before = rules.preceding(at + SignedDuration::from_nanos(1)).next().map(|change| change.timestamp());
    let before = before.map(|change| rules.to_offset(change - SignedDuration::from_nanos(1)).to_datetime(at));
    let is_right = |local: DateTime| is_named(local) && rules.to_timestamp(local).is_ok_and(|named| named == at);
    is_right(shown) || before.is_some_and(is_right)
}

fn is_in_rule(rule: &Rule, zone: &Zone, at: Timestamp) -> bool {
    match rule {
        Rule::Once { at: due_at } => at == *due_at,
        Rule::Interval { every, origin, .. } => {
            (at.as_nanosecond() - origin.as_nanosecond()) % i128::try_from(every.as_nanos()).unwrap() == 0
        }
        Rule::Daily { time } => comes_from(zone, at, |local| local.time() == *time),
        Rule::Weekly { time, days } => {
            comes_from(zone, at, |local| local.time() == *time && days.contains(local.weekday()))
        }
        // Cron is compared with an independent evaluation in `schedule_oracle.rs`.
        Rule::Cron(_) => true,
        Rule::Smart(smart) => comes_from(zone, at, |local| {
            smart.dates.contains(&local) || smart.rules.iter().any(|rule| naive::contains(rule, smart.anchor, local))
        }),
    }
}

fn is_excepted(except: &Exceptions, zone: &Zone, at: Timestamp) -> bool {
    let local = zone.rules().to_datetime(at);
    let date = local.date();
    except.dates.contains(&date)
        || except.weekdays.contains(date.weekday())
        || except.months.contains(date.month())
        || except.ranges.iter().any(|(first, last)| *first <= date && date <= *last)
        || except.times.iter().any(|time| zone.rules().to_timestamp(*time).unwrap() == at)
}

/// `PROPTEST_CASES` multiplies them for a long run.
fn config() -> ProptestConfig {
    let cases = ProptestConfig::default().cases / 2;
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_next_local_time_of_a_rule_is_in_it_and_none_is_passed_over(
        rule in any_recurrence(), anchor in any_civil(), days in -400..20_000_i64, second in 0..86_400_i64,
    ) {
        let from = anchor.checked_add(days.days()).unwrap().checked_add(second.seconds()).unwrap();
        let next = rule.next_at_or_after(anchor, from);
        if let Some(next) = next {
            prop_assert!(next >= from && naive::contains(&rule, anchor, next), "{rule} from {anchor}: {next}");
        }
        let skipped = naive::first_between(&rule, anchor, from.max(anchor), next);
        prop_assert_eq!(skipped, None, "{} from {}, asked from {}, said {:?}", rule, anchor, from, next);
    }

    #[test]
    fn a_rule_survives_being_written(rule in any_recurrence()) {
        prop_assert_eq!(rule.to_string().parse::<Recurrence>(), Ok(rule));
    }

    #[test]
    fn the_next_instant_is_later_in_the_rule_and_not_excepted(
        schedule in any_schedule(), zone in any_zone(), at in any_instant(),
    ) {
        let mut cursor = near_change(&zone, at);
        for _ in 0..5 {
            let Some(next) = schedule.next_after(&zone, cursor) else { break };
            prop_assert!(next > cursor);
            prop_assert!(schedule.starts_at.is_none_or(|starts_at| starts_at <= next));
            prop_assert!(schedule.ends_at.is_none_or(|ends_at| next <= ends_at));
            prop_assert!(is_in_rule(&schedule.rule, &zone, next), "{next} is not in the rule");
            prop_assert!(!is_excepted(&schedule.except, &zone, next), "{next} is excepted");
            cursor = next;
        }
    }

    #[test]
    fn a_later_question_never_gets_an_earlier_answer(
        schedule in any_schedule(), zone in any_zone(), at in any_instant(), back in 0..5_000_000_i64,
    ) {
        let after = near_change(&zone, at);
        let earlier = after.checked_sub(SignedDuration::from_secs(back)).unwrap();
        let (first, next) = (schedule.next_after(&zone, earlier), schedule.next_after(&zone, after));
        // The same, or one that lies between the two questions.
        prop_assert!(first == next || first.is_some_and(|first| first <= after), "{:?} then {:?}", first, next);
    }

    #[test]
    fn missed_runs_are_those_that_would_have_been_next(
        schedule in any_schedule(), zone in any_zone(), at in any_instant(), keep in 0..5_usize,
    ) {
        let after = near_change(&zone, at);
        let until = after.checked_add(SignedDuration::from_hours(26)).unwrap();
        let next = |at: &Timestamp| schedule.next_after(&zone, *at).filter(|at| *at <= until);
        let all: Vec<_> = std::iter::successors(next(&after), next).take(100_000).collect();
        let missed = schedule.latest_between(&zone, after, until, keep);
        let latest = &all[all.len().saturating_sub(keep)..];
        prop_assert_eq!(&missed.instants, latest);
        let is_right = if missed.is_exact { missed.total == all.len() } else { missed.total <= all.len() };
        prop_assert!(is_right, "{} of {}", missed.total, all.len());
    }

    #[test]
    fn json_keeps_everything_and_can_be_sent_back(schedule in any_schedule(), count: Option<u16>) {
        let schedule = Schedule { count: count.map(|count| u32::from(count) + 1), ..schedule };
        let json = schedule.to_json();
        prop_assert_eq!(Schedule::from_stored(&json.to_string()), Ok(schedule.clone()));
        let is_in_order = schedule.starts_at.zip(schedule.ends_at).is_none_or(|(starts, ends)| starts < ends);
        let sent = Schedule::from_input(&json, &Zone::utc(), Timestamp::UNIX_EPOCH);
        // A rule that meets hardly anything but exceptions may be too much work.
        let is_too_much = sent.as_ref().is_err_and(|invalid| invalid.problem.contains("takes too long"));
        prop_assert!(!is_in_order || is_too_much || sent.as_ref() == Ok(&schedule), "{sent:?}");
    }

    #[test]
    fn a_schedule_exported_and_read_back_is_due_at_the_same_instants(
        schedule in any_schedule(), zone in any_zone(), at in any_instant(), count in prop::option::weighted(0.2, 1..40_u32),
    ) {
        let from = near_change(&zone, at);
        // The ends of single rules are local times, which cannot say between which two of a gap's shifted runs they lie.
        let is_union = matches!(&schedule.rule, Rule::Smart(smart) if smart.rules.len() + smart.dates.len() > 1);
        let schedule = Schedule { count: count.filter(|_| !is_union), ..schedule };
        let Ok(ical) = schedule.to_ical(&zone, from) else { return Ok(()) };
        let input = json!({ "type": "rrule", "ical": ical });
        let read = Schedule::from_input(&input, &zone, from);
        if read.as_ref().is_err_and(|invalid| invalid.problem.contains("takes too long")) {
            return Ok(());
        }
        let read = read.map_err(|error| TestCaseError::fail(format!("{error}\n{ical}")))?;
        let some = |schedule: &Schedule| {
            let n = schedule.count.map_or(30, |count| count.min(30));
            let next = |at: &Timestamp| schedule.next_after(&zone, *at);
            // A search gives up after so many exceptions in a row, and may do so on one of the two only.
            let is_near = |at: &Timestamp| at.duration_since(from) < SignedDuration::from_hours(80 * 366 * 24);
            std::iter::successors(next(&from), next).take(n as usize).take_while(is_near).collect::<Vec<_>>()
        };
        let (expected, got) = (some(&schedule), some(&read));
        prop_assert_eq!(&got, &expected, "{} in {}\n{}", schedule.to_json(), zone, ical);
    }
}

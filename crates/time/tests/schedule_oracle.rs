//! Schedules against what Python's zoneinfo and dateutil say: see `oracle/make.py`.
//!
//! The default test looks closely at the days around every change of the clocks, the ends of years and the ends of
//! Februaries, in every zone and every year from 1990 to 2037. The ignored one compares every instant of these years:
//!
//! ```text
//! cargo test --release -p punctual-time --test schedule_oracle -- --ignored --nocapture
//! ```
//!
//! A zone whose clocks are not the same in our zone database as in the one that Python had is not compared, and
//! there may only be a few of them.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_time::schedule::{Recurrence, Schedule};
use punctual_time::zone::Zone;
use serde_json::json;

const ZONES: &str = include_str!("oracle/zones.txt");
const RULES: &str = include_str!("oracle/rules.txt");

const YEARS: std::ops::RangeInclusive<i16> = 1990..=2037;
const DAY: i64 = 86_400;
/// As many zones may have other rules in our database: a release or two changes about this many.
const OTHER_CLOCKS_MAX: usize = 40;

#[test]
fn near_every_change_of_the_clocks_all_zones_agree_with_zoneinfo() {
    let n_compared = compare(false, |zone, schedule, digests| {
        let spans = near(&changes(zone));
        let instants = spans.iter().flat_map(|(begin, end)| instants(schedule, zone, *begin, *end));
        (digest(instants), digests.split(',').next().unwrap().to_owned())
    });
    println!("{n_compared}");
}

#[test]
#[ignore = "takes minutes in a debug build"]
fn every_instant_of_48_years_agrees_with_zoneinfo_in_all_zones() {
    let n_compared = compare(true, |zone, schedule, digests| {
        let all = digests.split(',').nth(1).unwrap();
        match all {
            "-" => ("-".into(), "-".into()),
            all => (digest(instants(schedule, zone, first(*YEARS.start()), first(YEARS.end() + 1))), all.to_owned()),
        }
    });
    println!("{n_compared}");
}

#[test]
fn rules_in_floating_time_agree_with_dateutil() {
    let mut wrong = Vec::new();
    let mut n_rules = 0;
    for line in RULES.lines().filter(|line| !line.starts_with('#')) {
        let [rule, start, count, expected] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let anchor: DateTime = start.parse().unwrap();
        let parsed: Recurrence = rule.parse().unwrap_or_else(|problem| panic!("{rule}: {problem}"));
        let next =
            |time: &DateTime| parsed.next_at_or_after(anchor, time.checked_add(SignedDuration::from_secs(1)).unwrap());
        let times = std::iter::successors(parsed.next_at_or_after(anchor, anchor), next);
        let times: Vec<DateTime> = times.take(count.parse().unwrap()).collect();
        let second = |time: &DateTime| time.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_secs();
        n_rules += 1;
        if digest(times.iter().map(second)) != expected {
            wrong.push(format!(
                "{rule} from {start}: {count} times, of which ours begin {:?}",
                &times[..times.len().min(4)]
            ));
        }
    }
    println!("{n_rules} rules");
    assert!(n_rules > 2000 && wrong.is_empty(), "{} of {n_rules} rules:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares every case in every zone; `work` gives our digest and theirs. Says what was compared.
fn compare(is_thorough: bool, work: impl Fn(&Zone, &Schedule, &str) -> (String, String) + Sync) -> String {
    let cases: Vec<&str> =
        ZONES.lines().filter_map(|line| line.strip_prefix("# case ")?.split_once(": ")).map(|(_, case)| case).collect();
    let lines: Vec<&str> = ZONES.lines().filter(|line| !line.starts_with('#')).collect();
    let (n_zones, n_cases) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let other_clocks = std::sync::Mutex::new(Vec::new());
    let wrong = std::sync::Mutex::new(Vec::new());
    let one = |line: &str| {
        let [names, clocks, digests] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        for (alias, name) in names.split(' ').enumerate() {
            let Some(zone) = Zone::named(name).ok().filter(|zone| clocks_of(zone) == clocks) else {
                other_clocks.lock().unwrap().push(name.to_owned());
                continue;
            };
            n_zones.fetch_add(1, Ordering::Relaxed);
            for (number, (case, digests)) in cases.iter().zip(digests.split(' ')).enumerate() {
                // Other names of the same clocks share the cases among them, and some clocks do without those that are
                // due many times a day: they take most of the time.
                let is_left_out = match alias {
                    0 => digests.ends_with('-') && names.len() % 3 != 0,
                    alias => (number + alias) % 7 != 0,
                };
                if is_left_out && !is_thorough {
                    continue;
                }
                let (ours, theirs) = work(&zone, &schedule(case), digests);
                n_cases.fetch_add(usize::from(theirs != "-"), Ordering::Relaxed);
                if ours != theirs {
                    let hint = format!("python3 crates/time/tests/oracle/make.py --instants {name} {number}");
                    wrong.lock().unwrap().push(format!("{case} in {name}; what is right: {hint}"));
                }
            }
        }
    };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one(line);
                }
            });
        }
    });
    let (wrong, other_clocks) = (wrong.into_inner().unwrap(), other_clocks.into_inner().unwrap());
    assert!(wrong.is_empty(), "{} disagree:\n{}", wrong.len(), wrong.join("\n"));
    assert!(other_clocks.len() <= OTHER_CLOCKS_MAX, "other clocks: {}", other_clocks.join(" "));
    let n_zones = n_zones.into_inner();
    format!(
        "{n_zones} zones, {} zone-years, {} comparisons of a case in a zone; other clocks in our zone database: {:?}",
        n_zones * YEARS.count(),
        n_cases.into_inner(),
        other_clocks
    )
}

/// The schedule that a case names.
fn schedule(case: &str) -> Schedule {
    let (kind, rest) = case.split_once(' ').unwrap();
    let input = match kind {
        "daily" => json!({ "type": "daily", "time": rest }),
        "weekly" => {
            let (days, time) = rest.split_once(' ').unwrap();
            json!({ "type": "weekly", "time": time, "days": days.split(',').collect::<Vec<_>>() })
        }
        "cron" => json!({ "type": "cron", "expr": rest }),
        _ => json!({ "type": "rrule", "ical": format!("DTSTART:19891228T023000\nRRULE:{rest}") }),
    };
    Schedule::from_input(&input, &Zone::utc(), Timestamp::UNIX_EPOCH).unwrap()
}

/// The instants in [`begin`, `end`), in seconds.
fn instants(schedule: &Schedule, zone: &Zone, begin: i64, end: i64) -> impl Iterator<Item = i64> {
    let next = move |after: Timestamp| schedule.next_after(zone, after).filter(|at| at.as_second() < end);
    let before = Timestamp::new(begin - 1, 999_999_999).unwrap();
    std::iter::successors(next(before), move |at| next(*at)).map(|at| at.as_second())
}

/// Every change of the offset from shortly before the years to shortly after, with the offset; first, that at the start.
fn changes(zone: &Zone) -> Vec<(i64, i64)> {
    let (begin, end) = (first(*YEARS.start()) - 3 * DAY, first(YEARS.end() + 1) + 3 * DAY);
    let start = Timestamp::from_second(begin).unwrap();
    let mut changes = vec![(begin, i64::from(zone.rules().to_offset(start).seconds()))];
    for change in zone.rules().following(start) {
        if change.timestamp().as_second() > end {
            break;
        }
        let offset = i64::from(change.offset().seconds());
        // Some only change the name of the time.
        if changes.last().is_some_and(|(_, last)| *last != offset) {
            changes.push((change.timestamp().as_second(), offset));
        }
    }
    changes
}

fn clocks_of(zone: &Zone) -> String {
    let changes = changes(zone);
    format!("{},{}", changes.len() - 1, digest(changes.iter().flat_map(|(at, offset)| [*at, *offset])))
}

/// The stretches that are looked at closely.
fn near(changes: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = changes[1..].iter().map(|(at, _)| (at - 2 * DAY, at + 2 * DAY)).collect();
    for year in YEARS {
        let (new_year, march) = (first(year), second_of(year, 3));
        spans.extend([(new_year - 2 * DAY, new_year + 2 * DAY), (march - 3 * DAY, march + DAY)]);
    }
    spans.sort_unstable();
    let (first, last) = (first(*YEARS.start()), first(YEARS.end() + 1));
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (begin, end) in spans.into_iter().map(|(begin, end)| (begin.max(first), end.min(last))) {
        match merged.last_mut() {
            Some(span) if begin <= span.1 => span.1 = span.1.max(end),
            _ if begin < end => merged.push((begin, end)),
            _ => {}
        }
    }
    merged
}

/// The first second of a year, in UTC.
fn first(year: i16) -> i64 {
    second_of(year, 1)
}

fn second_of(year: i16, month: i8) -> i64 {
    DateTime::constant(year, month, 1, 0, 0, 0, 0).duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_secs()
}

fn digest(values: impl Iterator<Item = i64>) -> String {
    let mix = |hash: u64, value: i64| {
        hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(value as u64).wrapping_add(0x9E37_79B9_7F4A_7C15)
    };
    format!("{:016x}", values.fold(0, mix))
}

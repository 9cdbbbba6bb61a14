//! Calendars against what independent readers make of them: our own always, the public ones where they lie beside the checkout.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and this crate's tests need nothing else of it")]
mod report;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_calendar::{Calendar, Limits, read};
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::Value;

/// Fails with every row that is not right.
#[track_caller]
fn check(rows: &[Value], is_right: impl Fn(&Value) -> Result<(), String>) {
    let wrong = rows.iter().filter_map(|row| is_right(row).err().map(|problem| format!("{}: {problem}", row["file"])));
    let wrong: Vec<String> = wrong.collect();
    assert!(!rows.is_empty() && wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An instant; a day is its midnight in UTC, where these calendars are read.
fn instant(said: &Value) -> Timestamp {
    let text = said.as_str().unwrap();
    match text.parse::<jiff::civil::Date>() {
        Ok(day) if text.len() == 10 => day.to_zoned(TimeZone::UTC).unwrap().timestamp(),
        _ => text.parse().unwrap(),
    }
}

fn window(row: &Value) -> (Timestamp, Timestamp) {
    (instant(&row["window"][0]), instant(&row["window"][1]))
}

fn reading(row: &Value, ics: &str) -> Result<Calendar, String> {
    let calendar = read(ics, &Zone::utc(), &Limits::default(), &Steps::new(20_000_000), window(row).0);
    calendar.map_err(|invalid| invalid.to_string())
}

type Run = (String, Timestamp, Option<Timestamp>, String);

/// Compares every occurrence: uid, beginning, end and title.
fn occurrences_are_right(row: &Value, calendar: &Calendar) -> Result<(), String> {
    let ((from, until), steps) = (window(row), Steps::new(20_000_000));
    let mut got: Vec<Run> = Vec::new();
    for item in &calendar.items {
        for instance in item.instances(from, until, 10_000, &steps) {
            // Others let an item without an end end when it begins.
            let ends_at = instance.ends_at.or(Some(instance.starts_at));
            got.push((item.uid.clone(), instance.starts_at, ends_at, instance.title));
        }
    }
    let mut want: Vec<Run> = Vec::new();
    for run in row["occurrences"].as_array().unwrap() {
        let text = |field: &str| run[field].as_str().unwrap_or_default().to_owned();
        let ends_at = if run["end"].is_null() { None } else { Some(instant(&run["end"])) };
        want.push((text("uid"), instant(&run["start"]), ends_at, text("summary").trim().to_owned()));
    }
    // What a vector does not say is not compared.
    let says_ends = want.iter().all(|(_, _, ends_at, _)| ends_at.is_some());
    for (uid, _, ends_at, title) in got.iter_mut() {
        if !says_ends {
            (*ends_at, *title) = (None, String::new());
        }
        if row["fragment"] == true {
            uid.clear();
        }
    }
    got.sort();
    want.sort();
    if got == want { Ok(()) } else { Err(format!("got {got:#?}, not {want:#?}; problems {:?}", calendar.problems)) }
}

/// Compares the instants at which alarms ring, from the first that is expected to the last.
fn alarms_are_right(row: &Value, calendar: &Calendar) -> Result<usize, String> {
    let alarms = row["alarms"].as_array().map_or(&[][..], Vec::as_slice);
    let mut want: Vec<(String, Timestamp)> =
        alarms.iter().map(|alarm| (alarm["uid"].as_str().unwrap().to_owned(), instant(&alarm["trigger"]))).collect();
    want.sort();
    let (Some(first), Some(last)) = (want.iter().map(|(_, at)| *at).min(), want.iter().map(|(_, at)| *at).max()) else {
        return Ok(0);
    };
    let ((from, until), steps) = (window(row), Steps::new(20_000_000));
    let year = SignedDuration::from_hours(366 * 24);
    let mut got: Vec<(String, Timestamp)> = Vec::new();
    for item in &calendar.items {
        for instance in item.instances(from - year, until + year, 10_000, &steps) {
            let rings_at = instance.alarms.iter().flatten();
            let rings_at = rings_at.filter_map(|alarm| alarm.rings_at(instance.starts_at, instance.ends_at));
            got.extend(rings_at.map(|at| (item.uid.clone(), at)));
        }
    }
    got.retain(|(_, at)| first <= *at && *at <= last);
    got.sort();
    got.dedup();
    want.dedup();
    if got == want { Ok(want.len()) } else { Err(format!("alarms: got {got:#?}, not {want:#?}")) }
}

#[test]
fn a_calendar_is_due_when_the_vectors_say() {
    let ics = include_str!("vectors/team.ics");
    check(&rows(include_str!("vectors/ics_expected.jsonl")), |row| {
        let calendar = reading(row, ics)?;
        assert_eq!(calendar.items.len(), 3);
        occurrences_are_right(row, &calendar)
    });
}

#[test]
fn the_public_calendars_are_due_and_ring_when_others_say() {
    let Some(folder) = report::public("schedules") else { return };
    let all = rows(&std::fs::read_to_string(folder.join("ics_expected.jsonl")).unwrap());
    let ics = |row: &Value| std::fs::read_to_string(folder.join(row["file"].as_str().unwrap())).unwrap();
    check(&all, |row| {
        let calendar = reading(row, &ics(row))?;
        occurrences_are_right(row, &calendar)?;
        alarms_are_right(row, &calendar).map(drop)
    });
    let n_runs: usize = all.iter().map(|row| row["occurrences"].as_array().unwrap().len()).sum();
    let n_alarms: usize = all.iter().map(|row| alarms_are_right(row, &reading(row, &ics(row)).unwrap()).unwrap()).sum();
    assert!((all.len(), n_runs >= 300, n_alarms >= 30) == (17, true, true), "{} {n_runs} {n_alarms}", all.len());
    report::ran(&format!(
        "{n_runs} occurrences and {n_alarms} alarms of {} calendars of ics_expected.jsonl hold",
        all.len()
    ));
}

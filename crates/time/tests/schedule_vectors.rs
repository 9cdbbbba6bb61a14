//! Schedules against vectors on which independent programs agree: our own in `vectors/`, which are checked always, and the public
//! ones in the same form, where they lie beside the checkout.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and depends on this crate")]
mod report;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use punctual_time::phrase::{Lang, series};
use punctual_time::schedule::Schedule;
use punctual_time::zone::Zone;
use serde_json::{Value, json};

/// Before every vector.
const LONG_AGO: &str = "1900-01-01T00:00:00Z";

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn own(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    rows(&std::fs::read_to_string(path).unwrap())
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("no {field} in {row}"))
}

fn zone(row: &Value) -> Zone {
    Zone::named(row["tz"].as_str().unwrap_or("UTC")).unwrap()
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(schedule: &Schedule, zone: &Zone, after: Timestamp, n: usize) -> Vec<Timestamp> {
    let next = |at: &Timestamp| schedule.next_after(zone, *at);
    std::iter::successors(next(&after), next).take(n).collect()
}

/// Fails with every row that is not right.
#[track_caller]
fn check(rows: &[Value], is_right: impl Fn(&Value) -> Result<(), String>) {
    let wrong = rows.iter().filter_map(|row| is_right(row).err().map(|problem| format!("{row}: {problem}")));
    let wrong: Vec<String> = wrong.collect();
    assert!(!rows.is_empty() && wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

// --- cron -----------------------------------------------------------------------------------------------------------

fn cron(row: &Value, zone: &Zone, now: Timestamp) -> Result<Schedule, String> {
    let input = json!({ "type": "cron", "expr": row["expr"] });
    Schedule::from_input(&input, zone, now).map_err(|invalid| invalid.to_string())
}

/// Compares the instants after `from`: `expected_next`, or another one than `not_at`.
fn cron_next_is_right(row: &Value) -> Result<(), String> {
    let (zone, from) = (zone(row), instant(text(row, "from")));
    let expected = row["expected_next"].as_array();
    let expected: Option<Vec<Timestamp>> =
        expected.map(|all| all.iter().map(|at| instant(at.as_str().unwrap())).collect());
    let schedule = match cron(row, &zone, from) {
        Ok(schedule) => schedule,
        // An expression that is never due is refused.
        Err(_) if expected.as_ref().is_some_and(Vec::is_empty) => return Ok(()),
        Err(problem) => return Err(problem),
    };
    let got = next(&schedule, &zone, from, expected.as_ref().map_or(1, |expected| expected.len().max(1)));
    let is_right = match expected {
        Some(expected) => got == expected,
        None => got.first().is_some_and(|at| *at != instant(text(row, "not_at"))),
    };
    is_right.then_some(()).ok_or_else(|| format!("got {got:?}"))
}

/// A wrong expression is refused with an error that names the field.
fn cron_is_refused(row: &Value) -> Result<(), String> {
    match cron(row, &Zone::utc(), instant("2026-01-01T00:00:00Z")) {
        Ok(schedule) => Err(format!("is taken for `{}`", schedule.summary(&Zone::utc()))),
        Err(problem) if problem.starts_with("expr: ") && problem.len() > "expr: ".len() => Ok(()),
        Err(problem) => Err(format!("`{problem}` does not name the field")),
    }
}

#[test]
fn a_cron_expression_is_due_when_the_vectors_say() {
    check(&own("cron_next.jsonl"), cron_next_is_right);
}

#[test]
fn a_wrong_cron_expression_is_refused() {
    check(&own("cron_invalid.jsonl"), cron_is_refused);
}

#[test]
fn the_public_cron_vectors_on_which_others_agree_hold() {
    let Some(folder) = report::public("schedules") else { return };
    let all = rows(&std::fs::read_to_string(folder.join("cron_next.jsonl")).unwrap());
    // Cronos and NCrontab want both day fields to match, and the policies contradict each other by design.
    let is_agreed = |row: &Value| row["portable"] == true && row["tier"] != "policy" && row["dom_dow_rule"] != "and";
    let (agreed, others): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_agreed);
    let n_right = others.iter().filter(|row| cron_next_is_right(row).is_ok()).count();
    assert!(agreed.len() >= 500, "only {} vectors are agreed", agreed.len());
    check(&agreed, cron_next_is_right);
    let others = format!("and {n_right} of {} others", others.len());
    report::ran(&format!("{} agreed vectors of cron_next.jsonl hold, {others}", agreed.len()));
}

#[test]
fn the_public_cron_expressions_that_others_refuse_are_refused() {
    let Some(folder) = report::public("schedules") else { return };
    let mut wrong = rows(&std::fs::read_to_string(folder.join("cron_invalid.jsonl")).unwrap());
    wrong.retain(|row| row["portable"] == true);
    check(&wrong, cron_is_refused);
    report::ran(&format!("{} expressions of cron_invalid.jsonl are refused", wrong.len()));
}

/// Descriptions that leave out what the expression does: each minute begins anew, at its seconds 0 and 45.
const LOOSE: [&str; 1] = ["*/45 * * * * *"];

/// Where our parser understands the English description of an expression, both are due at the same instants.
#[test]
fn the_public_descriptions_of_cron_expressions_mean_what_the_expressions_do() {
    let Some(folder) = report::public("schedules") else { return };
    let (zone, now) = (Zone::utc(), instant("2026-03-04T10:00:00Z"));
    let mut wrong = Vec::new();
    let mut n_understood = 0;
    for row in rows(&std::fs::read_to_string(folder.join("cron_describe.jsonl")).unwrap()) {
        // Options change what a number means, and a seventh field is a year.
        let is_plain = row["options"].is_null() && row["fields"] != 7 && !LOOSE.contains(&text(&row, "expr"));
        let (true, Ok(expected)) = (is_plain, cron(&row, &zone, now)) else {
            continue;
        };
        if let Ok(described) = series(text(&row, "text"), Some(Lang::En), &zone, now) {
            n_understood += 1;
            let (expected, got) = (next(&expected, &zone, now, 20), next(&described, &zone, now, 20));
            if got != expected {
                wrong.push(format!("{row}: {}", described.summary(&zone)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {n_understood} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_understood >= 14, "only {n_understood} are understood");
    report::ran(&format!("{n_understood} descriptions of cron_describe.jsonl mean what their expressions do"));
}

// --- recurrence rules -----------------------------------------------------------------------------------------------

fn rrule(ical: &str, zone: &Zone) -> Result<Schedule, String> {
    let input = json!({ "type": "rrule", "ical": ical });
    Schedule::from_input(&input, zone, instant(LONG_AGO)).map_err(|invalid| invalid.to_string())
}

/// Whether `at` is what a vector says: an instant, a local time, or a date.
fn is_at(at: Timestamp, said: &str, zone: &Zone) -> bool {
    let local = at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string();
    if said.len() > local.len() { at == instant(said) } else { local.starts_with(said) }
}

/// Compares all instants that are expected, and that none follows where the rule ends and the vector has all of it.
fn rrule_is_right(row: &Value) -> Result<(), String> {
    let zone = zone(row);
    let schedule = rrule(text(row, "ical"), &zone)?;
    let expected: Vec<&str> = row["expected"].as_array().unwrap().iter().map(|at| at.as_str().unwrap()).collect();
    let ends = row["limit"].is_null() && ["COUNT=", "UNTIL="].iter().any(|end| text(row, "ical").contains(end));
    let got = next(&schedule, &zone, instant(LONG_AGO), expected.len() + usize::from(ends));
    let is_right = got.len() == expected.len() && got.iter().zip(&expected).all(|(at, said)| is_at(*at, said, &zone));
    is_right.then_some(()).ok_or_else(|| format!("got {got:?}"))
}

#[test]
fn a_recurrence_rule_is_due_when_the_vectors_say() {
    check(&own("rrule.jsonl"), rrule_is_right);
}

#[test]
fn the_public_recurrence_rules_on_which_dateutil_and_ical_js_agree_hold() {
    let Some(folder) = report::public("schedules") else { return };
    let all = rows(&std::fs::read_to_string(folder.join("rrule.jsonl")).unwrap());
    let n_right = all.iter().filter(|row| rrule_is_right(row).is_ok()).count();
    assert!(n_right >= 227, "{n_right} of {} are right; docs/schedules.md lists the nine that differ", all.len());
    let agree = |row: &&Value| row["agree"]["dateutil"] == true && row["agree"]["ical.js"] == true;
    let agreed: Vec<Value> = all.iter().filter(agree).cloned().collect();
    check(&agreed, rrule_is_right);
    report::ran(&format!("{} agreed rules of rrule.jsonl hold, and {n_right} of all {}", agreed.len(), all.len()));
}

// --- calendars ------------------------------------------------------------------------------------------------------

/// The times in one `VEVENT` or `VTODO`.
#[derive(Default)]
struct Component {
    uid: String,
    /// The zone of its beginning.
    tz: Option<String>,
    /// `DTSTART`, `RRULE`, `RDATE` and `EXDATE`, as they stand.
    lines: Vec<String>,
    starts: String,
    /// Which run of the series with the same uid it replaces.
    replaces: Option<String>,
}

/// The components of a calendar. What stands in a `VTIMEZONE` or a `VALARM` is about something else.
fn components(ics: &str) -> Vec<Component> {
    let unfolded = ics.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "");
    let mut found: Vec<Component> = Vec::new();
    let mut inside: Vec<&str> = Vec::new();
    for line in unfolded.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let (name, parameters) = name.split_once(';').unwrap_or((name, ""));
        match (name, value) {
            ("BEGIN", kind) => {
                inside.push(kind);
                if matches!(kind, "VEVENT" | "VTODO") {
                    found.push(Component::default());
                }
            }
            ("END", _) => drop(inside.pop()),
            _ if !matches!(inside.last(), Some(&("VEVENT" | "VTODO"))) => {}
            ("UID", uid) => found.last_mut().unwrap().uid = uid.to_owned(),
            ("RECURRENCE-ID", _) => {
                let line = line.replacen("RECURRENCE-ID", "EXDATE", 1);
                found.last_mut().unwrap().replaces = Some(line);
            }
            ("DTSTART" | "RRULE" | "RDATE" | "EXDATE", value) => {
                let component = found.last_mut().unwrap();
                component.lines.push(line.to_owned());
                if name == "DTSTART" {
                    component.tz = parameters.strip_prefix("TZID=").map(str::to_owned);
                    component.starts = value.to_owned();
                }
            }
            _ => {}
        }
    }
    found
}

/// Compares each series of a calendar with what is expected of its uid, without the runs that another component replaces.
/// Returns how many series there were.
fn calendar_is_right(row: &Value, ics: &str) -> Result<usize, String> {
    let components = components(ics);
    let window: Vec<&str> = row["window"].as_array().unwrap().iter().map(|day| day.as_str().unwrap()).collect();
    let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for run in row["occurrences"].as_array().unwrap() {
        expected.entry(text(run, "uid")).or_default().push(text(run, "start"));
    }
    let is_series = |component: &&Component| component.lines.iter().any(|line| line.starts_with("RRULE"));
    let mut n_series = 0;
    for series in components.iter().filter(is_series) {
        let replacing = || components.iter().filter(|other| other.uid == series.uid && other.replaces.is_some());
        let lines: Vec<&str> =
            series.lines.iter().chain(replacing().flat_map(|other| &other.replaces)).map(String::as_str).collect();
        let zone = Zone::named(series.tz.as_deref().unwrap_or("UTC")).unwrap();
        let schedule = rrule(&lines.join("\n"), &zone)?;
        let moved = |said: &&&str| {
            let digits: String = said.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
            replacing().any(|other| other.starts.trim_end_matches('Z') == digits)
        };
        let runs = expected.get(series.uid.as_str()).map_or(&[][..], Vec::as_slice);
        let want: Vec<&str> = runs.iter().filter(|said| !moved(said)).copied().collect();
        let day = |text: &str| {
            zone.rules()
                .to_timestamp(text.parse::<jiff::civil::Date>().unwrap().to_datetime(Default::default()))
                .unwrap()
        };
        let (from, to) = (day(window[0]) - jiff::SignedDuration::from_secs(1), day(window[1]));
        let mut got = next(&schedule, &zone, from, want.len() + 1);
        got.retain(|at| *at < to);
        if got.len() != want.len() || !got.iter().zip(&want).all(|(at, said)| is_at(*at, said, &zone)) {
            return Err(format!("{}: got {got:?}, not {want:?}", series.uid));
        }
        n_series += 1;
    }
    Ok(n_series)
}

#[test]
fn a_calendar_is_due_when_the_vectors_say() {
    let ics = include_str!("vectors/team.ics");
    check(&own("ics_expected.jsonl"), |row| match calendar_is_right(row, ics)? {
        3 => Ok(()),
        n_series => Err(format!("has {n_series} series, not 3")),
    });
}

#[test]
fn the_public_calendars_are_due_when_others_say() {
    let Some(folder) = report::public("schedules") else { return };
    let all = rows(&std::fs::read_to_string(folder.join("ics_expected.jsonl")).unwrap());
    let read = |row: &Value| std::fs::read_to_string(folder.join(text(row, "file"))).unwrap();
    check(&all, |row| calendar_is_right(row, &read(row)).map(drop));
    let n_series: usize = all.iter().map(|row| calendar_is_right(row, &read(row)).unwrap()).sum();
    assert!(n_series >= 11, "the files have {n_series} series");
    report::ran(&format!("{n_series} series of {} calendars of ics_expected.jsonl hold", all.len()));
}

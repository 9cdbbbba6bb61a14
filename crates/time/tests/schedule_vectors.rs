//! Schedules against vectors on which independent programs agree: our own in `vectors/`, which are checked always, and the public
//! ones in the same form, where they lie beside the checkout.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and depends on this crate")]
mod report;

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

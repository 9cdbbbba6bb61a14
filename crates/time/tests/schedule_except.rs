//! Exceptions: how they are written, and that nothing is due on them.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::Timestamp;
use punctual_time::schedule::Schedule;
use punctual_time::zone::Zone;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-03-01T10:00:00+01:00".parse().unwrap()
}

fn read(input: &Value) -> Result<Schedule, String> {
    let zone = Zone::named("Europe/Berlin").unwrap();
    Schedule::from_input(input, &zone, now()).map_err(|invalid| invalid.to_string())
}

/// Asks for the first instants, in Berlin.
fn check(input: Value, expect: &[&str]) {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let schedule = read(&input).unwrap();
    let next = |at: &Timestamp| schedule.next_after(&zone, *at);
    let instants = std::iter::successors(next(&now()), next).take(expect.len());
    let said: Vec<String> =
        instants.map(|at| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M").to_string()).collect();
    assert_eq!(said, expect, "{input}");
}

#[test]
fn every_recurring_type_is_silent_when_excepted() {
    check(
        json!({"type": "daily", "time": "08:00", "except": ["2026-03-02", "2026-03-04/2026-03-06"]}),
        &["2026-03-03T08:00", "2026-03-07T08:00", "2026-03-08T08:00"],
    );
    check(
        json!({"type": "weekly", "time": "08:00", "days": ["mon", "sat"], "except": "sat"}),
        &["2026-03-02T08:00", "2026-03-09T08:00"],
    );
    check(
        json!({"type": "cron", "expr": "0 8,20 * * *", "except": ["2026-03-02T20:00", "march"]}),
        &["2026-04-01T08:00", "2026-04-01T20:00"],
    );
    check(
        json!({"type": "cron", "expr": "0 8,20 * * *", "except": ["2026-03-02T20:00"]}),
        &["2026-03-01T20:00", "2026-03-02T08:00", "2026-03-03T08:00"],
    );
    check(
        json!({"type": "interval", "every": "8h", "except": ["weekends"]}),
        &["2026-03-02T02:00", "2026-03-02T10:00", "2026-03-02T18:00", "2026-03-03T02:00"],
    );
    check(
        json!({"type": "smart", "rules": ["FREQ=DAILY;INTERVAL=3"], "anchor": "2026-03-02T09:00:00", "except": ["weekends"]}),
        &["2026-03-02T09:00", "2026-03-05T09:00", "2026-03-11T09:00", "2026-03-17T09:00"],
    );
}

#[test]
fn an_exception_in_a_gap_or_a_fold_is_the_run_that_it_would_have_been() {
    check(
        json!({"type": "daily", "time": "02:30", "starts_at": "2026-03-28T00:00", "except": ["2026-03-29T02:30"]}),
        &["2026-03-28T02:30", "2026-03-30T02:30"],
    );
    check(
        json!({"type": "daily", "time": "02:30", "starts_at": "2026-10-24T00:00", "except": ["2026-10-25T02:30"]}),
        &["2026-10-24T02:30", "2026-10-26T02:30"],
    );
}

#[test]
fn missed_runs_leave_out_the_exceptions() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let schedule =
        read(&json!({"type": "interval", "every": "1h", "except": ["2026-03-02", "2026-03-03T11:00"]})).unwrap();
    let (after, until) = (now(), "2026-03-03T12:00:00+01:00".parse().unwrap());
    let missed = schedule.latest_between(&zone, after, until, 3);
    let local = |at: &Timestamp| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M").to_string();
    let latest: Vec<String> = missed.instants.iter().map(local).collect();
    assert_eq!(latest, ["2026-03-03T09:00", "2026-03-03T10:00", "2026-03-03T12:00"]);
    // 13 hours of the first day, none of the second, 13 of the third but one.
    assert_eq!((missed.total, missed.is_exact), (25, true));
}

#[test]
fn a_schedule_of_nothing_but_exceptions_is_over_soon() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    for input in [
        json!({"type": "weekly", "time": "08:00", "days": ["weekend"], "except": "weekends"}),
        json!({"type": "cron", "expr": "0 0 29 2 *", "except": "february"}),
        json!({"type": "cron", "expr": "* * * * * *", "except": ["weekdays", "sat"], "starts_at": "2026-03-02T00:00",
            "ends_at": "2026-03-07T23:59"}),
        json!({"type": "smart", "rules": ["FREQ=YEARLY"], "anchor": "2026-03-02T09:00:00", "except": ["march"]}),
        json!({"type": "daily", "time": "08:00", "except": ["2026-01-01/9999-12-31"]}),
    ] {
        assert_eq!(read(&input).unwrap().next_after(&zone, now()), None, "{input}");
    }
    // A summer of seconds is not walked through.
    let seconds = json!({"type": "interval", "every": "1s", "except": ["2026-03-01/2999-12-31"]});
    let next = read(&seconds).unwrap().next_after(&zone, now());
    assert_eq!(next, Some("3000-01-01T00:00:00+01:00".parse().unwrap()));
}

#[test]
fn exceptions_are_canonical_and_errors_name_them() {
    let daily = |except: Value| json!({"type": "daily", "time": "08:00", "except": except});
    for (written, canonical) in [
        (json!("Weekends"), json!(["weekend"])),
        (json!(["sun", "Saturday"]), json!(["weekend"])),
        (json!(["dec", "JULY", "mon"]), json!(["mon", "july", "december"])),
        (json!(["2026-12-25", "2026-12-24T08:00:00", "2026-12-25"]), json!(["2026-12-25", "2026-12-24T08:00"])),
        (json!(["2026-12-24 08:00:30"]), json!(["2026-12-24T08:00:30"])),
        (json!(["2026-12-24 / 2027-01-06"]), json!(["2026-12-24/2027-01-06"])),
    ] {
        let schedule = read(&daily(written)).unwrap();
        assert_eq!(schedule.to_json()["except"], canonical);
        assert_eq!(Schedule::from_stored(&schedule.to_json().to_string()), Ok(schedule));
    }
    assert!(read(&daily(json!(null))).unwrap().except.is_empty());
    assert!(read(&daily(json!([]))).unwrap().to_json().get("except").is_none());
    for (except, problem) in [
        (json!(["2026-12-25", "2026-13-01"]), "except[1]: `2026-13-01` is not understood; write a date"),
        (json!("someday"), "except: `someday` is not understood"),
        (json!(["20261225"]), "except[0]: `20261225` is not understood"),
        (json!([5]), "except[0]: is a number; write text"),
        (json!({"sat": true}), "except: is an object"),
        (json!(["2027-01-06/2026-12-24"]), "except[0]: `2027-01-06/2026-12-24` ends before it begins"),
        (json!(["2026-12-24T08:00Z"]), "except[0]: `2026-12-24T08:00Z` names a zone; write the local time"),
        (json!(["weekdays", "weekends"]), "except: leaves no day"),
        (json!("daily"), "except: leaves no day"),
    ] {
        let error = read(&daily(except)).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
    let once = read(&json!({"type": "once", "at": "5m", "except": "sat"})).unwrap_err();
    assert!(once.contains("except: is for recurring schedules"), "{once}");
}

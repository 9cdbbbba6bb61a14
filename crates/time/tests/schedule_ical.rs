//! Calendar entries: what is read, what is written, and what is refused.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::Timestamp;
use punctual_time::schedule::{Rule, Schedule};
use punctual_time::zone::Zone;
use serde_json::{Value, json};

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn now() -> Timestamp {
    "2026-03-01T10:00:00+01:00".parse().unwrap()
}

fn read(ical: &str, zone_name: &str) -> Result<Schedule, String> {
    let input = json!({ "type": "rrule", "ical": ical });
    Schedule::from_input(&input, &zone(zone_name), now()).map_err(|invalid| invalid.to_string())
}

/// Expects these instants, all there are, written as local times with their offset.
fn check(ical: &str, zone_name: &str, expect: &[&str]) {
    let schedule = read(ical, zone_name).unwrap_or_else(|problem| panic!("{ical}: {problem}"));
    check_instants(&schedule, zone_name, "1900-01-01T00:00:00Z", expect);
}

fn check_instants(schedule: &Schedule, zone_name: &str, after: &str, expect: &[&str]) {
    let zone = zone(zone_name);
    let next = |at: &Timestamp| schedule.next_after(&zone, *at);
    let instants = std::iter::successors(next(&after.parse().unwrap()), next).take(expect.len() + 1);
    let said: Vec<String> =
        instants.map(|at| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()).collect();
    assert_eq!(said, expect, "{}", schedule.to_json());
}

fn check_refused(ical: &str, part: &str) {
    let problem = read(ical, "Europe/Berlin").expect_err(ical);
    assert!(problem.starts_with("ical: ") && problem.contains(part), "{ical}: {problem}");
}

#[test]
fn a_count_is_counted_from_the_start_and_is_used_up() {
    let ical = "DTSTART;TZID=Europe/Berlin:20260226T080000\nRRULE:FREQ=DAILY;COUNT=5";
    check(
        ical,
        "Europe/Berlin",
        &[
            "2026-02-26T08:00:00+01:00",
            "2026-02-27T08:00:00+01:00",
            "2026-02-28T08:00:00+01:00",
            "2026-03-01T08:00:00+01:00",
            "2026-03-02T08:00:00+01:00",
        ],
    );
    // Asked in the middle, only what is left.
    let schedule = read(ical, "Europe/Berlin").unwrap();
    check_instants(&schedule, "Europe/Berlin", "2026-03-01T09:00:00Z", &["2026-03-02T08:00:00+01:00"]);
    check_instants(&schedule, "Europe/Berlin", "2026-03-02T07:00:00Z", &[]);
    assert_eq!(schedule.count, None, "the count of the calendar is not one of runs");
}

#[test]
fn an_end_is_inclusive_and_may_be_local_utc_or_a_day() {
    let expect = ["2026-02-26T08:00:00+01:00", "2026-02-27T08:00:00+01:00"];
    for until in ["20260227T080000", "20260227T070000Z", "20260227", "20260228T065959Z"] {
        check(&format!("DTSTART:20260226T080000\nRRULE:FREQ=DAILY;UNTIL={until}"), "Europe/Berlin", &expect);
    }
}

#[test]
fn dates_are_added_and_taken_away() {
    check(
        "DTSTART:20260302T080000\r\nRRULE:FREQ=WEEKLY;COUNT=3\r\nRDATE:20260304T09\r\n 0000,20260305T090000\r\n\
         EXDATE:20260309T080000\r\nEXDATE;VALUE=DATE:20260305\r\n",
        "Europe/Berlin",
        &["2026-03-02T08:00:00+01:00", "2026-03-04T09:00:00+01:00", "2026-03-16T08:00:00+01:00"],
    );
    // In UTC or another zone, an exception is an instant.
    check(
        "DTSTART:20260302T080000\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260303T070000Z\n\
         EXDATE;TZID=America/New_York:20260304T020000",
        "Europe/Berlin",
        &["2026-03-02T08:00:00+01:00", "2026-03-05T08:00:00+01:00"],
    );
    // Without a rule, the start is one of the dates.
    check(
        "DTSTART:20260302T080000\nRDATE:20260401T080000",
        "Europe/Berlin",
        &["2026-03-02T08:00:00+01:00", "2026-04-01T08:00:00+02:00"],
    );
}

#[test]
fn several_rules_are_a_union_and_keep_their_own_ends() {
    check(
        "DTSTART:20260302T080000\nRRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=3",
        "Europe/Berlin",
        &[
            "2026-03-02T08:00:00+01:00",
            "2026-03-03T08:00:00+01:00",
            "2026-03-09T08:00:00+01:00",
            "2026-03-16T08:00:00+01:00",
        ],
    );
}

#[test]
fn a_day_begins_at_midnight_and_without_a_start_it_is_now() {
    check(
        "DTSTART;VALUE=DATE:20260302\nRRULE:FREQ=DAILY;COUNT=2",
        "Europe/Berlin",
        &["2026-03-02T00:00:00+01:00", "2026-03-03T00:00:00+01:00"],
    );
    for ical in ["FREQ=DAILY;COUNT=2", "RRULE:FREQ=DAILY;COUNT=2"] {
        check(ical, "Europe/Berlin", &["2026-03-01T10:00:00+01:00", "2026-03-02T10:00:00+01:00"]);
    }
}

#[test]
fn local_times_are_shifted_out_of_gaps_and_count_once_in_folds() {
    check(
        "DTSTART;TZID=Europe/Zurich:20230326T000000\nRRULE:FREQ=HOURLY;INTERVAL=2;COUNT=4",
        "Europe/Zurich",
        &[
            "2023-03-26T00:00:00+01:00",
            "2023-03-26T03:00:00+02:00",
            "2023-03-26T04:00:00+02:00",
            "2023-03-26T06:00:00+02:00",
        ],
    );
    // An hourly rule is one of local times: the hour that is repeated has had its run.
    check(
        "DTSTART:20261025T010000\nRRULE:FREQ=HOURLY;COUNT=4",
        "Europe/Berlin",
        &[
            "2026-10-25T01:00:00+02:00",
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T03:00:00+01:00",
            "2026-10-25T04:00:00+01:00",
        ],
    );
}

#[test]
fn a_plain_rule_from_an_instant_in_utc_is_elapsed_time() {
    let schedule = read("DTSTART:20261024T220000Z\nRRULE:FREQ=HOURLY;INTERVAL=2;COUNT=3", "Europe/Berlin").unwrap();
    assert!(matches!(schedule.rule, Rule::Interval { .. }));
    check_instants(
        &schedule,
        "Europe/Berlin",
        "1900-01-01T00:00:00Z",
        &["2026-10-25T00:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"],
    );
    check_refused("DTSTART:20260302T070000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO", "line 1: DTSTART: is in UTC");
    // In UTC it is a rule like any other.
    assert!(matches!(read("DTSTART:20260302T070000Z\nRRULE:FREQ=DAILY", "UTC").unwrap().rule, Rule::Smart(_)));
}

#[test]
fn a_zone_by_another_name_is_the_same_and_another_zone_is_refused() {
    for tzid in ["Europe/Berlin", "europe/berlin", "Europe/Vienna", "/example.org/20070129_1/Europe/Berlin"] {
        let ical = format!("DTSTART;TZID={tzid}:20260302T080000\nRRULE:FREQ=DAILY;COUNT=1");
        check(&ical, "Europe/Berlin", &["2026-03-02T08:00:00+01:00"]);
    }
    check_refused(
        "DTSTART;TZID=America/New_York:20260302T080000\nRRULE:FREQ=DAILY",
        "is in America/New_York, and the reminder is in Europe/Berlin; set the reminder's timezone to America/New_York",
    );
    check_refused("DTSTART;TZID=Europe/Berln:20260302T080000\nRRULE:FREQ=DAILY", "did you mean Europe/Berlin");
}

#[test]
fn an_error_names_the_line_and_the_part() {
    check_refused("", "has no RRULE");
    check_refused("DTSTART:20260302T080000", "has no RRULE");
    check_refused("DTSTART:20260302T080000\nRRULE:FREQ=WEEKLY;BYDAY=XX", "line 2: RRULE: BYDAY: `XX` is not a weekday");
    check_refused("DTSTART:tomorrow\nRRULE:FREQ=DAILY", "line 1: DTSTART: `TOMORROW` is not a time");
    check_refused("DTSTART:20260302T080000,20260303T080000\nRRULE:FREQ=DAILY", "has more than one time");
    check_refused("DTSTART:20260302\nDTSTART:20260303\nRRULE:FREQ=DAILY", "line 2: DTSTART: is there twice");
    check_refused("RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "line 2: EXRULE: is not supported");
    check_refused("RRULE:FREQ=DAILY\nSUMMARY:tea", "line 2: SUMMARY: is not read here");
    check_refused("every day", "line 1: `every day` is not understood");
    check_refused("RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "is never due");
    check_refused("RRULE:FREQ=DAILY;COUNT=100000000", "COUNT: `100000000` is more than 100000");
    check_refused(&"RRULE:FREQ=DAILY\n".repeat(10_000), "is longer than");
    let missing = Schedule::from_input(&json!({"type": "rrule"}), &Zone::utc(), now()).unwrap_err();
    assert!(missing.to_string().contains("ical: is missing"), "{missing}");
}

/// Writes what `input` means as a calendar entry, and reads it back.
fn check_written(input: Value, zone_name: &str, expect: &str) {
    let zone = zone(zone_name);
    let schedule = Schedule::from_input(&input, &zone, now()).unwrap();
    let written = schedule.to_ical(&zone, now()).unwrap_or_else(|problem| panic!("{input}: {problem}"));
    assert_eq!(written, expect, "{input}");
    let read = read(&written, zone_name).unwrap();
    let some = |schedule: &Schedule| {
        let next = |at: &Timestamp| schedule.next_after(&zone, *at);
        let n = schedule.count.unwrap_or(50) as usize;
        std::iter::successors(next(&now()), next).take(n).collect::<Vec<_>>()
    };
    assert_eq!(some(&read), some(&schedule), "{written}");
}

#[test]
fn every_recurring_type_is_written_and_means_the_same_when_it_is_read() {
    let berlin = "Europe/Berlin";
    check_written(
        json!({"type": "daily", "time": "02:30", "ends_at": "2027-01-01T00:00"}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260302T023000\nRRULE:FREQ=DAILY;UNTIL=20261231T230000Z",
    );
    check_written(
        json!({"type": "weekly", "time": "07:30", "days": ["weekdays"], "count": 10}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260302T073000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=10",
    );
    check_written(
        json!({"type": "daily", "time": "08:00", "except": ["weekends", "july", "2026-03-04"], "count": 5}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260302T080000\n\
         RRULE:FREQ=DAILY;BYMONTH=1,2,3,4,5,6,8,9,10,11,12;BYDAY=MO,TU,WE,TH,FR;UNTIL=20260309T070000Z\n\
         EXDATE;TZID=Europe/Berlin:20260304T080000",
    );
    check_written(
        json!({"type": "interval", "every": "90m", "starts_at": "2026-03-01T12:00", "except": "2026-03-01"}),
        berlin,
        "DTSTART:20260301T110000Z\nRRULE:FREQ=MINUTELY;INTERVAL=90\nEXDATE:20260301T110000Z,20260301T123000Z,\
         20260301T140000Z,20260301T153000Z,20260301T170000Z,20260301T183000Z,20260301T200000Z,20260301T213000Z",
    );
    check_written(
        json!({"type": "cron", "expr": "0 8 13 * FRI"}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260306T080000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=13\nRRULE:FREQ=WEEKLY;BYDAY=FR",
    );
    check_written(
        json!({"type": "cron", "expr": "0 9,17 L 2-4 *"}),
        "-02:00",
        "DTSTART;TZID=Etc/GMT+2:20260331T090000\nRRULE:FREQ=MONTHLY;BYMONTH=2,3,4;BYMONTHDAY=-1;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0",
    );
    check_written(
        json!({"type": "cron", "expr": "*/15 * * * *"}),
        "UTC",
        "DTSTART:20260301T091500Z\nRRULE:FREQ=HOURLY;BYMINUTE=0,15,30,45;BYSECOND=0",
    );
    check_written(
        json!({"type": "smart", "rules": ["FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=17;BYMINUTE=0"],
            "anchor": "2026-02-25T00:00:00"}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260227T170000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
    );
    check_written(
        json!({"type": "smart", "rules": ["FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=8;BYMINUTE=0",
            "FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=10;BYMINUTE=0"], "anchor": "2026-03-01T00:00:00"}),
        berlin,
        "DTSTART;TZID=Europe/Berlin:20260301T100000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=8;BYMINUTE=0;BYSECOND=0\n\
         RRULE:FREQ=WEEKLY;BYDAY=SA,SU",
    );
}

#[test]
fn a_date_that_is_excepted_before_the_rules_begin_stays_excepted() {
    check_written(
        json!({"type": "smart", "rules": ["FREQ=YEARLY"], "anchor": "2027-01-01T00:00:00",
            "dates": ["2026-04-03T00:00:00"], "except": "2026-04-01/2026-04-03"}),
        "UTC",
        "DTSTART:20270101T000000Z\nRRULE:FREQ=YEARLY\nRDATE:20260403T000000Z\nEXDATE:20260403T000000Z",
    );
}

#[test]
fn a_run_that_was_shifted_out_of_a_gap_is_not_lost_when_asked_just_before_it() {
    let berlin = zone("Europe/Berlin");
    let schedule = Schedule::from_input(&json!({"type": "daily", "time": "02:30"}), &berlin, now()).unwrap();
    // 03:10, and 02:30 is still to come, at 03:30.
    let written = schedule.to_ical(&berlin, "2026-03-29T01:10:00Z".parse().unwrap()).unwrap();
    assert_eq!(written, "DTSTART;TZID=Europe/Berlin:20260329T023000\nRRULE:FREQ=DAILY");
}

#[test]
fn a_count_over_a_day_that_a_zone_left_out_is_written_as_an_end() {
    // Kwajalein had no 21 August 1993: its midnight and that of the 22nd are one instant, which a calendar counts twice.
    let kwajalein = zone("Pacific/Kwajalein");
    let from = "1993-08-20T13:00:00Z".parse().unwrap();
    let schedule =
        Schedule::from_input(&json!({"type": "daily", "time": "00:00", "count": 2}), &kwajalein, from).unwrap();
    let written = schedule.to_ical(&kwajalein, from).unwrap();
    assert_eq!(written, "DTSTART;TZID=Pacific/Kwajalein:19930821T000000\nRRULE:FREQ=DAILY;UNTIL=19930822T120000Z");
    let expect = ["1993-08-22T00:00:00+12:00", "1993-08-23T00:00:00+12:00"];
    check_instants(&read(&written, "Pacific/Kwajalein").unwrap(), "Pacific/Kwajalein", "1993-08-20T13:00:00Z", &expect);
}

#[test]
fn an_entry_that_was_read_is_written_as_it_was() {
    for ical in [
        "DTSTART;TZID=Europe/Berlin:20260302T080000\nRRULE:FREQ=MONTHLY;BYDAY=1MO",
        "DTSTART;TZID=Europe/Berlin:20200101T080000\nRRULE:FREQ=YEARLY;UNTIL=20300101T070000Z",
        "DTSTART;TZID=Europe/Berlin:20260302T080000\nRRULE:FREQ=DAILY;INTERVAL=3\n\
         RDATE;TZID=Europe/Berlin:20260401T090000\nEXDATE;TZID=Europe/Berlin:20260308T080000",
    ] {
        let schedule = read(ical, "Europe/Berlin").unwrap();
        assert_eq!(schedule.to_ical(&zone("Europe/Berlin"), now()), Ok(ical.to_owned()));
    }
}

#[test]
fn a_schedule_that_a_calendar_cannot_say_is_answered_with_the_reason() {
    for (input, reason) in [
        (json!({"type": "once", "at": "5m"}), "has no rule"),
        (json!({"type": "interval", "every": "2h", "anchor": "ack"}), "when somebody answers"),
        (json!({"type": "interval", "every": "2h", "except": "sat"}), "cannot leave out weekdays"),
        (json!({"type": "cron", "expr": "0 8 15W * *"}), "nearest weekday (W)"),
        (json!({"type": "cron", "expr": "*/15 * * * *"}), "when the clocks change"),
        (json!({"type": "cron", "expr": "* * * * *", "except": "2026-03-02/2026-03-08"}), "when the clocks change"),
        (json!({"type": "daily", "time": "08:00", "except": "2026-03-02/2036-03-08"}), "more than 1000 single times"),
        (
            json!({"type": "smart", "anchor": "2026-03-01T08:00:00", "except": "sat",
            "rules": ["FREQ=MONTHLY;BYDAY=MO,SA;BYSETPOS=-1"]}),
            "BYSETPOS",
        ),
        (
            json!({"type": "smart", "anchor": "2026-03-01T08:00:00", "except": "july",
            "rules": ["FREQ=YEARLY;BYDAY=20MO"]}),
            "nth weekday of the year",
        ),
        (json!({"type": "weekly", "time": "08:00", "days": ["sat"], "except": "weekends"}), "never due"),
    ] {
        let zone = zone("Europe/Berlin");
        let schedule = Schedule::from_input(&input, &zone, now()).unwrap();
        let problem = schedule.to_ical(&zone, now()).expect_err(&input.to_string());
        assert!(problem.contains(reason), "{input}: {problem}");
    }
    let nepal = zone("+05:45");
    let daily = Schedule::from_input(&json!({"type": "daily", "time": "08:00"}), &nepal, now()).unwrap();
    assert!(daily.to_ical(&nepal, now()).unwrap_err().contains("by name"));
}

//! Recurrence rules: what they name, how they are written, and what is said about those that are wrong.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::SignedDuration;
use jiff::civil::{DateTime, Weekday};
use punctual_time::schedule::{Freq, NthDay, Recurrence};

/// Asks for the first times of `rule` from `anchor` on, as dates, or with the time where it is not the anchor's.
fn check(rule: &str, anchor: &str, expect: &[&str]) {
    let anchor: DateTime = anchor.parse().unwrap();
    check_from(rule, anchor, anchor, expect);
}

fn check_from(rule: &str, anchor: DateTime, from: DateTime, expect: &[&str]) {
    let parsed: Recurrence = rule.parse().unwrap_or_else(|problem| panic!("{rule}: {problem}"));
    let mut from = from;
    for expected in expect {
        let next = parsed.next_at_or_after(anchor, from).unwrap_or_else(|| panic!("{rule}: nothing from {from} on"));
        let said = match expected.contains('T') {
            true => next.to_string(),
            false => next.date().to_string(),
        };
        assert_eq!(said, *expected, "{rule} from {anchor}, asked from {from}");
        from = next.checked_add(SignedDuration::from_secs(1)).unwrap();
    }
}

#[test]
fn the_examples_of_the_rfc() {
    let new_york = "1997-09-02T09:00";
    check("FREQ=DAILY;INTERVAL=10", new_york, &["1997-09-02", "1997-09-12", "1997-09-22"]);
    check("FREQ=WEEKLY;INTERVAL=2;WKST=SU", new_york, &["1997-09-02", "1997-09-16", "1997-09-30"]);
    check("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH", new_york, &["1997-09-02", "1997-09-04", "1997-09-16"]);
    check("FREQ=MONTHLY;BYDAY=1FR", "1997-09-05T09:00", &["1997-09-05", "1997-10-03", "1997-11-07"]);
    check("FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU", "1997-09-07T09:00", &["1997-09-07", "1997-09-28", "1997-11-02"]);
    check("FREQ=MONTHLY;BYDAY=-2MO", "1997-09-22T09:00", &["1997-09-22", "1997-10-20", "1997-11-17"]);
    check("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28T09:00", &["1997-09-28", "1997-10-29", "1997-11-28"]);
    check("FREQ=MONTHLY;BYMONTHDAY=1,-1", "1997-09-30T09:00", &["1997-09-30", "1997-10-01", "1997-10-31"]);
    check(
        "FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200",
        "1997-01-01T09:00",
        &["1997-01-01", "1997-04-10", "1997-07-19", "2000-01-01", "2000-04-09"],
    );
    check("FREQ=YEARLY;BYDAY=20MO", "1997-05-19T09:00", &["1997-05-19", "1998-05-18", "1999-05-17"]);
    check("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12T09:00", &["1997-05-12", "1998-05-11", "1999-05-17"]);
    check(
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997-03-13T09:00",
        &["1997-03-13", "1997-03-20", "1997-03-27", "1998-03-05"],
    );
    check(
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        new_york,
        &["1998-02-13", "1998-03-13", "1998-11-13", "1999-08-13", "2000-10-13"],
    );
    check(
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996-11-05T09:00",
        &["1996-11-05", "2000-11-07", "2004-11-02"],
    );
    check("FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04T09:00", &["1997-09-04", "1997-10-07", "1997-11-06"]);
    check(
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997-09-29T09:00",
        &["1997-09-29", "1997-10-30", "1997-11-27"],
    );
    check("FREQ=HOURLY;INTERVAL=3", new_york, &["1997-09-02T09:00:00", "1997-09-02T12:00:00", "1997-09-02T15:00:00"]);
    check(
        "FREQ=MINUTELY;INTERVAL=90",
        new_york,
        &["1997-09-02T09:00:00", "1997-09-02T10:30:00", "1997-09-02T12:00:00"],
    );
    check(
        "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10",
        new_york,
        &["1997-09-02T09:00:00", "1997-09-02T09:20:00", "1997-09-02T09:40:00", "1997-09-02T10:00:00"],
    );
    check(
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO",
        "1997-08-05T09:00",
        &["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"],
    );
    check(
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
        "1997-08-05T09:00",
        &["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"],
    );
    check(
        "FREQ=MONTHLY;BYMONTHDAY=15,30",
        "2007-01-15T09:00",
        &["2007-01-15", "2007-01-30", "2007-02-15", "2007-03-15"],
    );
}

#[test]
fn days_that_a_month_or_a_year_does_not_have_are_left_out() {
    check("FREQ=MONTHLY", "2007-01-31T09:00", &["2007-01-31", "2007-03-31", "2007-05-31"]);
    check("FREQ=YEARLY", "2012-02-29T09:00", &["2012-02-29", "2016-02-29", "2020-02-29"]);
    check("FREQ=YEARLY", "2096-02-29T09:00", &["2096-02-29", "2104-02-29"]);
    check("FREQ=YEARLY;BYYEARDAY=366", "2012-12-31T09:00", &["2012-12-31", "2016-12-31"]);
    check("FREQ=MONTHLY;BYDAY=5FR", "2026-01-30T09:00", &["2026-01-30", "2026-05-29", "2026-07-31"]);
    check("FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", "2026-01-01T09:00", &["2026-12-28", "2032-12-27"]);
}

#[test]
fn the_anchor_is_in_the_set_only_if_it_matches() {
    check("FREQ=WEEKLY;BYDAY=WE,FR", "2019-01-01T10:00", &["2019-01-02", "2019-01-04"]);
    check("FREQ=DAILY;BYHOUR=8", "2026-03-02T09:00", &["2026-03-03T08:00:00"]);
}

#[test]
fn positions_are_counted_in_the_whole_period_also_before_the_anchor() {
    // Wednesday is the third of its week.
    check(
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,3",
        "2024-10-23T09:00",
        &["2024-10-23", "2024-10-28", "2024-10-30"],
    );
    check(
        "FREQ=HOURLY;INTERVAL=2;BYMINUTE=0,10,20,30,40,50;BYSETPOS=-2,3",
        "2024-10-23T15:40",
        &["2024-10-23T15:40:00", "2024-10-23T17:20:00", "2024-10-23T17:40:00"],
    );
    check("FREQ=YEARLY;BYMONTH=1,7;BYDAY=MO;BYSETPOS=-1", "2026-01-01T00:00", &["2026-07-27", "2027-07-26"]);
}

#[test]
fn far_from_the_anchor_is_as_near_as_close_by() {
    // Counting from the anchor would take thirty thousand million steps.
    let anchor: DateTime = "1970-01-01T00:00:07".parse().unwrap();
    let from: DateTime = "2999-06-01T00:00:00".parse().unwrap();
    for rule in [
        "FREQ=SECONDLY;INTERVAL=7",
        "FREQ=MINUTELY;INTERVAL=11",
        "FREQ=HOURLY;INTERVAL=5",
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=WEEKLY;INTERVAL=2",
        "FREQ=MONTHLY;INTERVAL=7",
        "FREQ=YEARLY;INTERVAL=3",
    ] {
        let rule: Recurrence = rule.parse().unwrap();
        assert!(rule.next_at_or_after(anchor, from).is_some());
    }
}

#[test]
fn a_rule_that_nothing_matches_is_given_up_on() {
    // Each would be looked for until the end of the calendar.
    let anchor: DateTime = "2026-01-01T00:00".parse().unwrap();
    for rule in [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31",
        "FREQ=DAILY;BYMONTH=4;BYMONTHDAY=31",
        "FREQ=WEEKLY;BYDAY=MO;BYYEARDAY=1;BYMONTH=12",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=HOURLY;INTERVAL=2;BYHOUR=1,3,5",
        "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=31",
        "FREQ=SECONDLY;INTERVAL=60;BYSECOND=30",
        "FREQ=MONTHLY;BYMONTHDAY=1;BYSETPOS=2",
    ] {
        let rule: Recurrence = rule.parse().unwrap();
        assert_eq!(rule.next_at_or_after(anchor, anchor), None, "{rule}");
    }
}

#[test]
fn a_rule_is_written_in_one_way() {
    for (written, canonical) in [
        ("rrule:freq=weekly;byday=fr,mo;interval=1", "FREQ=WEEKLY;BYDAY=MO,FR"),
        ("FREQ=MONTHLY;BYDAY=+1FR,-1FR;WKST=MO;", "FREQ=MONTHLY;BYDAY=-1FR,1FR"),
        ("BYHOUR=9,8,9;FREQ=DAILY;BYSECOND=60", "FREQ=DAILY;BYHOUR=8,9;BYSECOND=59"),
        ("FREQ=DAILY;UNTIL=20261231", "FREQ=DAILY;UNTIL=20261231T235959"),
        ("FREQ=WEEKLY;WKST=SU;INTERVAL=2", "FREQ=WEEKLY;INTERVAL=2;WKST=SU"),
    ] {
        let rule: Recurrence = written.parse().unwrap();
        assert_eq!(rule.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(rule));
    }
    let by_hand = Recurrence {
        by_day: vec![NthDay::nth(-1, Weekday::Friday)],
        ..Recurrence::new(Freq::Monthly).at(jiff::civil::time(17, 0, 0, 0))
    };
    assert_eq!(by_hand.to_string(), "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0;BYSECOND=0");
}

#[test]
fn an_error_names_the_part_and_says_what_would_be_right() {
    for (rule, problem) in [
        ("", "FREQ: is missing; write FREQ=DAILY"),
        ("FREQ=FORTNIGHTLY", "FREQ: `FORTNIGHTLY` is not a frequency; write SECONDLY"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL: `0` is not a number from 1 up"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR: `24` is outside 0 to 23"),
        ("FREQ=DAILY;BYHOUR=-1", "BYHOUR: `-1` is outside 0 to 23"),
        ("FREQ=DAILY;BYHOUR=8,", "BYHOUR: a value is missing"),
        ("FREQ=DAILY;BYHOUR=x", "BYHOUR: `X` is not a number from 0 to 23"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY: `0` is outside 1 to 31 and -1 to -31"),
        ("FREQ=YEARLY;BYMONTH=13", "BYMONTH: `13` is outside 1 to 12"),
        ("FREQ=WEEKLY;BYDAY=MON", "BYDAY: `MON` is not a weekday; write MO, TU"),
        ("FREQ=WEEKLY;BYDAY=2MO", "BYDAY: `2MO` has a number, which only MONTHLY and YEARLY rules may have"),
        ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=2MO", "BYDAY: `2MO` has a number, which cannot stand beside BYWEEKNO"),
        ("FREQ=MONTHLY;BYDAY=99MO", "BYDAY: `99MO` is not understood"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS: needs another part"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ: is there twice"),
        ("FREQ=DAILY;BYDAYS=MO", "`BYDAYS` is not a part of a rule; did you mean `BYDAY`?"),
        ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL: `TOMORROW` is not a time; write it as 20261231T235959Z"),
        ("FREQ=DAILY;UNTIL=20260230", "UNTIL: `20260230` is not a time"),
        ("FREQ=DAILY;UNTIL=20261231T000000Z", "UNTIL: is in UTC"),
        ("FREQ=DAILY;COUNT=5", "COUNT: cannot be used here; write `count`"),
        ("FREQ=DAILY;COUNT=5;UNTIL=20261231", "COUNT: cannot stand beside UNTIL"),
        ("DAILY", "`DAILY` has no `=`"),
        ("FREQ=DAILY;BYEASTER=1", "BYEASTER: is an extension"),
    ] {
        let error = rule.parse::<Recurrence>().expect_err(rule);
        assert!(error.contains(problem), "{rule}: {error}");
    }
    assert!("FREQ=DAILY;BYHOUR=".repeat(1000).parse::<Recurrence>().is_err());
    assert!("FREQ=WEEKLY;BYDAY=ÄÖ".parse::<Recurrence>().is_err());
}

//! What calendars of the world have, a case each.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use jiff::Timestamp;
use punctual_calendar::{Alarm, Calendar, Edge, Item, Kind, Limits, read};
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

const NOW: &str = "2026-03-01T00:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn reading(ics: &str) -> Calendar {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    read(ics, &berlin, &Limits::default(), &Steps::new(2_000_000), at(NOW)).unwrap()
}

/// A calendar of these lines; `|` ends a line.
fn calendar(lines: &str) -> Calendar {
    let lines = lines.split('|').map(str::trim).collect::<Vec<_>>().join("\r\n");
    reading(&format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{lines}\r\nEND:VCALENDAR\r\n"))
}

/// The one event of these lines.
fn event(lines: &str) -> Item {
    let calendar = calendar(&format!("BEGIN:VEVENT|UID:u|SUMMARY:s|{lines}|END:VEVENT"));
    assert_eq!(calendar.problems, []);
    calendar.items.into_iter().next().unwrap()
}

/// When an item begins, from March to the end of June 2026.
fn starts(item: &Item) -> Vec<String> {
    let runs = item.instances(at(NOW), at("2026-07-01T00:00:00Z"), 1000, &Steps::new(2_000_000));
    runs.iter().map(|run| run.starts_at.to_string()).collect()
}

fn before(seconds: i64) -> Alarm {
    Alarm::Before { seconds, of: Edge::Start }
}

#[test]
fn a_zone_has_many_names() {
    for name in [
        "Europe/Berlin",
        "\"Europe/Berlin\"",
        "/freeassociation.sourceforge.net/Europe/Berlin",
        "W. Europe Standard Time",
        "posix/Europe/Berlin",
    ] {
        let item = event(&format!("DTSTART;TZID={name}:20260710T090000"));
        assert_eq!((item.starts_at, item.zone.name()), (at("2026-07-10T07:00:00Z"), "Europe/Berlin"), "{name}");
    }
}

const CUSTOM: &str = "BEGIN:VTIMEZONE|TZID:Customized Time Zone|BEGIN:STANDARD|DTSTART:16010101T030000|TZOFFSETFROM:+0200|\
    TZOFFSETTO:+0100|RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10|END:STANDARD|BEGIN:DAYLIGHT|DTSTART:16010101T020000|\
    TZOFFSETFROM:+0100|TZOFFSETTO:+0200|RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3|END:DAYLIGHT|END:VTIMEZONE";

#[test]
fn a_zone_without_a_known_name_is_the_one_with_the_same_clocks() {
    let item = |lines: &str| calendar(&format!("{CUSTOM}|{lines}")).items.into_iter().next().unwrap();
    let found = item("BEGIN:VEVENT|UID:u|DTSTART;TZID=Customized Time Zone:20260710T090000|END:VEVENT");
    assert_eq!((found.starts_at, found.zone.name()), (at("2026-07-10T07:00:00Z"), "Europe/Berlin"));
}

#[test]
fn a_series_in_a_zone_that_only_its_calendar_knows_becomes_single_dates() {
    let own = "BEGIN:VTIMEZONE|TZID:Ship|BEGIN:STANDARD|DTSTART:20200101T000000|TZOFFSETFROM:+0130|TZOFFSETTO:+0130|END:STANDARD|\
        BEGIN:DAYLIGHT|DTSTART:20260315T000000|TZOFFSETFROM:+0130|TZOFFSETTO:+0230|END:DAYLIGHT|END:VTIMEZONE";
    let found = calendar(&format!(
        "{own}|BEGIN:VEVENT|UID:watch|DTSTART;TZID=Ship:20260301T120000|RRULE:FREQ=WEEKLY;COUNT=4|END:VEVENT"
    ));
    let expected = ["2026-03-01T10:30:00Z", "2026-03-08T10:30:00Z", "2026-03-15T09:30:00Z", "2026-03-22T09:30:00Z"];
    assert_eq!(starts(&found.items[0]), expected);
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert!(found.problems[0].to_string().starts_with("watch: DTSTART: its zone is in no zone database"));
    // A single event needs no rule, so it is exact.
    let one = calendar(&format!("{own}|BEGIN:VEVENT|UID:one|DTSTART;TZID=Ship:20260401T120000|END:VEVENT"));
    assert_eq!((starts(&one.items[0]), one.problems), (vec!["2026-04-01T09:30:00Z".to_owned()], vec![]));
}

#[test]
fn times_without_a_zone_are_the_readers_or_the_calendars() {
    assert_eq!(event("DTSTART:20260710T090000").starts_at, at("2026-07-10T07:00:00Z"));
    let said = calendar("X-WR-TIMEZONE:America/New_York|BEGIN:VEVENT|UID:u|DTSTART:20260710T090000|END:VEVENT");
    assert_eq!(said.items[0].starts_at, at("2026-07-10T13:00:00Z"));
}

#[test]
fn a_day_begins_at_the_readers_midnight() {
    let item = event("DTSTART;VALUE=DATE:20260710");
    let ends_at = Some(at("2026-07-10T22:00:00Z"));
    assert_eq!((item.all_day, item.starts_at, item.ends_at), (true, at("2026-07-09T22:00:00Z"), ends_at));
    let days = event("DTSTART;VALUE=DATE:20260328|DTEND;VALUE=DATE:20260330");
    assert_eq!(days.ends_at, Some(at("2026-03-29T22:00:00Z")));
}

#[test]
fn an_end_is_given_or_counted() {
    let ends = |lines: &str| event(&format!("DTSTART:20260710T090000Z|{lines}")).ends_at.map(|at| at.to_string());
    assert_eq!(ends("DTEND:20260710T100000Z").as_deref(), Some("2026-07-10T10:00:00Z"));
    assert_eq!(ends("DURATION:P1DT2H").as_deref(), Some("2026-07-11T11:00:00Z"));
    assert_eq!(ends("DTEND:20260709T100000Z"), None, "an end before the beginning is none");
    assert_eq!(ends("LOCATION:here"), None);
}

#[test]
fn rules_dates_and_exceptions_make_one_series() {
    let item = event(
        "DTSTART;TZID=Europe/Berlin:20260323T090000|RRULE:FREQ=WEEKLY;COUNT=3|RDATE;TZID=America/New_York:20260401T050000|\
         RDATE;VALUE=PERIOD:20260402T080000Z/PT1H|EXDATE:20260406T070000Z",
    );
    let expected = ["2026-03-23T08:00:00Z", "2026-03-30T07:00:00Z", "2026-04-01T09:00:00Z", "2026-04-02T08:00:00Z"];
    assert_eq!(starts(&item), expected);
    let days = event("DTSTART;VALUE=DATE:20260310|RRULE:FREQ=DAILY;COUNT=3|EXDATE;VALUE=DATE:20260311");
    assert_eq!(starts(&days), ["2026-03-09T23:00:00Z", "2026-03-11T23:00:00Z"]);
}

#[test]
fn the_beginning_is_an_instance_although_its_rule_does_not_name_it() {
    let item = event("DTSTART:20260303T090000Z|RRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20260314T000000Z");
    assert_eq!(starts(&item), ["2026-03-03T09:00:00Z", "2026-03-06T09:00:00Z", "2026-03-13T09:00:00Z"]);
}

#[test]
fn a_rule_that_is_not_understood_costs_its_item_alone() {
    let found = calendar(
        "BEGIN:VEVENT|UID:bad|DTSTART:20260710T090000Z|RRULE:FREQ=SOMETIMES|END:VEVENT|\
         BEGIN:VEVENT|UID:odd|DTSTART:20260710T090000Z|RRULE:FREQ=DAILY|EXRULE:FREQ=WEEKLY|END:VEVENT|\
         BEGIN:VEVENT|UID:none|END:VEVENT|BEGIN:VEVENT|UID:wrong|DTSTART:yesterday|END:VEVENT|\
         BEGIN:VEVENT|UID:lost|DTSTART;TZID=Atlantis/Main:20260710T090000|END:VEVENT|\
         this is no line at all|BEGIN:VEVENT|UID:good|DTSTART:20260710T090000Z|END:VEVENT",
    );
    assert_eq!(found.items.iter().map(|item| item.uid.as_str()).collect::<Vec<_>>(), ["good"]);
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    for words in [
        "bad: RRULE: ",
        "odd: EXRULE: is not supported",
        "none: DTSTART: is missing",
        "wrong: DTSTART: `yesterday` is not a time",
        "lost: DTSTART: TZID: the zone `Atlantis/Main` is unknown",
    ] {
        assert!(problems.iter().any(|problem| problem.starts_with(words)), "{words}: {problems:#?}");
    }
}

#[test]
fn an_instance_is_moved_cancelled_or_renamed_alone() {
    let series =
        "BEGIN:VEVENT|UID:u|SUMMARY:s|DTSTART;TZID=Europe/Berlin:20260303T180000|RRULE:FREQ=WEEKLY;COUNT=4|END:VEVENT";
    let found = calendar(&format!(
        "{series}|BEGIN:VEVENT|UID:u|SUMMARY:later|RECURRENCE-ID:20260310T170000Z|DTSTART;TZID=Europe/Berlin:20260311T190000|END:VEVENT|\
         BEGIN:VEVENT|UID:u|RECURRENCE-ID;VALUE=DATE:20260317|DTSTART;TZID=Europe/Berlin:20260317T180000|STATUS:CANCELLED|END:VEVENT"
    ));
    assert_eq!(found.items.len(), 1);
    assert_eq!(starts(&found.items[0]), ["2026-03-03T17:00:00Z", "2026-03-11T18:00:00Z", "2026-03-24T17:00:00Z"]);
}

#[test]
fn a_change_of_this_and_the_following_moves_all_of_them() {
    let found = calendar(
        "BEGIN:VEVENT|UID:u|SUMMARY:s|DTSTART:20260303T180000Z|DTEND:20260303T190000Z|RRULE:FREQ=WEEKLY;COUNT=4|END:VEVENT|\
         BEGIN:VEVENT|UID:u|SUMMARY:moved|RECURRENCE-ID;RANGE=THISANDFUTURE:20260317T180000Z|DTSTART:20260318T200000Z|\
         DTEND:20260318T203000Z|END:VEVENT",
    );
    let item = &found.items[0];
    let expected = ["2026-03-03T18:00:00Z", "2026-03-10T18:00:00Z", "2026-03-18T20:00:00Z", "2026-03-25T20:00:00Z"];
    assert_eq!(starts(item), expected);
    let runs = item.instances(at(NOW), at("2026-07-01T00:00:00Z"), 10, &Steps::new(1_000_000));
    assert_eq!((runs[3].ends_at, runs[3].title.as_str()), (Some(at("2026-03-25T20:30:00Z")), "moved"));
}

#[test]
fn instances_without_their_series_are_events_of_their_own() {
    let found = calendar(
        "BEGIN:VEVENT|UID:u|RECURRENCE-ID:20260310T170000Z|DTSTART:20260310T180000Z|END:VEVENT|\
         BEGIN:VEVENT|UID:u|RECURRENCE-ID:20260317T170000Z|DTSTART:20260317T180000Z|END:VEVENT",
    );
    let uids: Vec<&str> = found.items.iter().map(|item| item.uid.as_str()).collect();
    assert_eq!(uids, ["u/20260310T170000", "u/20260317T170000"]);
}

#[test]
fn of_the_same_uid_the_latest_version_counts() {
    let found = calendar(
        "BEGIN:VEVENT|UID:u|SEQUENCE:2|DTSTAMP:20260101T000000Z|DTSTART:20260710T090000Z|END:VEVENT|\
         BEGIN:VEVENT|UID:u|SEQUENCE:1|DTSTAMP:20260201T000000Z|DTSTART:20260711T090000Z|END:VEVENT|\
         BEGIN:VEVENT|UID:u|SEQUENCE:2|DTSTAMP:20260201T000000Z|DTSTART:20260712T090000Z|END:VEVENT",
    );
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].starts_at, at("2026-07-12T09:00:00Z"));
}

#[test]
fn a_to_do_is_about_its_due_date() {
    let todo = |lines: &str| {
        let found = calendar(&format!("BEGIN:VTODO|UID:t|{lines}|END:VTODO"));
        assert_eq!(found.problems, []);
        found.items.into_iter().next().unwrap()
    };
    let due = todo("DUE:20260710T090000Z");
    assert_eq!(
        (due.kind, due.starts_at, due.ends_at, due.anchor()),
        (Kind::Todo, at("2026-07-10T09:00:00Z"), None, Edge::Start)
    );
    let both = todo("DTSTART:20260709T090000Z|DUE:20260710T090000Z");
    assert_eq!((both.ends_at, both.anchor()), (Some(at("2026-07-10T09:00:00Z")), Edge::End));
    let counted = todo("DTSTART:20260709T090000Z|DURATION:PT2H");
    assert_eq!(counted.ends_at, Some(at("2026-07-09T11:00:00Z")));
    assert!(todo("DUE:20260710T090000Z|STATUS:COMPLETED").done);
    assert!(todo("DUE:20260710T090000Z|COMPLETED:20260701T000000Z").done);
    assert!(!todo("DUE:20260710T090000Z|STATUS:NEEDS-ACTION").done);
}

#[test]
fn alarms_are_before_after_at_an_end_or_at_an_instant() {
    let alarms = |lines: &str| {
        event(&format!(
            "DTSTART:20260710T090000Z|DTEND:20260710T100000Z|BEGIN:VALARM|ACTION:DISPLAY|{lines}|END:VALARM"
        ))
        .alarms
    };
    let end = |seconds| Alarm::Before { seconds, of: Edge::End };
    assert_eq!(alarms("TRIGGER:-PT15M"), Some(vec![before(900)]));
    assert_eq!(alarms("TRIGGER:PT5M"), Some(vec![before(-300)]));
    assert_eq!(alarms("TRIGGER;RELATED=END:-PT5M"), Some(vec![end(300)]));
    assert_eq!(alarms("TRIGGER:-P1W"), Some(vec![before(7 * 86_400)]));
    let instant = Alarm::At(at("2026-07-09T12:00:00Z"));
    assert_eq!(alarms("TRIGGER;VALUE=DATE-TIME:20260709T120000Z"), Some(vec![instant]));
    assert_eq!(alarms("TRIGGER:-PT15M|REPEAT:2|DURATION:PT5M"), Some(vec![before(300), before(600), before(900)]));
    assert_eq!(alarms("TRIGGER:-PT15M|ACKNOWLEDGED:20260710T090000Z"), Some(vec![]));
    assert_eq!(alarms("TRIGGER:-PT15M|ACKNOWLEDGED:20260710T080000Z"), Some(vec![before(900)]));
    assert_eq!(
        alarms("TRIGGER;VALUE=DATE-TIME:19760401T005545Z"),
        Some(vec![]),
        "Apple's way to say that there is none"
    );
    assert_eq!(event("DTSTART:20260710T090000Z|BEGIN:VALARM|ACTION:NONE|TRIGGER:PT0S|END:VALARM").alarms, Some(vec![]));
    assert_eq!(event("DTSTART:20260710T090000Z").alarms, None, "it does not say");
}

#[test]
fn people_are_known_by_their_mail_address() {
    let item = event(
        "DTSTART:20260710T090000Z|ORGANIZER;CN=\"Eve, the boss\":mailto:Eve@Example.org|ATTENDEE;PARTSTAT=ACCEPTED:MAILTO:bob@example.org|\
         ATTENDEE;EMAIL=zoe@example.org:urn:uuid:1",
    );
    assert_eq!(item.people, ["bob@example.org", "zoe@example.org", "eve@example.org"]);
}

#[test]
fn folded_letters_and_escapes_come_back_whole() {
    let found = reading(
        "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Čaj\\, Kaffee\r\nREFRESH-INTERVAL;VALUE=DURATION:PT1H\r\nBEGIN:VEVENT\r\nUID:u\r\n\
         SUMMARY:Tea with\r\n  Ана\\; 🎉🎉\r\n 🎉\r\nDESCRIPTION:one\\ntwo\\\\three\r\nDTSTART:20260710T090000Z\r\nEND:VEVENT\r\n\
         END:VCALENDAR\r\n",
    );
    assert_eq!(found.name.as_deref(), Some("Čaj, Kaffee"));
    assert_eq!(found.refresh, Some(std::time::Duration::from_secs(3600)));
    assert_eq!(found.items[0].title, "Tea with Ана; 🎉🎉🎉");
    assert_eq!(found.items[0].description.as_deref(), Some("one\ntwo\\three"));
}

#[test]
fn what_we_have_published_ourselves_does_not_come_back() {
    let found = calendar("BEGIN:VEVENT|UID:018f@punctual|DTSTART:20260710T090000Z|END:VEVENT");
    assert_eq!((found.items.len(), found.problems.len()), (0, 0));
}

#[test]
fn what_is_no_calendar_or_too_large_is_refused() {
    let refused = |text: &str, limits: &Limits| {
        read(text, &Zone::utc(), limits, &Steps::new(1000), at(NOW)).unwrap_err().to_string()
    };
    assert!(refused("<html>not found</html>", &Limits::default()).contains("it has no line BEGIN:VCALENDAR"));
    assert!(refused("", &Limits::default()).contains("is no calendar"));
    let small = Limits { bytes: 10, items: 1 };
    assert!(refused("BEGIN:VCALENDAR\r\nEND:VCALENDAR", &small).contains("at most 10 are read"));
    let two = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VEVENT\nBEGIN:VTODO\nEND:VTODO\nEND:VCALENDAR";
    assert!(refused(two, &Limits { bytes: 1000, items: 1 }).contains("has 2 events and to-dos; at most 1"));
}

#[test]
fn nothing_that_is_nested_or_cut_off_ends_the_process() {
    let steps = Steps::new(100_000);
    let deep = format!("BEGIN:VCALENDAR\n{}", "BEGIN:VEVENT\n".repeat(5000));
    let odd = [
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART",
        "BEGIN:VCALENDAR\n\0\0:;=\"\n",
        "BEGIN:VCALENDAR\nBEGIN:",
        deep.as_str(),
    ];
    for text in odd {
        let _ = read(text, &Zone::utc(), &Limits::default(), &steps, at(NOW));
    }
}

#[test]
fn a_calendar_of_very_many_zones_costs_no_more_than_one_of_a_hundred() {
    let zone = |n: usize| {
        let standard =
            "BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0017\r\nTZOFFSETTO:+0017\r\nEND:STANDARD\r\n";
        format!("BEGIN:VTIMEZONE\r\nTZID:odd {n}\r\n{standard}END:VTIMEZONE\r\n")
    };
    let event = |n: usize| format!("BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART;TZID=odd {n}:20990101T080000\r\nEND:VEVENT\r\n");
    let lines: String = (0..3000).map(|n| format!("{}{}", zone(n), event(n))).collect();
    let read = calendar(&lines);
    assert_eq!((read.items.len(), read.problems.len()), (100, 100));
    assert!(read.problems[0].to_string().contains("more than 100 zones"), "{}", read.problems[0]);
}

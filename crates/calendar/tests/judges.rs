//! Our calendars as readers that are not ours understand them. `scripts/judges` fetches those; without them this is left out, and says so.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../../testkit/src/judges.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and this crate's tests need nothing else of it")]
#[expect(dead_code, reason = "the programs from npm are for another test")]
mod judges;
#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and this crate's tests need nothing else of it")]
#[expect(dead_code, reason = "the public files are for another test")]
mod report;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use punctual_calendar::write::{Entry, When, of_reminder, write};
use punctual_calendar::{Kind, Limits, read};
use punctual_core::id::ReminderId;
use punctual_core::reminder::{AckPolicy, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::store::ReminderView;
use punctual_core::zone::Zone;
use serde_json::{Value, json};

const CREATED: &str = "2026-01-15T10:20:30.5Z";
/// A year that crosses both changes of the clocks.
const YEAR: (&str, &str) = ("2026-02-01T00:00:00Z", "2027-02-01T00:00:00Z");

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rows(answer: &str) -> Vec<Value> {
    answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn entry(uid: usize, summary: &str, description: &str) -> Entry {
    Entry {
        uid: uid.to_string(),
        kind: if uid.is_multiple_of(2) { Kind::Event } else { Kind::Todo },
        when: When::At(at("2026-07-01T10:00:00Z")),
        ends_at: None,
        summary: summary.to_owned(),
        description: Some(description.to_owned()),
        categories: vec!["a,b".into(), "c;d".into()],
        priority: 5,
        created_at: at(CREATED),
        updated_at: at(CREATED),
        alarms: Vec::new(),
        related_to: None,
    }
}

/// A text as it is kept: line feeds, no control characters.
fn kept(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    lines.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

#[test]
fn any_text_comes_back_and_every_line_is_short() {
    let mut runner = TestRunner::deterministic();
    let any = "(\\PC|[\\n\\r\\t,;:\"\\\\]|🎉|č){0,120}";
    let mut texts: Vec<String> = (0..400).map(|_| any.new_tree(&mut runner).unwrap().current()).collect();
    texts.extend(
        ["\\n", "\\\\n", "a\\,b", "ends with a backslash\\", "BEGIN:VEVENT", "x\r\nEND:VCALENDAR\r\n"]
            .map(str::to_owned),
    );
    let entries: Vec<Entry> = texts.iter().enumerate().map(|(uid, text)| entry(uid, text, text)).collect();
    let text = write("any, text; ü", &entries);
    assert!(
        text.split("\r\n").all(|line| line.len() <= 75 && !line.contains('\n')),
        "every line is short, and ends with CRLF"
    );

    let ours = read(&text, &Zone::utc(), &Limits::default(), &Steps::new(1_000_000), at(CREATED)).unwrap();
    assert_eq!((ours.items.len(), ours.problems.len(), ours.name.as_deref()), (texts.len(), 0, Some("any, text; ü")));
    for item in &ours.items {
        let said = &texts[item.uid.parse::<usize>().unwrap()];
        let title = &item.title;
        assert!(
            kept(said).trim().starts_with(title.as_str()) && (title.len() > 490 || *title == kept(said).trim()),
            "{said:?}: {title:?}"
        );
    }
    let Some(programs) = judges::judges() else { return };
    let theirs = rows(&judges::ask(&programs, &["texts"], &text));
    assert_eq!(theirs.len(), texts.len());
    for row in &theirs {
        let said = kept(&texts[row["uid"].as_str().unwrap().parse::<usize>().unwrap()]);
        assert_eq!((row["summary"].as_str(), row["description"].as_str()), (Some(said.as_str()), Some(said.as_str())));
    }
    report::ran(&format!("{} texts come back by icalendar", texts.len()));
}

#[test]
fn others_read_the_zones_that_we_describe() {
    let Some(programs) = judges::judges() else { return };
    let names: Vec<String> = jiff::tz::db().available().map(|name| name.as_str().to_owned()).step_by(12).collect();
    let (from, until) = (at("2026-01-01T00:00:00Z"), at("2034-01-01T00:00:00Z"));
    let mut entries = Vec::new();
    let mut asked: Vec<(String, String)> = Vec::new();
    for (uid, name) in names.iter().enumerate() {
        let when = When::Series(format!("DTSTART;TZID={name}:20260101T120000\nRRULE:FREQ=DAILY;COUNT=3"));
        entries.push(Entry { when, ..entry(uid * 2, name, name) });
        let zone = Zone::named(name).unwrap();
        for change in zone.rules().following(from).take_while(|change| change.timestamp() < until) {
            let day = SignedDuration::from_hours(24);
            asked.push((name.clone(), (change.timestamp() - day).to_string()));
            asked.push((name.clone(), (change.timestamp() + day).to_string()));
        }
        asked.push((name.clone(), from.to_string()));
    }
    let text = write("zones", &entries);
    for row in rows(&judges::ask(&programs, &["offsets", &json!(asked).to_string()], &text)) {
        let zone = Zone::named(row["zone"].as_str().unwrap()).unwrap();
        let ours = zone.rules().to_offset(at(row["at"].as_str().unwrap())).seconds();
        assert_eq!(row["seconds"], ours, "{row}");
    }
    report::ran(&format!(
        "{} instants in {} zones that we describe are understood by icalendar",
        asked.len(),
        names.len()
    ));
}

/// Schedules of every kind.
fn schedules() -> Vec<Value> {
    let ical = "DTSTART:20260201T073000\nRRULE:FREQ=WEEKLY;BYDAY=TU\nRDATE:20260212T090000\nEXDATE:20260217T073000";
    vec![
        json!({"type": "once", "at": "2026-07-01T08:00:00Z"}),
        json!({"type": "interval", "every": "25h30m"}),
        json!({"type": "interval", "every": "36h", "ends_at": "2026-05-01T00:00:00Z"}),
        json!({"type": "interval", "every": "1d", "count": 40}),
        json!({"type": "daily", "time": "08:00"}),
        json!({"type": "daily", "time": "02:30"}),
        json!({"type": "daily", "time": "23:15", "starts_at": "2026-03-01T00:00:00Z"}),
        json!({"type": "daily", "time": "06:00", "count": 100}),
        json!({"type": "weekly", "time": "07:30", "days": ["weekdays"]}),
        json!({"type": "weekly", "time": "10:00", "days": ["sat"], "ends_at": "2026-12-01T00:00:00Z"}),
        json!({"type": "daily", "time": "12:00", "except": ["2026-04-06", "2026-12-25", "sun"]}),
        json!({"type": "cron", "expr": "0 8 * * 1-5"}),
        json!({"type": "cron", "expr": "15,45 9-17 1 * *"}),
        json!({"type": "cron", "expr": "0 9 L * *"}),
        json!({"type": "cron", "expr": "*/20 * 1 3,10 *"}),
        json!({"type": "smart", "text": "workdays at 8, weekends at 10"}),
        json!({"type": "smart", "text": "every other tuesday at 18:00"}),
        json!({"type": "smart", "text": "last friday of every month at 16:00"}),
        json!({"type": "rrule", "ical": ical}),
        json!({"type": "rrule", "ical": "DTSTART:20260131T100000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1"}),
    ]
}

const ZONES: [&str; 12] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Jerusalem",
    "Pacific/Auckland",
    "America/St_Johns",
    "Europe/Dublin",
    "UTC",
    "+02:00",
];

fn view(number: u64, schedule: Schedule, zone: &Zone) -> ReminderView {
    let created_at = at(CREATED);
    let next_at = schedule.first_after(zone, created_at).unwrap();
    let reminder = Reminder {
        id: ReminderId::imported("test", &number.to_string(), created_at),
        user: "alice".into(),
        name: None,
        message: format!("number {number}, ünd mehr"),
        schedule,
        timezone: zone.clone(),
        priority: Priority::Normal,
        to: Vec::new(),
        only: false,
        ack: number.is_multiple_of(5).then(AckPolicy::default),
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        created_via: "test".into(),
        original_text: None,
        metadata: Metadata::default(),
        tags: vec!["health".into()],
        status: ReminderStatus::Active,
        created_at,
        updated_at: created_at,
    };
    ReminderView::fresh(reminder, next_at)
}

/// The reminder of an entry: several rules are several entries.
fn of(uid: &str) -> String {
    uid[..36].to_owned()
}

/// Every run of a year that our engine will make is in the calendar as another reader expands it, no other, and each rings.
#[test]
fn others_see_the_runs_that_we_make() {
    let Some(programs) = judges::judges() else { return };
    let (from, until) = (at(YEAR.0), at(YEAR.1));
    let mut entries = Vec::new();
    let mut want: BTreeSet<(String, String)> = BTreeSet::new();
    let mut n_series = 0;
    for (number, zone) in ZONES.iter().enumerate() {
        let zone = Zone::named(zone).unwrap();
        for (index, input) in schedules().iter().enumerate() {
            let number = (number * 100 + index) as u64;
            let schedule = Schedule::from_input(input, &zone, at(CREATED)).unwrap();
            let view = view(number, schedule.clone(), &zone);
            let made = of_reminder(&view);
            assert_eq!(
                made.iter().any(|entry| entry.kind == Kind::Todo),
                number.is_multiple_of(5),
                "{input} in {zone}"
            );
            // What a calendar cannot say is listed for a while; it is compared elsewhere.
            if matches!(made[0].when, When::Dates(_)) {
                continue;
            }
            n_series += 1;
            let next = |at: &Timestamp| schedule.next_after(&zone, *at).filter(|at| *at < until);
            let mut left = schedule.count.unwrap_or(u32::MAX);
            let mut run = schedule.next_after(&zone, at(CREATED));
            while let Some(due_at) = run.filter(|due_at| *due_at < until && left > 0) {
                if due_at >= from {
                    // An instant between two seconds is written as the later one.
                    let whole = due_at.as_second() + i64::from(due_at.subsec_nanosecond() > 0);
                    want.insert((of(&made[0].uid), Timestamp::from_second(whole).unwrap().to_string()));
                }
                left -= 1;
                run = next(&due_at);
            }
            entries.extend(made);
        }
    }
    let text = write("all kinds", &entries);
    // Alarms are slow to work out for others; a month with a change of the clocks will do.
    for (question, (from, until)) in [("runs", YEAR), ("alarms", ("2026-03-20T00:00:00Z", "2026-04-20T00:00:00Z"))] {
        let answer = rows(&judges::ask(&programs, &[question, from, until], &text));
        let (from, until) = (at(from), at(until));
        let want: BTreeSet<_> = want.iter().filter(|(_, due)| from <= at(due) && at(due) < until).cloned().collect();
        let said = |row: &Value| (of(row["uid"].as_str().unwrap()), row["at"].as_str().unwrap().to_owned());
        // A run that began before the year goes on for a quarter of an hour.
        let got: BTreeSet<(String, String)> = answer.iter().map(said).filter(|(_, due)| at(due) >= from).collect();
        let missing: Vec<_> = want.difference(&got).take(10).collect();
        let more: Vec<_> = got.difference(&want).take(10).collect();
        assert!(missing.is_empty() && more.is_empty(), "{question}: missing {missing:#?}, more {more:#?}");
    }
    assert!(n_series > 200, "{n_series}");
    report::ran(&format!(
        "{} runs and alarms of {n_series} reminders are the same in recurring-ical-events",
        want.len()
    ));
}

#[test]
fn the_same_entries_give_the_same_text() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let schedule = Schedule::from_input(&json!({"type": "daily", "time": "08:00"}), &zone, at(CREATED)).unwrap();
    let mut view = view(5, schedule, &zone);
    let text = write("alice", &of_reminder(&view));
    // Days later it is another run that is due next, by the same rule.
    view.next_run_at = Some(at("2026-02-20T07:00:00Z"));
    assert_eq!(write("alice", &of_reminder(&view)).replace("20260220", "20260116"), text);
    assert_eq!(text.matches("BEGIN:VTIMEZONE").count(), 1);
    assert!(
        text.contains("RELATED-TO:") && text.contains("STATUS:NEEDS-ACTION") && text.contains("TRIGGER:PT0S"),
        "{text}"
    );
    // A run that was put off is an entry of its own.
    view.next_run_at = Some(at("2026-02-20T07:10:00Z"));
    let snoozed = write("alice", &of_reminder(&view));
    assert!(snoozed.contains("-next@punctual") && snoozed.contains("DTSTART:20260220T071000Z"), "{snoozed}");
    view.reminder.status = ReminderStatus::Paused;
    assert_eq!(of_reminder(&view), []);
}

//! Which rows are reminded of, what their reminders are, and what a node that takes over does.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::id::{ReminderId, WatchRunId};
use punctual_core::rules::watch::{DueRow, Form, Found, Step, due_row, id, intent, mark, reminder, resume};
use punctual_core::schedule::{CronExpr, Rule, Schedule};
use punctual_core::watch::{Asks, Intent, LedgerRow, Raw, Rows, SourceRow, Text, To, Watch};
use punctual_core::zone::Zone;

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

fn now() -> Timestamp {
    at("2026-03-02T08:00:00.25Z")
}

fn watch() -> Watch {
    Watch {
        name: "tasks".into(),
        database: "postgres://app@db/app".into(),
        rows: Rows::Table("tasks".into()),
        key: "id".into(),
        due: "due_date".into(),
        sent: Some("reminder_sent_at".into()),
        user: Some("owner".into()),
        to: None,
        message: Text::parse("{title} is due {due}").expect("a template"),
        schedule: Schedule::new(Rule::Cron(CronExpr::parse("0 * * * *").expect("a rule"))),
        zone: Zone::utc(),
        window: Duration::from_secs(86_400),
        again_after: Duration::from_secs(86_400),
        batch: 1000,
        only: None,
        asks: Asks::default(),
    }
}

fn text(value: &str) -> Raw {
    Raw::Text(value.into())
}

/// A row of ann's, which is due at noon.
fn row(due: &str, sent: Option<&str>) -> SourceRow {
    let values = vec![Some("ann".into()), Some("Taxes".into())];
    SourceRow { key: Some(text("7")), due: text(due), sent: sent.map(text), values }
}

fn due(watch: &Watch, row: SourceRow) -> Result<Option<DueRow>, String> {
    due_row(watch, row, None, false, now())
        .map_err(|bad| format!("{} {}: {}", bad.key, bad.field.unwrap_or_default(), bad.problem))
}

#[test]
fn a_row_is_reminded_of_within_the_window_and_again_after_the_interval() {
    let table = [
        ("2026-03-02 12:00:00+00", None, true),
        ("2026-03-02 08:00:00.25+00", None, true),
        ("2026-03-03 08:00:00.25+00", None, true),
        ("2026-03-02 08:00:00+00", None, false),
        ("2026-03-03 08:00:01+00", None, false),
        ("2026-03-02 12:00:00+00", Some("2026-03-01 07:00:00+00"), true),
        ("2026-03-02 12:00:00+00", Some("2026-03-01 08:00:00.25+00"), true),
        ("2026-03-02 12:00:00+00", Some("2026-03-01 09:00:00+00"), false),
        ("2026-03-02 12:00:00+00", Some("2026-03-02 08:00:00+00"), false),
        ("2026-03-03", None, true),
        ("1772452800", None, true),
    ];
    for (due_date, sent, expect) in table {
        assert_eq!(due(&watch(), row(due_date, sent)).unwrap().is_some(), expect, "{due_date} {sent:?}");
    }
}

#[test]
fn a_bad_row_is_named_with_its_field() {
    let noon = "2026-03-02 12:00:00+00";
    let nobody = SourceRow { values: vec![None, Some("Taxes".into())], ..row(noon, None) };
    let blank = SourceRow { values: vec![Some("  ".into()), None], ..row(noon, None) };
    let nameless = SourceRow { key: None, ..row(noon, None) };
    let long = SourceRow { key: Some(text(&"k".repeat(513))), ..row(noon, None) };
    for (row, words) in [
        (nobody, "7 owner: is empty; it says whom to remind"),
        (blank, "7 owner: is empty; it says whom to remind"),
        (nameless, " id: is NULL; a row needs a name of its own"),
        (long, "id: is longer than 512 bytes"),
        (row("soon", None), "7 due_date: `soon` is no instant"),
        (row(noon, Some("never")), "7 reminder_sent_at: `never` is no instant"),
    ] {
        let bad = due(&watch(), row).unwrap_err();
        assert!(bad.ends_with(words), "{bad}");
    }
}

#[test]
fn the_ledger_says_it_where_the_application_has_no_column() {
    let watch = Watch { sent: None, ..watch() };
    let noon = || row("2026-03-02 12:00:00+00", None);
    let kept = |sent_at: &str| LedgerRow { key: "t7".into(), due_at: now(), n: 3, sent_at: at(sent_at) };
    let ask = |known: Option<&LedgerRow>| due_row(&watch, noon(), known, true, now()).unwrap().map(|row| row.n_before);
    assert_eq!(ask(None), Some(Some(0)), "it was never sent");
    assert_eq!(ask(Some(&kept("2026-03-01T09:00:00Z"))), None, "23 hours ago");
    assert_eq!(ask(Some(&kept("2026-03-01T07:00:00Z"))), Some(Some(3)), "25 hours ago");
}

#[test]
fn the_column_and_the_ledger_count_together() {
    let (recent, old) = ("2026-03-02 07:00:00+00", "2026-02-28 07:00:00+00");
    let kept = |sent_at: &str| LedgerRow { key: "t7".into(), due_at: now(), n: 3, sent_at: at(sent_at) };
    for (sent, ledger, expect) in [
        (None, None, true),
        (Some(recent), None, false),
        (None, Some("2026-03-02T07:00:00Z"), false),
        (Some(old), Some("2026-03-02T07:00:00Z"), false),
        (Some(recent), Some("2026-02-28T07:00:00Z"), false),
        (Some(old), Some("2026-02-28T07:00:00Z"), true),
    ] {
        for keeps_ledger in [true, false] {
            let row = row("2026-03-02 12:00:00+00", sent);
            let due = due_row(&watch(), row, ledger.map(kept).as_ref(), keeps_ledger, now()).unwrap();
            assert_eq!(due.is_some(), expect, "{sent:?}, {ledger:?}, keeps a ledger: {keeps_ledger}");
        }
    }
    // A column that cannot be marked may hold anything.
    let odd = row("2026-03-02 12:00:00+00", Some("yes"));
    assert!(due_row(&watch(), odd.clone(), None, true, now()).unwrap().is_some());
    assert_eq!(due_row(&watch(), odd, None, false, now()).unwrap_err().field.as_deref(), Some("reminder_sent_at"));
}

fn made(watch: &Watch, row: SourceRow, zone: &str) -> Intent {
    let row = due(watch, row).expect("it is no bad row").expect("it is due");
    let run = WatchRunId::from_bytes([7; 16]);
    intent(watch, &watch.rows_hash(), row, &Zone::named(zone).expect("a zone"), Form::Instant(6), (run, now()))
}

#[test]
fn a_rows_reminder_says_its_columns_and_its_due_date_as_the_users_clock_shows_it() {
    let watch = watch();
    let intent = made(&watch, row("2026-03-02 12:00:00+00", None), "Europe/Berlin");
    assert_eq!(intent.draft.message, "Taxes is due 2026-03-02 13:00");
    assert_eq!(intent.mark, text("2026-03-02 08:00:00.25+00"));
    let new = reminder(&watch, &intent);
    assert_eq!((new.first_due_at, new.reminder.user.as_str()), (now(), "ann"));
    assert_eq!(new.reminder.timezone.name(), "Europe/Berlin");
    assert_eq!((new.reminder.created_via.as_str(), new.reminder.name.as_deref()), ("watch", Some("tasks")));
    let about = new.reminder.metadata.to_value();
    assert_eq!(about["title"], "Taxes");
    assert_eq!(
        (about["watch"]["key"].as_str(), about["watch"]["due"].as_str()),
        (Some("7"), Some("2026-03-02T12:00:00Z"))
    );
    new.reminder.validate().unwrap();
}

#[test]
fn an_address_has_the_rows_columns_and_no_value_changes_its_path() {
    let to = To { channel: "webhook".into(), address: Text::parse("https://app.example/{title}/x").unwrap() };
    let watch = Watch { user: None, to: Some(to), message: Text::parse("{{due}}").unwrap(), ..watch() };
    assert_eq!(watch.columns(), ["title"]);
    let row = SourceRow { values: vec![Some("../a b".into())], ..row("2026-03-02 12:00:00+00", None) };
    let intent = made(&watch, row, "UTC");
    assert_eq!(intent.draft.user, "watch:tasks");
    assert_eq!(intent.draft.message, "{due}");
    assert_eq!(intent.draft.to.unwrap().address, "https://app.example/..%2Fa%20b/x");
}

#[test]
fn a_reminder_has_one_id_for_a_row_a_due_date_and_the_reminder_before() {
    let (key, other) = (text("7"), Raw::Integer(7));
    let (noon, one) = (at("2026-03-02T12:00:00Z"), at("2026-03-02T13:00:00Z"));
    let first = id("tasks", &key, noon, "");
    assert_eq!(first, id("tasks", &key.clone(), noon, ""));
    let others: [ReminderId; 5] = [
        id("calls", &key, noon, ""),
        id("tasks", &text("8"), noon, ""),
        id("tasks", &other, noon, ""),
        id("tasks", &key, one, ""),
        id("tasks", &key, noon, "t2026-03-01 07:00:00+00"),
    ];
    assert!(!others.contains(&first));
    let again = made(&watch(), row("2026-03-02 12:00:00+00", Some("2026-03-01 07:00:00+00")), "UTC");
    assert_eq!(again.id, id("tasks", &key, noon, "t2026-03-01 07:00:00+00"));
    assert_eq!(made(&watch(), row("2026-03-02 12:00:00+00", None), "Asia/Tokyo").id, first);
}

#[test]
fn a_mark_has_the_form_of_its_column() {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    let noon = text("2026-03-02 12:00:00");
    for (form, zone, previous, due, expect) in [
        (Form::Instant(6), &Zone::utc(), None, &noon, text("2026-03-02 08:00:00.25+00")),
        (Form::Instant(0), &Zone::utc(), None, &noon, text("2026-03-02 08:00:00+00")),
        (Form::Local(6), &berlin, None, &noon, text("2026-03-02 09:00:00.25")),
        (Form::NumberText, &Zone::utc(), None, &noon, text("1772438400")),
        (Form::NumberText, &Zone::utc(), Some(text("1772438400000")), &noon, text("1772438400250")),
        (Form::Like, &Zone::utc(), None, &noon, text("2026-03-02 08:00:00")),
        (Form::Like, &Zone::utc(), None, &text("2026-03-02T12:00:00Z"), text("2026-03-02T08:00:00Z")),
        (Form::Like, &Zone::utc(), None, &text("2026-03-02 12:00:00.000000"), text("2026-03-02 08:00:00.25")),
        (Form::Like, &berlin, None, &text("2026-03-02T12:00:00+01:00"), text("2026-03-02T08:00:00+00:00")),
        (Form::Like, &berlin, None, &noon, text("2026-03-02 09:00:00")),
        (Form::Like, &Zone::utc(), None, &text("2026-03-02"), text("2026-03-02T08:00:00Z")),
        (Form::Like, &Zone::utc(), None, &Raw::Integer(1_772_438_400), Raw::Integer(1_772_438_400)),
        (Form::Like, &Zone::utc(), None, &Raw::Real(1_772_438_400_000.0), Raw::Integer(1_772_438_400_250)),
        (Form::Like, &Zone::utc(), Some(noon.clone()), &Raw::Integer(1_772_438_400), text("2026-03-02 08:00:00")),
        (Form::Number, &Zone::utc(), None, &noon, Raw::Integer(1_772_438_400)),
        (Form::Text, &Zone::utc(), None, &Raw::Integer(5), text("2026-03-02T08:00:00Z")),
    ] {
        assert_eq!(mark(form, zone, previous.as_ref(), due, now()), expect, "{form:?} {previous:?} {due}");
    }
}

#[test]
fn a_node_that_takes_over_looks_before_it_does_anything() {
    let utc = Zone::utc();
    let fresh = made(&watch(), row("2026-03-02 12:00:00+00", None), "UTC");
    let again = made(&watch(), row("2026-03-02 12:00:00+00", Some("2026-03-01 07:00:00+00")), "UTC");
    let sent = |value: &str| Found::Sent(Some(text(value)));
    for (intent, found, expect) in [
        (&fresh, Found::Sent(None), Step::Set),
        (&fresh, sent("2026-03-02 08:00:00.25+00"), Step::Create),
        (&fresh, sent("2026-03-02T08:00:00.250000Z"), Step::Create),
        (&fresh, sent("2026-03-02 08:00:00.251+00"), Step::Drop),
        (&fresh, sent("nonsense"), Step::Drop),
        (&fresh, Found::Gone, Step::Drop),
        (&again, sent("2026-03-01 07:00:00+00"), Step::Set),
        (&again, sent("2026-03-02 08:00:00.25+00"), Step::Create),
        (&again, Found::Sent(None), Step::Drop),
        (&again, sent("2026-03-01 07:00:01+00"), Step::Drop),
    ] {
        assert_eq!(resume(intent, &found, &utc), expect, "{:?} {found:?}", intent.previous);
    }
}

#[test]
fn a_value_and_an_intent_read_back_as_they_were() {
    for raw in [text("a'b"), Raw::Integer(-7), Raw::Real(0.1 + 0.2), Raw::Bytes(vec![0, 255]), text("")] {
        assert_eq!(Raw::try_from(raw.kept()), Ok(raw));
    }
    assert!(Raw::try_from("x".to_owned()).is_err() && Raw::try_from(String::new()).is_err());
    let intent = made(&watch(), row("2026-03-02 12:00:00+00", Some("2026-03-01 07:00:00+00")), "UTC");
    let kept = serde_json::to_string(&intent).unwrap();
    assert_eq!(serde_json::from_str::<Intent>(&kept).unwrap(), intent);
}

#[test]
fn a_definition_shows_no_address_and_differs_by_what_it_says() {
    let to = |address: &str| Some(To { channel: "webhook".into(), address: Text::parse(address).unwrap() });
    let secret = Watch { to: to("https://app.example/hush"), ..watch() };
    assert!(!secret.definition().to_string().contains("hush"));
    let hashes = [
        watch().hash(),
        secret.hash(),
        Watch { to: to("https://app.example/other"), ..watch() }.hash(),
        Watch { window: Duration::from_secs(3600), ..watch() }.hash(),
        Watch { only: Some("status = 'open'".into()), ..watch() }.hash(),
    ];
    let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
    assert_eq!(distinct.len(), hashes.len());
    assert_eq!(watch().hash(), watch().hash());
}

#[test]
fn a_row_is_found_by_how_it_is_shown() {
    let uuid: Vec<u8> = (0..16).collect();
    let rows = [
        Raw::Text("order 7".into()),
        Raw::Integer(-7),
        Raw::Real(7.0),
        Raw::Real(7.5),
        Raw::Bytes(vec![0xbe, 0xef]),
        Raw::Bytes(uuid),
    ];
    for row in rows {
        assert!(Raw::shown_as(&row.to_string()).contains(&row), "{row:?}");
    }
    let shown = [Raw::Text("7".into()), Raw::Integer(7), Raw::Real(7.0)];
    assert_eq!(Raw::shown_as("7"), shown);
    assert_eq!(Raw::shown_as("07"), [Raw::Text("07".into()), Raw::Bytes(vec![7])]);
}

//! The command line where it needs no reminder: usage, `next`, `doctor`, users, keys.

use std::io::Write;

use punctual_testkit::process::output;
use serde_json::{Value, json};

use crate::common::Home;

#[test]
fn wrong_usage_says_what_would_be_right() {
    let home = Home::new();
    home.run(&["add", "water the plants"]).fails(2, &["--in 5m", "--daily --time", "--cron"]);
    home.run(&["add", "x", "--in", "5m", "--to", ":nowhere"]).fails(2, &["--to", "CHANNEL:ADDRESS"]);
    home.run(&["add", "x", "--in", "5m", "--tz", "Europe/Berln"]).fails(2, &["--tz", "Europe/Berlin"]);
    home.run(&["update", "x"]).fails(2, &["nothing to change"]);
    home.run(&["next"]).fails(2, &["--cron", "--batch"]);
    home.run(&["--url", "nonsense", "list"]).fails(2, &["is no URL of a server"]);
    for args in
        [&["add"][..], &["add", "x", "--daily"], &["add", "x", "--in", "5m", "--at", "08:00"], &["explode"], &[]]
    {
        assert_eq!(home.run(args).code, Some(2), "{args:?}");
    }
    assert_eq!(home.run(&["--help"]).code, Some(0));
    assert!(home.run(&["add", "--help"]).ok().contains("Examples:"));
    assert!(home.run(&["completions", "bash"]).ok().contains("punctual"));
}

#[test]
fn next_says_when_without_a_server() {
    let home = Home::new();
    let args = [
        "next",
        "--cron",
        "0 8 * * 1-5",
        "--tz",
        "Europe/Berlin",
        "--from",
        "2026-03-27T00:00:00Z",
        "--count",
        "3",
        "--json",
    ];
    let next = home.run(&args).json();
    let expect = ["2026-03-27T08:00:00+01:00", "2026-03-30T08:00:00+02:00", "2026-03-31T08:00:00+02:00"];
    assert_eq!(next["next"].as_array().unwrap(), &expect);
    home.run(&["next", "--cron", "0 8 * *"]).fails(2, &["schedule.expr", "0 8 * *"]);
    let weekly =
        home.run(&["next", "--weekly", "mon,thu", "--time", "07:30", "--from", "2026-03-02T00:00:00Z", "-n", "2"]).ok();
    assert!(weekly.starts_with("every Monday and Thursday at 07:30, UTC\n2026-03-02T07:30:00+00:00"), "{weekly}");
}

#[test]
fn a_zone_may_be_an_offset_that_begins_with_a_minus() {
    let home = Home::new();
    let args = ["parse", "tomorrow at 8", "--now", "2026-03-01T10:00:00-02:00", "--tz", "-02:00", "--json"];
    assert_eq!(home.run(&args).json()["at"], "2026-03-02T08:00:00-02:00");
    let next = ["next", "--cron", "0 8 * * *", "--tz", "-02:00", "--from", "2026-03-27T00:00:00Z", "-n", "1", "--json"];
    assert_eq!(home.run(&next).json()["next"][0], "2026-03-27T08:00:00-02:00");
    home.run(&["parse", "tomorrow at 8", "--tz", "-99:00"]).fails(2, &["--tz", "-99:00"]);
}
#[test]
fn next_takes_and_gives_the_lines_of_a_calendar() {
    let home = Home::new();
    let next = |args: &[&str]| {
        let common = ["--tz", "Europe/Berlin", "--from", "2026-03-01T00:00:00Z", "-n", "2"];
        home.run(&[&["next"], args, &common].concat())
    };
    let lines = "DTSTART:20260301T080000\\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR";
    let said = next(&["--rrule", lines, "--except", "2026-03-13"]).ok();
    let instants: Vec<&str> = said.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert!(said.starts_with("every 2 weeks on Mon"), "{said}");
    assert_eq!(instants, ["2026-03-09T08:00:00+01:00", "2026-03-23T08:00:00+01:00"]);
    let ical = next(&["--daily", "--time", "08:00", "--except", "weekends", "--ical"]).ok();
    assert_eq!(ical, "DTSTART;TZID=Europe/Berlin:20260302T080000\nRRULE:FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR\n");
    next(&["--rrule", "RRULE:FREQ=WEEKLY;BYDAY=XX"]).fails(2, &["schedule.ical: line 1: RRULE: BYDAY: `XX`"]);
    next(&["--daily", "--time", "08:00", "--except", "sometimes"]).fails(2, &["schedule.except[0]: `sometimes`"]);
    next(&["--every", "2h", "--anchor", "ack", "--ical"]).fails(2, &["--ical", "when somebody answers"]);
}

#[test]
fn how_long_an_answer_is_waited_for_is_said_where_one_is_asked_for() {
    let home = Home::new();
    let _server = home.serve();
    let add = |args: &[&str]| home.run(&[&["add", "hello", "--in", "1h", "--json"], args].concat());
    let why = ["--ack-timeout", "add --ack"];
    add(&["--ack-timeout", "5m"]).fails(2, &why);
    add(&["--ack-timeout", "0", "--ack"]).fails(1, &["ack_timeout", "`0` has no unit; write 5m"]);
    let asks = add(&["--ack-timeout", "5m", "--ack"]).json();
    assert_eq!((&asks["ack_timeout"], &asks["require_ack"]), (&"5m".into(), &true.into()), "{asks}");
    add(&["--ack-timeout", "5m", "--escalate", "9m:bob"]).ok();
    let tells = add(&[]).json();
    let update = |reminder: &Value, args: &[&str]| {
        home.run(&[&["update", reminder["id"].as_str().unwrap(), "--json", "--ack-timeout", "7m"], args].concat())
    };
    update(&tells, &[]).fails(2, &why);
    assert_eq!(update(&tells, &["--ack"]).json()["ack_timeout"], "7m");
    assert_eq!(update(&asks, &[]).json()["ack_timeout"], "7m");
    assert_eq!(update(&asks, &["--no-ack"]).code, Some(2), "one of them is meant");
}

#[test]
fn a_batch_is_answered_line_by_line() {
    let home = Home::new();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(
        file,
        r#"{{"schedule":{{"type":"daily","time":"02:30"}},"tz":"Europe/Berlin","from":"2026-03-28T12:00:00Z","count":2}}"#
    )
    .unwrap();
    writeln!(file, "not json").unwrap();
    writeln!(file, r#"{{"schedule":{{"type":"interval","every":"2h"}},"from":"2026-03-28T12:00:00Z","count":1}}"#)
        .unwrap();
    writeln!(
        file,
        r#"{{"schedule":{{"type":"daily","time":"08:00","ends_at":"2026-03-29T00:00:00Z"}},"from":"2026-03-28T00:00:00Z"}}"#
    )
    .unwrap();
    let out = home.run(&["next", "--batch", file.path().to_str().unwrap()]).ok();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["next"].as_array().unwrap(), &["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"]);
    assert!(lines[1]["error"].is_string());
    assert_eq!(lines[2]["next"].as_array().unwrap(), &["2026-03-28T14:00:00+00:00"]);
    assert_eq!(lines[3]["next"].as_array().unwrap(), &["2026-03-28T08:00:00+00:00"]);
    home.run(&["next", "--batch", "/nowhere"]).fails(1, &["cannot read /nowhere"]);
}

#[test]
fn doctor_says_what_is_wrong_and_what_to_do() {
    let home = Home::new();
    let fresh = home.run_alone(&["doctor"]).ok();
    assert!(fresh.contains("start one with `punctual serve`"), "{fresh}");
    let server = home.serve();
    let healthy = home.run(&["doctor", "--json"]).json();
    assert_eq!(healthy["ok"], true, "{healthy:#}");
    let names: Vec<&str> =
        healthy["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in ["config", "data", "sqlite", "database", "disk", "clock", "zones", "server", "channels"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    server.stop();
    std::fs::write(home.data_dir().join("punctual.db"), vec![7; 4096]).unwrap();
    // The log beside it would mend it.
    for log in ["punctual.db-wal", "punctual.db-shm"] {
        let _ = std::fs::remove_file(home.data_dir().join(log));
    }
    let ran = home.run_alone(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("✗ database") && ran.out.contains("One thing is wrong."), "{}", ran.out);
}

#[tokio::test]
async fn users_and_keys_are_managed() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["users", "set", "alice", "--timezone", "Europe/Berlin", "--to", "console", "--quiet", "22:00-07:00"])
        .ok();
    let alice = home.run(&["users", "set", "alice", "--language", "de", "--json"]).json();
    assert_eq!(
        (alice["timezone"].as_str(), alice["language"].as_str()),
        (Some("Europe/Berlin"), Some("de")),
        "the rest stays"
    );
    assert!(home.run(&["users"]).ok().contains("22:00-07:00"));
    home.run(&["users", "set", "alice", "--tz", "Berlin"]).fails(1, &["timezone", "Europe/Berlin"]);

    let made = home.run(&["keys", "create", "bot", "--user", "alice"]);
    let key = made.ok().trim().to_owned();
    let mut command = home.command(["add", "hello", "--in", "1h", "--json"]);
    let said = output(command.env("PUNCTUAL_API_KEY", &key));
    let added: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(added["user"], "alice", "a bound key means its user");
    let listed = output(home.command(["list"]).env("PUNCTUAL_API_KEY", &key));
    assert!(String::from_utf8(listed.stdout).unwrap().contains("hello"));
    let id = home.run(&["keys", "--json"]).json()["keys"][0]["id"].as_str().unwrap().to_owned();
    home.run(&["keys", "delete", &id]).ok();
    let refused = output(home.command(["list"]).env("PUNCTUAL_API_KEY", &key));
    assert_eq!(refused.status.code(), Some(1));
    assert!(home.run(&["channels"]).ok().contains("webhook"));
    assert!(home.run(&["channels", "test", "console"]).ok().ends_with(" ms: it was taken\n"));
    home.run(&["channels", "test", "webhook", "http://127.0.0.1:1/hook"]).fails(1, &["webhook: "]);
    let url = server.url.clone();
    server.stop();
    home.run(&["--url", &url, "list"]).fails(1, &["no punctual server at", &url]);
    assert!(home.run(&["migrate"]).ok().contains("is up to date"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_message_turns_or_commands_the_terminal() {
    let home = Home::new();
    let server = home.serve();
    let message = "pay \u{202e}01\u{2066} to שלום\u{9b}2J";
    let schedule = json!({ "type": "daily", "time": "08:00" });
    server.create(json!({ "user": "me", "name": "pay", "message": message, "schedule": schedule })).await;
    let shown = "pay <U+202E>01<U+2066> to שלום�2J";
    for args in [&["list"][..], &["show", "pay"], &["pause", "pay"]] {
        let out = home.run(args).ok();
        assert!(out.contains(shown) && !out.contains(['\u{202e}', '\u{2066}', '\u{9b}']), "{args:?}: {out:?}");
    }
    let out = home.run(&["list", "--json"]).ok();
    assert!(!out.contains(['\u{202e}', '\u{2066}', '\u{9b}']) && out.contains("שלום"), "{out:?}");
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed["reminders"][0]["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_on_the_command_line_is_what_the_server_says() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["users", "set", "me", "--timezone", "Europe/Berlin", "--to", "console", "--quiet", "22:00-07:00"]).ok();
    home.run(&["keys", "create", "bot", "--expires", "90d"]).ok();
    let metadata = json!({ "deep": { "list": [1, 2.5, null, "é"] } });
    let full = json!({
        "user": "me", "message": "hello", "name": "greeting", "schedule": { "type": "daily", "time": "08:00", "except": ["sat"] }, "priority": "high",
        "require_ack": true, "ack_prompt": "seen?", "to": ["console"], "only": true, "metadata": metadata,
    });
    let id = server.create(full).await["id"].as_str().unwrap().to_owned();
    server.call(reqwest::Method::POST, &format!("/v1/reminders/{id}/fire"), None).await;
    crate::common::soon(async {
        while server.get(&format!("/v1/reminders/{id}")).await["last_status"] != "awaiting_ack" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for (args, path) in [
        (&["list"][..], "/v1/reminders?mine=true"),
        (&["users"], "/v1/users"),
        (&["users", "show", "me"], "/v1/users/me"),
        (&["keys"], "/v1/keys"),
        (&["channels"], "/v1/channels"),
        (&["channels", "dead"], "/v1/dead-addresses"),
    ] {
        let said = server.get(path).await;
        assert_eq!(home.run(&[args, &["--json"]].concat()).json(), said, "{args:?}");
    }
    let mut shown = server.get(&format!("/v1/reminders/{id}")).await;
    shown["occurrences"] = server.get(&format!("/v1/reminders/{id}/occurrences")).await["occurrences"].take();
    assert_eq!(home.run(&["show", &id, "--json"]).json(), shown);
}

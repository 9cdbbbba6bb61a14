//! Time in words: `parse`, `add` and the API understand the same.

use std::io::Write;
use std::process::Stdio;

use jiff::Timestamp;
use punctual_testkit::process::output_of;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::Home;

const SUNDAY: [&str; 4] = ["--now", "2026-03-01T10:00:00+01:00", "--tz", "Europe/Berlin"];

/// The answer of `parse` to `text` at ten on a Sunday in Berlin.
#[track_caller]
fn parsed(home: &Home, text: &str, more: &[&str]) -> Value {
    home.run(&[&["parse", text, "--json"], &SUNDAY[..], more].concat()).json()
}

#[test]
fn every_kind_of_time_has_its_answer() {
    let home = Home::new();
    let german = parsed(&home, "morgen um 8", &["--lang", "de"]);
    assert_eq!((german["kind"].as_str(), german["lang"].as_str()), (Some("instant"), Some("de")));
    assert_eq!(german["at"], "2026-03-02T08:00:00+01:00");

    let instant = parsed(&home, "remind me tomorrow at 8:15 to call mom", &["--lang", "en"]);
    let expect = json!({
        "kind": "instant", "at": "2026-03-02T08:15:00+01:00", "grain": "minute", "rest": "call mom",
        "summary": instant["summary"], "lang": "en",
        "alternatives": [
            { "at": "2026-03-02T20:15:00+01:00", "summary": "Mon 2 Mar 2026 at 20:15, Europe/Berlin" },
        ],
    });
    assert_eq!(instant, expect);
    assert!(instant["summary"].as_str().unwrap().contains("08:15, Europe/Berlin"), "{instant}");

    let recurring = parsed(&home, "every weekday at 7:30 stand up", &["--lang", "en"]);
    assert_eq!((recurring["kind"].as_str(), recurring["rest"].as_str()), (Some("recurring"), Some("stand up")));
    assert_eq!(recurring["schedule"], json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] }));
    let next: Vec<&str> = recurring["next"].as_array().unwrap().iter().map(|at| at.as_str().unwrap()).collect();
    assert_eq!((next.len(), next[0], next[4]), (5, "2026-03-02T07:30:00+01:00", "2026-03-06T07:30:00+01:00"));
    let twice = parsed(&home, "every day at 8 for 2 days", &["--lang", "en"]);
    assert_eq!(twice["next"], json!(["2026-03-02T08:00:00+01:00", "2026-03-03T08:00:00+01:00"]));

    let interval = parsed(&home, "tomorrow from 9:30 to 11:00", &["--lang", "en"]);
    assert_eq!(interval["kind"], "interval", "{interval}");
    assert_eq!(
        (&interval["from"], &interval["to"]),
        (&json!("2026-03-02T09:30:00+01:00"), &json!("2026-03-02T11:00:00+01:00"))
    );

    let afternoon = parsed(&home, "tomorrow afternoon", &["--lang", "en"]);
    let expect = json!({
        "kind": "interval", "from": "2026-03-02T12:00:00+01:00", "to": "2026-03-02T18:00:00+01:00", "due": "2026-03-02T15:00:00+01:00",
        "grain": "hour", "rest": "", "summary": "Mon 2 Mar 2026 at 15:00, Europe/Berlin", "lang": "en",
    });
    assert_eq!(afternoon, expect);

    let duration = parsed(&home, "20 minutes pizza", &["--lang", "en"]);
    assert_eq!((duration["kind"].as_str(), duration["seconds"].as_u64()), (Some("duration"), Some(1200)));
    assert_eq!(
        (duration["at"].as_str(), duration["rest"].as_str()),
        (Some("2026-03-01T10:20:00+01:00"), Some("pizza"))
    );

    let none = parsed(&home, "put the cake in the oven", &["--lang", "en"]);
    assert_eq!((none["kind"].as_str(), none.as_object().unwrap().len()), (Some("none"), 2), "{none}");
    assert!(none["reason"].as_str().unwrap().contains("no time was found"), "{none}");
}

#[test]
fn people_read_what_was_understood_and_when_that_is() {
    let home = Home::new();
    let shown = home.run(&[&["parse", "call mom tomorrow at 8"], &SUNDAY[..]].concat()).ok();
    assert!(
        shown.contains("2026-03-02T08:00:00+01:00  in 22 h\nor: Mon 2 Mar 2026 at 20:00, Europe/Berlin\nrest: call mom\nlanguage: en\n"),
        "{shown}"
    );
    home.run(&["parse", "put the cake in the oven"]).fails(1, &["no time was found"]);
    home.run(&["parse", "tomorrow", "--lang", "it"]).fails(2, &["--lang", "`it`", "sr-Cyrl"]);
    home.run(&["parse", "tomorrow", "--tz", "Europe/Berln"]).fails(2, &["--tz", "Europe/Berlin"]);
    home.run(&["parse", "tomorrow", "--now", "25:00"]).fails(2, &["--now", "08:00"]);
    for args in [&["parse"][..], &["parse", "tomorrow", "--batch", "-"]] {
        assert_eq!(home.run(args).code, Some(2), "{args:?}");
    }
    home.run(&["parse", "--batch", "/nowhere"]).fails(1, &["cannot read /nowhere"]);
}

#[test]
fn what_was_not_read_is_refused_with_what_was_likely_meant() {
    let home = Home::new();
    let refused = parsed(&home, "call mom tomorrow at 9 or 10", &["--lang", "en"]);
    let expect = json!({
        "kind": "none", "reason": "`or 10` was not understood",
        "suggestion": { "at": "2026-03-02T09:00:00+01:00", "summary": "Mon 2 Mar 2026 at 09:00, Europe/Berlin" },
    });
    assert_eq!(refused, expect);
    let shown = home.run(&[&["parse", "morgen um 9 oder 10", "--lang", "de"], &SUNDAY[..]].concat());
    shown.fails(1, &["„oder 10“ wurde nicht verstanden", "meintest du Mo 2. März 2026 um 09:00 Uhr"]);
    let french = parsed(&home, "demain à 8h", &["--lang", "fr"]);
    assert_eq!((french["at"].as_str(), french["lang"].as_str()), (Some("2026-03-02T08:00:00+01:00"), Some("fr")));
}

#[test]
fn a_batch_of_texts_is_answered_line_by_line() {
    let home = Home::new();
    let lines = [
        r#"{"text":"tomorrow at 8","lang":"en","now":"2026-03-01T10:00:00+01:00","tz":"Europe/Berlin"}"#,
        "not json",
        "",
        r#"{"text":"tomorrow at 8","tz":"Europe/Berln"}"#,
        r#"{"text":"tomorrow at 8","language":"en"}"#,
        r#"{"text":"sutra u 8","lang":"hr","now":"2026-03-01T10:00:00+01:00","tz":"-02:00"}"#,
        r#"{"text":"put the cake in the oven"}"#,
        r#"{"text":"tomorrow at 8","now":"2026-03-01T10:00"}"#,
    ];
    let mut child = home
        .command(["parse", "--batch", "-", "--lang", "en"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let output = output_of(child);
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len(), "{out}");
    assert_eq!(answers[0]["at"], "2026-03-02T08:00:00+01:00");
    for (index, words) in
        [(1, "line:"), (2, "line: is empty"), (3, "tz: unknown"), (4, "language: is not a known field")]
    {
        let error = answers[index]["error"].as_str().unwrap();
        assert!(error.starts_with(words), "{error}");
    }
    assert_eq!(
        (answers[5]["at"].as_str(), answers[5]["lang"].as_str()),
        (Some("2026-03-02T08:00:00-02:00"), Some("hr"))
    );
    assert_eq!(answers[6]["kind"], "none");
    assert_eq!(answers[7]["at"], "2026-03-02T08:00:00+00:00", "a zone that nobody says is UTC");
}

#[test]
fn an_answer_is_recognised_and_ordinary_talk_is_left_alone() {
    let home = Home::new();
    let answer = |text: &str, more: &[&str]| home.run(&[&["answer", text], more].concat());
    for (text, lang, expect) in [
        ("5 more minutes", "en", json!({ "response": "snooze", "minutes": 5 })),
        ("done", "en", json!({ "response": "ack" })),
        ("hab ich", "de", json!({ "response": "ack" })),
        ("not yet", "en", json!({ "response": "snooze" })),
        ("ne treba", "hr", json!({ "response": "dismiss" })),
        ("the weather is nice today", "en", json!({ "response": null })),
    ] {
        assert_eq!(answer(text, &["--lang", lang, "--json"]).json(), expect, "{text}");
    }
    assert_eq!(answer("done", &[]).ok(), "ack\n");
    let shown = answer("5 more minutes", &SUNDAY).ok();
    assert_eq!(shown, "snooze until 2026-03-01T10:05:00+01:00  in 5 min\n");
    answer("the weather is nice today", &[]).fails(1, &["no answer"]);
    answer("done", &["--lang", "it"]).fails(2, &["--lang", "`it`"]);

    let mut file = tempfile::NamedTempFile::new().unwrap();
    let lines =
        [r#"{"text":"5 more minutes","lang":"en"}"#, "{}", r#"{"text":"the weather is nice today","lang":"en"}"#];
    file.write_all(lines.join("\n").as_bytes()).unwrap();
    let out = home.run(&["answer", "--batch", file.path().to_str().unwrap()]).ok();
    let expect = [r#"{"response":"snooze","minutes":5}"#, r#"{"error":"text: is missing"}"#, r#"{"response":null}"#];
    assert_eq!(out.lines().collect::<Vec<_>>(), expect);
}

#[tokio::test]
async fn the_api_knows_the_language_and_the_zone_of_the_user() {
    let home = Home::new();
    let server = home.serve();
    let parse = async |body: Value| server.call(Method::POST, "/v1/parse", Some(body)).await;
    let alice = json!({ "timezone": "Europe/Zagreb", "language": "hr" });
    server.call(Method::PUT, "/v1/users/alice", Some(alice)).await;
    let now = "2026-03-01T10:00:00+01:00";

    let (status, answer) = parse(json!({ "text": "sutra u 8 nazovi mamu", "now": now, "user": "alice" })).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!((answer["at"].as_str(), answer["lang"].as_str()), (Some("2026-03-02T08:00:00+01:00"), Some("hr")));
    assert_eq!(answer["rest"], "nazovi mamu");
    assert_eq!(answer["summary"], "pon 2. ožujka 2026. u 08:00, Europe/Zagreb");
    let (_, answer) = parse(json!({ "text": "sutra u 8", "now": now, "user": "alice", "tz": "-02:00" })).await;
    assert_eq!(answer["at"], "2026-03-02T08:00:00-02:00");
    let (status, answer) = parse(json!({ "text": "put the cake in the oven", "lang": "en" })).await;
    assert_eq!((status.as_u16(), answer["kind"].as_str()), (200, Some("none")), "no time is an answer");
    let bob = json!({ "habits": { "date_order": "month_first", "evening": "20:00", "day": "10:00" } });
    let (status, kept) = server.call(Method::PUT, "/v1/users/bob", Some(bob.clone())).await;
    assert_eq!((status.as_u16(), &kept["habits"]), (201, &bob["habits"]), "{kept}");
    for (text, field, at) in [
        ("5/4 at 09:00", "at", "2026-05-04T09:00:00+01:00"),
        ("tomorrow evening", "due", "2026-03-02T20:00:00+01:00"),
        ("tomorrow", "at", "2026-03-02T10:00:00+01:00"),
    ] {
        let body = json!({ "text": text, "now": now, "user": "bob", "lang": "en", "tz": "+01:00" });
        assert_eq!(parse(body).await.1[field], at, "{text}");
    }
    let body = json!({ "text": "tomorrow evening water the plants", "user": "bob", "lang": "en" });
    let (_, made) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
    assert!(made["understood"]["due"].as_str().unwrap().contains("T20:00:00"), "{made}");
    let wrong = json!({ "habits": { "morning": "early" } });
    let (status, problem) = server.call(Method::PUT, "/v1/users/bob", Some(wrong)).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("habits.morning")), "{problem}");
    let long = format!("{} tomorrow at 8", "so ".repeat(2_000));
    assert_eq!(parse(json!({ "text": long, "lang": "en", "now": now })).await.1["at"], "2026-03-02T08:00:00+00:00");

    let reader = json!({ "name": "alice", "user": "alice", "scopes": ["read"] });
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(reader)).await;
    let key = key["key"].as_str().unwrap();
    let body = json!({ "text": "sutra u 8", "now": now });
    let (status, answer) = server.call_with(key, Method::POST, "/v1/parse", Some(body)).await;
    assert_eq!((status.as_u16(), answer["lang"].as_str()), (200, Some("hr")), "a bound key means its user: {answer}");
    let body = json!({ "text": "sutra u 8", "user": "bob" });
    assert_eq!(server.call_with(key, Method::POST, "/v1/parse", Some(body)).await.0, 403);
    let body = json!({ "text": "sutra u 8" });
    assert_eq!(server.call_with("wrong", Method::POST, "/v1/parse", Some(body)).await.0, 401);
    assert_eq!(server.call(Method::GET, "/v1/parse", None).await.0, 405);

    for (body, field, words) in [
        (json!({}), "text", "is missing"),
        (json!({ "text": 8 }), "text", "must be text"),
        (json!({ "text": "x".repeat(70_000) }), "text", "70000 bytes"),
        (json!({ "text": "tomorrow", "lang": "it" }), "lang", "sr-Cyrl"),
        (json!({ "text": "tomorrow", "tz": "Europe/Berln" }), "tz", "Europe/Berlin"),
        (json!({ "text": "tomorrow", "now": "25:00" }), "now", "is not a time of day"),
        (json!({ "text": "tomorrow", "timezone": "UTC" }), "timezone", "is not a known field"),
    ] {
        let (status, problem) = parse(body).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
}

#[tokio::test]
async fn a_reminder_is_added_in_words() {
    let home = Home::new();
    let server = home.serve();
    let add = |text: &str, more: &[&str]| home.run(&[&["add", text, "--json"], more].concat());

    let added = add("call mom tomorrow at 8", &["--tz", "Europe/Berlin"]).json();
    assert_eq!(
        (added["message"].as_str(), added["original_text"].as_str()),
        (Some("call mom"), Some("call mom tomorrow at 8"))
    );
    let due: Timestamp = added["next_run_at"].as_str().unwrap().parse().unwrap();
    let local = due.in_tz("Europe/Berlin").unwrap();
    assert_eq!((local.hour(), local.minute(), added["schedule"]["type"].as_str()), (8, 0, Some("once")));

    let weekly = add("every weekday at 7:30 stand up", &[]).json();
    assert_eq!(weekly["schedule"], json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] }));
    assert_eq!(weekly["message"], "stand up");
    let timer = add("20 minutes pizza", &[]).json();
    assert_eq!((timer["message"].as_str(), timer["schedule"]["type"].as_str()), (Some("pizza"), Some("once")));

    home.run(&["users", "set", "ana", "--timezone", "Europe/Zagreb", "--language", "hr"]).ok();
    let text = "radnim danom u 8, vikendom u 10 popij lijek";
    let smart = add(text, &["--user", "ana"]).json();
    assert_eq!((smart["message"].as_str(), smart["timezone"].as_str()), (Some("popij lijek"), Some("Europe/Zagreb")));
    assert_eq!((smart["schedule"]["type"].as_str(), smart["original_text"].as_str()), (Some("smart"), Some(text)));
    let shown = home.run(&["show", smart["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["schedule"], smart["schedule"]);
    let said = "radnim danom u 08:00, a subotom i nedjeljom u 10:00, Europe/Zagreb";
    assert_eq!((smart["summary"].as_str(), shown["summary"].as_str()), (Some(said), Some(said)), "in her language");
    home.run(&["users", "set", "ana", "--language", "xx"]).ok();
    let daily = add("water the plants", &["--user", "ana", "--daily", "--time", "08:00"]).json();
    assert_eq!(daily["summary"], "every day at 08:00, Europe/Zagreb", "an unknown language is answered in English");

    let whole = add("tell them about tomorrow at 8", &["--in", "2h"]).json();
    assert_eq!(whole["message"], "tell them about tomorrow at 8", "an option wins");
    assert_eq!(whole["original_text"], Value::Null);

    let confirmed = home.run(&["add", "lunch with Ann tomorrow from 12:00 to 13:30"]).ok();
    assert!(confirmed.contains("lunch with Ann") && confirmed.contains("when it begins"), "{confirmed}");
    let confirmed = home.run(&["add", "call mom tomorrow at 8", "--tz", "Asia/Tokyo"]).ok();
    assert!(confirmed.contains("08:00 Asia/Tokyo"), "the zone it was meant in is shown: {confirmed}");

    let n_before = server.get("/v1/reminders?limit=500").await["reminders"].as_array().unwrap().len();
    add("tomorrow at 8", &[]).fails(2, &["what to be reminded of", "08:00"]);
    add("call mom yesterday at 5", &[]).fails(2, &["in the past"]);
    add("water the plants", &[]).fails(2, &["no time was found", "--in 5m", "--cron"]);
    add("call mom tomorrow at 8", &["--lang", "xx"]).fails(2, &["--lang", "`xx`"]);
    let n_after = server.get("/v1/reminders?limit=500").await["reminders"].as_array().unwrap().len();
    assert_eq!(n_before, n_after);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_nobody_has_are_not_kept_in_memory() {
    let home = Home::new();
    let server = home.serve();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
    };
    let ask = |n: usize| {
        let user = format!("{n}{}", "x".repeat(900 * 1024));
        server.call(Method::POST, "/v1/parse", Some(json!({ "text": "tomorrow at 8", "user": user })))
    };
    for n in 0..20 {
        ask(n).await;
    }
    let before = memory();
    for n in 20..170 {
        ask(n).await;
    }
    let after = memory();
    assert!(after < before + 50, "it grew from {before} to {after} MB");
}

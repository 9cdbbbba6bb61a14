//! Lists and what they say: days, statuses, candidates, and lines that can be read.

use axum::http::StatusCode;
use jiff::Timestamp;
use punctual_engine::SystemClock;
use punctual_testkit::wait::until;
use serde_json::{Value, json};

use crate::common::{Home, Ran, Receiver, Server};

fn messages(list: &Value) -> Vec<&str> {
    list["reminders"].as_array().unwrap().iter().map(|reminder| reminder["message"].as_str().unwrap()).collect()
}

/// What the program prints where a line has `columns`.
fn printed(home: &Home, columns: &str, args: &[&str]) -> String {
    Ran::of(punctual_testkit::process::output(home.command(args).env("COLUMNS", columns))).ok()
}

/// How many columns a line takes on a terminal, for the characters used here.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if matches!(c, '⏰' | '💊' | '薬') { 2 } else { 1 }).sum()
}

#[tokio::test]
async fn a_day_in_a_list_is_the_whole_day_where_the_user_is() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["users", "set", "me", "--timezone", "America/New_York"]).ok();
    for (message, at) in [
        ("the night before", "2030-05-04T23:59"),
        ("first", "2030-05-05T00:00"),
        ("last", "2030-05-05T23:59:59"),
        ("the night after", "2030-05-06T00:00"),
    ] {
        home.run(&["add", message, "--at", at]).ok();
    }
    let list = |args: &[&str]| home.run(&[&["list", "--json"], args].concat()).json();
    assert_eq!(messages(&list(&["--from", "2030-05-05", "--to", "2030-05-05"])), ["last", "first"]);
    assert_eq!(messages(&list(&["--from", "2030-05-06"])), ["the night after"]);
    assert_eq!(messages(&list(&["--to", "2030-05-04"])), ["the night before"]);
    assert_eq!(messages(&list(&["--from", "2030-05-05T00:01", "--to", "2030-05-06"])), ["the night after", "last"]);
    let page = server.get("/v1/reminders?user=me&from=2030-05-05&to=2030-05-05").await;
    assert_eq!(messages(&page), ["last", "first"], "over HTTP as well");
    let utc = server.get("/v1/reminders?from=2030-05-05&to=2030-05-05").await;
    assert_eq!(messages(&utc), ["first", "the night before"], "everybody's, by the server's day");
    home.run(&["list", "--from", "2030-05-35"]).fails(1, &["from: `2030-05-35` is not a time"]);

    // Words for days; once more if midnight passes meanwhile.
    let today = || SystemClock::read().in_tz("America/New_York").unwrap().date();
    loop {
        let day = today();
        home.run(&["add", "soon", "--at", "tomorrow at 8"]).ok();
        let of = |day: &str| messages(&list(&["--from", day, "--to", day])).len();
        let found = (of("yesterday"), of("today"), of("tomorrow"), of("morgen"));
        if today() == day {
            assert_eq!(found, (0, 0, 1, 1));
            break;
        }
        home.run(&["cancel", "soon"]).ok();
    }
}

/// Waits until the reminder's last run has ended so.
async fn ended(server: &Server, reminder: &Value, status: &str) {
    let path = format!("/v1/reminders/{}", reminder["id"].as_str().unwrap());
    until(status, async || server.get(&path).await["last_status"] == status).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reminders_that_failed_can_be_listed() {
    let home = Home::new();
    let server = home.serve();
    let (good, bad) = (Receiver::listen().await, Receiver::answering(StatusCode::BAD_REQUEST).await);
    let make = async |message: &str, to: &Receiver, schedule: Value| {
        let to = [json!({ "channel": "webhook", "address": to.url })];
        let body = json!({ "message": message, "schedule": schedule, "to": to, "max_retries": 0, "user": "me" });
        server.create(body).await
    };
    let now = json!({ "type": "once", "at": "0s" });
    let again = json!({ "type": "interval", "every": "1h", "starts_at": (SystemClock::read()).to_string() });
    let fine = make("it arrives", &good, now.clone()).await;
    let single = make("it never arrives", &bad, now).await;
    let series = make("it will be tried again", &bad, again).await;
    ended(&server, &fine, "delivered").await;
    for failed in [&single, &series] {
        home.run(&["fire", failed["id"].as_str().unwrap()]);
        ended(&server, failed, "failed").await;
    }
    let list = home.run(&["list", "--status", "failed"]).ok();
    assert!(!list.contains("it arrives"), "{list}");
    let line = |words: &str| list.lines().find(|line| line.ends_with(words)).unwrap();
    assert!(line("it never arrives").contains("  failed  "), "{list}");
    assert!(line("it will be tried again").contains("  last failed  "), "one that goes on says so: {list}");
    assert_eq!(messages(&server.get("/v1/reminders?status=failed").await).len(), 2);
    let known = "active, paused, completed, cancelled, failed, missed, unanswered";
    home.run(&["list", "--status", "broken"]).fails(1, &["status: `broken` is not one of", known]);

    // One of its runs is shown by its own id.
    let run = format!("{}-1", single["id"].as_str().unwrap());
    let shown = home.run(&["show", &run]).ok();
    assert!(shown.contains("it never arrives") && shown.contains("run 1  failed"), "{shown}");
    let runs = home.run(&["show", &run, "--json"]).json();
    assert_eq!(runs["occurrences"][0]["id"], run.as_str());
    home.run(&["show", &format!("{}-7", single["id"].as_str().unwrap())]).fails(1, &["no such occurrence"]);
}

#[test]
fn candidates_are_shown_with_their_times_and_ids() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["users", "set", "me", "--timezone", "Europe/Berlin"]).ok();
    let early = home.run(&["add", "stand up", "--daily", "--time", "07:30", "--json"]).json();
    home.run(&["add", "stand up", "--daily", "--time", "09:55"]).ok();
    home.run(&["add", "something else", "--in", "1h"]).ok();
    let ran = home.run(&["cancel", "stand up"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines[0], "error: `stand up` means 2 reminders; name one by its id:");
    assert!(lines[1].contains("NEXT (Europe/Berlin)"), "{}", ran.err);
    for time in [" 07:30", " 09:55"] {
        assert!(lines[2..].iter().any(|line| line.contains(time) && line.contains("  in ")), "{}", ran.err);
    }
    assert_eq!(lines.len(), 4, "{}", ran.err);
    let id = lines[2..].iter().find(|line| line.contains(" 07:30")).unwrap().split(' ').next().unwrap();
    let cancelled = home.run(&["cancel", id, "--json"]).json();
    assert_eq!(cancelled["id"], early["id"]);
    home.run(&["cancel", "stand up"]).ok();
}

#[test]
fn a_reminder_of_that_name_is_meant_before_one_that_says_so() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["add", "standup", "--in", "1h"]).ok();
    home.run(&["add", "come to the meeting", "--in", "2h", "--name", "standup"]).ok();
    assert_eq!(home.run(&["cancel", "standup", "--json"]).json()["message"], "come to the meeting");
    assert_eq!(home.run(&["cancel", "standup", "--json"]).json()["message"], "standup");
}

#[test]
fn messages_can_be_read_on_eighty_columns() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["users", "set", "me", "--timezone", "America/New_York"]).ok();
    let long =
        "ring the pharmacy about the new prescription and ask whether the old tablets must be taken until it has come";
    let wide = "⏰ 薬💊 take the medicine with a full glass of water and never before breakfast";
    home.run(&["add", long, "--weekly", "weekdays", "--time", "07:30"]).ok();
    home.run(&["add", wide, "--at", "tomorrow at 8"]).ok();
    home.run(&["add", "short", "--in", "1h"]).ok();

    let list = printed(&home, "80", &["list"]);
    assert!(list.lines().all(|line| columns(line) <= 80), "{list}");
    let start = list.lines().next().unwrap().find("MESSAGE").unwrap();
    assert!(80 - start >= 32, "there is room for messages: {list}");
    // Everything that stands under MESSAGE, put together again.
    let said: Vec<&str> = list.lines().skip(1).map(|line| &line[line.char_indices().nth(start).unwrap().0..]).collect();
    let said = said.join(" ");
    for message in [long, wide, "short", "every weekday at 07:30"] {
        assert!(said.contains(message), "`{message}` is not whole in: {list}");
    }
    let shown = printed(&home, "80", &["show", long]);
    assert!(shown.lines().all(|line| columns(line) <= 80), "{shown}");
    let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(long), "{shown}");

    // Where nobody reads along, each stands on one line.
    let lines = home.run(&["list"]).ok();
    assert_eq!(lines.lines().count(), 4, "{lines}");
    assert!(lines.lines().any(|line| line.ends_with(long)), "{lines}");
}

#[test]
fn a_snoozed_reminder_says_so() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["users", "set", "me", "--timezone", "Europe/Berlin"]).ok();
    let added = home.run(&["add", "water the plants", "--in", "1h", "--json"]).json();
    assert_eq!(added["snoozed_until"], Value::Null);
    let snoozed = home.run(&["snooze", "water the plants", "3h", "--json"]).json();
    assert_eq!(snoozed["snoozed_until"], snoozed["next_run_at"]);
    let until: Timestamp = snoozed["snoozed_until"].as_str().unwrap().parse().unwrap();
    let until = until.in_tz("Europe/Berlin").unwrap();
    // A whole minute is shown without its seconds.
    let format = if until.second() == 0 { "%H:%M Europe/Berlin" } else { "%H:%M:%S Europe/Berlin" };
    let clock = until.strftime(format).to_string();
    let list = home.run(&["list"]).ok();
    assert!(list.contains("  snoozed  water the plants"), "{list}");
    let shown = home.run(&["show", "water the plants"]).ok();
    let status = shown.lines().find(|line| line.starts_with("status")).unwrap();
    assert!(status.starts_with("status    active, snoozed until ") && status.contains(&clock), "{shown}");
    let run = shown.lines().find(|line| line.starts_with("run 1")).unwrap();
    assert!(run.starts_with("run 1  snoozed until ") && run.contains(&clock), "{shown}");
}

#[test]
fn a_snooze_takes_words() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["users", "set", "ivo", "--timezone", "Europe/Zagreb", "--language", "hr"]).ok();
    let minutes = |user: &str, words: &[&str]| {
        home.run(&["add", "m", "--in", "30m", "--user", user]).ok();
        let before = SystemClock::read();
        let args = [&["snooze", "m"], words, &["--user", user, "--json"]].concat();
        let snoozed = home.run(&args).json();
        home.run(&["cancel", "m", "--user", user]).ok();
        let until: Timestamp = snoozed["snoozed_until"].as_str().unwrap().parse().unwrap();
        (until.duration_since(before).as_secs() as f64 / 60.0).round()
    };
    for words in [&["an hour"][..], &["an", "hour"], &["eine Stunde"], &["sat vremena"], &["jedan sat"], &["1h"]] {
        assert_eq!(minutes("me", words), 60.0, "{words:?}");
        assert_eq!(minutes("ivo", words), 60.0, "{words:?}");
    }
    assert_eq!(minutes("ivo", &["sat"]), 60.0, "an hour, and no Saturday");
    home.run(&["add", "tea", "--in", "1h"]).ok();
    for words in ["until friday at 8", "bis Freitag um 8", "do petka u 8"] {
        let snoozed = home.run(&["snooze", "tea", words, "--json"]).json();
        let until: Timestamp = snoozed["snoozed_until"].as_str().unwrap().parse().unwrap();
        let until = until.in_tz("UTC").unwrap();
        assert_eq!((until.weekday(), until.hour()), (jiff::civil::Weekday::Friday, 8), "{words}");
    }
    home.run(&["snooze", "tea", "for a while"]).fails(1, &["until: `for a while` is not a time"]);
    drop(server);
}

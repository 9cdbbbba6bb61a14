//! From the command line to the receiver.

use jiff::Timestamp;
use punctual_testkit::wait::until_some;
use serde_json::Value;

use crate::common::{Home, Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_goes_from_the_command_line_to_the_receiver() {
    let home = Home::new();
    let _server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);

    assert!(home.run(&["list"]).ok().starts_with("Nothing to come."));
    let added = home.run(&["add", "take my medicine in 1 second", "--priority", "high", "--to", &to, "--json"]).json();
    assert_eq!((added["message"].as_str(), added["user"].as_str()), (Some("take my medicine"), Some("me")));
    assert_eq!(added["original_text"], "take my medicine in 1 second");
    assert_eq!((added["created_via"].as_str(), added["timezone"].as_str()), (Some("cli"), Some("UTC")));
    let due_at = instant(&added["next_run_at"]);

    let (headers, event) = receiver.next().await;
    let data = &event["data"];
    assert_eq!(event["type"], "reminder.due");
    assert_eq!((data["message"].as_str(), data["priority"].as_str()), (Some("take my medicine"), Some("high")));
    assert_eq!(data["reminder_id"], added["id"]);
    assert_eq!(instant(&data["due_at"]), due_at);
    assert!(data["late_seconds"].as_f64().unwrap() >= 0.0, "never early");
    assert_eq!(headers["webhook-id"], headers["idempotency-key"]);
    assert!(headers["webhook-signature"].to_str().unwrap().starts_with("v1,"), "signed without being asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_is_found_by_name_and_by_the_end_of_its_id_and_changed() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["add", "stand up", "--weekly", "weekdays", "--time", "09:55", "--name", "standup"]).ok();
    let added = home.run(&["add", "water the plants", "--in", "2h", "--json"]).json();
    let id = added["id"].as_str().unwrap();
    let short = &id[id.len() - 8..];

    let list = home.run(&["list"]).ok();
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("ID        NEXT"), "{list}");
    // Which of them comes first depends on the time of day.
    let line = |end: &str| lines.iter().copied().find(|line| line.ends_with(end)).unwrap_or_default();
    let plants = line("water the plants");
    assert!(plants.starts_with(short) && plants.contains("in 2 h"), "{list}");
    assert!(line("standup: stand up").contains("every weekday at 09:55, UTC"), "{list}");

    assert!(home.run(&["show", short]).ok().contains("water the plants"));
    assert_eq!(home.run(&["pause", "standup", "--json"]).json()["status"], "paused");
    assert_eq!(home.run(&["resume", "standup", "--json"]).json()["status"], "active");
    let skipped = home.run(&["skip", "standup", "--json"]).json();
    let changed = home.run(&["update", "standup", "--message", "sit down", "--priority", "low", "--json"]).json();
    assert_eq!((changed["message"].as_str(), changed["priority"].as_str()), (Some("sit down"), Some("low")));
    assert_eq!(changed["next_run_at"], skipped["next_run_at"], "a changed message moves nothing");
    let snoozed = home.run(&["snooze", short, "3h", "--json"]).json();
    assert!(instant(&snoozed["next_run_at"]) > instant(&added["next_run_at"]));
    assert_eq!(home.run(&["cancel", short, "standup", "--json"]).json()["reminders"][1]["status"], "cancelled");
    assert!(home.run(&["list"]).ok().starts_with("Nothing to come."));
    home.run(&["add", "tea", "--in", "1h"]).ok();
    let told = home.run(&["cancel", "tea"]).ok();
    assert!(told.starts_with("✓ cancelled ") && told.lines().count() == 1, "{told}");
    home.run(&["add", "tea", "--in", "-5m"]).fails(1, &["schedule.at", "-5m` is not a time"]);
    home.run(&["cancel", short]).fails(1, &["already cancelled"]);
    home.run(&["show", "nothing"]).fails(1, &["no reminder has `nothing` as its name"]);
}

/// Whoever reads the confirmation learns what else the words can mean, which word was taken for a mistyped one, and the time in their language.
#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_says_what_was_chosen() {
    let home = Home::new();
    let _server = home.serve();
    let said = |text: &str| home.run(&["add", text]).ok();

    let either = said("call bob on 2031-05-03 at 6");
    assert!(either.contains("or did you mean: Sat 3 May 2031 at "), "{either}");
    let slip = said("mogen um 8 Uhr Müll rausbringen");
    assert!(slip.contains("(mogen → morgen)"), "{slip}");
    let plain = said("water the plants on 2031-05-03 at 18:00");
    assert!(!plain.contains("or did you mean"), "{plain}");
    assert!(!plain.contains("2031 at 18:00"), "the next run says it already: {plain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ambiguous_name_is_answered_with_the_candidates() {
    let home = Home::new();
    let _server = home.serve();
    home.run(&["add", "first", "--in", "1h", "--name", "same"]).ok();
    home.run(&["add", "second", "--in", "1h", "--name", "same"]).ok();
    let ran = home.run(&["cancel", "same"]);
    assert_eq!(ran.code, Some(1));
    for words in ["`same` means 2 reminders", "first", "second"] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_ends_what_was_asked() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    home.run(&["add", "medicine", "--in", "1s", "--ack", "Did you?", "--name", "pill", "--to", &to]).ok();
    home.run(&["ack", "pill"]).fails(1, &["no answer is awaited yet"]);
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["ack"]["prompt"], "Did you?");
    assert!(event["data"]["ack"]["ack_url"].as_str().unwrap().starts_with(&server.url));
    // The receiver is served before the outcome is written down, so the answer may have to wait for
    // that.
    let acked = until_some("the answer is taken", async || {
        let ran = home.run(&["ack", "pill", "--json"]);
        assert!(ran.code == Some(0) || ran.err.contains("awaited") || ran.err.contains("begun"), "{}", ran.err);
        (ran.code == Some(0)).then(|| ran.json())
    })
    .await;
    assert_eq!((acked["status"].as_str(), acked["total_runs"].as_u64()), (Some("completed"), Some(1)));
    let shown = home.run(&["show", "pill", "--json"]).json();
    let run = &shown["occurrences"][0];
    assert_eq!(run["state"], "completed");
    assert_eq!(run["attempts"][0]["status"], "sent");
    assert_eq!(run["responses"][0]["response"], "ack");
}

fn instant(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

//! Shadow mode: everything but the send, and a report that compares it with what another system did.

use punctual_testkit::wait::{until, until_some};
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server, soon};
use crate::import::{There, v2_reminders};

async fn until_all_are(server: &Server, status: &str, n: usize) {
    let path = format!("/v1/reminders?status={status}&limit=500");
    until("all are there", async || server.get(&path).await["reminders"].as_array().unwrap().len() >= n).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_and_everything_else_is_done() {
    let home = Home::new();
    let mut receiver = Receiver::listen().await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    let server = home.serve_with(&[("PUNCTUAL_SHADOW", "true")]);
    assert_eq!(server.get("/readyz").await["shadow"], true);
    assert_eq!(server.get("/v1/stats").await["shadow"], true);
    // Nobody saw the question, so nobody is asked again.
    let asked = json!({ "message": "m", "schedule": { "type": "once", "at": "1s" }, "to": to,
        "require_ack": true, "ack_timeout": "1s", "max_ack_reminders": 3 });
    let asked = server.create(asked).await;
    let later = json!({ "message": "later", "schedule": { "type": "once", "at": "15s" }, "to": to });
    server.create(later).await;
    let wrong = json!({ "message": "m", "schedule": { "type": "once", "at": "1s" }, "to": ["webhook:ftp://x"] });
    let (status, body) = server.call(Method::POST, "/v1/reminders", Some(wrong)).await;
    assert_eq!(
        (status.as_u16(), body["field"].as_str()),
        (422, Some("to[0].address")),
        "addresses are checked: {body}"
    );

    until_all_are(&server, "completed", 1).await;
    let id = asked["id"].as_str().unwrap();
    // A reminder with nothing left to come is completed while its last run is still being settled.
    let trail = until_some("the run is delivered", async || {
        let trail = server.get(&format!("/v1/reminders/{id}/occurrences")).await;
        (trail["occurrences"][0]["state"] == "delivered").then_some(trail)
    })
    .await;
    let attempt = &trail["occurrences"][0]["attempts"][0];
    assert_eq!((&attempt["status"], &attempt["message_id"]), (&json!("sent"), &json!("shadow")));
    let metrics = soon(server.request(Method::GET, "/metrics").send()).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("punctual_shadow_sends_total{channel=\"webhook\"} 1"), "{metrics}");
    assert!(home.run(&["doctor"]).out.contains("everything is done but the send"));
    assert!(receiver.is_quiet());
    let (status, _) = server.stop();
    assert!(status.success());

    // Without `--shadow`, runs that are still to come are sent.
    let server = home.serve();
    assert_eq!(server.get("/readyz").await["shadow"], false);
    assert_eq!(receiver.next().await.1["data"]["message"], "later");
    assert!(receiver.is_quiet());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_finds_what_only_one_of_them_sent() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        v2_reminders(&there);
        let instant = if there.is_postgres() { "timestamp with time zone" } else { "timestamp" };
        there.sql(&format!("alter table v2_reminders add column delivered_at {instant}"));
        there.sql(
            "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at, created_at) values \
             ('ann', '1', 'e', 'on time', {+3}, {-60}), ('ann', '1', 'e', 'polled', {+3}, {-60}), \
             ('ann', '1', 'e', 'cancelled there', {+3}, {-60}), ('ann', '1', 'e', 'left there', {+3}, {-60}), \
             ('ann', '1', 'e', 'early there', {+4}, {-60}), ('ann', '1', 'e', 'next year', {+30000000}, {-60})",
        );
        let server = home.serve_with(&[("PUNCTUAL_SHADOW", "true")]);
        let url = there.url();
        let imported = home.run(&["import", &url, "--apply"]).ok();
        assert!(imported.contains("6 reminders were created") && imported.contains("in shadow mode"), "{imported}");
        until_all_are(&server, "completed", 5).await;

        there.sql("update v2_reminders set status = 'delivered', delivered_at = deliver_at where id = 1");
        there.sql("update v2_reminders set status = 'cancelled' where id = 3");
        for (id, seconds) in [(2, "+ 40"), (5, "- 30")] {
            there.sql(&match there.is_postgres() {
                true => format!("update v2_reminders set status = 'delivered', delivered_at = deliver_at + interval '{seconds} seconds' where id = {id}"),
                false => format!("update v2_reminders set status = 'delivered', delivered_at = datetime(deliver_at, '{} seconds') where id = {id}", seconds.replace(' ', "")),
            });
        }
        let report = |more: &[&str]| home.run(&[&["shadow-report", &url, "--to", "in 1h"], more].concat());
        let good = report(&["--json"]).json();
        let counts = |report: &Value| {
            let numbers =
                ["within", "ours_earlier", "ours_later", "untimed"].map(|name| report[name].as_u64().unwrap());
            let alone = ["only_ours", "only_theirs"].map(|name| report[name]["count"].as_u64().unwrap());
            [&numbers[..], &alone[..]].concat()
        };
        assert_eq!(counts(&good), [1, 1, 1, 0, 2, 0], "{good:#}");
        let lag = good["lag_seconds"]["max"].as_f64().unwrap();
        assert!((39.0..=40.0).contains(&lag), "{lag}");

        // A reminder that it sent and we would not have: it was never imported.
        there.sql(
            "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at, status, delivered_at) \
             values ('ann', '1', 'e', 'unknown here', {+1}, 'delivered', {+1})",
        );
        let bad = report(&[]);
        assert_eq!(bad.code, Some(1), "{}{}", bad.out, bad.err);
        for line in [
            "1      both, within 2s",
            "1      both, ours earlier",
            "1      both, ours later",
            "2      ours only",
            "1      theirs only",
            "was not imported",
            "3, at ",
            "is cancelled there",
            "is pending there",
            "Furthest apart:",
            "The other system sent what this one would not have.",
        ] {
            assert!(bad.out.contains(line), "`{line}` is not in:\n{}", bad.out);
        }
        // The same from a log.
        let lines = home.path().join("sends.jsonl");
        let due = server.get("/v1/import/sends?source=v2_reminders@bot").await;
        let due =
            &due["reminders"].as_array().unwrap().iter().find(|one| one["key"] == "1").unwrap()["runs"][0]["due_at"];
        std::fs::write(&lines, format!("{{\"id\":1,\"sent_at\":{due}}}\n\n")).unwrap();
        let lines = lines.display().to_string();
        let from_log =
            home.run(&["shadow-report", &lines, "--name", "v2_reminders@bot", "--to", "in 1h", "--json"]).json();
        assert_eq!(counts(&from_log), [1, 0, 0, 0, 4, 0], "{from_log:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_series_are_compared_one_by_one() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("skynet.db"));
    there.sql(
        "create table scheduled_jobs (id text primary key, user_id text, schedule_type text, interval_ms integer, \
         message text, next_run_at datetime, created_at datetime); \
         create table delivery_attempts (id integer primary key autoincrement, job_id text not null, run_number integer, \
         attempt_number integer, channel text, status text not null, sent_at datetime, unique (job_id, run_number, attempt_number)); \
         insert into scheduled_jobs values ('j', 'ann', 'interval', 2000, 'drink', {+2}, {-60})",
    );
    let server = home.serve_with(&[("PUNCTUAL_SHADOW", "1")]);
    let url = there.url();
    home.run(&["import", &url, "--table", "scheduled_jobs", "--apply"]).ok();
    let sends = "/v1/import/sends?source=scheduled_jobs@skynet";
    let runs = until_some("three were sent", async || {
        let page = server.get(sends).await;
        let runs = page["reminders"][0]["runs"].as_array().unwrap().clone();
        (runs.iter().filter(|run| run["sent_at"].is_string()).count() >= 3).then_some(runs)
    })
    .await;
    assert!(server.stop().0.success());
    // Theirs: the first failed once and was sent again, the second is missing, the third was sent.
    let at = |index: usize| runs[index]["sent_at"].as_str().unwrap().to_owned();
    there.sql(&format!(
        "insert into delivery_attempts (job_id, run_number, attempt_number, channel, status, sent_at) values \
         ('j', 41, 1, 'telegram', 'failed', '{0}'), ('j', 41, 2, 'telegram', 'sent', '{0}'), \
         ('j', 43, 1, 'telegram', 'acked', '{1}')",
        at(0),
        at(2)
    ));
    let _server = home.serve_with(&[("PUNCTUAL_SHADOW", "1")]);
    // Late enough for a send that was a little late, and before the next run.
    let to = runs[2]["due_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
        + jiff::SignedDuration::from_millis(1500);
    let to = to.to_string();
    let report = home.run(&["shadow-report", &url, "--table", "scheduled_jobs", "--to", &to, "--json"]).json();
    let alone = (&report["only_ours"]["count"], &report["only_theirs"]["count"]);
    assert_eq!((&report["within"], alone), (&json!(2), (&json!(1), &json!(0))), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_about_nothing_says_so() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("bot.db"));
    v2_reminders(&there);
    let url = there.url();
    let lines = home.path().join("sends.jsonl");
    std::fs::write(&lines, "{\"id\":1}\n").unwrap();
    let lines = lines.display().to_string();
    let _server = home.serve();
    for (args, code, words) in [
        (&["shadow-report", &url][..], 1, &["nothing was imported from v2_reminders@bot", "--name"][..]),
        (&["shadow-report", &url, "--tolerance", "much"], 2, &["--tolerance"]),
        (&["shadow-report", &url, "--from", "sometime"], 2, &["--from", "is not a time"]),
        (&["shadow-report", &url, "--from", "in 1h"], 2, &["is empty"]),
        (&["shadow-report", &lines], 2, &["--name", "v2_reminders@bot"]),
        (&["shadow-report", &lines, "--name", "x"], 1, &["sends.jsonl, line 1: has no sent_at"]),
        (&["shadow-report", "/none.jsonl", "--name", "x"], 1, &["cannot read /none.jsonl"]),
    ] {
        home.run(args).fails(code, words);
    }
}

//! A chat bot's reminders.

use std::process::Stdio;

use punctual_testkit::process::output_of;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::Value;

use super::{There, v2_reminders};
use crate::common::{Home, Receiver};

/// Eight rows: three to come, one overdue, one of each end, one that says nothing.
fn fill(there: &There) {
    v2_reminders(there);
    there.sql(
        "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at, status, created_at) values \
         ('ann', '100', 'elena', 'call mom', {+3600}, 'pending', {-3600}), \
         ('bob', '200', 'marcus', 'tea', {+7200}, 'pending', {-3600}), \
         ('ann', '100', 'elena', 'long ago', {-7200}, 'pending', {-9000}), \
         ('ann', '100', 'elena', 'said', {-3600}, 'delivered', {-9000}), \
         ('ann', '100', 'elena', 'not any more', {+3600}, 'cancelled', {-9000}), \
         ('ann', '100', 'elena', 'could not', {-3600}, 'failed', {-9000}), \
         ('ann', '100', 'elena', '  ', {+3600}, 'pending', {-9000}), \
         ('cat', '300', 'elena', 'a year', {+31536000}, 'pending', {-9000}), \
         ('cat', '300', 'elena', 'odd', {+3600}, 'sleeping', {-9000})",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_be_and_changes_nothing() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        fill(&there);
        let before = there.dump("v2_reminders");
        let server = home.serve();
        let ran = home.run(&["import", &there.url()]);
        // Two rows cannot be imported, and that is no success.
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        for line in [
            "read as v2_reminders: 9 rows",
            "3     pending    would be created",
            "1     pending    left out: overdue; --overdue deliver takes it",
            "1     delivered  left out: delivered there",
            "1     cancelled  left out: cancelled there",
            "1     failed     left out: failed there",
            "1     pending    cannot be imported: content",
            "1     sleeping   cannot be imported: status",
            "row 7: content: is empty; there is nothing to say",
            "row 9: status: `sleeping` is not one of pending, delivered, cancelled, failed",
            "Nothing was written. With --apply 3 would be created.",
        ] {
            assert!(ran.out.contains(line), "`{line}` is not in:\n{}", ran.out);
        }
        assert_eq!(server.get("/v1/reminders").await["reminders"], Value::Array(vec![]));
        assert_eq!(there.dump("v2_reminders"), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_to_come_is_taken_over_once() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        fill(&there);
        let before = there.dump("v2_reminders");
        let server = home.serve();
        let to = "webhook:http://127.0.0.1:1/{character_name}/{channel_id}";
        let apply = ["import", &there.url(), "--apply", "--json", "--to", to, "--user-prefix", "discord:"];
        let first: Value = serde_json::from_str(&home.run(&apply).out).unwrap();
        assert_eq!((first["created"].as_u64(), first["refused"].as_u64()), (Some(3), Some(2)), "{first}");
        assert_eq!(first["source"]["name"], "v2_reminders@bot");

        assert_eq!(there.dump("v2_reminders"), before);

        let list = server.get("/v1/reminders?user=discord:bob").await;
        let tea = &list["reminders"][0];
        assert_eq!(tea["message"], "tea");
        assert_eq!(tea["created_via"], "import");
        assert_eq!(tea["to"][0]["address"], "http://127.0.0.1:1/marcus/200");
        let imported = &tea["metadata"]["imported"];
        assert_eq!((&imported["from"], &imported["id"]), (&"v2_reminders@bot".into(), &"2".into()));
        assert_eq!(imported["columns"]["character_name"], "marcus");
        assert!(tea["created_at"].as_str() < tea["updated_at"].as_str(), "it is as old as it was there: {tea}");

        let second: Value = serde_json::from_str(&home.run(&apply).out).unwrap();
        assert_eq!((second["created"].as_u64(), second["exists"].as_u64()), (Some(0), Some(3)), "{second}");
        let words = home.run(&["import", &there.url(), "--apply"]).out;
        assert!(words.contains("Nothing was created: everything that can be is here already"), "{words}");

        // A new row is taken; a row that has ended or changed is reported.
        there.sql(
            "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at) values \
             ('ann', '100', 'elena', 'one more', {+3600}); \
             update v2_reminders set status = 'cancelled' where id = 1; \
             update v2_reminders set content = 'coffee' where id = 2",
        );
        let third = home.run(&apply);
        let third: Value = serde_json::from_str(&third.out).unwrap();
        let counts = ["created", "exists", "differs", "still_active"].map(|name| third[name].as_u64().unwrap());
        assert_eq!(counts, [1, 2, 1, 1], "{third}");
        let told = &third["problems"][2];
        assert_eq!((&told["key"], &told["column"]), (&"2".into(), &"message".into()), "{third}");

        // Asked to, it follows: also a row that is gone, and one that was moved.
        there.sql("update v2_reminders set deliver_at = {+9999} where id = 2; delete from v2_reminders where id = 8");
        let told: Value = serde_json::from_str(&home.run(&apply).out).unwrap();
        assert_eq!((told["gone"].as_u64(), told["differs"].as_u64()), (Some(1), Some(1)), "{told}");
        let follow = [&apply[..], &["--follow"]].concat();
        let fourth: Value = serde_json::from_str(&home.run(&follow).out).unwrap();
        let counts = ["created", "cancelled", "changed", "gone", "differs"].map(|name| fourth[name].as_u64().unwrap());
        assert_eq!(counts, [0, 2, 1, 0, 0], "{fourth}");
        assert_eq!(server.get("/v1/reminders?status=cancelled").await["reminders"].as_array().unwrap().len(), 2);
        let moved = &server.get("/v1/reminders?user=discord:bob").await["reminders"][0];
        assert_eq!(moved["message"], "coffee");
        let due_at: jiff::Timestamp = moved["next_run_at"].as_str().unwrap().parse().unwrap();
        let in_seconds = due_at.as_second() - punctual_engine::SystemClock::read().as_second();
        assert!((9900..=9999).contains(&in_seconds), "{in_seconds}");
        let fifth: Value = serde_json::from_str(&home.run(&follow).out).unwrap();
        let counts = ["created", "cancelled", "changed", "gone", "differs"].map(|name| fifth[name].as_u64().unwrap());
        assert_eq!(counts, [0; 5], "{fifth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overdue_row_is_sent_at_once_if_asked_for() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("bot.db"));
    fill(&there);
    let _server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    home.run(&["import", &there.url(), "--apply", "--overdue", "deliver", "--to", &to]);
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["message"], "[Late 2h] long ago");
    assert_eq!(event["data"]["metadata"]["imported"]["columns"]["channel_id"], "100");
    // It was imported and is over here, so that it is not called overdue again.
    let again = home.run(&["import", &there.url(), "--apply", "--json"]);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((again["created"].as_u64(), again["exists"].as_u64()), (Some(0), Some(4)), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_import_goes_on_where_it_was() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        many(&there, 10_000);
        let server = home.serve();
        let apply = ["import", &there.url(), "--apply", "--json"];
        let mut killed = home.command(apply).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Killed as soon as something has arrived: in the middle.
        until("something has arrived", async || {
            assert!(killed.try_wait().unwrap().is_none(), "it was over before it could be killed");
            pending(&server).await > 0
        })
        .await;
        killed.kill().unwrap();
        killed.wait().unwrap();
        let n_before = pending(&server).await;
        let rest = home.run(&apply).json();
        assert_eq!(rest["created"].as_u64().unwrap() + rest["exists"].as_u64().unwrap(), 10_000, "{rest}");
        assert!(n_before > 0 && rest["exists"].as_u64().unwrap() >= n_before, "{n_before} {rest}");
        assert_eq!(home.run(&apply).json()["created"], 0);
        println!("10,000 rows in {} s", rest["seconds"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_waited_for() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("bot.db"));
    many(&there, 10_000);
    let server = home.serve();
    let port = server.url.rsplit_once(':').unwrap().1.to_owned();
    let apply = ["import", &there.url(), "--apply", "--json"];
    let importing = home.command(apply).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("something has arrived", async || pending(&server).await > 0).await;
    drop(server);
    let mut command = home.command(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.env("PUNCTUAL_DEFAULT_CHANNEL", "console");
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let output = output_of(importing);
    assert!(output.status.success());
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["created"].as_u64().unwrap() + done["exists"].as_u64().unwrap(), 10_000, "{done}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_goes_away_is_waited_for() {
    let Some(mut postgres) = Postgres::start() else { return };
    postgres.sql("postgres", "create database bot");
    let there = There::Postgres(Box::new(postgres), "bot".into());
    many(&there, 10_000);
    let url = there.url();
    let There::Postgres(started, _) = there else { return };
    postgres = *started;
    let home = Home::new();
    let server = home.serve();
    let apply = ["import", &url, "--apply", "--json"];
    let importing = home.command(apply).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("something has arrived", async || pending(&server).await > 0).await;
    postgres.stop_immediately();
    postgres.start_again();
    let output = output_of(importing);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["created"], 10_000, "{done}");
}

/// So many reminders, all due tomorrow.
fn many(there: &There, n: usize) {
    v2_reminders(there);
    let generated = match there.is_postgres() {
        true => format!("generate_series(1, {n}) as s (n)"),
        false => {
            format!("(with recursive s (n) as (select 1 union all select n + 1 from s where n < {n}) select n from s)")
        }
    };
    there.sql(&format!(
        "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at) \
         select 'user-' || (n % 100), '100', 'elena', 'number ' || n, {{+86400}} from {generated}"
    ));
}

async fn pending(server: &crate::common::Server) -> u64 {
    // The counts are cached for a while, a page of reminders is not.
    let (_, page) = server.call(Method::GET, "/v1/reminders?limit=500", None).await;
    page["reminders"].as_array().unwrap().len() as u64
}

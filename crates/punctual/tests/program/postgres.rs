//! The program on PostgreSQL.

use punctual_testkit::servers::{PgBouncer, Postgres, PostgresOptions};

use crate::common::{Home, Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_is_kept_in_postgres_and_delivered() {
    let Some(postgres) = Postgres::start_with(PostgresOptions { fsync: true, ..PostgresOptions::default() }) else {
        return;
    };
    let database = postgres.new_database(None);
    // The server asks for none; it must not be seen all the same.
    let url = postgres.url(&database).replace("punctual@", "punctual:hush@");
    let home = Home::new();
    let looked = home.run_alone(&["doctor", "--database", &url]).ok();
    assert!(looked.contains("PostgreSQL") && looked.contains("nothing in it yet"), "{looked}");
    let migrated = home.run_alone(&["migrate", "--database", &url, "--json"]).json();
    assert_eq!(migrated["from"].as_i64(), Some(0));
    let version = format!("schema version {}", migrated["to"]);
    assert!(!looked.contains("hush") && !migrated.to_string().contains("hush"));

    let server = home.serve_with(&[("PUNCTUAL_DATABASE", &url)]);
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    home.run(&["add", "take my medicine in 1 second", "--to", &to]).ok();
    let later = home.run(&["add", "water the plants", "--in", "2h", "--json"]).json();
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["message"], "take my medicine");
    drop(server);

    // Killed, and started again: everything is where it was.
    let _server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let shown = home.run(&["show", later["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["message"], "water the plants");
    let looked = home.run(&["doctor", "--database", &url]).ok();
    assert!(looked.contains(&version) && looked.contains("ready at") && !looked.contains("hush"), "{looked}");
    assert!(!home.data_dir().join("punctual.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_extension_for_search_every_door_says_what_to_do_and_everything_else_works() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    // A server of tests is not durable, which it says as well.
    let doctor = || home.run(&["doctor", "--database", &url]).out;
    assert!(!doctor().contains("pg_trgm"));
    postgres.sql(&database, "drop extension pg_trgm cascade");
    let words = "create extension pg_trgm";
    let looked = doctor();
    assert!(looked.contains("search") && looked.contains(words), "{looked}");
    home.run(&["add", "call mom", "--in", "2h"]).ok();
    assert!(home.run(&["list"]).ok().contains("call mom"));
    home.run(&["list", "mom"]).fails(1, &[words]);
    let (status, problem) = server.call(reqwest::Method::GET, "/v1/reminders?q=mom", None).await;
    assert_eq!((status.as_u16(), &problem["code"]), (501, &serde_json::json!("missing")), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{problem}");
    postgres.sql(&database, words);
    assert!(home.run(&["list", "mom"]).ok().contains("call mom"), "at once: newest texts need no index");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_builds_of_one_version_the_last_started_puts_its_functions_in_place_and_says_so_once() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let home = Home::new();
    let says = |words: &str| {
        let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
        let started_with = server.started_with.clone();
        let (_, later) = server.stop();
        started_with.iter().chain(&later).filter(|line| line.contains(words)).count()
    };
    let kept = || postgres.sql(&database, "select program::text || ' ' || hash from punctual.functions");
    assert_eq!(says("SQL functions"), 0, "a new schema has nobody's functions");
    let ours = kept();
    let other_build = "another build of this version";
    postgres.sql(&database, "update punctual.functions set hash = 'of another build'");
    assert_eq!((says(other_build), says(other_build)), (1, 0), "the second start finds its own");
    assert_eq!(kept(), ours);
    // Those of a newer version stay, whichever is started last.
    postgres.sql(&database, "update punctual.functions set program = '{999,0,0}', hash = 'of a newer one'");
    assert_eq!(says("those of a newer punctual"), 1);
    assert_eq!(kept(), "{999,0,0} of a newer one");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_also_works_behind_pgbouncer() {
    let Some(postgres) = Postgres::start() else { return };
    let Some(bouncer) = PgBouncer::start(&postgres) else { return };
    let url = bouncer.url(&postgres.new_database(None));
    let home = Home::new();
    let _server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    for _ in 0..20 {
        home.run(&["add", "stretch in 1 second", "--to", &to]).ok();
    }
    for _ in 0..20 {
        receiver.next().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_is_named_without_its_password() {
    let home = Home::new();
    let url = "postgres://ann:hush@127.0.0.1:1/life";
    let refused = home.run_alone(&["serve", "--listen", "127.0.0.1:0", "--database", url]);
    assert!(!refused.err.contains("hush") && !refused.out.contains("hush"), "{}", refused.err);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("postgres://ann@127.0.0.1:1/life") && refused.err.contains("refused"),
        "{}",
        refused.err
    );
    let looked = home.run_alone(&["doctor", "--database", url]);
    assert!(looked.out.contains("check that the server runs") && !looked.out.contains("hush"), "{}", looked.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_by_itself_when_the_database_comes_back() {
    let Some(mut postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    for _ in 0..3 {
        home.run(&["add", "stretch in 2 seconds", "--to", &to]).ok();
        postgres.stop_immediately();
        let down = server.client.get(format!("{}/readyz", server.url)).send().await.unwrap();
        assert_eq!(down.status(), 503);
        postgres.start_again();
        let (_, event) = receiver.next().await;
        assert_eq!(event["data"]["message"], "stretch");
    }
}

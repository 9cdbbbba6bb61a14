//! An import that cannot work says what would be right.

use punctual_testkit::process::output;
use serde_json::json;

use super::{There, v2_reminders};
use crate::common::{Home, NOWHERE};

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_is_answered_with_what_would_be_right() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("bot.db"));
    v2_reminders(&there);
    there.sql("create table notes (id integer primary key, body text)");
    std::fs::write(home.path().join("text.db"), "this is no database, but a text that is long enough").unwrap();
    let _server = home.serve();
    let url = there.url();
    let (text, none) = (home.path().join("text.db"), home.path().join("none.db"));
    let (text, none) = (format!("sqlite:{}", text.display()), format!("sqlite:{}", none.display()));
    for (args, code, words) in [
        (&["import"][..], 2, &["SOURCE", "is missing", "sqlite:PATH"][..]),
        (&["import", "mysql://x/y"], 2, &["SOURCE", "postgres://"]),
        (&["import", &none], 1, &["none.db", "No such file"]),
        (&["import", &text], 1, &["text.db", "not an SQLite file"]),
        (&["import", "postgres://ann:hush@127.0.0.1:1/bot"], 1, &["postgres://ann@127.0.0.1:1/bot", "refused"]),
        (&["import", &url, "--table", "remainders"], 2, &["no table `remainders`", "notes, v2_reminders"]),
        (&["import", &url, "--table", "notes"], 2, &["no column for", "its columns are id, body", "--map"]),
        (&["import", &url, "--kind", "v3"], 2, &["`v3` is no kind", "scheduled_jobs"]),
        (&["import", &url, "--kind", "calls"], 2, &["no column for due_at, attempt_count", "of a calls"]),
        (&["import", &url, "--map", "deliver_at"], 2, &["is not FIELD=COLUMN"]),
        (&["import", &url, "--map", "deliver_at=due"], 2, &["no column for deliver_at"]),
        (&["import", &url, "--map", "when=deliver_at"], 2, &["--map when=deliver_at", "has the fields id, user_id"]),
        (&["import", &url, "--to", "webhook:https://x/{chanel}"], 2, &["--to", "no column `chanel`", "channel_id"]),
        (&["import", &url, "--user", "{user"], 2, &["--user", "brace"]),
        (&["import", &url, "--overdue", "maybe"], 2, &["--overdue", "skip, deliver"]),
        (&["import", &url, "--source-tz", "Europe/Berln"], 2, &["--source-tz", "Europe/Berlin"]),
        (&["import", &url, "--url", NOWHERE], 1, &["no punctual server at"]),
    ] {
        let ran = home.run(args);
        assert!(!ran.err.contains("hush"), "{}", ran.err);
        ran.fails(code, words);
    }
    let wrong_key = output(home.command(["import", &url]).env("PUNCTUAL_API_KEY", "wrong"));
    let err = String::from_utf8(wrong_key.stderr).unwrap();
    assert!(wrong_key.status.code() == Some(1) && err.contains("does not accept the key"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_no_channel_knows_is_refused_row_by_row() {
    let home = Home::new();
    let there = There::Sqlite(home.path().join("bot.db"));
    v2_reminders(&there);
    there.sql(
        "insert into v2_reminders (user_id, channel_id, character_name, content, deliver_at) \
         values ('ann', '100', 'elena', 'tea', {+3600})",
    );
    let server = home.serve();
    let ran = home.run(&["import", &there.url(), "--apply", "--to", "pigeon:{channel_id}"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("row 1: --to, as to[0].channel: there is no channel named `pigeon`"), "{}", ran.out);
    assert!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_refuses_what_it_cannot_take() {
    let home = Home::new();
    let server = home.serve();
    let post = |body| server.call(reqwest::Method::POST, "/v1/import", Some(body));
    let (status, body) = post(json!({ "items": [] })).await;
    assert_eq!((status.as_u16(), body["field"].as_str()), (422, Some("source")), "{body}");
    let items: Vec<_> = (0..1001).map(|n| json!({ "key": n.to_string() })).collect();
    let (status, body) = post(json!({ "source": "s", "items": items })).await;
    assert_eq!((status.as_u16(), body["field"].as_str()), (422, Some("items")), "{body}");
    let (status, body) = post(json!({ "source": "s", "items": [{ "reminder": {} }] })).await;
    assert_eq!((status.as_u16(), body["field"].as_str()), (422, Some("items[0].key")), "{body}");

    // One bad item stops no other.
    let good = json!({ "user": "ann", "message": "tea", "schedule": { "type": "once", "at": "2030-01-01T00:00:00Z" } });
    let with = |field: &str, value: serde_json::Value| {
        let mut reminder = good.clone();
        reminder[field] = value;
        reminder
    };
    let items = json!([
        { "key": "1", "created_at": "2020-01-01T00:00:00Z", "reminder": good },
        { "key": "2", "reminder": with("timezone", json!("Europe/Berln")) },
        { "key": "3", "reminder": with("schedule", json!({ "type": "once", "at": "5m" })) },
        { "key": "4", "reminder": with("user", json!(null)) },
        { "key": "5", "created_at": "yesterday", "reminder": good },
        { "key": "1", "created_at": "2020-01-01T00:00:00Z", "reminder": good },
        { "key": "6" },
    ]);
    let (status, body) = post(json!({ "source": "s", "items": items })).await;
    assert_eq!(status, 200, "{body}");
    let outcomes: Vec<_> =
        body["items"].as_array().unwrap().iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["created", "refused", "refused", "refused", "refused", "refused", "absent"]);
    let fields: Vec<_> = body["items"].as_array().unwrap().iter().map(|one| one["field"].as_str()).collect();
    let (zone, at, user, since, key) = ("timezone", "schedule.at", "user", "created_at", "key");
    assert_eq!(fields, [None, Some(zone), Some(at), Some(user), Some(since), Some(key), None]);

    let (_, key) = server.call(reqwest::Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "ann" }))).await;
    let key = key["key"].as_str().unwrap();
    let body = Some(json!({ "source": "s", "items": [] }));
    let (status, body) = server.call_with(key, reqwest::Method::POST, "/v1/import", body).await;
    assert_eq!(status, 403, "{body}");
    let (status, _) = server.call_with(key, reqwest::Method::GET, "/v1/import/sends?source=s", None).await;
    assert_eq!(status, 403);
}

/// Rows that are wrong in ways that no reader of the table would think of stand between two that are right.
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_row_stops_no_other_and_none_commands_the_terminal() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        let at = if there.is_postgres() { "timestamptz" } else { "text" };
        there.sql(&format!(
            "create table v2_reminders (id text, user_id text, channel_id text, character_name text, content text, \
             deliver_at {at}, status text, created_at {at})"
        ));
        let row = |id: &str, user: &str, content: &str, status: &str| {
            there.sql(&format!(
                "insert into v2_reminders values ('{id}', '{user}', '100', 'elena', '{content}', {{+3600}}, '{status}', \
                 {{-3600}})"
            ));
        };
        row("a", "ann", "tea", "pending");
        row("", "ann", "no id", "pending");
        row(&"x".repeat(300), "ann", "a long id", "pending");
        row("b\u{1b}[2J\u{202e}", "ann", "an odd state", "pend\u{1b}[31ming\u{9b}");
        row("c", &"u".repeat(300), "a long user", "pending");
        row("z", "zoe", "coffee", "pending");
        if let There::Sqlite(path) = &there {
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch(
                "insert into v2_reminders select cast(x'ff00fe' as text), user_id, channel_id, character_name, content, \
                 deliver_at, status, created_at from v2_reminders where id = 'a'; \
                 insert into v2_reminders select null, cast(x'6100' as text), channel_id, character_name, content, \
                 deliver_at, status, created_at from v2_reminders where id = 'a';",
            )
            .unwrap();
        }
        let server = home.serve();
        let ran = home.run(&["import", &there.url(), "--apply"]);
        assert_eq!(ran.code, Some(1), "what cannot be imported shows in the exit code: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("row b�[2J<U+202E>: status: `pend�[31ming�` is not one of"), "{}", ran.out);
        let is_raw = |c: char| c != '\n' && punctual_core::terminal::is_command(c);
        assert!(!ran.out.contains(is_raw) && !ran.err.contains(is_raw), "{:?} {:?}", ran.out, ran.err);
        for (user, message) in [("ann", "tea"), ("zoe", "coffee")] {
            let list = server.get(&format!("/v1/reminders?user={user}")).await;
            assert_eq!(list["reminders"][0]["message"], message, "{}{}", ran.out, ran.err);
            assert_eq!(list["reminders"].as_array().unwrap().len(), 1, "{list}");
        }
    }
}

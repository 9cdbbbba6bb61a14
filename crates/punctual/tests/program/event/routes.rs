//! What the routes of events and scopes answer beside the reminders themselves.

use reqwest::Method;
use serde_json::{Value, json};

use super::{planned, put};
use crate::common::{Home, Kept, Server, answer, soon};

const START: &str = "2099-06-01T18:00:00Z";

fn game() -> Value {
    json!({ "starts_at": START, "offsets": [60], "users": ["ann"], "message": "Game", "scope": "guild:1/channel:2" })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_written_shown_listed_and_removed() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (status, made) = put(&server, "game%2F1", game()).await;
        assert_eq!((status, made["key"].as_str()), (201, Some("game/1")), "{made}");
        assert_eq!(put(&server, "game%2F1", game()).await.0, 200);
        let shown = server.get("/v1/events/game%2F1").await;
        assert_eq!((&shown["offsets"], &shown["planned"]), (&json!([60]), &json!(true)), "{shown}");
        assert_eq!(shown["reminders"][0]["state"], "scheduled");
        put(
            &server,
            "game:2",
            json!({ "starts_at": "2099-07-01T18:00:00Z", "users": ["bob"], "message": "x", "scope": "guild:2" }),
        )
        .await;
        let keys = async |query: &str| {
            let page = server.get(&format!("/v1/events?{query}")).await;
            let keys = page["events"].as_array().unwrap().iter().map(|event| event["key"].as_str().unwrap().to_owned());
            (keys.collect::<Vec<_>>(), page["next_cursor"].clone())
        };
        assert_eq!(keys("").await, (vec!["game/1".to_owned(), "game:2".to_owned()], Value::Null));
        assert_eq!(keys("limit=1").await, (vec!["game/1".to_owned()], json!("game/1")));
        assert_eq!(keys("limit=1&cursor=game/1").await, (vec!["game:2".to_owned()], Value::Null));
        assert_eq!(keys("scope=guild:1").await.0, ["game/1"]);
        assert_eq!(keys("user=bob").await.0, ["game:2"]);
        assert_eq!(keys("from=2099-06-15").await.0, ["game:2"]);
        assert_eq!(keys("to=2099-06-15").await.0, ["game/1"]);
        let (status, _) = server.call(Method::DELETE, "/v1/events/game%2F1", None).await;
        assert_eq!(status, 204);
        for method in [Method::GET, Method::DELETE] {
            assert_eq!(server.call(method, "/v1/events/game%2F1", None).await.0, 404);
        }
        let reminder = shown["reminders"][0]["reminder_id"].as_str().unwrap();
        assert_eq!(server.get(&format!("/v1/reminders/{reminder}")).await["status"], "cancelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instance_of_a_series_is_moved_cancelled_and_as_its_series_says_again() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let tomorrow = punctual_engine::SystemClock::read() + jiff::SignedDuration::from_hours(24);
        let start = tomorrow.to_zoned(jiff::tz::TimeZone::UTC).start_of_day().unwrap().datetime();
        let body = json!({
            "starts_at": start.to_string(), "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=3", "offsets": [0], "users": ["ann"],
            "message": "{starts_at}",
        });
        let (status, event) = put(&server, "standup", body.clone()).await;
        assert_eq!((status, event["next"].as_array().map(Vec::len)), (201, Some(3)), "{event}");
        // A list has the next start alone.
        let listed = server.get("/v1/events").await;
        assert_eq!(listed["events"][0]["next"], json!([event["next"][0]]), "{listed}");
        let name =
            |days: i64| (start + jiff::SignedDuration::from_hours(24 * days)).strftime("%Y%m%dT%H%M%S").to_string();
        let due = |event: &Value| -> Vec<String> {
            let reminders = event["reminders"].as_array().unwrap().iter();
            reminders.map(|reminder| reminder["due_at"].as_str().unwrap().replace("T00:00:00Z", "")).collect()
        };
        let day = |days: i64| (start + jiff::SignedDuration::from_hours(24 * days)).date().to_string();
        assert_eq!(due(&event), [day(0), day(1), day(2)]);
        let ids = |event: &Value| -> Vec<Value> {
            event["reminders"].as_array().unwrap().iter().map(|reminder| reminder["reminder_id"].clone()).collect()
        };
        let before = ids(&event);
        let at = |days: i64| format!("/v1/events/standup/instances/{}", name(days));
        let later = format!("{}T01:00:00Z", day(1));
        let (status, moved) = server.call(Method::PUT, &at(1), Some(json!({ "starts_at": later }))).await;
        assert_eq!((status.as_u16(), due(&moved)), (200, vec![day(0), later, day(2)]), "{moved}");
        assert_eq!(ids(&moved), before, "the same reminders");
        assert_eq!(server.call(Method::DELETE, &at(2), None).await.0, 204);
        assert_eq!(due(&planned(&server, "standup").await).len(), 2);
        // The series is written again: what is different about its instances stays.
        let (_, again) = put(&server, "standup", body.clone()).await;
        assert_eq!(again["instances"].as_array().map(Vec::len), Some(2), "{again}");
        for days in [1, 2] {
            assert_eq!(server.call(Method::PUT, &at(days), Some(json!({}))).await.0, 200);
        }
        assert_eq!(due(&planned(&server, "standup").await), [day(0), day(1), day(2)]);
        let (status, problem) =
            server.call(Method::PUT, "/v1/events/standup/instances/20200101T000000", Some(json!({}))).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("at")), "{problem}");
        let (status, problem) = server.call(Method::DELETE, "/v1/events/standup/instances/tomorrow", None).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("at")), "{problem}");
        assert_eq!(server.call(Method::DELETE, "/v1/events/none/instances/20990101T000000", None).await.0, 404);
        // What is said of an instance that there is not would change nothing.
        let with = |names: &[String]| {
            let instances: Vec<Value> = names.iter().map(|at| json!({ "at": at, "cancelled": true })).collect();
            let mut body = body.clone();
            body["instances"] = json!(instances);
            body
        };
        let (lacking, at_noon) = (name(3), name(1).replace("T000000", "T120000"));
        let (status, problem) = put(&server, "standup", with(&[name(0), at_noon.clone(), lacking])).await;
        assert_eq!((status, &problem["field"]), (422, &json!(format!("instances.{at_noon}.at"))), "{problem}");
        let expect = format!("there is no instance {at_noon}, in UTC; the next one is {}", name(2));
        assert!(problem["detail"].as_str().unwrap().contains(&expect), "{problem}");
        assert_eq!(due(&planned(&server, "standup").await), [day(0), day(1), day(2)], "nothing was changed");
        let (status, event) = put(&server, "standup", with(&[name(0)])).await;
        assert_eq!((status, due(&event)), (200, vec![day(1), day(2)]), "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_are_written_shown_listed_and_removed_by_their_path() {
    let home = Home::new();
    let server = home.serve();
    let write = async |path: &str, offsets: Value| {
        let (status, body) =
            server.call(Method::PUT, &format!("/v1/scopes/{path}"), Some(json!({ "offsets": offsets }))).await;
        (status.as_u16(), body)
    };
    put(&server, "game", json!({ "starts_at": START, "users": ["ann"], "message": "x", "scope": "guild:1/channel:2" }))
        .await;
    let (status, scope) = write("guild:1", json!([15, "1d", "PT15M"])).await;
    assert_eq!((status, &scope["offsets"], &scope["replanned"]), (201, &json!([1440, 15]), &json!(1)), "{scope}");
    assert_eq!(write("guild:1", json!([60])).await.0, 200);
    for path in ["guild:1/channel:2", "guild:1/a%2Fb", "guild:10", "100%25"] {
        assert_eq!(write(path, json!([5])).await.0, 201, "{path}");
        assert_eq!(server.get(&format!("/v1/scopes/{path}")).await["path"], path);
    }
    let listed = async |query: &str| {
        let page = server.get(&format!("/v1/scopes?{query}")).await;
        let paths = page["scopes"].as_array().unwrap().iter().map(|scope| scope["path"].as_str().unwrap().to_owned());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, ["100%25", "guild:1", "guild:1/a%2Fb", "guild:1/channel:2", "guild:10"]);
    assert_eq!(
        listed("under=guild:1").await,
        ["guild:1", "guild:1/a%252Fb", "guild:1/channel:2"].map(|path| path.replace("%252F", "%2F"))
    );
    let (status, _) = server.call(Method::DELETE, "/v1/scopes/guild:1/channel:2", None).await;
    assert_eq!(status, 204);
    assert_eq!(server.call(Method::DELETE, "/v1/scopes/guild:1/channel:2", None).await.0, 404);
    let event = planned(&server, "game").await;
    assert_eq!(event["reminders"][0]["offset_minutes"], 60, "it depends on the next one up: {event}");
    for (path, body) in [
        ("a//b", json!({ "offsets": [1] })),
        ("50%", json!({ "offsets": [1] })),
        ("50%zz", json!({ "offsets": [1] })),
        ("a", json!({})),
        ("a", json!({ "offsets": ["soon"] })),
    ] {
        let (status, problem) = server.call(Method::PUT, &format!("/v1/scopes/{path}"), Some(body)).await;
        assert_eq!(status, 422, "{problem}");
    }
    for command in [&["set", "50%", "60"][..], &["show", "50%41"], &["remove", "50%"]] {
        let ran = home.run(&[&["scopes"], command].concat());
        let says = ran.err.contains("has a single %; write %25 for a percent sign");
        assert!(ran.code == Some(2) && says, "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_bound_to_a_user_finds_no_event_and_no_scope() {
    let home = Home::new();
    let server = home.serve();
    put(&server, "game", game()).await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "bot", "user": "ann" }))).await;
    let key = key["key"].as_str().unwrap();
    for (method, path, body) in [
        (Method::GET, "/v1/events/game", None),
        (Method::PUT, "/v1/events/game", Some(game())),
        (Method::DELETE, "/v1/events/game", None),
        (Method::POST, "/v1/events/batch", Some(json!({ "events": [] }))),
        (Method::DELETE, "/v1/events/game/instances/20990601T180000", None),
        (Method::PUT, "/v1/scopes/guild:1", Some(json!({ "offsets": [1] }))),
        (Method::GET, "/v1/scopes/guild:1/channel:2", None),
    ] {
        assert_eq!(server.call_with(key, method, path, body).await.0, 404, "{path}");
    }
    let (_, page) = server.call_with(key, Method::GET, "/v1/events", None).await;
    assert_eq!(page["events"], json!([]));
    assert_eq!(server.get("/v1/events/game").await["reminders"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_comes_again_under_its_key_is_answered_and_not_done_again() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut event = game();
        event["key"] = json!("game");
        let send = async |body: &Value| {
            let request = server.request(Method::POST, "/v1/events/batch").bearer_auth(&server.key);
            answer(soon(request.header("idempotency-key", "once").json(body).send()).await.unwrap()).await
        };
        let batch = json!({ "events": [event] });
        assert_eq!(send(&batch).await, (200.try_into().unwrap(), json!({ "put": 1 })));
        server.call(Method::DELETE, "/v1/events/game", None).await;
        assert_eq!(send(&batch).await, (200.try_into().unwrap(), json!({ "put": 1 })));
        assert_eq!(server.call(Method::GET, "/v1/events/game", None).await.0, 404, "it was not done again");
        assert_eq!(send(&json!({ "events": [] })).await.0, 409);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_writes_moves_imports_and_removes_events() {
    let home = Home::new();
    let server: Server = home.serve();
    let said = home.run(&["scopes", "set", "guild:1", "60", "-30"]).ok();
    assert!(said.contains("guild:1") && said.contains("60, -30"), "{said}");
    let put = [
        "events",
        "put",
        "game:1",
        "--at",
        "2099-06-01T18:00Z",
        "--end",
        "2099-06-01T19:00Z",
        "--scope",
        "guild:1/channel:2",
        "--user",
        "ann",
    ];
    let said = home
        .run(&[&put[..], &["--message", "{title} in {minutes} min", "--metadata", "{\"title\":\"Chess\"}"]].concat())
        .ok();
    assert!(said.contains("game:1") && said.contains("ann") && said.contains("scheduled"), "{said}");
    let moved = home.run(&["events", "move", "game:1", "2099-06-01T20:00Z", "--json"]).json();
    assert_eq!(
        (&moved["starts_at"], &moved["ends_at"]),
        (&json!("2099-06-01T20:00:00Z"), &json!("2099-06-01T21:00:00Z"))
    );
    assert_eq!(moved["metadata"], json!({ "title": "Chess" }), "everything else stays");
    let file = home.path().join("games.jsonl");
    let lines: String = (0..3)
        .map(|n| format!("{{\"key\":\"i{n}\",\"starts_at\":\"{START}\",\"users\":[\"bob\"],\"message\":\"x\"}}\n"))
        .collect();
    std::fs::write(&file, &lines).unwrap();
    assert_eq!(home.run(&["events", "import", file.to_str().unwrap(), "--json"]).json(), json!({ "put": 3 }));
    let said = home.run(&["events", "list"]).ok();
    assert!(["game:1", "i0", "i2", "guild:1/channel:2", "scope's"].iter().all(|word| said.contains(word)), "{said}");
    // More than the server gives at once.
    let many: String = (0..600)
        .map(|n| format!("{{\"key\":\"m{n}\",\"starts_at\":\"{START}\",\"users\":[\"bob\"],\"message\":\"x\"}}\n"))
        .collect();
    std::fs::write(&file, many).unwrap();
    home.run(&["events", "import", file.to_str().unwrap()]).ok();
    let listed = |args: &[&str]| home.run(&[&["events", "list", "--json"], args].concat()).json();
    let n_listed = |args: &[&str]| listed(args)["events"].as_array().unwrap().len();
    assert_eq!((n_listed(&[]), n_listed(&["--limit", "550"]), n_listed(&["-n", "2"])), (604, 550, 2));
    let said = home.run(&["events", "list", "--limit", "2"]).ok();
    assert!(said.contains("There are more; --limit shows more of them."), "{said}");
    for n in 0..600 {
        server.call(Method::DELETE, &format!("/v1/events/m{n}"), None).await;
    }
    std::fs::write(&file, format!("{lines}{{\"key\":\"i9\",\"users\":[]}}\n")).unwrap();
    home.run(&["events", "import", file.to_str().unwrap()]).fails(1, &["starts_at", "missing"]);
    home.run(&["events", "remove", "game:1"]).ok();
    home.run(&["events", "show", "game:1"]).fails(1, &["no such event"]);
    home.run(&["scopes", "remove", "guild:1"]).ok();
    assert!(home.run(&["scopes"]).ok().contains("No scopes yet"));
    assert_eq!(server.get("/v1/events").await["events"].as_array().unwrap().len(), 3);
}

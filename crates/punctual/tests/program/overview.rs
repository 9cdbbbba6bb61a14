//! The things that those see who look after a server: how late it is, its nodes, its settings, its channels.

use jiff::Timestamp;
use punctual_testkit::wait::{until, until_some};
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server};

async fn send(server: &Server, n: usize, to: Value) {
    for n in 0..n {
        let schedule = json!({ "type": "once", "at": "0s" });
        let body = json!({ "user": "alice", "message": n.to_string(), "schedule": schedule, "to": to, "max_retries": 0, "only": true });
        server.create(body).await;
    }
}

/// How late sends were, once there are so many.
async fn late_with(server: &Server, sends: u64, failed: u64) -> Value {
    until_some("all were counted", async || {
        let late = server.get("/v1/lateness").await;
        Some(late).filter(|late| late["total"]["sends"] == sends && late["total"]["failed"] == failed)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn lateness_is_rolled_up_and_survives_a_restart() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let empty = server.get("/v1/lateness").await;
        assert_eq!(
            (&empty["total"]["sends"], &empty["parts"], &empty["total"]["p50_ms"]),
            (&json!(0), &json!([]), &Value::Null)
        );
        send(&server, 5, json!([{ "channel": "console", "address": "" }])).await;
        send(&server, 1, json!([{ "channel": "webhook", "address": "http://127.0.0.1:1/" }])).await;
        let late = late_with(&server, 6, 1).await;
        assert_eq!(late["total"]["given_up"], 1);
        let (p50, max) = (late["total"]["p50_ms"].as_f64().unwrap(), late["total"]["max_ms"].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= max && max < 30_000.0, "{late}");
        let counted: u64 =
            late["histogram"].as_array().unwrap().iter().map(|count| count["sends"].as_u64().unwrap()).sum();
        assert_eq!(counted, 6);
        assert_eq!(late["nodes"].as_array().unwrap().len(), 1);
        server.stop();

        let server = home.serve_with(&kept.env());
        let again = late_with(&server, 6, 1).await;
        assert_eq!(again["total"]["max_ms"], late["total"]["max_ms"], "it was written when the server stopped");
        send(&server, 1, json!([{ "channel": "console", "address": "" }])).await;
        late_with(&server, 7, 1).await;
        let other_day = server.get("/v1/lateness?from=2020-01-01&to=2020-01-02&step=1h").await;
        assert_eq!((&other_day["total"]["sends"], &other_day["step_seconds"]), (&json!(0), &json!(3600)));
        for (query, field) in [("step=7m", "step"), ("from=tomorrow", "to"), ("from=2020-01-01&to=2021-01-01", "from")]
        {
            let (status, problem) = server.call(Method::GET, &format!("/v1/lateness?{query}"), None).await;
            assert!(status.is_client_error() && problem["field"] == field, "{query}: {problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_says_since_when_it_runs_and_what_is_its() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let page = server.get("/v1/nodes").await;
        let nodes = page["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 1, "{page}");
        let node = &nodes[0];
        assert_eq!((&node["this"], &node["state"]), (&json!(true), &json!("alive")));
        assert_eq!(node["shards"].as_array().unwrap().len(), 256);
        assert_eq!(node["version"], server.get("/v1/settings").await["version"]);
        let instant = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
        assert!(
            instant(&node["since"]) <= instant(&node["seen_at"]) && instant(&node["seen_at"]) <= instant(&page["now"]),
            "{page}"
        );
        assert_eq!(node["in_flight"], 0);
        let listed = home.run(&["nodes"]).ok();
        assert!(listed.contains("alive") && listed.contains("256"), "{listed}");
    }
}

#[tokio::test]
async fn settings_in_force_say_where_they_come_from_and_show_no_secret() {
    let home = Home::new();
    let file = home.path().join("punctual.toml");
    std::fs::write(&file, "language = \"de\"\nlink_secret = \"sixteen-letters-or-more\"\n").unwrap();
    let mut command = home.command(["serve", "--listen", "127.0.0.1:0", "--log", "warn,punctual=info"]);
    command
        .env("PUNCTUAL_CONFIG", &file)
        .env("PUNCTUAL_WEBHOOK_TIMEOUT", "7s")
        .env("PUNCTUAL_WEBHOOK_ALLOW_PRIVATE", "true")
        .env("PUNCTUAL_DEFAULT_CHANNEL", "webhook:http://127.0.0.1:9/token");
    let server = Server::start(command, home.data_dir(), None);
    let answer = server.get("/v1/settings?all=true").await;
    let of = |name: &str| {
        answer["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == name).unwrap().clone()
    };
    let says = |name: &str| {
        let setting = of(name);
        (setting["value"].clone(), setting["source"].clone(), setting["from"].clone())
    };
    assert_eq!(says("language"), (json!("de"), json!("file"), json!(file.to_str().unwrap())));
    assert_eq!(says("webhook_timeout"), (json!("7s"), json!("environment"), json!("PUNCTUAL_WEBHOOK_TIMEOUT")));
    assert_eq!(says("listen"), (json!("127.0.0.1:0"), json!("flag"), json!("--listen")));
    assert_eq!(says("history_keep"), (json!("90d"), json!("default"), Value::Null));
    let secret = of("link_secret");
    assert_eq!((&secret["value"], &secret["secret"], &secret["source"]), (&Value::Null, &json!(true), &json!("file")));
    assert_eq!(of("webhook_secret")["secret"], false);
    let text = answer.to_string();
    assert!(!text.contains("sixteen-letters") && !text.contains("/token"), "{text}");
    assert_eq!(server.get("/v1/settings").await["settings"], Value::Null);
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "reader", "scopes": ["read"] }))).await;
    let (status, problem) =
        server.call_with(key["key"].as_str().unwrap(), Method::GET, "/v1/settings?all=true", None).await;
    assert_eq!(status, 403, "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_says_what_became_of_its_last_sends() {
    let home = Home::new();
    let server = home.serve();
    send(&server, 2, json!([{ "channel": "console", "address": "" }])).await;
    send(&server, 1, json!([{ "channel": "webhook", "address": "http://127.0.0.1:1/" }])).await;
    let page = until_some("all were sent", async || {
        let page = server.get("/v1/channels").await;
        let of = |name: &str| {
            page["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == name).unwrap()["outcomes"]
                .clone()
        };
        Some((of("console"), of("webhook"))).filter(|(console, webhook)| console["sent"] == 2 && webhook["failed"] == 1)
    })
    .await;
    let (console, webhook) = page;
    assert_eq!((&console["failed"], &console["error"]), (&json!(0), &Value::Null));
    assert!(webhook["error"].as_str().unwrap().contains("connect"), "{webhook}");
    assert!(webhook["failed_at"].is_string() && console["sent_at"].is_string());
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "a", "user": "alice" }))).await;
    let (_, page) = server.call_with(key["key"].as_str().unwrap(), Method::GET, "/v1/channels", None).await;
    assert!(
        page["channels"]
            .as_array()
            .unwrap()
            .iter()
            .all(|channel| channel["outcomes"]["error"].is_null() && channel["dead"].is_null())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_says_how_many_there_are_in_all() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        for n in 0..7 {
            let schedule = json!({ "type": "once", "at": "3h" });
            server
                .create(json!({ "user": if n == 0 { "bob" } else { "alice" }, "message": "x", "schedule": schedule }))
                .await;
        }
        let total = async |query: &str| server.get(&format!("/v1/reminders?{query}")).await["total"].clone();
        assert_eq!(total("user=alice&limit=2&count=true").await, json!({ "n": 6, "exact": true }));
        assert_eq!(total("limit=2&count=true").await, json!({ "n": 7, "exact": true }));
        assert_eq!(total("status=cancelled&limit=2&count=true").await, json!({ "n": 0, "exact": true }));
        assert_eq!(total("limit=2").await, Value::Null);
        // Of what is searched as well, also where the page begins further on.
        until("the index has all", async || {
            let page = server.get("/v1/reminders?user=alice&q=x&limit=2&count=true").await;
            page["total"] == json!({ "n": 6, "exact": true }) && page["indexing"].is_null()
        })
        .await;
        let first = server.get("/v1/reminders?user=alice&q=x&limit=2").await;
        let next = first["next_cursor"].as_str().unwrap();
        let on = format!("user=alice&q=x&limit=2&count=true&cursor={next}");
        assert_eq!(total(&on).await, json!({ "n": 6, "exact": true }));
        let (status, problem) = server.call(Method::GET, "/v1/reminders?channel=console&count=true", None).await;
        assert!(status.is_client_error() && problem["field"] == "count", "{problem}");
        let stats = server.get("/v1/stats").await;
        assert!(stats["database"]["bytes"].as_u64().unwrap() > 10_000, "{stats}");
        assert!(stats["journal"]["last"].as_i64().unwrap() >= 7, "{stats}");
    }
}

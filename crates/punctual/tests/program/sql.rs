//! What is accepted in SQL is what is accepted over HTTP, and becomes the same reminder.

use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::Home;

/// Calls `punctual.remind` with arguments in words; says the new id, or which column was refused.
const REMIND: &str = "create function remind(arguments text) returns text language plpgsql as $$
  declare made uuid; refused text;
  begin
    execute 'select punctual.remind(' || arguments || ')' into made;
    return made;
  exception when invalid_parameter_value then
    get stacked diagnostics refused = column_name;
    return 'refused ' || refused;
  end $$";

/// The argument that a field of the API is in SQL.
fn argument(field: &str) -> String {
    match field {
        "user" => "user_id".into(),
        "schedule" => "at".into(),
        field => field.strip_prefix("schedule.").unwrap_or(field).replace("days", "weekly"),
    }
}

/// The body of a request, and the arguments that say the same.
fn rows() -> Vec<(Value, String)> {
    let mut rows: Vec<(Value, String)> = Vec::new();
    let at = json!({ "type": "once", "at": "2099-03-02T08:00:00+01:00" });
    let once = "at => '2099-03-02 08:00:00+01'";
    // What differs from a plain reminder, in both languages.
    let mut add = |body: Value, arguments: &str| {
        let mut whole = json!({ "user": "ann", "message": "hello", "schedule": at });
        for (field, value) in body.as_object().unwrap() {
            whole[field] = value.clone();
        }
        let mut arguments =
            if body.get("schedule").is_some() { arguments.to_owned() } else { format!("{once}, {arguments}") };
        for (name, value) in [("user_id", "ann"), ("message", "hello")] {
            if !arguments.contains(&format!("{name} =>")) {
                arguments = format!("{name} => '{value}', {arguments}");
            }
        }
        rows.push((whole, arguments.trim_end_matches(", ").to_owned()));
    };
    add(json!({}), "");
    // Texts and their lengths.
    for (field, name, max) in [
        ("user", "user_id", 256),
        ("message", "message", 65536),
        ("name", "name", 256),
        ("original_text", "original_text", 65536),
        ("created_via", "created_via", 64),
    ] {
        for text in [String::new(), "x".repeat(max), "x".repeat(max + 1), "ä".repeat(max / 2), "ä".repeat(max / 2 + 1)]
        {
            add(json!({ field: text }), &format!("{name} => '{text}'"));
        }
    }
    for text in [" \t", "\u{2003}\u{a0}", "\u{200b}", "\u{1}", "'", "\"\\", "😀"] {
        add(json!({ "message": text }), &format!("message => '{}'", text.replace('\'', "''")));
    }
    // Words.
    for word in ["low", "normal", "high", "critical", "urgent", "High", ""] {
        add(json!({ "priority": word }), &format!("priority => '{word}'"));
    }
    for word in ["auto", "resend", "hold", "drop"] {
        add(json!({ "on_unknown": word }), &format!("on_unknown => '{word}'"));
    }
    for word in ["latest", "all", "skip", "none"] {
        add(json!({ "misfire": word }), &format!("misfire => '{word}'"));
    }
    for misfire in [
        json!({ "policy": "all", "within": "1h30m" }),
        json!({ "within": "2 hours" }),
        json!({ "within": "1.5d 3 Min 5ms" }),
        json!({ "within": "0s" }),
        json!({ "within": "5" }),
        json!({ "within": "-5m" }),
        json!({ "within": "5 mo" }),
        json!({ "within": "1..5h" }),
        json!({ "within": "" }),
        json!({ "within": "soon" }),
        json!({ "within": 5 }),
        json!({ "policy": "newest" }),
        json!({ "policy": null, "within": null }),
        json!({ "polcy": "all" }),
        json!({}),
    ] {
        add(json!({ "misfire": misfire }), &format!("misfire => '{misfire}'"));
    }
    for zone in [
        "Europe/Berlin",
        "europe/berlin",
        "UTC",
        "utc",
        "Etc/GMT+5",
        "CET",
        "+02:00",
        "-09",
        "+18:59",
        "+19:00",
        "+2",
        "+02:60",
        "+0200",
        "Berlin",
        "Europe/Berln",
        "",
        " UTC",
        "FOO+3",
        "Factory1",
    ] {
        add(json!({ "timezone": zone }), &format!("timezone => '{zone}'"));
    }
    // Numbers.
    for n in [0, 3, 100, 101, -1] {
        add(json!({ "max_retries": n }), &format!("max_retries => {n}"));
    }
    for (required, n) in [(true, 0), (true, 1000), (true, 1001), (true, -1), (false, 1001), (false, -1)] {
        let arguments = format!("require_ack => {required}, max_ack_reminders => {n}");
        add(json!({ "require_ack": required, "max_ack_reminders": n }), &arguments);
    }
    for (span, interval) in [
        ("1s", "1 second"),
        ("999ms", "999 milliseconds"),
        ("366d", "366 days"),
        ("8784h1s", "8784:00:01"),
        ("0s", "0"),
        ("-1m", "-1 minute"),
    ] {
        for required in [true, false] {
            let arguments = format!("require_ack => {required}, ack_timeout => '{interval}'");
            add(json!({ "require_ack": required, "ack_timeout": span }), &arguments);
        }
    }
    for prompt in [String::new(), "ok?".into(), "x".repeat(2048), "x".repeat(2049)] {
        add(json!({ "ack_prompt": prompt }), &format!("ack_prompt => '{prompt}'"));
        add(
            json!({ "ack_prompt": prompt, "require_ack": false }),
            &format!("require_ack => false, ack_prompt => '{prompt}'"),
        );
    }
    add(json!({ "snooze_allowed": false }), "snooze_allowed => false");
    // JSON.
    let nested =
        |depth: usize| serde_json::from_str::<Value>(&("{\"a\":".repeat(depth) + "1" + &"}".repeat(depth))).unwrap();
    for metadata in [
        json!({}),
        json!({ "z": [1, { "ž": null }], "a": { "b": "c\n\"" }, "A": -1.5 }),
        nested(126),
        json!([1]),
        json!("x"),
        json!(5),
        json!(null),
        json!({ "a": "x".repeat(65528) }),
        json!({ "a": "x".repeat(65529) }),
    ] {
        add(json!({ "metadata": metadata }), &format!("metadata => '{metadata}'"));
    }
    for to in [
        json!([]),
        json!(null),
        json!(["console"]),
        json!(["console:a:b", { "channel": "console" }, { "channel": "console", "address": null }]),
        json!(["http://example.org/hook", "webhook:HTTPS://u:p@Example.org:8080/x?y#z"]),
        json!(["webhook:http://[::1]:9000/", "webhook:http://127.0.0.1/", "webhook:http://a:/"]),
        json!(["webhook:http:///example.org"]),
        json!(vec!["console"; 32]),
        json!(vec!["console"; 33]),
        json!([format!("console:{}", "x".repeat(256))]),
        json!([format!("console:{}", "x".repeat(257))]),
        json!([format!("webhook:https://example.org/{}", "x".repeat(2028))]),
        json!([format!("webhook:https://example.org/{}", "x".repeat(2029))]),
        json!("console"),
        json!({}),
        json!([5]),
        json!([null]),
        json!([""]),
        json!([":x"]),
        json!(["pigeon:x"]),
        json!([{ "address": "x" }]),
        json!([{ "channel": "" }]),
        json!([{ "channel": 5 }]),
        json!([{ "channel": "console", "address": 5 }]),
        json!([{ "channel": "console", "adress": "x" }]),
        json!(["webhook"]),
        json!(["webhook:example.org"]),
        json!(["webhook:ftp://example.org"]),
        json!(["webhook:http:example.org"]),
        json!(["webhook:https://"]),
        json!(["webhook:https:///"]),
        json!(["webhook:https://exa mple.org"]),
        json!(["webhook:https://example.org/\u{2003}"]),
        json!(["webhook:https://example.org/\u{85}"]),
        json!(["webhook:https://example.org:65535"]),
        json!(["webhook:https://example.org:65536"]),
        json!(["webhook:https://example.org:0"]),
        json!(["webhook:https://example.org:x"]),
        json!(["webhook:https://[::1"]),
        json!(["webhook:https://[::g]/"]),
        json!(["webhook:https://exa<mple.org"]),
        json!(["webhook:https://1.2.3.256"]),
        json!(["webhook:https://1.2.3.4.5"]),
        json!(["webhook:https://bücher.example/ö"]),
    ] {
        add(json!({ "to": to }), &format!("\"to\" => '{to}'"));
    }
    // When.
    let mut when = |schedule: Value, arguments: &str| add(json!({ "schedule": schedule }), arguments);
    when(json!({ "type": "once", "at": "2020-01-01T00:00:00Z" }), "at => '2020-01-01 00:00:00+00'");
    when(json!({ "type": "once", "at": "9999-12-30T22:00:00Z" }), "at => '9999-12-30 22:00:00+00'");
    when(
        json!({ "type": "once", "at": "2099-01-01T00:00:00Z", "count": 2 }),
        "at => '2099-01-01 00:00+00', count => 2",
    );
    when(json!(null), "");
    for (span, interval) in [
        ("1s", "1 second"),
        ("999ms", "999 milliseconds"),
        ("90m", "90 minutes"),
        ("2w", "14 days"),
        ("3653d", "3653 days"),
        ("3654d", "3654 days"),
        ("-5m", "-5 minutes"),
        ("0s", "0"),
    ] {
        when(json!({ "type": "interval", "every": span }), &format!("every => '{interval}'"));
    }
    when(
        json!({ "type": "interval", "every": "1h", "anchor": "ack", "count": 3 }),
        "every => '1 hour', anchor => 'ack', count => 3",
    );
    when(json!({ "type": "interval", "every": "1h", "anchor": "end" }), "every => '1 hour', anchor => 'end'");
    when(json!({ "type": "interval", "every": "1h", "count": 0 }), "every => '1 hour', count => 0");
    let bounds = [
        ("starts_at", "2099-01-01T00:00:00Z"),
        ("ends_at", "2099-02-01T00:00:00Z"),
        ("ends_at", "2020-01-01T00:00:00Z"),
    ];
    for (bound, at) in bounds {
        when(json!({ "type": "daily", "time": "08:00", bound: at }), &format!("daily => '08:00', {bound} => '{at}'"));
        when(
            json!({ "type": "interval", "every": "7h", bound: at }),
            &format!("every => '7 hours', {bound} => '{at}'"),
        );
    }
    let both = json!({ "type": "daily", "time": "08:00", "starts_at": "2099-01-02T00:00:00Z", "ends_at": "2099-01-01T00:00:00Z" });
    when(both, "daily => '08:00', starts_at => '2099-01-02 00:00+00', ends_at => '2099-01-01 00:00+00'");
    for days in [
        json!(["mon"]),
        json!(["Monday", " thu ", "WEEKEND"]),
        json!(["workdays"]),
        json!(["weekdays", "weekend"]),
        json!(["mon", "funday"]),
        json!([]),
    ] {
        let names: Vec<&str> = days.as_array().unwrap().iter().map(|day| day.as_str().unwrap()).collect();
        let arguments = format!("weekly => '{{{}}}', at_time => '7:30'", names.join(","));
        when(json!({ "type": "weekly", "time": "7:30", "days": days }), &arguments);
    }
    rows
}

/// A reminder as the API shows it, without what differs whenever two are made.
fn shown(mut reminder: Value) -> Value {
    for field in ["id", "created_at", "updated_at"] {
        reminder[field] = Value::Null;
    }
    if reminder["schedule"]["type"] == "interval" && reminder["schedule"]["starts_at"].is_null() {
        reminder["schedule"]["origin"] = Value::Null;
        reminder["next_run_at"] = Value::Null;
        reminder["summary"] = Value::Null;
    }
    reminder
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_accepts_and_refuses_what_http_accepts_and_refuses() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &postgres.url(&database))]);
    postgres.sql(&database, REMIND);
    // What a node publishes when it starts.
    postgres.sql(
        &database,
        "insert into punctual.channel values ('console', 'console'), ('webhook', 'webhook') on conflict do nothing; \
         insert into punctual.setting values ('timezone', 'UTC'), ('webhook_allow_private', 'true') on conflict do nothing",
    );
    let (mut n_refused, mut wrong) = (0, Vec::new());
    let rows = rows();
    for (body, arguments) in &rows {
        let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body.clone())).await;
        let by_sql = postgres.sql(&database, &format!("select remind($arguments${arguments}$arguments$)"));
        let arguments: String = arguments.chars().take(200).collect();
        match (status.as_u16(), by_sql.strip_prefix("refused ")) {
            (201, None) => {
                let made = shown(server.get(&format!("/v1/reminders/{by_sql}")).await);
                let mut expect = shown(answer);
                if body.get("created_via").is_none() {
                    expect["created_via"] = json!("sql");
                }
                if made != expect {
                    wrong.push(format!("{arguments}\n  http {expect}\n  sql  {made}"));
                }
            }
            (422, Some(column)) => {
                n_refused += 1;
                let field = argument(answer["field"].as_str().unwrap_or_default());
                // A time of day is an argument of its own, and a missing policy is the whole.
                let same = field == column || (field == "time" && ["daily", "at_time"].contains(&column));
                if !same {
                    wrong.push(format!("{arguments}\n  http {answer}\n  sql  refuses {column}"));
                }
            }
            _ => wrong.push(format!("{arguments}\n  http {status} {answer}\n  sql  {by_sql}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    println!("{} alike, of which {n_refused} were refused", rows.len());
}

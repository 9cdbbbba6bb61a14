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
    for via in ["alert", "Alert", "api"] {
        add(json!({ "created_via": via }), &format!("created_via => '{via}'"));
    }
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

/// Channels of every kind, and those that take other addresses because of a setting.
const CHANNELS: &str = "
[channels.discord]
kind = 'discord'
token = 't'
[channels.discord-hooks]
kind = 'discord'
[channels.discord-own]
kind = 'discord'
token = 't'
api_url = 'http://127.0.0.1:5000'
[channels.slack]
kind = 'slack'
token = 't'
[channels.slack-hooks]
kind = 'slack'
[channels.telegram]
kind = 'telegram'
token = '123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc'
[channels.email]
kind = 'email'
host = 'localhost'
from = 'me@example.org'
[channels.ntfy]
kind = 'ntfy'
[channels.twilio]
kind = 'twilio'
account_sid = 'AC00000000000000000000000000000000'
auth_token = 't'
from = '+14155552345'
[channels.vapi]
kind = 'vapi'
api_key = 'k'
assistant_id = 'a'
phone_number_id = 'p'
[channels.whatsapp]
kind = 'whatsapp'
token = 't'
phone_number_id = '1'
[channels.nats]
kind = 'nats'
url = 'nats://127.0.0.1:1'
[channels.nats-fixed]
kind = 'nats'
url = 'nats://127.0.0.1:1'
subject = 'game.due'
[channels.rabbitmq]
kind = 'rabbitmq'
url = 'amqp://127.0.0.1:1'
[channels.rabbitmq-fixed]
kind = 'rabbitmq'
url = 'amqp://127.0.0.1:1'
routing_key = 'game.due'
[channels.private]
kind = 'webhook'
allow_private = true
[channels.public]
kind = 'webhook'
";

/// Addresses, right and wrong, by the kind of channel they are for.
fn addresses() -> Vec<(&'static str, Vec<String>)> {
    let of = |addresses: &[&str]| addresses.iter().map(|address| (*address).to_owned()).collect::<Vec<_>>();
    let mut discord = of(&[
        "",
        "general",
        "#general",
        "12345",
        "123456789012345",
        "12345678901234",
        "123456789012345678",
        "0123456789012345678",
        "+12345678901234567",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "123456789012345678901234",
        "123456789012345678@",
        "@123456789012345678",
        "123456789012345678@alice",
        "123456789012345678@223456789012345678",
        "123456789012345678@123456789012345678@1",
        "dm:",
        "dm:alice",
        "dm:123456789012345678",
        "dm:123456789012345678@123456789012345678",
        " 123456789012345678",
        "123456789012345678\n",
        "://",
    ]);
    for url in [
        "https://discord.com/api/webhooks/ID/tok-en_1.x",
        "HTTPS://Discord.com:443/api/webhooks/ID/tok",
        "https://discord.com/api/v9/webhooks/ID/tok/",
        "https://ptb.discord.com/api/webhooks/ID/tok",
        "https://canary.discordapp.com/api/webhooks/ID/tok?wait=true&thread_id=ID#x",
        "https://discord.com/api/webhooks/ID/tok?thread_id=x",
        "https://discord.com/api/webhooks/ID/tok?a=1&thread_id",
        "https://discord.com/api/webhooks/ID/tok?thread_id=ID&thread_id=x",
        "https://discord.com/api/webhooks/ID",
        "https://discord.com/api/webhooks/ID/",
        "https://discord.com/api/webhooks/ID/tok/github",
        "https://discord.com/api/webhooks/alice/tok",
        "https://discord.com/webhooks/ID/tok",
        "https://discord.com/x/webhooks/ID/tok",
        "https://discord.com:444/api/webhooks/ID/tok",
        "http://discord.com/api/webhooks/ID/tok",
        "https://evil.example/api/webhooks/ID/tok",
        "https://evildiscord.com/api/webhooks/ID/tok",
        "https://discord.com.evil.example/api/webhooks/ID/tok",
        "https://discord.com@evil.example/api/webhooks/ID/tok",
        "https://u:p@discord.com/api/webhooks/ID/tok",
        "https://discord.com/api/webhooks/ID/..%2f",
        "http://127.0.0.1:5000/api/webhooks/ID/tok",
        "http://127.0.0.1:5000/webhooks/ID/tok",
        "http://127.0.0.1:5001/api/webhooks/ID/tok",
    ] {
        discord.push(url.replace("ID", "123456789012345678"));
    }
    let mut slack = of(&[
        "",
        "general",
        "#",
        "#general",
        "#General",
        "#a b",
        "#büro-2",
        "#Ärger",
        "#ärger",
        "#日本",
        "#€",
        "#b\u{a0}c",
        "c0123456789",
        "C0123456789",
        "C01",
        "C0123456",
        "C01234567890123456789012",
        "C012345678901234567890123456",
        "X0123456789",
        "U0123456789",
        "D0123456789",
        "C0123456789@",
        "C0123456789@alice",
        "C0123456789@U0123456789",
        "#general@W0123456789",
        "U0123456789@U0123456789",
        "@U0123456789",
        "<#C0123456789>",
        "https://hooks.slack.com/services/T01/B02/s3cret",
        "HTTPS://HOOKS.slack.com:443/services/T01/B02/s3cret#x",
        "https://hooks.slack-gov.com/services/T01/B02/s3cret",
        "https://hooks.slack.com/services/T01/B02",
        "https://hooks.slack.com/services/T01/B02/s3cret?x=1",
        "https://hooks.slack.com/services/T01/B02/s3cret/more",
        "https://hooks.slack.com/workflows/T01/B02/s3cret",
        "http://hooks.slack.com/services/T01/B02/s3cret",
        "https://hooks.slack.com:444/services/T01/B02/s3cret",
        "https://hooks.slack.com.evil.example/services/T01/B02/s3cret",
        "https://u:p@hooks.slack.com/services/T01/B02/s3cret",
        "https://slack.com/services/T01/B02/s3cret",
    ]);
    slack.extend([80, 81].map(|n| format!("#{}", "a".repeat(n))));
    let telegram = of(&[
        "",
        "0",
        "-0",
        "-",
        "007",
        "+49151",
        "alice",
        "@",
        "@abc",
        "@abcd",
        "@1abcd",
        "@na me",
        "@ünal",
        "@my_channel",
        "1.5",
        " 1",
        "1",
        "-100123456789",
        "1/",
        "1/0",
        "1/x",
        "1/7",
        "1/+7",
        "1/007",
        "1/4294967295",
        "1/4294967296",
        "@my_channel/7",
        "/7",
        "4503599627370495",
        "-4503599627370495",
        "4503599627370496",
        "99999999999999999999",
        "@a_name_that_is_far_too_long_for_telegram",
        "--1",
        "1\n",
    ]);
    let phone = of(&[
        "",
        "+",
        "+14155552345",
        "+2901234",
        "+123456",
        "+123456789012345",
        "+1234567890123456",
        "4915112345678",
        "004915112345678",
        "+49 151 12345678",
        "+49-151",
        "+0123456789",
        "+4915a12345678",
        "+٤٩١٥١١٢٣٤٥",
        "tel:+14155552345",
        "+14155552345\n",
    ]);
    let mut email = of(&[
        "alice@example.org",
        "a.b+tag@sub.example.org",
        "me@localhost",
        "o'neil@example.org",
        "me@bücher.example",
        "jörg@example.org",
        "alice",
        "alice@",
        "@example.org",
        "a b@example.org",
        "\"a b\"@example.org",
        "\"a\\\"b\"@example.org",
        "\"\"@example.org",
        ".a@example.org",
        "a..b@example.org",
        "a.@example.org",
        "alice@example.org, bob@example.org",
        "Alice <alice@example.org>",
        "alice@example.org\r\nBcc: all@example.org",
        "alice@exa mple.org",
        "alice@bü/cher.example",
        "alice@-x.example",
        "alice@x-.example",
        "alice@x..example",
        "a@b@c.example",
        "a(b)@example.org",
        "a@[192.0.2.1]",
        "a@[192.0.2.256]",
        "a@[IPv6:2001:db8::1]",
        "a@[IPv6:xyz]",
        "a@[x]",
        "a@b_c.example",
        "",
        "@",
    ]);
    email.push(format!("{}@example.org", "x".repeat(64)));
    email.push(format!("{}@example.org", "x".repeat(65)));
    email.push(format!("x@{}.org", "x".repeat(63)));
    email.push(format!("x@{}.org", "x".repeat(64)));
    email.push(format!("x@{}", vec!["x".repeat(60); 4].join(".")));
    email.push(format!("x@{}", vec!["x".repeat(63); 4].join(".")));
    let mut nats = of(&[
        "",
        "a",
        "game.reminder_due",
        "a.b.c-d.E_f",
        "päckchen.da",
        "a.$b._c",
        " ",
        "a b",
        "a\r\nPUB x 0",
        "a\tb",
        "a\u{2003}b",
        "a\u{85}b",
        ".",
        ".a",
        "a.",
        "a..b",
        "*",
        "a.*",
        "a.>",
        ">",
        "$JS.API.STREAM.DELETE.ORDERS",
        "_INBOX.x",
        "a[b]\\",
    ]);
    nats.extend([255, 256].map(|n| "x".repeat(n)));
    let rabbitmq =
        vec![String::new(), "a".into(), "a b*#".into(), "x".repeat(255), "x".repeat(256), "ä".repeat(128), "\n".into()];
    let ntfy = vec![
        String::new(),
        "my-reminders_7".into(),
        "a b".into(),
        "ä".into(),
        "x".repeat(64),
        "x".repeat(65),
        "a/b".into(),
        "a\n".into(),
    ];
    let urls = of(&[
        "",
        "https://example.org/hook",
        "http://127.0.0.1:9000/",
        "http://localhost/",
        "http://10.0.0.1/",
        "example.org",
        "https://",
    ]);
    vec![
        ("discord", discord.clone()),
        ("discord-hooks", discord.clone()),
        ("discord-own", discord),
        ("slack", slack.clone()),
        ("slack-hooks", slack),
        ("telegram", telegram),
        ("email", email),
        ("ntfy", ntfy),
        ("twilio", phone.clone()),
        ("vapi", phone.clone()),
        ("whatsapp", phone),
        ("nats", nats.clone()),
        ("nats-fixed", nats),
        ("rabbitmq", rabbitmq.clone()),
        ("rabbitmq-fixed", rabbitmq),
        ("private", urls.clone()),
        ("public", urls),
        ("console", vec![String::new(), "x".repeat(256), "x".repeat(257)]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_http_refuses_is_refused_in_sql_whatever_its_channel() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    let file = home.path().join("punctual.toml");
    std::fs::write(&file, CHANNELS).unwrap();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url), ("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    postgres.sql(&database, REMIND);
    let (mut n_accepted, mut n_refused, mut wrong) = (0, 0, Vec::new());
    for (channel, addresses) in addresses() {
        for address in addresses {
            let to = json!([{ "channel": channel, "address": address }]);
            let body =
                json!({ "message": "m", "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" }, "to": to });
            let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
            let arguments = format!("user_id => 'ann', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$");
            let by_sql = postgres.sql(&database, &format!("select remind($arguments${arguments}$arguments$)"));
            match (status.as_u16(), by_sql.strip_prefix("refused ")) {
                (201, None) => n_accepted += 1,
                (422, Some("to[0].address")) if answer["field"] == "to[0].address" => n_refused += 1,
                _ => wrong.push(format!("{channel} {address:?}\n  http {status} {answer}\n  sql  {by_sql}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_accepted > 50 && n_refused > 150, "{n_accepted} accepted, {n_refused} refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_address_is_refused_in_sql_as_over_http() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    home.run(&["migrate", "--database", &url]).ok();
    let dead = "https://example.org/dead";
    postgres.sql(
        &database,
        &format!(
            "insert into punctual.dead_address values ('webhook', '{dead}', '2026-01-02 03:04:05+00', 'gone: 410')"
        ),
    );
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    postgres.sql(&database, REMIND);
    for (to, is_dead) in [(json!([dead]), true), (json!(["https://example.org/alive"]), false)] {
        let body = json!({ "message": "m", "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" }, "to": to });
        let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!(status == 422, is_dead, "{answer}");
        let arguments = format!("user_id => 'ann', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$");
        let by_sql = postgres.sql(&database, &format!("select remind($arguments${arguments}$arguments$)"));
        assert_eq!(by_sql == "refused to[0].address", is_dead, "{by_sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_receive_it_is_judged_in_sql_as_over_http() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    let server = home.serve_unchosen_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let (dead, live) = ("https://example.org/dead", "https://example.org/live");
    let sql = |text: &str| postgres.sql(&database, text);
    sql(REMIND);
    sql(&format!("insert into punctual.dead_address values ('webhook', '{dead}', '2026-01-02 03:04:05+00', '410')"));
    // A node that starts knows of it.
    drop(server);
    let server = home.serve_unchosen_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    for (user, address) in [("reached", live), ("lost", dead)] {
        let addresses = json!({ "addresses": [format!("webhook:{address}")] });
        assert!(server.call(Method::PUT, &format!("/v1/users/{user}"), Some(addresses)).await.0.is_success());
    }
    for (user, to, only, refused) in [
        ("nobody", json!([]), false, Some("to")),
        ("nobody", json!([live]), false, None),
        ("nobody", json!([dead]), false, Some("to[0].address")),
        ("nobody", json!([live, dead]), true, None),
        ("lost", json!([]), false, Some("to")),
        ("lost", json!([dead]), false, Some("to[0].address")),
        ("reached", json!([]), false, None),
        ("reached", json!([dead]), false, None),
        ("reached", json!([dead]), true, Some("to[0].address")),
        ("reached", json!([]), true, Some("only")),
        ("me", json!([]), false, None),
    ] {
        let case = format!("{user} {to} only: {only}");
        let body = json!({
            "user": user, "message": "m", "to": to, "only": only,
            "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" },
        });
        let (_, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!(answer["field"].as_str(), refused, "{case}: {answer}");
        let arguments = format!(
            "user_id => '{user}', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$, \"only\" => {only}"
        );
        let by_sql = sql(&format!("select remind($arguments${arguments}$arguments$)"));
        assert_eq!(by_sql.strip_prefix("refused "), refused, "{case}: {by_sql}");
        if refused.is_none() {
            let made = server.get(&format!("/v1/reminders/{by_sql}")).await;
            assert_eq!((&made["only"], &made["to"]), (&answer["only"], &answer["to"]), "{case}");
            let is_warned = postgres.log().contains("WARNING:  to[") && to.to_string().contains(dead);
            assert_eq!(answer["warnings"].is_array(), is_warned, "{case}: {answer}");
        }
    }
    let event = |key: &str, more: &str| {
        let call = format!("punctual.put_event('{key}', '2099-01-01', '{{5}}', message => 'm', {more})");
        sql(&format!(
            "create or replace function event() returns text language plpgsql as $$ declare refused text; begin \
             return {call}; exception when invalid_parameter_value then \
             get stacked diagnostics refused = column_name; return 'refused ' || refused; end $$"
        ));
        sql("select event()")
    };
    let only = format!("\"to\" => '[\"{live}\"]', \"only\" => true");
    assert_eq!(event("a", "users => '{reached,nobody}'"), "refused users");
    assert_eq!(event("b", "users => '{reached,me}'"), "2");
    assert_eq!(event("c", &only), "1", "the event itself is the user");
    assert_eq!(event("d", &format!("users => '{{reached}}', {only}")), "1");
    let kept = "select string_agg(r.only_to::text, ' ' order by e.event_key) from punctual.reminder r \
                join punctual.event_reminder e on e.reminder_id = r.id where e.event_key in ('c', 'd')";
    assert_eq!(sql(kept), "true true");
    assert_eq!(event("d", "users => '{reached}'"), "1", "and changed");
    assert_eq!(sql(kept), "true false");
    let grants = "select has_function_privilege('punctual_client', p.oid, 'execute')::text || \
                  has_function_privilege('public', p.oid, 'execute')::text from pg_proc p \
                  where p.pronamespace = 'punctual'::regnamespace and p.proname in ('remind', 'put_event') and p.pronargs > 1";
    assert_eq!(sql(grants), "truefalse\ntruefalse", "whoever could call them still can");
}

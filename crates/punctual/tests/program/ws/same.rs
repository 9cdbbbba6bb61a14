//! One table of cases: what is answered over HTTP is answered over the WebSocket.

use reqwest::Method;
use serde_json::{Value, json};

use super::socket::Socket;
use super::{LATER, new_key};
use crate::common::{Home, Kept, Server};

/// Method and parameters; over HTTP the method, the path and the body. `@` is a name that differs between the doors, `$` the reminder that was
/// made last.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

const ADD: &str = r#"{"user":"@","message":"tea","tags":["kitchen"],"schedule":{"type":"daily","time":"08:00"}}"#;
const EVENT: &str =
    r#"{"starts_at":"2099-01-01T18:00:00Z","offsets":[60,15],"message":"Game in {minutes} min","users":["@"]}"#;
const EVENT_OF: &str = r#"{"key":"@","starts_at":"2099-01-01T18:00:00Z","offsets":[60,15],"message":"Game in {minutes} min","users":["@"]}"#;
const BATCH: &str =
    r#"{"events":[{"key":"@1","starts_at":"2099-01-01T18:00:00Z","offsets":[5],"message":"m","users":["@"]}]}"#;
const BAD_BATCH: &str =
    r#"{"events":[{"key":"@1","starts_at":"2099-01-01T18:00:00Z"},{"key":"@2","starts_at":"soon?"}]}"#;

const CASES: &[Case] = &[
    ("cron.add", ADD, "POST", "/v1/reminders", ADD),
    ("cron.list", r#"{"user":"@"}"#, "GET", "/v1/reminders?user=@", ""),
    ("cron.list", r#"{"user":"@","tag":"kitchen","limit":1}"#, "GET", "/v1/reminders?user=@&tag=kitchen&limit=1", ""),
    ("cron.list", r#"{"user":"@","q":"te","status":null}"#, "GET", "/v1/reminders?user=@&q=te", ""),
    ("cron.list", r#"{"limit":0}"#, "GET", "/v1/reminders?limit=0", ""),
    ("cron.list", r#"{"statuss":"x"}"#, "GET", "/v1/reminders?statuss=x", ""),
    ("cron.list", r#"{"status":"gone"}"#, "GET", "/v1/reminders?status=gone", ""),
    ("cron.list", r#"{"user":""}"#, "GET", "/v1/reminders?user=", ""),
    ("cron.list", r#"{"cursor":"x"}"#, "GET", "/v1/reminders?cursor=x", ""),
    ("reminders.get", r#"{"id":"$"}"#, "GET", "/v1/reminders/$", ""),
    ("reminders.get", r#"{"id":"$","user":"@"}"#, "GET", "/v1/reminders/$?user=@", ""),
    ("reminders.get", r#"{"id":"$","user":"eve"}"#, "GET", "/v1/reminders/$?user=eve", ""),
    ("reminders.get", r#"{"id":"a/b ?"}"#, "GET", "/v1/reminders/a%2Fb%20%3F", ""),
    ("reminders.get", r#"{"id":"\u0000"}"#, "GET", "/v1/reminders/%00", ""),
    ("reminders.update", r#"{"id":"$","message":"coffee"}"#, "PATCH", "/v1/reminders/$", r#"{"message":"coffee"}"#),
    ("reminders.update", r#"{"id":"$","mesage":"x"}"#, "PATCH", "/v1/reminders/$", r#"{"mesage":"x"}"#),
    ("reminders.update", r#"{"id":"$","priority":"big"}"#, "PATCH", "/v1/reminders/$", r#"{"priority":"big"}"#),
    ("reminders.pause", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/pause", "{}"),
    ("reminders.pause", r#"{"id":"$","for":"1h"}"#, "POST", "/v1/reminders/$/pause", r#"{"for":"1h"}"#),
    ("reminders.resume", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/resume", "{}"),
    ("reminders.skip", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/skip", "{}"),
    ("reminders.ack", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/ack", "{}"),
    ("reminders.snooze", r#"{"id":"$","minutes":0}"#, "POST", "/v1/reminders/$/snooze", r#"{"minutes":0}"#),
    (
        "reminders.snooze",
        r#"{"id":"$","until":"2098-01-01T00:00:00Z"}"#,
        "POST",
        "/v1/reminders/$/snooze",
        r#"{"until":"2098-01-01T00:00:00Z"}"#,
    ),
    ("reminders.dismiss", r#"{"id":"$","run":7}"#, "POST", "/v1/reminders/$/dismiss", r#"{"run":7}"#),
    ("reminders.resend", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/resend", "{}"),
    ("reminders.occurrences", r#"{"id":"$","limit":5}"#, "GET", "/v1/reminders/$/occurrences?limit=5", ""),
    ("occurrences.get", r#"{"id":"x"}"#, "GET", "/v1/occurrences/x", ""),
    ("reminders.undo", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/undo", "{}"),
    ("cron.remove", r#"{"id":"$"}"#, "DELETE", "/v1/reminders/$", ""),
    ("cron.remove", r#"{"id":"$"}"#, "DELETE", "/v1/reminders/$", ""),
    ("cron.remove", r#"{"id":"nobody"}"#, "DELETE", "/v1/reminders/nobody", ""),
    ("reminders.undo", r#"{"id":"$"}"#, "POST", "/v1/reminders/$/undo", "{}"),
    (
        "cron.add",
        r#"{"user":"@","text":"call mom every friday at 8"}"#,
        "POST",
        "/v1/reminders",
        r#"{"user":"@","text":"call mom every friday at 8"}"#,
    ),
    ("cron.add", r#"{"user":"@","text":"call mom"}"#, "POST", "/v1/reminders", r#"{"user":"@","text":"call mom"}"#),
    ("cron.add", r#"{"user":"@"}"#, "POST", "/v1/reminders", r#"{"user":"@"}"#),
    (
        "cron.add",
        r#"{"user":"@","message":"m","schedule":{"type":"cron","expr":"* * *"}}"#,
        "POST",
        "/v1/reminders",
        r#"{"user":"@","message":"m","schedule":{"type":"cron","expr":"* * *"}}"#,
    ),
    (
        "cron.add",
        r#"{"user":"@","message":"a\u0000b"}"#,
        "POST",
        "/v1/reminders",
        r#"{"user":"@","message":"a\u0000b"}"#,
    ),
    ("reminders.batch", r#"{"reminders":[]}"#, "POST", "/v1/reminders/batch", r#"{"reminders":[]}"#),
    ("events.put", EVENT_OF, "PUT", "/v1/events/@", EVENT),
    ("events.get", r#"{"key":"@"}"#, "GET", "/v1/events/@", ""),
    ("events.list", r#"{"user":"@"}"#, "GET", "/v1/events?user=@", ""),
    ("events.put", r#"{"key":"@","starts_at":"?"}"#, "PUT", "/v1/events/@", r#"{"starts_at":"?"}"#),
    ("events.batch", BATCH, "POST", "/v1/events/batch", BATCH),
    ("events.batch", BAD_BATCH, "POST", "/v1/events/batch", BAD_BATCH),
    ("events.put_instance", r#"{"key":"@","at":"x"}"#, "PUT", "/v1/events/@/instances/x", "{}"),
    ("events.remove_instance", r#"{"key":"@","at":"x"}"#, "DELETE", "/v1/events/@/instances/x", ""),
    ("events.remove", r#"{"key":"@"}"#, "DELETE", "/v1/events/@", ""),
    ("events.remove", r#"{"key":"@"}"#, "DELETE", "/v1/events/@", ""),
    (
        "inbound",
        r#"{"user":"@","text":"good morning"}"#,
        "POST",
        "/v1/inbound",
        r#"{"user":"@","text":"good morning"}"#,
    ),
    ("inbound", r#"{"text":7}"#, "POST", "/v1/inbound", r#"{"text":7}"#),
    (
        "parse",
        r#"{"text":"tomorrow at 8","now":"2026-03-01T10:00:00Z","tz":"UTC"}"#,
        "POST",
        "/v1/parse",
        r#"{"text":"tomorrow at 8","now":"2026-03-01T10:00:00Z","tz":"UTC"}"#,
    ),
    ("parse", "{}", "POST", "/v1/parse", "{}"),
    ("journal.list", r#"{"kind":"nope"}"#, "GET", "/v1/audit?kind=nope", ""),
    (
        "journal.list",
        r#"{"kind":["reminder.sent","reminder.failed"],"user":"@"}"#,
        "GET",
        "/v1/audit?kind=reminder.sent,reminder.failed&user=@",
        "",
    ),
    ("journal.subscribe", r#"{"after":-1}"#, "GET", "/v1/stream?after=-1", ""),
    ("journal.subscribe", r#"{"kinds":"x"}"#, "GET", "/v1/stream?kinds=x", ""),
    ("journal.subscribe", r#"{"after":1000000}"#, "GET", "/v1/stream?after=1000000", ""),
];

/// A door with its own name and reminder.
struct Door {
    name: &'static str,
    id: String,
}

impl Door {
    fn fill(&self, text: &str) -> String {
        text.replace('@', self.name).replace('$', &self.id)
    }

    /// An answer without what must differ.
    fn masked(&self, answer: &Value) -> Value {
        let text = answer.to_string().replace(self.name, "@");
        let text = if self.id.is_empty() { text } else { text.replace(&self.id, "$") };
        let mut answer = serde_json::from_str(&text).unwrap();
        mask(&mut answer);
        answer
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "id" | "reminder_id" | "at" | "created_at" | "updated_at" | "created_via" | "via"
                        if !value.is_null() =>
                    {
                        *value = "*".into();
                    }
                    _ => mask(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

/// The code of an error whose status over HTTP is `status`, as the documentation says it.
fn code(status: u16) -> i64 {
    match status {
        400 | 413 | 415 | 422 => -32602,
        500 => -32603,
        status => -32000 - i64::from(status % 100),
    }
}

async fn compare(server: &Server, key: &str, cases: &[Case]) {
    let mut socket = Socket::open_with(server, key).await;
    let mut over_http = Door { name: "someonehttp", id: String::new() };
    let mut over_ws = Door { name: "somebodyws", id: String::new() };
    for (method, params, verb, path, body) in cases {
        let named = format!("{method} {params}");
        let body = (!body.is_empty()).then(|| serde_json::from_str(&over_http.fill(body)).unwrap());
        let verb = Method::from_bytes(verb.as_bytes()).unwrap();
        let (status, mut http) = server.call_with(key, verb.clone(), &over_http.fill(path), body).await;
        // An answer over a WebSocket is known by the number of its call.
        if let Some(problem) = http.as_object_mut() {
            problem.remove("request_id");
        }
        let ws = socket.call(method, serde_json::from_str(&over_ws.fill(params)).unwrap()).await;
        if !status.is_success() {
            let error = &ws["error"];
            assert_eq!(over_ws.masked(&error["data"]), over_http.masked(&http), "{named}: {ws}");
            assert_eq!(error["code"], code(status.as_u16()), "{named}: {ws}");
            assert_eq!(error["message"], error["data"]["detail"], "{named}");
            continue;
        }
        assert!(ws["error"].is_null(), "{named}: {ws} but {http}");
        if verb == Method::DELETE {
            assert_eq!(ws["result"], json!({ "removed": true }), "{named}");
            continue;
        }
        let made = |answer: &Value| answer["id"].as_str().filter(|_| *method == "cron.add").map(str::to_owned);
        over_http.id = made(&http).unwrap_or(over_http.id);
        over_ws.id = made(&ws["result"]).unwrap_or(over_ws.id);
        assert_eq!(over_ws.masked(&ws["result"]), over_http.masked(&http), "{named}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_answers_what_its_route_does() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        compare(&server, &server.key, CASES).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_do_and_see_over_the_websocket_what_it_may_over_http() {
    let home = Home::new();
    let server = home.serve();
    let bobs =
        server.create(json!({ "user": "bob", "message": "m", "schedule": { "type": "once", "at": LATER } })).await;
    let bobs: &'static str = bobs["id"].as_str().unwrap().to_owned().leak();
    let of = |params: &str| -> &'static str { params.replace('#', bobs).leak() };
    let cases: Vec<Case> = vec![
        (
            "cron.add",
            of(r#"{"user":"bob","message":"m","schedule":{"type":"once","at":"5m"}}"#),
            "POST",
            "/v1/reminders",
            r#"{"user":"bob","message":"m","schedule":{"type":"once","at":"5m"}}"#,
        ),
        ("cron.list", "{}", "GET", "/v1/reminders", ""),
        ("cron.list", r#"{"user":"bob"}"#, "GET", "/v1/reminders?user=bob", ""),
        ("reminders.get", of(r##"{"id":"#"}"##), "GET", of("/v1/reminders/#"), ""),
        ("reminders.update", of(r##"{"id":"#","message":"x"}"##), "PATCH", of("/v1/reminders/#"), r#"{"message":"x"}"#),
        ("reminders.fire", of(r##"{"id":"#"}"##), "POST", of("/v1/reminders/#/fire"), "{}"),
        ("reminders.occurrences", of(r##"{"id":"#"}"##), "GET", of("/v1/reminders/#/occurrences"), ""),
        ("cron.remove", of(r##"{"id":"#"}"##), "DELETE", of("/v1/reminders/#"), ""),
        ("events.put", r#"{"key":"k","starts_at":"5m"}"#, "PUT", "/v1/events/k", r#"{"starts_at":"5m"}"#),
        ("events.get", r#"{"key":"k"}"#, "GET", "/v1/events/k", ""),
        ("events.list", "{}", "GET", "/v1/events", ""),
        ("journal.list", r#"{"user":"bob"}"#, "GET", "/v1/audit?user=bob", ""),
        ("journal.subscribe", r#"{"user":"bob"}"#, "GET", "/v1/stream?user=bob", ""),
        ("inbound", r#"{"user":"bob","text":"done"}"#, "POST", "/v1/inbound", r#"{"user":"bob","text":"done"}"#),
    ];
    for body in
        [json!({ "name": "ann", "user": "ann" }), json!({ "name": "reader", "user": "ann", "scopes": ["read"] })]
    {
        let (_, key) = new_key(&server, body).await;
        compare(&server, &key, &cases).await;
    }
    assert_eq!(server.get(&format!("/v1/reminders/{bobs}")).await["status"], "active", "nothing of bob's has changed");
}

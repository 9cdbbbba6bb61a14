//! A bound key sees and changes nothing of anybody else: every route that the server has, with things that are another's.
//!
//! The routes are those of `/openapi.json`, which is made of the route table itself. A route that [`row`] does not know fails the test, so
//! that nobody forgets to say how a thing of another's is named there. The result is the page `docs/keys-matrix.md`; with
//! `PUNCTUAL_TEST_WRITE_DOCS=1` it is written, else it must be what the test has seen.

use std::fmt::Write as _;
use std::path::PathBuf;

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Server, answer, soon};

/// In the name of everything that is another's.
const MARK: &str = "zz-bob";
const SCOPES: [&str; 6] = ["read", "write", "inbound", "send-test", "keys", "admin"];

/// A level below a scope: such paths have a route of their own, which is described with that of one level.
const DEEPER: &str = "channel:2";

/// How a route is tried with things that are another's.
enum Row {
    /// The path names a thing: each of these is another's, and not found.
    Named(Vec<(String, Option<Value>)>),
    /// The path names nothing: what it is asked, and what a key of a user and a key of a channel are answered.
    Unnamed(String, Option<Value>, [u16; 2]),
    /// It needs no key, and why.
    Open(&'static str),
}

/// Things of another's.
struct World {
    user: String,
    reminder: String,
    key: String,
    silence: String,
    group: String,
    event: String,
    scope: String,
    watch: String,
    run: String,
    address: String,
}

impl World {
    /// Another one with each call.
    async fn make(server: &Server, n: usize) -> Self {
        let user = format!("{MARK}-{n}");
        let address = format!("http://127.0.0.1:9/{user}");
        let put = async |path: String, body: Value| {
            let (status, answer) = server.call(Method::PUT, &path, Some(body)).await;
            assert_eq!(status, 201, "{path}: {answer}");
        };
        let post = async |path: &str, body: Value| {
            let (status, answer) = server.call(Method::POST, path, Some(body)).await;
            assert!(status.is_success(), "{path}: {answer}");
            answer
        };
        let id = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
        put(format!("/v1/users/{user}"), json!({ "addresses": [{ "channel": "webhook", "address": address }] })).await;
        let (group, event, scope) = (format!("{user}-team"), format!("{user}-game"), format!("{user}:1"));
        put(format!("/v1/groups/{group}"), json!({ "users": [user] })).await;
        put(format!("/v1/scopes/{scope}"), json!({ "offsets": [60] })).await;
        put(format!("/v1/scopes/{scope}/{DEEPER}"), json!({ "offsets": [60] })).await;
        let game = json!({
            "starts_at": "2099-06-01T18:00:00Z", "timezone": "UTC", "rrule": "FREQ=WEEKLY;COUNT=3", "users": [user], "message": user,
        });
        put(format!("/v1/events/{event}"), game).await;
        put(format!("/v1/users/{user}/calendars/work"), json!({ "url": "file:work.ics" })).await;
        until("the calendar was read", async || {
            let found = server.get(&format!("/v1/users/{user}/calendars")).await;
            !found["calendars"][0]["read_at"].is_null()
        })
        .await;
        let reminder = post("/v1/reminders", own_reminder(&user, "webhook", &address)).await;
        let key = post("/v1/keys", json!({ "name": user, "user": user })).await;
        let silence = post("/v1/silences", json!({ "user": user, "tag": user, "until": "3d" })).await;
        let watch = format!("{MARK}-watch");
        let run = post(&format!("/v1/watches/{watch}/run"), json!({})).await;
        let run = run["run_id"].as_str().unwrap().to_owned();
        let (reminder, key, silence) = (id(&reminder), id(&key), id(&silence));
        Self { user, reminder, key, silence, group, event, scope, watch, run, address }
    }
}

fn own_reminder(user: &str, channel: &str, address: &str) -> Value {
    let to = json!([{ "channel": channel, "address": address }]);
    json!({ "user": user, "message": user, "schedule": { "type": "once", "at": "3h" }, "to": to, "max_retries": 0 })
}

/// How the route is tried. A new route needs an entry here.
fn row(method: &str, path: &str, world: &World) -> Row {
    let World { user, reminder, key, silence, group, event, scope, watch, run, address } = world;
    let named = |path: String, body: Option<Value>| Row::Named(vec![(path, body)]);
    let list = |query: &str, expect: [u16; 2]| Row::Unnamed(query.to_owned(), None, expect);
    let asked = |body: Value, expect: [u16; 2]| Row::Unnamed(String::new(), Some(body), expect);
    let of_bob = own_reminder(user, "webhook", address);
    let ical = format!(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{user}\nSUMMARY:x\nDTSTART:20400101T100000Z\nEND:VEVENT\nEND:VCALENDAR"
    );
    let game = json!({ "key": event, "starts_at": "2099-06-01T18:00:00Z", "users": [user], "message": "mine now" });
    let without_key = |path: &str| {
        let mut game = game.clone();
        game.as_object_mut().unwrap().remove("key");
        named(path.to_owned(), Some(game))
    };
    let instance = format!("/v1/events/{event}/instances/20990608T180000");
    let calendar = format!("/v1/users/{user}/calendars/work");
    match (method, path) {
        ("get", "/v1/reminders") => list("?limit=500", [200, 200]),
        ("post", "/v1/reminders") => asked(of_bob, [403, 403]),
        ("post", "/v1/reminders/batch") => asked(json!({ "reminders": [of_bob] }), [403, 403]),
        ("get" | "delete", "/v1/reminders/{id}") => named(format!("/v1/reminders/{reminder}"), None),
        ("patch", "/v1/reminders/{id}") => {
            named(format!("/v1/reminders/{reminder}"), Some(json!({ "message": "mine now" })))
        }
        ("get", "/v1/reminders/{id}/occurrences") => named(format!("/v1/reminders/{reminder}/occurrences"), None),
        ("get", "/v1/occurrences") => list("?from=today&to=2099-01-01&limit=500", [200, 200]),
        ("get", "/v1/occurrences/{id}") => named(format!("/v1/occurrences/{reminder}-1"), None),
        ("post", "/v1/reminders/{id}/{verb}") => {
            let verbs = ["ack", "snooze", "dismiss", "pause", "resume", "skip", "fire", "undo", "resend"];
            Row::Named(verbs.iter().map(|verb| (format!("/v1/reminders/{reminder}/{verb}"), None)).collect())
        }
        ("post", "/v1/resend") => asked(json!({ "since": "2h", "user": user }), [403, 403]),
        ("post", "/v1/parse") => asked(json!({ "text": "tomorrow at 8", "user": user }), [403, 200]),
        ("post", "/v1/inbound") => asked(json!({ "user": user, "channel": "webhook", "text": "done" }), [403, 403]),

        ("get", "/v1/users") => list("?limit=500", [200, 403]),
        ("get" | "delete", "/v1/users/{id}") => named(format!("/v1/users/{user}"), None),
        ("put", "/v1/users/{id}") => named(format!("/v1/users/{user}"), Some(json!({ "language": "de" }))),
        ("get" | "post", "/v1/users/{id}/calendar") => named(format!("/v1/users/{user}/calendar"), None),
        ("get", "/v1/users/{id}/calendars") => named(format!("/v1/users/{user}/calendars"), None),
        ("put", "/v1/users/{id}/calendars/{name}") => {
            named(calendar, Some(json!({ "url": "file:work.ics", "every": "2h" })))
        }
        ("get" | "delete", "/v1/users/{id}/calendars/{name}") => named(calendar, None),
        ("post", "/v1/users/{id}/calendars/{name}/read") => named(format!("{calendar}/read"), None),
        ("post", "/v1/users/{id}/erase") => named(format!("/v1/users/{user}/erase"), Some(json!({ "confirm": user }))),

        ("get", "/v1/groups") => list("?limit=500", [200, 403]),
        ("get" | "delete", "/v1/groups/{name}") => named(format!("/v1/groups/{group}"), None),
        ("put", "/v1/groups/{name}") => named(format!("/v1/groups/{group}"), Some(json!({ "users": ["alice"] }))),
        ("get", "/v1/events") => list("?limit=500", [200, 403]),
        ("post", "/v1/events/batch") => asked(json!({ "events": [game] }), [404, 403]),
        ("get" | "delete", "/v1/events/{key}") => named(format!("/v1/events/{event}"), None),
        ("put", "/v1/events/{key}") => without_key(&format!("/v1/events/{event}")),
        ("put", "/v1/events/{key}/instances/{at}") => named(instance, Some(json!({ "offsets": [5] }))),
        ("delete", "/v1/events/{key}/instances/{at}") => named(instance, None),
        ("get", "/v1/scopes") => list("?limit=500", [200, 403]),
        (method @ ("get" | "delete" | "put"), "/v1/scopes/{path}") => {
            let body = (method == "put").then(|| json!({ "offsets": [5] }));
            let levels = [format!("/v1/scopes/{scope}/{DEEPER}"), format!("/v1/scopes/{scope}")];
            Row::Named(levels.into_iter().map(|path| (path, body.clone())).collect())
        }
        ("get", "/v1/silences") => list("?limit=500", [200, 403]),
        ("post", "/v1/silences") => asked(json!({ "user": user, "until": "1h" }), [403, 403]),
        ("get" | "delete", "/v1/silences/{id}") => named(format!("/v1/silences/{silence}"), None),

        ("get", "/v1/keys") => list("", [403, 403]),
        ("post", "/v1/keys") => asked(json!({ "name": "another", "user": user }), [403, 403]),
        ("get" | "delete", "/v1/keys/{id}") => named(format!("/v1/keys/{key}"), None),
        ("post", "/v1/keys/{id}/rotate") => named(format!("/v1/keys/{key}/rotate"), Some(json!({ "overlap": "0s" }))),

        ("get", "/v1/channels") => list("", [200, 200]),
        ("post", "/v1/channels/{name}/test") => {
            named("/v1/channels/webhook/test".into(), Some(json!({ "address": address })))
        }
        ("post", "/v1/channels/{name}/revive") => {
            named("/v1/channels/webhook/revive".into(), Some(json!({ "address": address })))
        }
        ("get", "/v1/dead-addresses") => list("", [403, 403]),
        ("get", "/v1/audit") => list("?limit=500", [200, 403]),
        // `a_bound_key_streams_its_own_users_entries_and_no_others` reads it.
        ("get", "/v1/stream") => list("", [200, 403]),
        // Without the headers that ask for a WebSocket; what its methods find is what their routes do.
        ("get", "/v1/ws") => list("", [426, 403]),
        // Without the header that accepts streams; what its tools find is what their routes do.
        ("post", "/mcp") => asked(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }), [406, 406]),
        ("delete", "/mcp") => list("", [400, 400]),
        ("get", "/v1/export") => list("", [200, 403]),
        ("post", "/v1/import") => {
            asked(json!({ "source": "x", "items": [{ "key": "1", "reminder": of_bob }] }), [403, 403])
        }
        ("get", "/v1/import/sends") => list("?source=x", [403, 403]),
        ("post", "/v1/import/lines") => asked(json!({ "lines": [] }), [403, 403]),
        ("post", "/v1/import/calendar") => asked(json!({ "user": user, "ical": ical }), [404, 403]),
        ("get", "/v1/subscriptions") => list("", [403, 403]),
        ("get", "/v1/watches") => list("", [200, 403]),
        ("get" | "delete", "/v1/watches/{name}") => named(format!("/v1/watches/{watch}"), None),
        ("get", "/v1/watches/{name}/runs/{id}") => named(format!("/v1/watches/{watch}/runs/{run}"), None),
        ("post", "/v1/watches/{name}/run") => named(format!("/v1/watches/{watch}/run"), None),
        ("post", "/v1/watches/{name}/test") => named(format!("/v1/watches/{watch}/test"), None),
        ("get", "/v1/stats") => list("", [403, 403]),
        ("get", "/v1/nodes") => list("", [403, 403]),
        ("get", "/v1/lateness") => list("", [403, 403]),
        ("get", "/v1/settings") => list("", [200, 200]),
        ("get", "/v1/caller") => list("", [200, 200]),
        ("post", "/v1/sign-in") => asked(json!({}), [200, 200]),

        ("get" | "post", "/a/{token}") => Row::Open("the link is the proof"),
        ("get", "/calendar/{file}") => Row::Open("the address is the proof"),
        ("get" | "post", "/v1/inbound/{channel}") => Row::Open("the platform's signature is the proof"),
        ("get", "/healthz" | "/readyz") => Row::Open("monitors ask it"),
        ("get", "/metrics") => Row::Open("unless `metrics_key` is set; then not for bound keys"),
        ("get", "/openapi.json" | "/docs") => Row::Open("it is the same for everybody"),
        _ => panic!(
            "{method} {path} is new: say in `row` how a thing of another's is named there, or why it needs no key"
        ),
    }
}

/// Everything that could have changed: the last entry of the journal, and all that is kept.
async fn everything(server: &Server) -> (Value, Value, Value) {
    let newest = server.get("/v1/audit?order=newest&limit=1").await["entries"][0]["id"].clone();
    let mut keys = server.get("/v1/keys").await;
    for key in keys["keys"].as_array_mut().unwrap() {
        key.as_object_mut().unwrap().remove("last_used_at");
    }
    (newest, keys, server.get("/v1/export").await["lines"].clone())
}

/// The same, once nothing goes on any more: calendars are read and messages are sent beside the requests.
async fn everything_at_rest(server: &Server) -> (Value, Value, Value) {
    let mut last = everything(server).await;
    until("nothing changes any more", async || {
        let now = everything(server).await;
        let is_same = now == last;
        last = now;
        is_same
    })
    .await;
    last
}

/// Asks; of an answer without an end only the status, and of a page or a text no more.
async fn ask(server: &Server, key: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let mut request = server.request(method.to_uppercase().parse().unwrap(), path).bearer_auth(key);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = soon(request.send()).await.unwrap();
    let status = response.status().as_u16();
    let is_endless = response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
    if is_endless {
        return (status, Value::Null);
    }
    let bytes = soon(response.bytes()).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// The status without the body, which is the same.
async fn head(server: &Server, key: &str, path: &str) -> u16 {
    let response = soon(server.request(Method::HEAD, path).bearer_auth(key).send()).await.unwrap();
    response.status().as_u16()
}

async fn key(server: &Server, body: Value) -> String {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    key["key"].as_str().unwrap().to_owned()
}

/// A server with a watch, and a folder with a calendar.
fn serve(home: &Home) -> Server {
    let (app, folder, file) = (home.path().join("app.db"), home.path().join("calendars"), home.path().join("c.toml"));
    let db = rusqlite::Connection::open(&app).unwrap();
    db.execute_batch("create table tasks (id integer primary key, owner text, due_date text)").unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("work.ics"), "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n").unwrap();
    let watch = format!(
        "[watches.{MARK}-watch]\ndatabase = 'sqlite:{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nuser = 'owner'\n\
         message = 'task {{id}}'\nevery = '300d'\n",
        app.display()
    );
    std::fs::write(&file, watch).unwrap();
    home.serve_with(&[
        ("PUNCTUAL_CONFIG", file.to_str().unwrap()),
        ("PUNCTUAL_CALENDAR_FILES", folder.to_str().unwrap()),
    ])
}

/// Every method of every path, in the order of the paths.
async fn routes(server: &Server) -> Vec<(String, String)> {
    let (_, document) = answer(soon(server.request(Method::GET, "/openapi.json").send()).await.unwrap()).await;
    let paths = document["paths"].as_object().unwrap();
    let methods = |(path, item): (&String, &Value)| {
        let known = ["get", "put", "post", "patch", "delete"];
        let path = path.clone();
        let there: Vec<_> = known.into_iter().filter(|method| item.get(method).is_some()).collect();
        there.into_iter().map(move |method| (method.to_owned(), path.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(methods).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_key_finds_and_changes_nothing_of_anybody_else_on_any_route() {
    let home = Home::new();
    let server = serve(&home);
    let alice = key(&server, json!({ "name": "alice", "user": "alice" })).await;
    let console = key(&server, json!({ "name": "console", "channels": ["console"] })).await;
    let both = key(&server, json!({ "name": "both", "user": "alice", "channels": ["console"] })).await;
    let scopes = scopes_of(&server).await;
    let mut page = PAGE.to_owned();
    for (n, (method, path)) in routes(&server).await.into_iter().enumerate() {
        let needs = scopes.iter().find(|(other, _)| *other == (method.clone(), path.clone())).map(|(_, scope)| scope);
        let (mut seen, mut tries) = (Vec::new(), Vec::new());
        let world = World::make(&server, n).await;
        match row(&method, &path, &world) {
            Row::Open(why) => {
                assert_eq!(needs, None, "{method} {path} asks for a key");
                writeln!(page, "| {} | `{path}` | none: {why} | | |", method.to_uppercase()).unwrap();
                continue;
            }
            Row::Named(named) => tries.extend(named.into_iter().map(|(path, body)| (path, body, [404, 404, 404]))),
            Row::Unnamed(query, body, [user, channel]) => {
                // A key with both bonds sees no more than either.
                let least = if channel == 403 { channel } else { user };
                tries.push((format!("{path}{query}"), body, [user, channel, least]));
            }
        }
        let before = everything_at_rest(&server).await;
        for (path, body, expect) in &tries {
            for (key, expect) in [&alice, &console, &both].into_iter().zip(expect) {
                let (status, answer) = ask(&server, key, &method, path, body.as_ref()).await;
                assert_eq!(status, *expect, "{method} {path}: {answer}");
                assert!(!answer.to_string().contains(MARK), "{method} {path} shows what is another's: {answer}");
                if method == "get" {
                    assert_eq!(head(&server, key, path).await, status, "HEAD {path}");
                }
                seen.push(status);
            }
        }
        assert_eq!(everything(&server).await, before, "{method} {path} changed something");
        // Whoever is bound to nobody is answered otherwise: the things were there, and the requests were right.
        for (path, body, expect) in tries.iter().filter(|(path, ..)| !path.ends_with("/revive")) {
            let (status, answer) = ask(&server, &server.key, &method, path, body.as_ref()).await;
            let is_refused = matches!(status, 401 | 403 | 404 | 429) || status >= 500;
            assert!(!is_refused, "{method} {path}: {status} {answer} instead of {expect:?}");
        }
        let word = |status: u16| match status {
            200 => "200, without others'".to_owned(),
            status => status.to_string(),
        };
        let needs = needs.map_or_else(|| "any key".to_owned(), |scope| format!("`{scope}`"));
        let method = method.to_uppercase();
        writeln!(page, "| {method} | `{path}` | {needs} | {} | {} |", word(seen[0]), word(seen[1])).unwrap();
    }
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keys-matrix.md"));
    if std::env::var_os("PUNCTUAL_TEST_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        written, page,
        "run this test with PUNCTUAL_TEST_WRITE_DOCS=1, and look at what has changed in the page"
    );
}

const PAGE: &str = "# Routes and keys

A test writes this page: it asks every route that the server has (`tests/program/bonds.rs`). *Needs* is the [scope](keys.md#scopes) that a key must
have. The last two columns are what a key that is bound to another user, and one that is bound to other channels, are answered when they
name somebody's things. After each request the whole database and the journal are what they were before it.

| Method | Path | Needs | Key of a user | Key of a channel |
| --- | --- | --- | --- | --- |
";

/// The scope that each route needs, as the server says it to a key without it; and that keys with it, and those which include it, get past.
async fn scopes_of(server: &Server) -> Vec<((String, String), String)> {
    let mut keys = Vec::new();
    for scope in SCOPES {
        keys.push((scope, key(server, json!({ "name": scope, "scopes": [scope], "rate": "100000/s" })).await));
    }
    let mut found = Vec::new();
    for (method, path) in routes(server).await {
        // Nothing has such a name, so that nothing happens.
        let filled = path.replace(['{', '}'], "");
        let body = json!({});
        let mut refused = Vec::new();
        for (scope, key) in &keys {
            let body = Some(&body).filter(|_| method != "get" && method != "delete");
            let (status, problem) = ask(server, key, &method, &filled, body).await;
            let detail = problem["detail"].as_str().unwrap_or_default();
            if let Some((_, rest)) = detail.split_once("needs a key with the scope `") {
                assert_eq!(status, 403, "{method} {path}");
                refused.push((*scope, rest.split('`').next().unwrap().to_owned()));
            }
        }
        let Some((_, needs)) = refused.first().cloned() else { continue };
        let expect: &[&str] = match needs.as_str() {
            "read" => &["inbound", "send-test", "keys"],
            "write" => &["read", "inbound", "send-test", "keys"],
            "inbound" => &["read", "send-test", "keys"],
            "send-test" => &["read", "inbound", "keys"],
            "keys" => &["read", "write", "inbound", "send-test"],
            "admin" => &["read", "write", "inbound", "send-test", "keys"],
            other => panic!("{method} {path} needs {other}"),
        };
        let refused: Vec<&str> = refused.iter().map(|(scope, _)| *scope).collect();
        assert_eq!(refused, expect, "{method} {path} needs {needs}");
        found.push(((method, path), needs));
    }
    found
}

#[tokio::test]
async fn a_bound_key_streams_its_own_users_entries_and_no_others() {
    let home = Home::new();
    let server = home.serve();
    let alice = key(&server, json!({ "name": "alice", "user": "alice" })).await;
    for user in [MARK, "alice", MARK, "alice"] {
        server.create(own_reminder(user, "console", "")).await;
    }
    let mut stream = soon(server.request(Method::GET, "/v1/stream?after=0").bearer_auth(&alice).send()).await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut text = String::new();
    while text.matches("event: reminder.created").count() < 2 {
        let chunk = soon(stream.chunk()).await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    server.create(own_reminder(MARK, "console", "")).await;
    server.create(own_reminder("alice", "console", "")).await;
    while text.matches("event: reminder.created").count() < 3 {
        let chunk = soon(stream.chunk()).await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(!text.contains(MARK), "{text}");
    let (_, audit) = server.call_with(&alice, Method::GET, "/v1/audit", None).await;
    let kinds: Vec<&str> =
        audit["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["key.created", "reminder.created", "reminder.created", "reminder.created"], "{audit}");
    for query in [format!("?user={MARK}"), format!("?user={MARK}&limit=1")] {
        assert_eq!(server.call_with(&alice, Method::GET, &format!("/v1/audit{query}"), None).await.0, 403);
        let refused = server.request(Method::GET, &format!("/v1/stream{query}")).bearer_auth(&alice).send();
        assert_eq!(soon(refused).await.unwrap().status(), 403);
    }
}

#[tokio::test]
async fn a_key_of_a_channel_sends_by_it_and_sees_what_was_sent_by_it() {
    let home = Home::new();
    let server = home.serve();
    let key = key(&server, json!({ "name": "screen", "channels": ["console"] })).await;
    let call = async |method: Method, path: &str, body: Option<Value>| {
        let (status, answer) = server.call_with(&key, method, path, body).await;
        (status.as_u16(), answer)
    };
    let (status, own) = call(Method::POST, "/v1/reminders", Some(own_reminder("ann", "console", ""))).await;
    assert_eq!((status, &own["only"]), (201, &json!(true)), "no other channel is tried: {own}");
    let id = own["id"].as_str().unwrap();
    for (field, body) in [
        ("to[0].channel", own_reminder("ann", "webhook", "http://127.0.0.1:9/")),
        ("to", json!({ "user": "ann", "text": "tea in an hour" })),
    ] {
        let (status, problem) = call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!((status, problem["field"].as_str()), (403, Some(field)), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("`console`"), "{problem}");
    }
    for (field, change) in [
        ("to[0].channel", json!({ "to": [{ "channel": "webhook", "address": "http://127.0.0.1:9/" }] })),
        ("only", json!({ "only": false })),
    ] {
        let (status, problem) = call(Method::PATCH, &format!("/v1/reminders/{id}"), Some(change)).await;
        assert_eq!((status, problem["field"].as_str()), (403, Some(field)), "{problem}");
    }
    assert_eq!(call(Method::PATCH, &format!("/v1/reminders/{id}"), Some(json!({ "message": "new" }))).await.0, 200);

    // Others of the same person go by other channels, or might.
    let mut foreign = Vec::new();
    for (channel, address) in [("webhook", "http://127.0.0.1:9/"), ("console", ""), ("console", "")] {
        let made = server.create(own_reminder("ann", channel, address)).await;
        foreign.push(made["id"].as_str().unwrap().to_owned());
    }
    let (_, page) = call(Method::GET, "/v1/reminders", None).await;
    let seen: Vec<&Value> = page["reminders"].as_array().unwrap().iter().map(|reminder| &reminder["id"]).collect();
    assert_eq!(seen, [&own["id"]], "{page}");
    // A page may end at what is another's. Its cursor leads on and does not say so.
    for list in ["/v1/reminders?limit=1", "/v1/occurrences?user=ann&from=today&to=2099-01-01&limit=1"] {
        let (mut cursor, mut n_pages, mut seen) = (String::new(), 0, Vec::new());
        loop {
            let (status, page) = call(Method::GET, &format!("{list}{cursor}"), None).await;
            assert_eq!(status, 200, "{list}{cursor}: {page}");
            let items = page["reminders"].as_array().or(page["runs"].as_array()).unwrap();
            seen.extend(items.iter().map(|item| item.get("reminder").unwrap_or(item)["id"].clone()));
            n_pages += 1;
            let Some(next) = page["next_cursor"].as_str() else { break };
            assert!(!foreign.iter().any(|id| next.contains(id.as_str())), "{list}: {next}");
            cursor = format!("&cursor={next}");
        }
        assert!(n_pages >= 4, "{list} has pages");
        assert_eq!(seen, std::slice::from_ref(&own["id"]), "{list}");
    }
    let (_, channels) = call(Method::GET, "/v1/channels", None).await;
    assert_eq!(channels["channels"].as_array().unwrap().len(), 1, "{channels}");
    // How much everybody sends is nothing of its own.
    let everybody = server.get("/v1/channels").await;
    for traffic in ["sending", "waiting", "outcomes", "closed", "dead"] {
        assert!(everybody["channels"][0].get(traffic).is_some(), "{traffic}: {everybody}");
        assert!(channels["channels"][0].get(traffic).is_none(), "{traffic}: {channels}");
    }
    assert!(everybody["node"].is_string() && channels.get("node").is_none(), "{channels}");
    assert_eq!(call(Method::POST, "/v1/channels/console/test", None).await.0, 200);
    assert_eq!(call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await.0, 200);

    let (status, problem) =
        server.call(Method::POST, "/v1/keys", Some(json!({ "name": "x", "channels": ["pigeon"] }))).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("channels[0]")), "{problem}");
}

#[tokio::test]
async fn words_are_handed_in_for_the_messages_of_the_keys_own_channel() {
    let home = Home::new();
    let server = home.serve();
    let bot = key(&server, json!({ "name": "bot", "channels": ["console"], "scopes": ["inbound"] })).await;
    let mut receiver = crate::common::Receiver::listen().await;
    let question = |channel: &str, address: &str| {
        let to = json!([{ "channel": channel, "address": address }]);
        json!({ "user": "ann", "message": channel, "schedule": { "type": "once", "at": "now" }, "to": to, "only": true, "require_ack": true })
    };
    let elsewhere = server.create(question("webhook", &receiver.url)).await;
    receiver.next().await;
    let awaits = async |reminder: &Value| {
        let id = reminder["id"].as_str().unwrap();
        until("it awaits an answer", async || {
            server.get(&format!("/v1/reminders/{id}/occurrences")).await["occurrences"][0]["state"] == "awaiting_ack"
        })
        .await;
    };
    awaits(&elsewhere).await;
    let said = json!({ "user": "ann", "channel": "console", "text": "done" });
    let (status, heard) = server.call_with(&bot, Method::POST, "/v1/inbound", Some(said.clone())).await;
    assert_eq!((status.as_u16(), &heard["handled"]), (200, &json!(false)), "it was sent by another channel: {heard}");
    let here = server.create(question("console", "")).await;
    awaits(&here).await;
    let (_, heard) = server.call_with(&bot, Method::POST, "/v1/inbound", Some(said)).await;
    assert_eq!((&heard["handled"], &heard["reminder_id"]), (&json!(true), &here["id"]), "{heard}");
    let (status, problem) =
        server.call_with(&bot, Method::POST, "/v1/inbound", Some(json!({ "user": "ann", "text": "done" }))).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (403, Some("channel")), "{problem}");
    assert_eq!(server.call_with(&bot, Method::GET, "/v1/reminders", None).await.0, 403, "it may do nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_key_imports_a_calendar_over_nobody_elses_events() {
    let home = Home::new();
    let server = home.serve();
    let calendar = |summary: &str, uid: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{summary}\r\nDTSTART:20990301T080000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let import = async |key: &str, user: &str, name: &str, ical: String| {
        let body = json!({ "user": user, "name": name, "ical": ical });
        ask(&server, key, "post", "/v1/import/calendar", Some(&body)).await
    };
    let (status, imported) = import(&server.key, "bob/x", "work", calendar("theirs", "u1")).await;
    assert_eq!(status, 200, "{imported}");
    let theirs = imported["items"][0]["key"].as_str().unwrap().to_owned();
    let path = format!("/v1/events/{}", theirs.replace('%', "%25").replace('/', "%2F"));
    assert_eq!(server.get(&path).await["users"], json!(["bob/x"]));
    let bob = key(&server, json!({ "name": "bob", "user": "bob" })).await;
    for (name, uid) in [("x/work", "u1"), ("x/work:u1", ""), ("", "x/work:u1"), ("Work", "u1")] {
        let (status, answer) = import(&bob, "bob", name, calendar("mine now", uid)).await;
        assert_eq!((status, answer["field"].as_str()), (422, Some("name")), "{name}: {answer}");
    }
    for (user, name, uid) in [("bob", "work", "u1"), ("bob", "x", "work:u1"), ("bob", "x", "/work:u1")] {
        let (status, answer) = import(&bob, user, name, calendar("mine now", uid)).await;
        assert_eq!((status, answer["items"][0]["outcome"].as_str()), (200, Some("created")), "{name} {uid}: {answer}");
    }
    // Nor does a name that is written as the other is kept.
    let escaped = key(&server, json!({ "name": "escaped", "user": "bob%2Fx" })).await;
    let (_, answer) = import(&escaped, "bob%2Fx", "work", calendar("mine now", "u1")).await;
    assert_eq!(answer["items"][0]["outcome"], "created", "{answer}");
    let event = server.get(&path).await;
    assert_eq!((&event["users"], &event["name"]), (&json!(["bob/x"]), &json!("theirs")), "{event}");
}

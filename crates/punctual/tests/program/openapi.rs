//! The description of the API: it is OpenAPI 3.1, it has every method of every path, and answers are what it says.

use std::collections::BTreeSet;

use punctual_channels::common::buttons::Verb;
use punctual_channels::common::links::Links;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server, answer, soon};

const SECRET: &str = "sixteen or more characters";
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// The description, and which operations have been seen to do as it says.
pub(crate) struct Description {
    pub(crate) document: Value,
    seen: BTreeSet<String>,
}

impl Description {
    pub(crate) async fn of(server: &Server) -> Self {
        // The description needs no key.
        let response = soon(server.request(Method::GET, "/openapi.json").send()).await.unwrap();
        let (status, document) = answer(response).await;
        assert_eq!(status, 200, "{document}");
        Self { document, seen: BTreeSet::new() }
    }

    /// Every operation: its path, method and description.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |method| Some((path.as_str(), *method, item.get(method)?)))
        })
    }

    /// The schema at `pointer`, in which an object has no fields but those it names.
    fn schema(&self, schema: &Value) -> jsonschema::Validator {
        let mut root = json!({ "components": self.document["components"], "allOf": [schema] });
        close(&mut root);
        jsonschema::draft202012::new(&root).unwrap()
    }

    /// What a reference leads to.
    pub(crate) fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let pointer = value["$ref"].as_str().map(|reference| reference.strip_prefix('#').unwrap());
        pointer.map_or(value, |pointer| self.document.pointer(pointer).unwrap())
    }

    /// Checks an answer against what the operation at `path` says.
    #[track_caller]
    pub(crate) fn check(&mut self, path: &str, method: &str, status: u16, body: &Value) {
        let operation = &self.document["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not described");
        let response = operation["responses"].get(status.to_string());
        let response = response.unwrap_or_else(|| panic!("{method} {path}: {status} is not described; {body}"));
        let response = self.resolved(response);
        let kind = if body["code"].is_string() { "application/problem+json" } else { "application/json" };
        let content = &response["content"][kind];
        if let Some(code) = body["code"].as_str() {
            let codes = &content["schema"]["allOf"][1]["properties"]["code"]["examples"];
            assert!(codes.as_array().unwrap().contains(&json!(code)), "{method} {path}: {code} is not among {codes}");
        }
        if body.is_null() {
            assert!(content.is_null(), "{method} {path}: {status} has no body");
        } else {
            let validator = self.schema(&content["schema"]);
            let errors: Vec<String> =
                validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{method} {path}: {errors:#?}\n{body:#}");
        }
        if status < 400 {
            self.seen.insert(format!("{method} {path}"));
        }
    }
}

/// Makes every object of a schema refuse fields that it does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
                map.entry("additionalProperties").or_insert(false.into());
            }
            map.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// All references of a document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The shape of an OpenAPI 3.1 document, as far as ours uses it: fields that the specification does not have are refused.
fn shape() -> Value {
    let only = |required: Value, properties: Value| json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false });
    let map = |of: &str| json!({ "type": "object", "additionalProperties": { "$ref": format!("#/$defs/{of}") } });
    let text = || json!({ "type": "string", "minLength": 1 });
    let content = json!({ "type": "object", "minProperties": 1, "additionalProperties": { "$ref": "#/$defs/media" } });
    json!({
        "type": "object",
        "required": ["openapi", "info", "paths"],
        "additionalProperties": false,
        "properties": {
            "openapi": { "pattern": "^3\\.1\\.[0-9]+$" },
            "info": only(json!(["title", "version"]), json!({
                "title": text(), "version": text(), "description": text(),
                "license": only(json!(["name", "identifier"]), json!({ "name": text(), "identifier": text() })),
            })),
            "paths": { "type": "object", "patternProperties": { "^/": { "$ref": "#/$defs/path" } }, "additionalProperties": false },
            "components": only(json!(["schemas", "securitySchemes", "responses", "parameters", "headers"]), json!({
                "responses": map("response"), "parameters": map("parameter"), "headers": map("header"),
                "schemas": { "type": "object", "propertyNames": { "pattern": "^[a-zA-Z0-9._-]+$" }, "additionalProperties": { "type": "object" } },
                "securitySchemes": { "type": "object", "additionalProperties": only(json!(["type", "scheme"]), json!({
                    "type": { "const": "http" }, "scheme": { "const": "bearer" }, "description": text(),
                })) },
            })),
        },
        "$defs": {
            "path": { "type": "object", "minProperties": 1, "propertyNames": { "enum": METHODS }, "additionalProperties": { "$ref": "#/$defs/operation" } },
            "operation": only(json!(["operationId", "summary", "tags", "responses"]), json!({
                "operationId": text(), "summary": text(), "description": text(), "tags": { "type": "array", "items": text() },
                "parameters": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/parameter" }, { "$ref": "#/$defs/reference" }] } },
                "requestBody": only(json!(["content"]), json!({ "content": content, "required": { "type": "boolean" }, "description": text() })),
                "responses": { "type": "object", "propertyNames": { "pattern": "^([1-5][0-9][0-9]|default)$" }, "additionalProperties": { "anyOf": [{ "$ref": "#/$defs/response" }, { "$ref": "#/$defs/reference" }] } },
                "security": { "type": "array", "items": { "type": "object", "additionalProperties": { "type": "array", "maxItems": 0 } } },
            })),
            "parameter": only(json!(["name", "in", "schema", "description"]), json!({
                "name": text(), "in": { "enum": ["path", "query", "header"] }, "description": text(), "required": { "type": "boolean" }, "schema": { "type": "object" }, "example": {},
            })),
            "reference": only(json!(["$ref"]), json!({ "$ref": text() })),
            "response": only(json!(["description"]), json!({
                "description": text(), "content": map("media"), "headers": map("reference"), "links": map("link"),
            })),
            "header": only(json!(["description", "schema"]), json!({ "description": text(), "schema": { "type": "object" }, "required": { "type": "boolean" } })),
            "link": only(json!(["operationId", "parameters"]), json!({ "operationId": text(), "parameters": { "type": "object" } })),
            "media": only(json!([]), json!({ "schema": { "type": "object" }, "example": {} })),
        },
    })
}

#[tokio::test]
async fn the_description_is_openapi_3_1() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let document = &description.document;
    let validator = jsonschema::draft202012::new(&shape()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["info"]["version"], server.get("/v1/settings").await["version"]);
    let mut found = Vec::new();
    references(document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference within the document");
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        jsonschema::draft202012::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let mut ids = BTreeSet::new();
    for (path, method, operation) in description.operations() {
        let whole = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{whole} has the id of another");
        assert!(operation["summary"].as_str().is_some_and(|text| text.len() > 5), "{whole} says nothing about itself");
        // A platform's request is proved by its signature.
        let takes_a_key = path.starts_with("/v1/") && path != "/v1/inbound/{channel}" || path == "/mcp";
        assert_eq!(operation["security"].is_array(), takes_a_key, "{whole}");
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let parameters: Vec<&Value> = parameters.iter().map(|parameter| description.resolved(parameter)).collect();
        let named = |place: &str| -> BTreeSet<&str> {
            let there = parameters.iter().filter(|parameter| parameter["in"] == place);
            there.map(|parameter| parameter["name"].as_str().unwrap()).collect()
        };
        let in_path: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(named("path"), in_path, "{whole}");
        let is_asked = method == "post" && path != "/v1/inbound/{channel}" && path != "/mcp";
        assert_eq!(named("header").contains("Idempotency-Key"), is_asked, "{whole}");
        for parameter in &parameters {
            assert!(parameter["description"].is_string() && parameter["schema"].is_object(), "{whole}: {parameter}");
            assert_eq!(
                parameter["required"].as_bool().unwrap_or(false),
                parameter["in"] == "path" || parameter["name"] == "source",
                "{whole}: {parameter}"
            );
        }
        let body = &operation["requestBody"];
        let may_be_empty =
            ["command_reminder", "test_channel", "rotate_key"].iter().any(|id| operation["operationId"] == *id);
        assert_eq!(body["required"].as_bool().unwrap_or(false), body.is_object() && !may_be_empty, "{whole}");
        let responses = operation["responses"].as_object().unwrap();
        let said = |response| description.resolved(response)["description"].is_string();
        assert!(responses.values().all(said), "{whole}");
        // A WebSocket is no answer, but the end of HTTP on its connection.
        let works = |status: &String| status.starts_with('2') || status == "101";
        assert!(responses.keys().any(works), "{whole} never works");
        assert!(!responses.contains_key("default"), "{whole}: every answer is named");
        for (status, response) in responses {
            let response = description.resolved(response);
            assert!(response["headers"]["X-Request-Id"].is_object(), "{whole}: {status} has an id");
            let is_problem = response["content"]["application/problem+json"].is_object();
            // Two say more than a problem: what is not ready, and a platform that is not one.
            let is_own = ["ready", "greet_platform", "receive"].iter().any(|id| operation["operationId"] == *id);
            assert_eq!(is_problem, status.as_str() >= "400" && !is_own || is_problem, "{whole}: {status}");
            for link in response["links"].as_object().into_iter().flatten().map(|(_, link)| link) {
                let targets =
                    description.operations().filter(|(.., other)| other["operationId"] == link["operationId"]);
                assert_eq!(targets.count(), 1, "{whole}: {link} leads nowhere");
            }
        }
        let is_static = ["/healthz", "/readyz", "/openapi.json", "/docs"].contains(&path);
        assert!(responses.contains_key("500") && (is_static || responses.contains_key("503")), "{whole}");
        assert!(
            !takes_a_key || ["400", "401", "403", "422", "429"].iter().all(|status| responses.contains_key(*status)),
            "{whole}"
        );
        assert!(body.is_null() || ["408", "413"].iter().all(|status| responses.contains_key(*status)), "{whole}");
        assert_eq!(named("header").contains("If-Match"), responses.contains_key("412"), "{whole}");
    }
}

/// Everything that `schema` says, with what it refers to in place of each reference; a reference within itself is left out.
fn whole(schema: &Value, document: &Value, within: &[&str]) -> Value {
    match schema {
        Value::Object(map) => match map.get("$ref").and_then(Value::as_str) {
            Some(reference) if within.contains(&reference) => Value::Null,
            Some(reference) => {
                let found = document.pointer(&reference[1..]).unwrap();
                whole(found, document, &[within, &[reference]].concat())
            }
            None => map.iter().map(|(name, value)| (name.clone(), whole(value, document, within))).collect(),
        },
        Value::Array(items) => items.iter().map(|item| whole(item, document, within)).collect(),
        value => value.clone(),
    }
}

/// All values of a field of this name, however deep.
fn all_of<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get(name));
            map.values().for_each(|value| all_of(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| all_of(item, name, found)),
        _ => {}
    }
}

#[tokio::test]
async fn an_answer_may_have_more_words_and_fields_and_a_request_may_not() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let document = &description.document;
    let (mut asked, mut words) = (BTreeSet::new(), BTreeSet::new());
    for (path, method, operation) in description.operations() {
        let answers = whole(&operation["responses"], document, &[]);
        let mut closed = Vec::new();
        for name in ["enum", "const", "oneOf"] {
            all_of(&answers, name, &mut closed);
        }
        // What may be null is described as one of two.
        closed.retain(|found| !found.as_array().is_some_and(|either| either.contains(&json!({ "type": "null" }))));
        assert!(closed.is_empty(), "{method} {path}: an answer is one of {closed:?}");
        let mut more = Vec::new();
        all_of(&answers, "additionalProperties", &mut more);
        assert!(!more.contains(&&json!(false)), "{method} {path}: an answer has no other fields");
        let mut examples = Vec::new();
        all_of(&answers, "examples", &mut examples);
        words.extend(examples.iter().map(|words| words.to_string()));

        let body = whole(&operation["requestBody"], document, &[]);
        let mut choices = Vec::new();
        all_of(&body, "enum", &mut choices);
        asked.extend(choices.iter().map(|words| words.to_string()));
        let mut objects = Vec::new();
        all_of(&body, "properties", &mut objects);
        let mut only = Vec::new();
        all_of(&body, "additionalProperties", &mut only);
        let n_closed = only.iter().filter(|more| ***more == json!(false)).count();
        assert_eq!(n_closed, objects.len(), "{method} {path}: an object of a request takes any field");
    }
    for choice in [
        r#"["low","normal","high","critical"]"#,
        r#"["latest","all","skip"]"#,
        r#"["critical","high"]"#,
        r#"["weekly"]"#,
    ] {
        assert!(asked.contains(choice), "{choice} is not among {asked:?}");
    }
    let states = words.iter().find(|words| words.contains(r#""awaiting_ack""#)).unwrap();
    assert!(states.contains(r#""delivered""#) && words.contains(r#"["low","normal","high","critical"]"#), "{words:?}");
}

#[tokio::test]
async fn every_method_of_every_path_is_described() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let mut described: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for (path, method, _) in description.operations() {
        match described.last_mut() {
            Some((last, methods)) if *last == path => drop(methods.insert(method.to_uppercase())),
            _ => described.push((path, BTreeSet::from([method.to_uppercase()]))),
        }
    }
    for (path, described) in described {
        // No route takes it, so the answer says which methods there are.
        let probe = Method::from_bytes(b"PROBE").unwrap();
        let filled = path.replace(['{', '}'], "");
        let response = soon(server.request(probe, &filled).send()).await.unwrap();
        assert_eq!(response.status(), 405, "{path}");
        let allowed = response.headers()["allow"].to_str().unwrap().to_owned();
        let mut allowed: BTreeSet<String> = allowed.split(',').map(str::to_owned).collect();
        allowed.remove("HEAD");
        assert_eq!(allowed, described, "{path}");
    }
}

#[tokio::test]
async fn query_parameters_are_those_that_the_server_takes() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let id = server.create(json!({ "text": "tea in an hour" })).await["id"].as_str().unwrap().to_owned();
    for (path, method, operation) in
        description.operations().filter(|(path, method, _)| *method == "get" && path.starts_with("/v1/"))
    {
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let named = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().unwrap());
        let query: Vec<String> =
            named.map(|name| format!("{name}={}", if name == "limit" { "5" } else { "" })).collect();
        let filled = path.replace("{id}", &id);
        let (_, body) = server.call(Method::GET, &format!("{filled}?{}", query.join("&")), None).await;
        let detail = body["detail"].as_str().unwrap_or_default();
        assert!(
            !detail.contains("is not known"),
            "{method} {path} is described with a parameter it does not take: {body}"
        );
        let (_, problem) = server.call(Method::GET, &format!("{filled}?surprise=1"), None).await;
        let known =
            problem["detail"].as_str().unwrap_or_default().split_once("known are ").map(|(_, known)| known.to_owned());
        for name in known.iter().flat_map(|known| known.split(", ")) {
            assert!(
                query.iter().any(|part| part.starts_with(&format!("{name}="))),
                "{path} takes {name}, which is not described"
            );
        }
    }
}

#[tokio::test]
async fn lists_have_pages_but_for_those_that_are_answered_whole() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let lists = description.operations().filter_map(|(_, method, operation)| {
        let id = operation["operationId"].as_str().unwrap();
        (method == "get" && id.starts_with("list_")).then_some((id, operation))
    });
    let mut whole = Vec::new();
    for (id, operation) in lists {
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
        assert_eq!(has("limit"), has("cursor") || has("after"), "{id}");
        if !has("limit") {
            whole.push(id);
        }
    }
    whole.sort_unstable();
    // `docs/http.md` names them.
    let expect = ["list_calendars", "list_channels", "list_keys", "list_nodes", "list_subscriptions", "list_watches"];
    assert_eq!(whole, expect);
}

/// A config file with a watch over a table in which one row is due and one is bad; returns where it is.
fn watching(home: &Home) -> String {
    let (app, file) = (home.path().join("app.db"), home.path().join("config.toml"));
    let db = rusqlite::Connection::open(&app).unwrap();
    db.execute_batch(
        "create table tasks (id integer primary key, owner text, due_date text, reminder_sent_at text); \
         insert into tasks values (1, 'alice', datetime('now', '+1 hour'), null), (2, null, datetime('now', '+1 hour'), null)",
    )
    .unwrap();
    let watch = format!(
        "[watches.tasks]\ndatabase = 'sqlite:{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'reminder_sent_at'\nuser = 'owner'\n\
         message = 'task {{id}}'\nevery = '300d'\n",
        app.display()
    );
    std::fs::write(&file, watch).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn answers_are_what_the_description_says() {
    let home = Home::new();
    let mut receiver = Receiver::listen().await;
    let file = watching(&home);
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", SECRET), ("PUNCTUAL_CONFIG", &file)]);
    let mut description = Description::of(&server).await;
    macro_rules! call {
        ($method:ident $template:literal $(, $name:ident = $value:expr)* ; $query:expr, $body:expr) => {{
            let fills: [(&str, String); _] = [$((concat!("{", stringify!($name), "}"), $value.to_string())),*];
            let path = fills.iter().fold($template.to_owned(), |path, (name, value)| path.replace(name, value));
            let method: Method = stringify!($method).parse().unwrap();
            let (status, body) = server.call(method, &format!("{path}{}", $query), $body).await;
            description.check($template, &stringify!($method).to_lowercase(), status.as_u16(), &body);
            (status.as_u16(), body)
        }};
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();

    let alice = json!({
        "timezone": "Europe/Berlin", "language": "de", "addresses": [{ "channel": "webhook", "address": receiver.url }],
        "quiet_hours": { "from": "03:00", "to": "03:01", "digest": true }, "admin": true,
    });
    assert_eq!(call!(PUT "/v1/users/{id}", id = "alice"; "", Some(alice.clone())).0, 201);
    assert_eq!(call!(PUT "/v1/users/{id}", id = "alice"; "", Some(alice)).0, 200);
    call!(GET "/v1/users/{id}", id = "alice"; "", None);
    call!(GET "/v1/users"; "?limit=1", None);
    call!(GET "/v1/users/{id}/calendar", id = "alice"; "", None);
    call!(POST "/v1/users/{id}/calendar", id = "alice"; "", None);
    let calendar = json!({ "url": "https://calendar.example/a.ics", "every": "1h" });
    assert_eq!(
        call!(PUT "/v1/users/{id}/calendars/{name}", id = "alice", name = "work"; "", Some(calendar.clone())).0,
        201
    );
    assert_eq!(call!(PUT "/v1/users/{id}/calendars/{name}", id = "alice", name = "work"; "", Some(calendar)).0, 200);
    call!(GET "/v1/users/{id}/calendars", id = "alice"; "", None);
    call!(GET "/v1/users/{id}/calendars/{name}", id = "alice", name = "work"; "", None);
    call!(POST "/v1/users/{id}/calendars/{name}/read", id = "alice", name = "work"; "", None);
    call!(DELETE "/v1/users/{id}/calendars/{name}", id = "alice", name = "work"; "", None);
    let ical = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nSUMMARY:Tea\nDTSTART:20400101T100000Z\nEND:VEVENT\nEND:VCALENDAR";
    call!(POST "/v1/import/calendar"; "", Some(json!({ "user": "alice", "ical": ical, "dry_run": true })));
    call!(PUT "/v1/users/{id}", id = "bob"; "", Some(json!({ "paused_until": "3d" })));
    call!(DELETE "/v1/users/{id}", id = "bob"; "", None);
    call!(DELETE "/v1/users/{id}", id = "bob"; "", None);

    assert_eq!(
        call!(PUT "/v1/groups/{name}", name = "on-call"; "", Some(json!({ "users": ["bob"], "mode": "all" }))).0,
        201
    );
    assert_eq!(call!(PUT "/v1/groups/{name}", name = "on-call"; "", Some(json!({ "users": ["bob", "eve"] }))).0, 200);
    call!(GET "/v1/groups/{name}", name = "on-call"; "", None);
    call!(GET "/v1/groups"; "?limit=1", None);
    call!(DELETE "/v1/groups/{name}", name = "on-call"; "", None);
    call!(DELETE "/v1/groups/{name}", name = "on-call"; "", None);

    let silence = json!({ "user": "alice", "tag": "chores", "from": "1h", "until": "3d" });
    let (status, made) = call!(POST "/v1/silences"; "", Some(silence));
    assert_eq!(status, 201, "{made}");
    call!(GET "/v1/silences"; "?limit=1", None);
    call!(GET "/v1/silences/{id}", id = text(&made["id"]); "", None);
    call!(DELETE "/v1/silences/{id}", id = text(&made["id"]); "", None);
    call!(DELETE "/v1/silences/{id}", id = text(&made["id"]); "", None);
    call!(POST "/v1/resend"; "", Some(json!({ "since": "2h", "count_only": true })));
    call!(POST "/v1/resend"; "", Some(json!({ "since": "2h" })));
    call!(POST "/v1/resend"; "", Some(json!({})));
    call!(GET "/v1/reminders"; "?q=medicine", None);
    call!(GET "/v1/reminders"; "?channel=webhook", None);
    call!(POST "/v1/inbound"; "", Some(json!({ "user": "alice", "text": "done" })));

    let full = json!({
        "user": "alice", "message": "take your medicine", "name": "medicine", "schedule": { "type": "daily", "time": "08:00", "except": ["sat"], "count": 9 },
        "require_ack": true, "ack_prompt": "done?", "ack_timeout": "10m", "max_ack_reminders": 2, "misfire": { "policy": "all", "within": "2h" },
        "on_unknown": "hold", "priority": "critical", "only": true, "to": [{ "channel": "webhook", "address": receiver.url }], "metadata": { "a": [1] },
        "tags": ["health"],
    });
    let (status, made) = call!(POST "/v1/reminders"; "", Some(full));
    assert_eq!(status, 201, "{made}");
    let id = text(&made["id"]);
    for said in [
        "every weekday at 7:30 stand up",
        "lunch with Ann tomorrow from 12:00 to 13:30",
        "20 minutes pizza",
        "tomorrow at 8 call mom",
        "workdays at 8, weekends at 10 medicine",
    ] {
        assert_eq!(call!(POST "/v1/reminders"; "", Some(json!({ "text": said, "lang": "en" }))).0, 201, "{said}");
    }
    for schedule in [
        json!({ "type": "once", "at": "5m" }),
        json!({ "type": "interval", "every": "2h", "anchor": "ack" }),
        json!({ "type": "weekly", "time": "08:00", "days": ["mon", "thu"], "ends_at": "2099-01-01T00:00:00Z" }),
        json!({ "type": "cron", "expr": "0 8 * * 1-5" }),
        json!({ "type": "smart", "text": "last day of the month at 9" }),
        json!({ "type": "rrule", "ical": "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0" }),
    ] {
        let (status, made) = call!(POST "/v1/reminders"; "", Some(json!({ "message": "m", "schedule": schedule })));
        assert_eq!(status, 201, "{made}");
    }
    call!(POST "/v1/reminders"; "", Some(json!({ "text": "water the plants" })));
    call!(POST "/v1/reminders"; "", Some(json!([])));
    call!(POST "/v1/reminders/batch"; "", Some(json!({ "reminders": [{ "text": "tea in an hour" }] })));
    call!(POST "/v1/reminders/batch"; "", Some(json!({ "reminders": [{}] })));
    call!(GET "/v1/reminders"; "?limit=3", None);
    call!(GET "/v1/reminders"; "?status=nonsense", None);
    call!(PATCH "/v1/reminders/{id}", id = id; "", Some(json!({ "message": "now", "name": null })));
    for verb in ["pause", "resume", "skip", "explode"] {
        call!(POST "/v1/reminders/{id}/{verb}", id = id, verb = verb; "", None);
    }
    let (status, fired) = call!(POST "/v1/reminders/{id}/{verb}", id = id, verb = "fire"; "?user=alice", None);
    assert_eq!(status, 200, "{fired}");
    let run = text(&receiver.next().await.1["data"]["occurrence_id"]);
    soon(async {
        // The receiver hears of it before it is written down that it did.
        while server.get(&format!("/v1/occurrences/{run}")).await["state"] != "awaiting_ack" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    call!(GET "/v1/occurrences/{id}", id = run; "", None);
    call!(POST "/v1/reminders/{id}/{verb}", id = id, verb = "snooze"; "", Some(json!({ "minutes": 5, "text": "later", "channel": "webhook" })));
    call!(GET "/v1/occurrences/{id}", id = run; "", None);
    let links = Links::new("", SECRET.as_bytes());
    for (method, verb) in [("GET", Verb::Snooze), ("POST", Verb::Snooze), ("POST", Verb::Ack), ("POST", Verb::Ack)] {
        let link = links.link(verb, run.parse().unwrap());
        let request = server.request(method.parse().unwrap(), &link).header("accept", "application/json");
        let (status, body) = answer(soon(request.send()).await.unwrap()).await;
        description.check("/a/{token}", &method.to_lowercase(), status.as_u16(), &body);
    }
    call!(GET "/v1/occurrences/{id}", id = run; "", None);
    call!(GET "/v1/reminders/{id}/occurrences", id = id; "?limit=2", None);
    call!(GET "/v1/occurrences"; "?user=alice&limit=2", None);
    call!(GET "/v1/occurrences"; "?status=nonsense", None);
    call!(GET "/v1/reminders/{id}", id = id; "?user=bob", None);
    call!(GET "/v1/reminders/{id}", id = id; "", None);
    call!(DELETE "/v1/reminders/{id}", id = id; "", None);
    call!(PUT "/v1/scopes/{path}", path = "guild:1"; "", Some(json!({ "offsets": [60, "PT90S", { "after": "end", "by": "10m" }] })));
    call!(PUT "/v1/scopes/{path}", path = "guild:1"; "", Some(json!({ "offsets": 60 })));
    call!(GET "/v1/scopes/{path}", path = "guild:1"; "", None);
    call!(GET "/v1/scopes"; "?under=guild:1", None);
    let game = json!({
        "starts_at": "2099-06-01T18:00:00Z", "ends_at": "2099-06-01T19:00:00Z", "scope": "guild:1/channel:2", "users": ["alice"], "to": ["console"],
        "message": "{title} in {minutes} min", "metadata": { "title": "Chess" }, "rrule": "FREQ=WEEKLY;COUNT=3", "timezone": "UTC",
        "require_ack": true, "ack_timeout": "5m", "escalate": [{ "after": "5m", "to": "alice" }], "tags": ["games"], "misfire": "skip", "priority": "high",
        "instances": [{ "at": "20990608T180000", "cancelled": true }, { "at": "20990615T180000", "starts_at": "2099-06-15T19:00:00Z", "offsets": [5, "end"], "message": "x", "metadata": { "title": "Go" } }],
    });
    let (status, event) = call!(PUT "/v1/events/{key}", key = "game"; "", Some(game));
    assert_eq!(status, 201, "{event}");
    let planned = text(&event["reminders"][0]["reminder_id"]);
    call!(GET "/v1/reminders/{id}", id = planned; "", None);
    call!(PUT "/v1/events/{key}", key = "game"; "", Some(json!({ "starts_at": "soon" })));
    call!(PUT "/v1/events/{key}/instances/{at}", key = "game", at = "20990608T180000"; "", Some(json!({ "offsets": [15] })));
    call!(GET "/v1/events/{key}", key = "game"; "", None);
    call!(GET "/v1/events"; "?scope=guild:1", None);
    call!(DELETE "/v1/events/{key}/instances/{at}", key = "game", at = "20990615T180000"; "", None);
    call!(DELETE "/v1/events/{key}", key = "game"; "", None);
    call!(DELETE "/v1/events/{key}", key = "game"; "", None);
    call!(POST "/v1/events/batch"; "", Some(json!({ "events": [{ "key": "one", "starts_at": "2099-06-01T18:00:00Z", "users": ["alice"], "message": "x" }] })));
    call!(POST "/v1/events/batch"; "", Some(json!({ "events": [{}] })));
    call!(DELETE "/v1/scopes/{path}", path = "guild:1"; "", None);
    call!(GET "/v1/audit"; "?limit=2", None);
    for said in ["morgen um 8", "every day at 8", "tomorrow from 9 to 11", "20 minutes", "nothing"] {
        call!(POST "/v1/parse"; "", Some(json!({ "text": said })));
    }
    let (_, key) = call!(POST "/v1/keys"; "", Some(json!({ "name": "bot", "user": "alice", "expires_at": "90d" })));
    call!(GET "/v1/keys"; "", None);
    call!(GET "/v1/keys/{id}", id = text(&key["id"]); "", None);
    call!(POST "/v1/keys/{id}/rotate", id = text(&key["id"]); "", Some(json!({ "overlap": "1m" })));
    call!(POST "/v1/keys/{id}/rotate", id = text(&key["id"]); "", Some(json!({ "overlap": "long" })));
    call!(GET "/v1/caller"; "", None);
    call!(POST "/v1/sign-in"; "", None);
    call!(DELETE "/v1/keys/{id}", id = text(&key["id"]); "", None);
    call!(GET "/v1/channels"; "", None);
    call!(POST "/v1/channels/{name}/test", name = "console"; "", None);
    call!(POST "/v1/channels/{name}/test", name = "pigeon"; "", Some(json!({ "address": "x" })));
    let items = json!([{ "key": "1", "reminder": { "user": "ann", "message": "tea", "schedule": { "type": "once", "at": "2099-03-02T08:00:00Z" } } },
        { "key": "2" }, { "key": "3", "reminder": { "user": "ann" } }]);
    for _ in 0..2 {
        call!(POST "/v1/import"; "", Some(json!({ "source": "old@bot", "items": items })));
    }
    call!(GET "/v1/import/sends"; "?source=old@bot", None);
    call!(GET "/v1/import/sends"; "", None);
    let (_, page) = call!(GET "/v1/export"; "", None);
    call!(GET "/v1/export"; "?after=pages", None);
    for check in [true, false] {
        call!(POST "/v1/import/lines"; "", Some(json!({ "lines": page["lines"], "check": check })));
    }
    call!(POST "/v1/import/lines"; "", Some(json!({ "lines": [{ "line": "user" }] })));
    call!(POST "/v1/users/{id}/erase", id = "nobody"; "", Some(json!({ "confirm": "somebody" })));
    call!(POST "/v1/users/{id}/erase", id = "nobody"; "", Some(json!({ "confirm": "nobody" })));
    call!(GET "/v1/dead-addresses"; "", None);
    let gone = Receiver::answering(axum::http::StatusCode::GONE).await;
    let to = json!([{ "channel": "webhook", "address": gone.url }]);
    server.create(json!({ "message": "m", "schedule": { "type": "once", "at": "now" }, "to": to, "only": true })).await;
    soon(async {
        while server.get("/v1/dead-addresses").await["dead_addresses"] == json!([]) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    call!(GET "/v1/dead-addresses"; "", None);
    call!(GET "/v1/inbound/{channel}", channel = "console"; "", None);
    call!(POST "/v1/inbound/{channel}", channel = "console"; "", Some(json!({})));
    call!(POST "/v1/channels/{name}/revive", name = "webhook"; "", Some(json!({ "address": gone.url })));
    call!(POST "/v1/channels/{name}/revive", name = "webhook"; "", Some(json!({ "address": gone.url })));
    call!(GET "/v1/stats"; "", None);
    call!(GET "/v1/stats"; "?stale=true", None);
    call!(GET "/v1/nodes"; "", None);
    call!(GET "/v1/lateness"; "?step=1h", None);
    call!(GET "/v1/lateness"; "?step=7m", None);
    call!(GET "/v1/settings"; "?all=true", None);
    call!(GET "/v1/reminders"; "?count=true&limit=1", None);
    call!(GET "/v1/subscriptions"; "", None);
    call!(POST "/v1/watches/{name}/test", name = "tasks"; "", None);
    let (status, ran) = call!(POST "/v1/watches/{name}/run", name = "tasks"; "", None);
    assert_eq!((status, &ran["sent"], &ran["failed"]), (200, &json!(1), &json!(1)), "{ran}");
    call!(POST "/v1/watches/{name}/run", name = "tasks"; "?wait=x", None);
    call!(GET "/v1/watches"; "", None);
    call!(GET "/v1/watches/{name}", name = "tasks"; "", None);
    call!(GET "/v1/watches/{name}/runs/{id}", name = "tasks", id = text(&ran["run_id"]); "", None);
    call!(DELETE "/v1/watches/{name}", name = "tasks"; "", None);
    call!(GET "/v1/settings"; "", None);
    call!(GET "/healthz"; "", None);
    call!(GET "/readyz"; "", None);
    call!(GET "/openapi.json"; "", None);

    let unseen: Vec<String> = description
        .operations()
        .map(|(path, method, _)| format!("{method} {path}"))
        .filter(|operation| !description.seen.contains(operation))
        .collect();
    // They answer no JSON; or nothing here that a node still defines: `watches.rs` sees the answer.
    let others = [
        "get /calendar/{file}",
        "get /docs",
        "post /mcp",
        "delete /mcp",
        "get /metrics",
        "get /v1/inbound/{channel}",
        "post /v1/inbound/{channel}",
        "get /v1/stream",
        "delete /v1/watches/{name}",
        "get /v1/ws",
    ];
    assert_eq!(unseen, others, "the answer of every other was checked");
}

/// The path of an operation with the examples of its parameters; `id` stands for that of a reminder.
fn example_path(path: &str, operation: &Value, id: &str) -> String {
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = parameters.iter().filter(|parameter| parameter["in"] == "path");
    named.fold(path.to_owned(), |path, parameter| {
        let name = parameter["name"].as_str().unwrap();
        path.replace(&format!("{{{name}}}"), parameter["example"].as_str().unwrap_or(id))
    })
}

#[tokio::test]
async fn every_example_is_taken_by_a_real_server() {
    let home = Home::new();
    let server = home.serve();
    let mut description = Description::of(&server).await;
    let operations: Vec<(String, String, Value)> = description
        .operations()
        .map(|(path, method, operation)| (path.to_owned(), method.to_owned(), operation.clone()))
        .collect();
    let id = server.create(json!({ "text": "tea in an hour" })).await["id"].as_str().unwrap().to_owned();
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "of the examples" }))).await;
    let key = key["id"].as_str().unwrap().to_owned();
    // What others need is made first, and what takes it away comes last.
    let rank = |id: &str| match id {
        "put_user" => 0,
        "put_group" | "put_scope" | "put_event" => 1,
        "erase_user" => 9,
        _ => 5,
    };
    let mut with_body: Vec<&(String, String, Value)> =
        operations.iter().filter(|(.., operation)| operation["requestBody"].is_object()).collect();
    with_body.sort_by_key(|(.., operation)| rank(operation["operationId"].as_str().unwrap()));
    assert!(with_body.len() > 20);
    for (path, method, operation) in with_body {
        // A platform's own requests are signed, and assistants speak another protocol: `mcp/` tries it.
        if ["receive", "ask_as_assistant"].iter().any(|id| operation["operationId"] == *id) {
            continue;
        }
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        assert!(example.is_object(), "{method} {path} has no example");
        let id = if operation["operationId"] == "rotate_key" { &key } else { &id };
        let filled = example_path(path, operation, id);
        let (status, body) = server.call(method.to_uppercase().parse().unwrap(), &filled, Some(example.clone())).await;
        // An address must be dead before it can live again.
        let is_right = status.is_success() || operation["operationId"] == "revive_address" && status == 404;
        assert!(is_right, "{method} {filled}: {status} {body}");
        description.check(path, method, status.as_u16(), &body);
    }
    let reads = operations.iter().filter(|(path, method, _)| method == "get" && path.starts_with("/v1/"));
    for (path, method, operation) in
        reads.filter(|(_, _, operation)| operation["parameters"].to_string().contains("example"))
    {
        let filled = example_path(path, operation, &id);
        let (status, body) = server.call(Method::GET, &filled, None).await;
        description.check(path, method, status.as_u16(), &body);
    }
}

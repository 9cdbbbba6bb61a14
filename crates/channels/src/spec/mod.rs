//! Checks of what the channels send: a local server writes down every request, and the facts that we keep about the platform,
//! and the platform's own machine-readable specification where it is at hand, say whether it is right.

pub(crate) mod facts;
pub(crate) mod inlet;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::IntoResponse;
use punctual_core::channel::{Receipt, SendError, Whom};
use punctual_testkit::report;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::fields::Fields;

/// A specification that lies beside the checkout and is not part of it; `None`, and a line in the report, where it is missing.
pub(crate) fn published(file: &str) -> Option<Value> {
    let path = report::public(&format!("specs/{file}"))?;
    let text = std::fs::read_to_string(&path).unwrap();
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The schema at `pointer` (such as `#/components/schemas/Message`) of a document, with everything it refers to.
///
/// OpenAPI 3.0 says `nullable` where JSON Schema says `"type": [.., "null"]`; that is put right first.
pub(crate) fn schema(mut document: Value, pointer: &str) -> jsonschema::Validator {
    open_nullable(&mut document);
    if pointer == "#" {
        return jsonschema::draft202012::new(&document).unwrap();
    }
    let mut root = json!({ "$ref": pointer });
    for part in ["components", "definitions", "$defs", "paths"] {
        if let Some(value) = document.get(part) {
            root[part] = value.clone();
        }
    }
    jsonschema::draft202012::options().build(&root).unwrap_or_else(|error| panic!("{pointer}: {error}"))
}

/// The schema at `pointer` of a published file after `mend`; made once, since a file is read slowly and asked for often.
pub(crate) fn published_schema(file: &str, pointer: &str, mend: fn(&mut Value)) -> Option<Arc<jsonschema::Validator>> {
    type Made = BTreeMap<(String, String), Arc<jsonschema::Validator>>;
    static MADE: Mutex<Made> = Mutex::new(BTreeMap::new());
    let key = (file.to_owned(), pointer.to_owned());
    if let Some(made) = MADE.lock().unwrap().get(&key) {
        return Some(made.clone());
    }
    let mut document = published(file)?;
    mend(&mut document);
    let made = Arc::new(schema(document, pointer));
    MADE.lock().unwrap().insert(key, made.clone());
    Some(made)
}

fn open_nullable(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("nullable") == Some(&Value::Bool(true))
                && let Some(Value::String(kind)) = map.get("type").cloned()
            {
                map.insert("type".into(), json!([kind, "null"]));
            }
            map.values_mut().for_each(open_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(open_nullable),
        _ => {}
    }
}

/// Makes every schema refuse members that it does not list, for specifications that leave that open.
pub(crate) fn close(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("properties") && !map.contains_key("additionalProperties") {
                map.insert("additionalProperties".into(), Value::Bool(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// The outcome of a send in a word, such as `gone` or `throttled 5s, address`.
pub(crate) fn class(sent: &Result<Receipt, SendError>) -> String {
    match sent {
        Ok(_) => "sent".into(),
        Err(SendError::Throttled { wait, whom: Whom::Address }) => format!("throttled {wait:?}, address"),
        Err(SendError::Throttled { wait, whom: Whom::Shared }) => format!("throttled {wait:?}, shared"),
        Err(SendError::Throttled { wait, whom: Whom::Receiver }) => format!("throttled {wait:?}, receiver"),
        Err(SendError::Unavailable(_)) => "unavailable".into(),
        Err(SendError::Refused(_)) => "refused".into(),
        Err(SendError::Gone(_)) => "gone".into(),
        Err(SendError::Unknown(_)) => "unknown".into(),
    }
}

/// Settings from pairs.
pub(crate) fn fields(pairs: &[(&str, &str)]) -> Fields {
    Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

/// Fails with everything that is wrong with `instance`.
#[track_caller]
pub(crate) fn assert_valid(validator: &jsonschema::Validator, instance: &Value) {
    let problems: Vec<String> =
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}\nin {instance:#}");
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What to answer: a status, headers and a body.
pub(crate) type Reply = (u16, Vec<(&'static str, String)>, Value);

/// Stands where a platform would: writes down what comes and answers what it was told to, in order; then 200 and `{}`, or what
/// it usually says.
#[derive(Clone, Default)]
pub(crate) struct Platform {
    usual: Arc<Mutex<Option<Value>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

impl Platform {
    /// Starts it; returns it and its base URL.
    pub(crate) async fn start() -> (Self, String) {
        let platform = Self::default();
        let router = Router::new().fallback(answer).with_state(platform.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (platform, base)
    }

    /// Serves at `address`, too, until the runtime is dropped; that closes every connection at once, as a crash would.
    pub(crate) fn serve_at(&self, address: &str) -> (Runtime, SocketAddr) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(self.clone());
        runtime.spawn(async move {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
        });
        (runtime, address)
    }

    /// The body that it answers with 200, unless it was told another answer.
    pub(crate) fn usually(&self, body: Value) {
        *self.usual.lock().unwrap() = Some(body);
    }

    pub(crate) fn then(&self, status: u16, body: Value) -> &Self {
        self.then_with(status, &[], body)
    }

    pub(crate) fn then_with(&self, status: u16, headers: &[(&'static str, &str)], body: Value) -> &Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.replies.lock().unwrap().push_back((status, headers, body));
        self
    }

    /// Takes the requests that have come so far.
    pub(crate) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

async fn answer(
    State(platform): State<Platform>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    platform.requests.lock().unwrap().push(Request { method, uri, headers, body });
    let told = platform.replies.lock().unwrap().pop_front();
    let usual = || platform.usual.lock().unwrap().clone().unwrap_or(json!({}));
    let (status, headers, body) = told.unwrap_or_else(|| (200, Vec::new(), usual()));
    let mut out = HeaderMap::new();
    out.insert("content-type", "application/json".parse().unwrap());
    for (name, value) in headers {
        out.insert(name, value.parse().unwrap());
    }
    (StatusCode::from_u16(status).unwrap(), out, body.to_string())
}

//! The methods, each with the route that it calls.
//!
//! A method's parameters are the route's: what its path names, and the rest as its query or its body. So a method takes, checks and
//! answers what its route does.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::http::{HeaderValue, Method};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_core::invalid::Invalid;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::config::keys::nearest;
use crate::http::problem::Problem;
use crate::http::read::{self, WHOLE};

/// The parameter that makes a call happen once, as the header `Idempotency-Key` does.
const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// The parameter that names what the caller has seen, as the header `If-Match` does.
const IF_MATCH: &str = "if_match";
/// Every method of the first name is also there under the second.
const ALIAS: (&str, &str) = ("cron.", "reminders.");

/// A method and its route.
struct Row {
    name: &'static str,
    verb: Method,
    /// The route's path, which names some of the parameters.
    path: &'static str,
    /// Where the other parameters go.
    rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Body,
    Query,
    /// There are no others.
    None,
}

const fn row(name: &'static str, verb: Method, path: &'static str, rest: Rest) -> Row {
    Row { name, verb, path, rest }
}

/// The journal, live: it is no call with one answer.
const SUBSCRIBE: &str = "journal.subscribe";
const UNSUBSCRIBE: &str = "journal.unsubscribe";

static TABLE: [Row; 29] = [
    row("reminders.add", Method::POST, "/v1/reminders", Rest::Body),
    row("reminders.batch", Method::POST, "/v1/reminders/batch", Rest::Body),
    row("reminders.list", Method::GET, "/v1/reminders", Rest::Query),
    row("reminders.get", Method::GET, "/v1/reminders/{id}", Rest::None),
    row("reminders.update", Method::PATCH, "/v1/reminders/{id}", Rest::Body),
    row("reminders.remove", Method::DELETE, "/v1/reminders/{id}", Rest::None),
    row("reminders.ack", Method::POST, "/v1/reminders/{id}/ack", Rest::Body),
    row("reminders.snooze", Method::POST, "/v1/reminders/{id}/snooze", Rest::Body),
    row("reminders.dismiss", Method::POST, "/v1/reminders/{id}/dismiss", Rest::Body),
    row("reminders.pause", Method::POST, "/v1/reminders/{id}/pause", Rest::Body),
    row("reminders.resume", Method::POST, "/v1/reminders/{id}/resume", Rest::Body),
    row("reminders.skip", Method::POST, "/v1/reminders/{id}/skip", Rest::Body),
    row("reminders.fire", Method::POST, "/v1/reminders/{id}/fire", Rest::Body),
    row("reminders.undo", Method::POST, "/v1/reminders/{id}/undo", Rest::Body),
    row("reminders.resend", Method::POST, "/v1/reminders/{id}/resend", Rest::Body),
    row("reminders.occurrences", Method::GET, "/v1/reminders/{id}/occurrences", Rest::Query),
    row("occurrences.get", Method::GET, "/v1/occurrences/{id}", Rest::None),
    row("events.put", Method::PUT, "/v1/events/{key}", Rest::Body),
    row("events.batch", Method::POST, "/v1/events/batch", Rest::Body),
    row("events.list", Method::GET, "/v1/events", Rest::Query),
    row("events.get", Method::GET, "/v1/events/{key}", Rest::None),
    row("events.remove", Method::DELETE, "/v1/events/{key}", Rest::None),
    row("events.put_instance", Method::PUT, "/v1/events/{key}/instances/{at}", Rest::Body),
    row("events.remove_instance", Method::DELETE, "/v1/events/{key}/instances/{at}", Rest::None),
    row("inbound", Method::POST, "/v1/inbound", Rest::Body),
    row("parse", Method::POST, "/v1/parse", Rest::Body),
    row("journal.list", Method::GET, "/v1/audit", Rest::Query),
    row(SUBSCRIBE, Method::GET, "/v1/stream", Rest::Query),
    row(UNSUBSCRIBE, Method::DELETE, "{subscription}", Rest::None),
];

/// What a request asks for.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A call of a route.
    Call(Box<Wish>),
    /// The journal live, as the stream with this path and query has it.
    Subscribe(String),
    /// The end of the subscription with this number.
    Unsubscribe(String),
}

/// A call of a route.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) verb: Method,
    pub(super) path_and_query: String,
    pub(super) idempotency_key: Option<HeaderValue>,
    pub(super) if_match: Option<HeaderValue>,
    pub(super) body: Option<Bytes>,
}

impl Wish {
    /// Whether its success is told as `{"removed":true}`.
    pub(super) fn removes(&self) -> bool {
        self.verb == Method::DELETE
    }
}

/// Why a request asks for nothing that there is.
#[derive(Debug)]
pub(super) enum Unwanted {
    /// There is no such method.
    Method(String),
    /// Its parameters are wrong.
    Params(Box<Problem>),
}

impl From<Invalid> for Unwanted {
    fn from(invalid: Invalid) -> Self {
        Self::Params(Box::new(invalid.into()))
    }
}

/// What a request with this method and these parameters asks for.
pub(super) fn wanted(method: &str, params: Option<&RawValue>) -> Result<Wanted, Unwanted> {
    let row = row_of(method).ok_or_else(|| Unwanted::Method(unknown(method)))?;
    let mut params = fields(params)?;
    let (path, in_path) = path(row.path, &mut params)?;
    if row.name == UNSUBSCRIBE {
        none_left(&params, &in_path)?;
        return Ok(Wanted::Unsubscribe(path));
    }
    let idempotency_key = params.remove(IDEMPOTENCY_KEY).filter(|_| row.verb == Method::POST);
    let idempotency_key = idempotency_key.map(|raw| header(IDEMPOTENCY_KEY, raw)).transpose()?;
    let if_match = if row.verb == Method::GET { None } else { params.remove(IF_MATCH) };
    let if_match = if_match.map(|raw| header(IF_MATCH, raw)).transpose()?;
    let mut query = Vec::new();
    // A caller who names a reminder may say for whom it acts.
    if row.path.contains("{id}")
        && let Some(user) = params.remove("user")
    {
        query.extend(pair("user", user)?);
    }
    let body = match row.rest {
        Rest::Body => Some(Bytes::from(serde_json::to_vec(&params).expect("what was JSON becomes JSON"))),
        Rest::Query => {
            for (name, raw) in &params {
                query.extend(pair(name, raw)?);
            }
            None
        }
        Rest::None => {
            none_left(&params, &in_path)?;
            None
        }
    };
    let path_and_query = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    if row.name == SUBSCRIBE {
        return Ok(Wanted::Subscribe(path_and_query));
    }
    Ok(Wanted::Call(Box::new(Wish { verb: row.verb.clone(), path_and_query, idempotency_key, if_match, body })))
}

fn row_of(method: &str) -> Option<&'static Row> {
    let (alias, name) = ALIAS;
    match method.strip_prefix(alias) {
        Some(rest) => TABLE.iter().find(|row| row.name.strip_prefix(name) == Some(rest)),
        None => TABLE.iter().find(|row| row.name == method),
    }
}

fn unknown(method: &str) -> String {
    let shown: String = method.chars().take(64).collect();
    let known = TABLE.iter().map(|row| row.name).chain(["cron.add", "cron.list", "cron.remove"]);
    match nearest(&shown, known) {
        Some(near) => format!("there is no method `{shown}`; did you mean `{near}`?"),
        None => format!("there is no method `{shown}`; such as `cron.add`, `reminders.list`, `journal.subscribe`"),
    }
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// The parameters by their names.
fn fields(params: Option<&RawValue>) -> Result<Fields<'_>, Invalid> {
    let Some(params) = params.filter(|params| params.get() != "null") else { return Ok(Fields::new()) };
    if !params.get().starts_with('{') {
        return Err(Invalid::new("params", "must be an object: parameters are given by name"));
    }
    serde_json::from_str(params.get()).map_err(|error| Invalid::new("params", format!("cannot be read: {error}")))
}

/// The path, with the parameters that it names, which are taken out of `params`.
fn path(pattern: &'static str, params: &mut Fields<'_>) -> Result<(String, Vec<&'static str>), Invalid> {
    let (mut path, mut names, mut rest) = (String::new(), Vec::new(), pattern);
    while let Some((before, named)) = rest.split_once('{') {
        let (name, after) = named.split_once('}').unwrap_or((named, ""));
        let raw = params.remove(name).ok_or_else(|| Invalid::new(name, "is missing"))?;
        let text = scalar(raw).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| Invalid::new(name, "must be a text that is not empty"))?;
        path.push_str(before);
        path.extend(utf8_percent_encode(&text, NON_ALPHANUMERIC));
        names.push(name);
        rest = after;
    }
    path.push_str(rest);
    Ok((path, names))
}

/// A text, a number, true or false as a text.
fn scalar(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(raw.get().to_owned()),
        _ => None,
    }
}

/// A parameter as a part of a query: nothing for null, and a list with commas.
fn pair(name: &str, raw: &RawValue) -> Result<Option<String>, Invalid> {
    let wrong = || Invalid::new(name, "must be a text, a number, true or false, or a list of these");
    let text = match raw.get() {
        "null" => return Ok(None),
        list if list.starts_with('[') => {
            let items: Vec<&RawValue> = serde_json::from_str(list).map_err(|_| wrong())?;
            let texts: Option<Vec<String>> = items.into_iter().map(scalar).collect();
            texts.ok_or_else(wrong)?.join(",")
        }
        _ => scalar(raw).ok_or_else(wrong)?,
    };
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    Ok(Some(format!("{}={}", encoded(name), encoded(&text))))
}

/// A parameter that is a header over HTTP.
fn header(name: &'static str, raw: &RawValue) -> Result<HeaderValue, Invalid> {
    let right = match name {
        IF_MATCH => "must be the ETag of what you have seen, or `*`",
        _ => "must be a text of 1 to 255 visible ASCII characters",
    };
    let text = scalar(raw).map(|text| if name == IF_MATCH { quoted(text) } else { text });
    text.and_then(|text| HeaderValue::try_from(text).ok()).ok_or_else(|| Invalid::new(name, right))
}

/// A tag in the quotes that it has in a header: in JSON they are easily forgotten.
fn quoted(tag: String) -> String {
    let is_bare = !tag.is_empty() && tag != "*" && !tag.contains('"');
    if is_bare { format!("\"{tag}\"") } else { tag }
}

fn none_left(params: &Fields<'_>, known: &[&'static str]) -> Result<(), Invalid> {
    match params.keys().next() {
        Some(name) => Err(read::unknown(name, if known.is_empty() { &[WHOLE] } else { known })),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(method: &str, params: &str) -> String {
        let params: Option<&RawValue> = (!params.is_empty()).then(|| serde_json::from_str(params).unwrap());
        match wanted(method, params) {
            Ok(Wanted::Call(wish)) => {
                let body = wish.body.map(|body| format!(" {}", String::from_utf8(body.to_vec()).unwrap()));
                let key = wish.idempotency_key.map(|key| format!(" [{}]", key.to_str().unwrap()));
                let seen = wish.if_match.map(|tag| format!(" if {}", tag.to_str().unwrap()));
                let (body, key, seen) = (body.unwrap_or_default(), key.unwrap_or_default(), seen.unwrap_or_default());
                format!("{} {}{body}{key}{seen}", wish.verb, wish.path_and_query)
            }
            Ok(Wanted::Subscribe(path)) => format!("subscribe {path}"),
            Ok(Wanted::Unsubscribe(number)) => format!("unsubscribe {number}"),
            Err(Unwanted::Method(message)) => message,
            Err(Unwanted::Params(problem)) => {
                let Ok(serde_json::Value::Object(document)) = serde_json::to_value(problem.document()) else {
                    unreachable!()
                };
                format!("{}: {}", document["status"], document["detail"].as_str().unwrap())
            }
        }
    }

    #[test]
    fn a_method_calls_its_route_with_its_parameters() {
        for (method, params, call) in [
            ("cron.add", r#"{"user":"a","text":"tea in 5m"}"#, r#"POST /v1/reminders {"text":"tea in 5m","user":"a"}"#),
            ("reminders.add", r#"{"text":"x","idempotency_key":"k 1"}"#, r#"POST /v1/reminders {"text":"x"} [k 1]"#),
            ("cron.remove", r#"{"id":"r","if_match":"a-b"}"#, r#"DELETE /v1/reminders/r if "a-b""#),
            ("cron.update", r#"{"id":"r","if_match":"*","name":"n"}"#, r#"PATCH /v1/reminders/r {"name":"n"} if *"#),
            (
                "cron.ack",
                r#"{"id":"r","if_match":"\"a-b\"","idempotency_key":"k"}"#,
                r#"POST /v1/reminders/r/ack {} [k] if "a-b""#,
            ),
            ("cron.list", "", "GET /v1/reminders"),
            ("cron.list", "null", "GET /v1/reminders"),
            (
                "cron.list",
                r#"{"user":"a&b","limit":5,"mine":true,"tag":null}"#,
                "GET /v1/reminders?limit=5&mine=true&user=a%26b",
            ),
            ("cron.remove", r#"{"id":"r 1/2"}"#, "DELETE /v1/reminders/r%201%2F2"),
            ("reminders.get", r#"{"id":"..","user":"eve"}"#, "GET /v1/reminders/%2E%2E?user=eve"),
            (
                "reminders.update",
                r#"{"id":"r","user":"a","message":"m"}"#,
                r#"PATCH /v1/reminders/r?user=a {"message":"m"}"#,
            ),
            ("reminders.snooze", r#"{"id":"r","minutes":5}"#, r#"POST /v1/reminders/r/snooze {"minutes":5}"#),
            ("reminders.pause", r#"{"id":"r"}"#, "POST /v1/reminders/r/pause {}"),
            ("reminders.occurrences", r#"{"id":"r","limit":2}"#, "GET /v1/reminders/r/occurrences?limit=2"),
            ("events.put", r#"{"key":"g","starts_at":"5m"}"#, r#"PUT /v1/events/g {"starts_at":"5m"}"#),
            (
                "events.remove_instance",
                r#"{"key":"g","at":"20260310T180000"}"#,
                "DELETE /v1/events/g/instances/20260310T180000",
            ),
            ("inbound", r#"{"user":"a","text":"done"}"#, r#"POST /v1/inbound {"text":"done","user":"a"}"#),
            ("journal.subscribe", r#"{"after":7,"kind":["a","b"]}"#, "subscribe /v1/stream?after=7&kind=a%2Cb"),
            ("journal.unsubscribe", r#"{"subscription":3}"#, "unsubscribe 3"),
        ] {
            assert_eq!(said(method, params), call, "{method} {params}");
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        for (method, params, words) in [
            ("cron.get", "", "422: id: is missing"),
            ("cron.get", r#"{"id":{}}"#, "422: id: must be a text that is not empty"),
            ("cron.get", r#"{"id":""}"#, "422: id: must be a text that is not empty"),
            ("cron.get", r#"["r"]"#, "422: params: must be an object: parameters are given by name"),
            ("cron.get", r#"{"id":"r","mesage":1}"#, "422: mesage: is not a known field; known are id"),
            ("cron.list", r#"{"limit":{}}"#, "422: limit: must be a text, a number, true or false, or a list of these"),
            ("cron.list", r#"{"tag":[[]]}"#, "422: tag: must be a text, a number, true or false, or a list of these"),
            (
                "cron.add",
                r#"{"idempotency_key":"\n"}"#,
                "422: idempotency_key: must be a text of 1 to 255 visible ASCII characters",
            ),
            (
                "cron.remove",
                r#"{"id":"r","if_match":[]}"#,
                "422: if_match: must be the ETag of what you have seen, or `*`",
            ),
            ("journal.unsubscribe", "{}", "422: subscription: is missing"),
            ("cron.lst", "", "there is no method `cron.lst`; did you mean `cron.list`?"),
            (
                "rpc.discover",
                "",
                "there is no method `rpc.discover`; such as `cron.add`, `reminders.list`, `journal.subscribe`",
            ),
        ] {
            assert_eq!(said(method, params), words, "{method} {params}");
        }
    }

    #[test]
    fn every_method_is_there_once() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..index].iter().all(|before| before.name != row.name), "{}", row.name);
        }
    }
}

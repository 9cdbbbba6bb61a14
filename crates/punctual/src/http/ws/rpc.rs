//! JSON-RPC 2.0: what a message asks for, and how it is answered.

use std::borrow::Cow;

use axum::http::header;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::http::inside::Reply;
use crate::http::problem::Problem;

/// The most requests in one batch.
pub(super) const BATCH_MAX: usize = 100;

/// A message is no JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// A message is JSON and no request.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// There is no such method.
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are not what the method takes.
pub(super) const INVALID_PARAMS: i32 = -32602;
/// A mistake of the server's.
const INTERNAL_ERROR: i32 = -32603;

/// One message.
pub(super) enum Message<'a> {
    One(&'a RawValue),
    Batch(Vec<&'a RawValue>),
}

/// One request. Without an id it is a notification, which is not answered.
pub(super) struct Request<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) code: i32,
    pub(super) message: String,
    /// The problem document, where there is one.
    pub(super) data: Option<Value>,
}

impl Refused {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The refusal that an answer of the API is.
    pub(super) fn of(answered: &Reply) -> Self {
        let document = serde_json::from_slice(&answered.body).unwrap_or_default();
        let retry_after = answered.headers.get(header::RETRY_AFTER);
        Self::with(answered.status.as_u16(), document, retry_after.and_then(|value| value.to_str().ok()?.parse().ok()))
    }

    /// The refusal that a problem is.
    pub(super) fn of_problem(problem: &Problem) -> Self {
        let document = problem.document();
        let fields = serde_json::to_value(document).ok().and_then(|value| serde_json::from_value(value).ok());
        Self::with(document.status, fields.unwrap_or_default(), problem.retry_after_seconds())
    }

    fn with(status: u16, mut document: Map<String, Value>, retry_after_seconds: Option<u32>) -> Self {
        let message = document.get("detail").and_then(Value::as_str).unwrap_or("the request was refused").to_owned();
        if let Some(seconds) = retry_after_seconds {
            document.insert("retry_after".into(), seconds.into());
        }
        Self { code: code_of(status), message, data: Some(document.into()) }
    }
}

/// The code of an error that has this status over HTTP. What is wrong with the parameters has the code that JSON-RPC has for it; the others
/// are made of the last two digits of their status, in the range that JSON-RPC leaves to servers.
fn code_of(status: u16) -> i32 {
    match status {
        400 | 413 | 415 | 422 => INVALID_PARAMS,
        500 => INTERNAL_ERROR,
        401..=449 => -32000 - (i32::from(status) - 400),
        501..=549 => -32050 - (i32::from(status) - 500),
        _ => -32000,
    }
}

/// Takes a message apart as far as its requests.
pub(super) fn read(text: &str) -> Result<Message<'_>, Refused> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| {
        let (line, column, words) = (error.line(), error.column(), error.to_string());
        let words = words.split(" at line ").next().unwrap_or_default();
        Refused::new(PARSE_ERROR, format!("the message is not valid JSON at line {line}, column {column}: {words}"))
    })?;
    if !whole.get().starts_with('[') {
        return Ok(Message::One(whole));
    }
    let requests: Vec<&RawValue> = serde_json::from_str(whole.get())
        .map_err(|_| Refused::new(INVALID_REQUEST, "the batch cannot be read; send a list of requests"))?;
    match requests.len() {
        0 => Err(Refused::new(INVALID_REQUEST, "the batch is empty; send at least one request")),
        n if n > BATCH_MAX => {
            let message = format!("the batch has {n} requests; at most {BATCH_MAX} fit, and none was done");
            Err(Refused::new(INVALID_REQUEST, message))
        }
        _ => Ok(Message::Batch(requests)),
    }
}

/// Takes a request apart. A refused one may have an id all the same.
pub(super) fn request(raw: &RawValue) -> Result<Request<'_>, (Option<&RawValue>, Refused)> {
    let refused = |message: &str| Refused::new(INVALID_REQUEST, message);
    if !raw.get().starts_with('{') {
        return Err((None, refused("a request is an object: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"cron.list\"}")));
    }
    let members: Members<'_> = serde_json::from_str(raw.get())
        .map_err(|error| (None, refused(&format!("the request cannot be read: {error}"))))?;
    let id = match members.id {
        Some(id) if !is_id(id) => return Err((None, refused("id: must be a text, a number or null"))),
        id => id,
    };
    let with_id = |message: &str| (id, refused(message));
    let text = |member: Option<&RawValue>| member.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    if text(members.jsonrpc).as_deref() != Some("2.0") {
        return Err(with_id("jsonrpc: must be \"2.0\""));
    }
    let method = members.method.ok_or_else(|| with_id("method: is missing; such as \"cron.list\""))?;
    let method = text(Some(method)).ok_or_else(|| with_id("method: must be a text, such as \"cron.list\""))?;
    Ok(Request { id, method: method.into(), params: members.params })
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
}

/// A member that is there, also where it is null: a request with the id null is answered, a notification is not.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn is_id(raw: &RawValue) -> bool {
    raw.get() == "null" || raw.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

/// The answer with a result, which is JSON already.
pub(super) fn result(id: &RawValue, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.get())
}

/// The answer with an error.
pub(super) fn error(id: Option<&RawValue>, refused: &Refused) -> String {
    let mut error = json!({ "code": refused.code, "message": refused.message });
    if let Some(data) = &refused.data {
        error["data"] = data.clone();
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.map_or("null", RawValue::get))
}

/// A message that nobody answers.
pub(super) fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}")
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::http::{HeaderMap, StatusCode};

    use super::*;

    fn one(text: &str) -> Result<String, (Option<String>, i32)> {
        let Ok(Message::One(raw)) = read(text) else { panic!("{text} is one message") };
        match request(raw) {
            Ok(Request { id, method, params }) => {
                let raw = |raw: Option<&RawValue>| raw.map_or("-", RawValue::get).to_owned();
                Ok(format!("{} {method} {}", raw(id), raw(params)))
            }
            Err((id, refused)) => Err((id.map(|id| id.get().to_owned()), refused.code)),
        }
    }

    #[test]
    fn a_request_has_a_version_a_method_and_perhaps_an_id() {
        for (text, read) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "1 a -"),
            (
                r#" {"method":"a\u0062","params":{"x":[1]},"id":"q\"","jsonrpc":"2.0","more":{}} "#,
                r#""q\"" ab {"x":[1]}"#,
            ),
            (r#"{"jsonrpc":"2.0","method":"a","params":null}"#, "- a null"),
            (r#"{"jsonrpc":"2.0","method":"a","id":null}"#, "null a -"),
            // An id comes back as it was written, whatever number it is.
            (
                r#"{"jsonrpc":"2.0","method":"a","id":123456789012345678901234567890}"#,
                "123456789012345678901234567890 a -",
            ),
            (r#"{"jsonrpc":"2.0","method":"a","id":-1.50}"#, "-1.50 a -"),
        ] {
            assert_eq!(one(text).as_deref(), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_id_if_it_has_one() {
        for (text, id) in [
            ("1", None),
            ("\"cron.list\"", None),
            ("null", None),
            ("{}", None),
            (r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#, Some("7")),
            (r#"{"id":7,"method":"a"}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":7}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, None),
            (r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, None),
        ] {
            assert_eq!(one(text), Err((id.map(str::to_owned), INVALID_REQUEST)), "{text}");
        }
    }

    #[test]
    fn a_message_is_one_request_or_a_batch() {
        let code = |text: &str| read(text).err().map(|refused| refused.code);
        for text in ["", "{", "nope", "{\"a\":1} {}", "[1,]"] {
            assert_eq!(code(text), Some(PARSE_ERROR), "{text}");
        }
        assert_eq!(code("[]"), Some(INVALID_REQUEST));
        let many = |n: usize| format!("[{}]", vec!["{}"; n].join(","));
        assert_eq!(code(&many(BATCH_MAX + 1)), Some(INVALID_REQUEST));
        let whole = many(BATCH_MAX);
        assert!(matches!(read(&whole), Ok(Message::Batch(requests)) if requests.len() == BATCH_MAX));
        // The depth is left to those who read the parameters.
        assert_eq!(code(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))), None);
    }

    #[test]
    fn a_problem_becomes_an_error() {
        for (status, code) in [
            (400, -32602),
            (401, -32001),
            (403, -32003),
            (404, -32004),
            (409, -32009),
            (410, -32010),
            (412, -32012),
            (413, -32602),
            (422, -32602),
            (429, -32029),
            (500, -32603),
            (501, -32051),
            (503, -32053),
            (302, -32000),
        ] {
            let body = Bytes::from(format!(r#"{{"status":{status},"detail":"so it is"}}"#));
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, 3.into())]);
            let refused = Refused::of(&Reply { status: StatusCode::from_u16(status).unwrap(), headers, body });
            assert_eq!((refused.code, refused.message.as_str()), (code, "so it is"));
            let id: &RawValue = serde_json::from_str("9").unwrap();
            let told: Value = serde_json::from_str(&error(Some(id), &refused)).unwrap();
            let data = json!({ "status": status, "detail": "so it is", "retry_after": 3 });
            let error = json!({ "code": code, "message": "so it is", "data": data });
            assert_eq!(told, json!({ "jsonrpc": "2.0", "id": 9, "error": error }));
        }
    }
}

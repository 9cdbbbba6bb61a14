//! The answers that are given beside the good ones, and the headers of all.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Operation;
use crate::wire::CODES;

/// Adds the problems that an operation can be answered with, and the headers of every answer.
pub(super) fn complete(operation: &mut Operation<'_>) {
    let (is_tagged, is_conditional) = (operation.is_tagged(), operation.is_conditional());
    let (is_repeatable, method, id) = (operation.is_repeatable(), operation.method.to_owned(), operation.id.clone());
    let statuses = statuses(operation);
    let Some(responses) = operation.described["responses"].as_object_mut() else { return };
    if is_tagged || id == "show_calendar" {
        responses.entry("304").or_insert_with(|| json!({ "description": "The reader has it already" }));
    }
    for status in statuses {
        let own = own_codes(&id, is_repeatable, status);
        let described = || match (id.ends_with("_by_link") && matches!(status, 404 | 409 | 410 | 503), &own) {
            (true, own) => for_people(problem(status, own.as_deref())),
            (false, None) if id == "ask_as_assistant" && status == 400 => for_assistants(problem(status, None)),
            (false, Some(own)) => problem(status, Some(own)),
            (false, None) => json!({ "$ref": format!("#/components/responses/Problem{status}") }),
        };
        responses.entry(status.to_string()).or_insert_with(described);
    }
    if id == "show_metrics" {
        // The older text format is for whoever does not ask for the newer one.
        let content = &mut responses["200"]["content"];
        content["text/plain"] = content["application/openmetrics-text"].clone();
    }
    for (status, response) in responses.iter_mut() {
        if response.get("$ref").is_some() || response.get("headers").is_some() {
            continue;
        }
        let mut names = vec!["X-Request-Id"];
        let is_good = status.starts_with('2');
        if (is_tagged || id == "show_calendar") && is_good || status == "304" {
            names.push("ETag");
        }
        // What is answered to a change is tagged, unless it is nothing, or a repeat.
        let shows_it = is_conditional || matches!(&*id, "create_reminder" | "create_silence" | "create_key");
        if shows_it && is_good && status != "204" {
            names.push(if is_repeatable { "ETag-Unless-Repeated" } else { "ETag" });
        }
        if status == "201" && id != "create_reminders" {
            names.push("Location");
        }
        if is_repeatable && method == "post" && is_good {
            names.push("Idempotency-Replayed");
        }
        let mut headers = Map::new();
        for name in names {
            let shown = if name == "ETag-Unless-Repeated" { "ETag" } else { name };
            headers.insert(shown.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
        }
        response["headers"] = headers.into();
    }
}

/// The statuses of the problems that an operation can be answered with.
///
/// The answers to what is no request yet, such as 431, are in the text of the whole description and at no operation: they have no body, and a
/// client whose types are generated would have to reckon with an error that says nothing after every call.
fn statuses(operation: &Operation<'_>) -> BTreeSet<u16> {
    let Operation { path, id, .. } = operation;
    let mut all = BTreeSet::from([500]);
    let is_static = matches!(&**id, "alive" | "ready" | "describe" | "docs");
    if !is_static {
        all.insert(503);
    }
    // Those two answer to any name.
    if !matches!(&**id, "alive" | "ready") {
        all.insert(421);
    }
    if operation.needs_key() {
        all.extend([400, 401, 403, 422, 429]);
    }
    if path.contains('{') {
        all.extend([400, 404]);
    }
    if id == "import_calendar" {
        all.insert(404);
    }
    if operation.has_body() || operation.is_repeatable() {
        all.extend([408, 413]);
    }
    if operation.has_body() && operation.is_ours() {
        all.insert(415);
    }
    if operation.is_repeatable()
        || matches!(&**id, "update_reminder" | "cancel_reminder" | "forget_watch" | "stream_journal")
    {
        all.insert(409);
    }
    if operation.is_conditional() {
        all.insert(412);
    }
    if operation.is_of_assistants() {
        all.extend([404, 406]);
    }
    match &**id {
        "ask_by_link" | "answer_by_link" | "stream_journal" => all.extend([410]),
        "list_reminders" => all.extend([501]),
        "open_websocket" => all.extend([426, 501]),
        "test_watch" | "run_watch" => all.extend([502]),
        "show_metrics" => all.extend([401, 403]),
        _ => {}
    }
    all
}

/// The codes that an operation has with a status of which others have other codes.
fn own_codes(id: &str, is_repeatable: bool, status: u16) -> Option<Vec<&'static str>> {
    let repeated: &[&str] = if is_repeatable { &["key_reused", "in_progress"] } else { &[] };
    let own: &[&str] = match (status, id) {
        (409, "update_reminder" | "cancel_reminder" | "command_reminder") => &["conflict", "send_begun"],
        (409, "create_key" | "rotate_key" | "create_sign_in_link") => &["shown_once"],
        (409, "create_silence") => &["too_many"],
        (409, "run_watch") => &["not_defined_here", "replaced"],
        (409, "test_watch") => &["replaced"],
        (409, "forget_watch") => &["defined"],
        (409, "stream_journal") => &["ahead"],
        (409, "answer_by_link") => &["not_now"],
        (409, _) => &[],
        (410, "stream_journal") => return Some(vec!["removed"]),
        (410, _) => return Some(vec!["answered"]),
        (422, "create_reminder" | "create_reminders") => return Some(vec!["invalid", "not_understood"]),
        _ => return None,
    };
    Some([own, repeated].concat())
}

/// A problem that is a page for a person, and a document for a program.
fn for_people(mut problem: Value) -> Value {
    problem["content"]["text/html"] = json!({ "schema": { "type": "string" } });
    problem
}

/// A problem that is an error of JSON-RPC where the body is no message of the protocol.
fn for_assistants(mut problem: Value) -> Value {
    let error =
        json!({ "type": "object", "description": "An error of JSON-RPC 2.0: the body is no message of the protocol." });
    problem["content"]["application/json"] = json!({ "schema": error });
    problem
}

/// Every problem, by its status.
pub(super) fn problems() -> Value {
    // No operation is answered with a 405: it is for methods that a path does not have.
    // Every operation that has a 409 or a 410 has its own.
    let is_shared = |status: &u16| !matches!(status, 405 | 409 | 410);
    let statuses: BTreeSet<u16> = CODES.iter().map(|(status, ..)| *status).filter(is_shared).collect();
    let shared = |status: u16| {
        let own: Option<&[&str]> = if status == 422 { Some(&["invalid"]) } else { None };
        (format!("Problem{status}"), problem(status, own))
    };
    statuses.into_iter().map(shared).collect::<Map<_, _>>().into()
}

/// The problems of one status: all, or those with these codes.
fn problem(status: u16, own: Option<&[&str]>) -> Value {
    let is_meant = |code: &str| own.is_none_or(|own| own.contains(&code));
    let of_status: Vec<_> = CODES.iter().filter(|(known, code, _)| *known == status && is_meant(code)).collect();
    let codes: Vec<&str> = of_status.iter().map(|(_, code, _)| *code).collect();
    let meanings: Vec<String> = of_status.iter().map(|(_, code, meaning)| format!("`{code}`: {meaning}")).collect();
    let more_words = "One of the examples; a later version may know more words.";
    let code = json!({ "type": "string", "examples": codes, "description": more_words });
    let schema = json!({ "allOf": [
        { "$ref": "#/components/schemas/Problem" },
        { "properties": { "status": { "type": "integer", "examples": [status] }, "code": code } },
    ] });
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } });
    let more = match status {
        401 => Some("WWW-Authenticate"),
        429 | 503 => Some("Retry-After"),
        _ => None,
    };
    if let Some(more) = more {
        headers[more] = json!({ "$ref": format!("#/components/headers/{more}") });
    }
    json!({
        "description": meanings.join(" "),
        "headers": headers,
        "content": { "application/problem+json": { "schema": schema } },
    })
}

/// The headers of answers.
pub(super) fn headers() -> Value {
    let tag = "The version of what is shown: for `If-Match` of a change, and `If-None-Match` of a reader.";
    let text = |description: &str, required: bool| json!({ "description": description, "required": required, "schema": { "type": "string" } });
    let seconds = json!({ "description": "When to come back, in seconds.", "schema": { "type": "integer" } });
    json!({
        "X-Request-Id": text("The id of the request, which is also in the server's log.", true),
        "ETag": text(tag, true),
        "ETag-Unless-Repeated": text(tag, false),
        "Location": text("Where the new thing is.", true),
        "Retry-After": seconds,
        "WWW-Authenticate": text("How a key is shown.", false),
        "Idempotency-Replayed": text("`true`: the request was answered before, and this is the same answer.", false),
    })
}

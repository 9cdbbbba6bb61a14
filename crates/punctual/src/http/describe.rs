//! The API describes itself, as OpenAPI 3.1 has it.
//!
//! A route is entered into [`super::table`] together with the description that stands above its handler, so none can be added without
//! one. Here is what all routes have in common: who may ask, which answers there are beside the good ones, what headers they have, and examples.

/// The answers that are given beside the good ones, and the headers of all.
mod answers;

/// Requests that work.
mod examples;

/// What can be done with what an answer says.
mod links;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::shown;
use crate::wire::Problem;

/// Operations whose body may be left out.
const WITHOUT_BODY: [&str; 3] = ["command_reminder", "test_channel", "rotate_key"];
/// Reads that have a tag, so that a reader can ask for what it does not have.
const TAGGED: [&str; 10] = [
    "show_reminder",
    "show_user",
    "show_group",
    "show_event",
    "show_scope",
    "show_silence",
    "show_followed_calendar",
    "show_key",
    "show_calendar_address",
    "show_watch",
];
/// Changes that are made on a condition.
const CONDITIONAL: [&str; 20] = [
    "update_reminder",
    "cancel_reminder",
    "command_reminder",
    "put_user",
    "delete_user",
    "put_group",
    "delete_group",
    "put_event",
    "delete_event",
    "put_instance",
    "delete_instance",
    "put_scope",
    "delete_scope",
    "end_silence",
    "put_calendar",
    "delete_calendar",
    "rotate_key",
    "delete_key",
    "renew_calendar_address",
    "forget_watch",
];
/// Where assistants ask.
const MCP: &str = "/mcp";
/// The name of the scheme by which a caller shows its key.
const KEY: &str = "key";
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

const DESCRIPTION: &str = "Reminders that arrive at the moment they were asked for.\n\nEvery call under /v1 needs a key. A refused request \
    changes nothing, and is answered with a problem document (RFC 9457) that names the field and says what would be right; `errors` has \
    everything that is wrong with a body. Every answer to a request has an `X-Request-Id`: the caller\'s own, if it sent one of up to 128 letters, digits \
    and `._:/+=@-`, or a new one. Only what is refused before it is a request has none: a head that is too large (431) or is no HTTP (400), both \
    without a body, and plain HTTP where the server speaks HTTPS (400, `https_only`). A change takes `If-Match` or `If-None-Match` where its \
    parameters name them; anywhere else they are refused with 400, because they would not be looked at. The same calls can be made over one WebSocket, GET /v1/ws, which speaks JSON-RPC 2.0 and \
    tells the journal live.\n\nA list has pages: `next_cursor` of one is the `cursor` of the next, and null on the last. A cursor is the \
    place of the last item, not a number of items, so nothing is shown twice or left out because something was written meanwhile.";

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = serde_json::to_value(super::table().into_openapi()).expect("a description always becomes JSON");
    document["paths"][MCP] = super::mcp::described();
    complete(document)
});
static BYTES: LazyLock<Bytes> =
    LazyLock::new(|| serde_json::to_vec(document()).expect("a description always becomes JSON").into());

/// The whole description.
pub(super) fn document() -> &'static Value {
    &DOCUMENT
}

/// This document.
///
/// It describes every route of this server, and needs no key.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "describe", tag = "server",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
)]
pub(super) async fn show() -> Response {
    shown::answer_bytes(StatusCode::OK, BYTES.to_vec())
}

/// A description without routes.
pub(super) fn empty() -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new().title("punctual").version(env!("CARGO_PKG_VERSION")).description(Some(DESCRIPTION));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A key of the API")).build();
    let mut schemas = Vec::new();
    Problem::schemas(&mut schemas);
    schemas.push((Problem::name().into(), Problem::schema()));
    let components =
        ComponentsBuilder::new().security_scheme(KEY, SecurityScheme::Http(bearer)).schemas_from_iter(schemas);
    OpenApiBuilder::new().info(info.license(Some(license)).build()).components(Some(components.build())).build()
}

/// One operation, as the rules below see it.
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    id: String,
    described: &'a mut Value,
}

impl Operation<'_> {
    /// Whether it needs a key. The platforms prove by their signatures who they are.
    fn needs_key(&self) -> bool {
        self.is_ours() && (self.path.starts_with("/v1/") || self.is_of_assistants())
    }

    /// Whether it is for people and programs, and not for a platform.
    fn is_ours(&self) -> bool {
        self.path != "/v1/inbound/{channel}"
    }

    /// Whether it is the assistants' door, which speaks a protocol of its own.
    fn is_of_assistants(&self) -> bool {
        self.path == MCP
    }

    fn has_body(&self) -> bool {
        self.described["requestBody"].is_object()
    }

    /// Whether it can be repeated with the same `Idempotency-Key`.
    fn is_repeatable(&self) -> bool {
        self.method == "post" && self.is_ours() && !self.is_of_assistants()
    }

    fn is_tagged(&self) -> bool {
        TAGGED.contains(&&*self.id)
    }

    fn is_conditional(&self) -> bool {
        CONDITIONAL.contains(&&*self.id)
    }

    fn add_parameter(&mut self, name: &str) {
        let reference = json!({ "$ref": format!("#/components/parameters/{name}") });
        match &mut self.described["parameters"] {
            Value::Array(parameters) => parameters.push(reference),
            none => *none = json!([reference]),
        }
    }
}

/// Adds what all routes have in common.
fn complete(mut document: Value) -> Value {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, described) in item.as_object_mut().into_iter().flatten() {
            let id = described["operationId"].as_str().unwrap_or_default().to_owned();
            let mut operation = Operation { path, method, id, described };
            if operation.needs_key() {
                operation.described["security"] = json!([{ KEY: [] }]);
            }
            if operation.is_repeatable() {
                operation.add_parameter("Idempotency-Key");
            }
            if operation.is_conditional() {
                operation.add_parameter("If-Match");
            }
            if operation.is_tagged() || operation.is_conditional() && operation.method == "put" {
                let name = if operation.method == "put" { "If-None-Match-Any" } else { "If-None-Match" };
                operation.add_parameter(name);
            }
            if WITHOUT_BODY.contains(&&*operation.id) {
                operation.described["requestBody"]["required"] = false.into();
            }
            answers::complete(&mut operation);
            examples::complete(&mut operation);
            links::complete(&mut operation);
        }
    }
    let components = &mut document["components"];
    components["parameters"] = parameters();
    components["responses"] = answers::problems();
    components["headers"] = answers::headers();
    document
}

/// The query parameters that a change may have: those that are described for it, and the user for whom it is made.
pub(super) fn known_parameters(method: &Method, path: &str) -> Vec<&'static str> {
    let operation = &document()["paths"][path][method.as_str().to_ascii_lowercase()];
    let described = operation["parameters"].as_array().into_iter().flatten();
    let in_query = described.filter(|parameter| parameter["in"] == "query").filter_map(|one| one["name"].as_str());
    in_query.chain(["user"]).collect()
}

/// Whether there is such an operation, and it is made on no condition that a request names.
pub(super) fn takes_no_condition(method: &Method, path: &str) -> bool {
    let path = if path == super::scopes::DEEPER { super::scopes::PATH } else { path };
    let operation = &document()["paths"][path][method.as_str().to_ascii_lowercase()];
    operation["operationId"].as_str().is_some_and(|id| !CONDITIONAL.contains(&id))
}

/// The headers that requests have in common.
fn parameters() -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "description": description, "schema": schema });
    let text = || json!({ "type": "string" });
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 255 });
    let all = [
        (
            "Idempotency-Key",
            header(
                "Idempotency-Key",
                "The same key, path and body are answered the same again, for 48 hours; a different body is a 409.",
                key,
            ),
        ),
        (
            "If-Match",
            header(
                "If-Match",
                "The `ETag` of what the caller has seen, several of them, or `*` for anything that is there. If something else is there, the answer is 412, and nothing is changed.",
                text(),
            ),
        ),
        (
            "If-None-Match",
            header(
                "If-None-Match",
                "The `ETag` of what the reader has. If nothing is different, the answer is 304.",
                text(),
            ),
        ),
        (
            "If-None-Match-Any",
            header(
                "If-None-Match",
                "`*`: only if nothing is there. Else the answer is 412, and nothing is changed.",
                json!({ "type": "string", "enum": ["*"] }),
            ),
        ),
    ];
    all.into_iter().map(|(name, parameter)| (name.to_owned(), parameter)).collect::<Map<_, _>>().into()
}

/// The operations of a path, with their methods.
pub(super) fn operations(item: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    METHODS.iter().filter_map(|method| Some((*method, item.get(method)?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::Router;

    use super::*;

    /// The paths that a router really has: axum names them nowhere but in its debugging output.
    fn paths_of<S: Clone + Send + Sync + 'static>(router: &Router<S>) -> BTreeSet<String> {
        let table = format!("{router:?}");
        table.split('"').filter(|text| text.starts_with('/')).map(str::to_owned).collect()
    }

    #[test]
    fn every_route_of_the_router_is_described() {
        let (router, document) = super::super::table().split_for_parts();
        let described: BTreeSet<String> = document.paths.paths.into_keys().collect();
        // Also a router without routes has those of its fallback.
        let own = paths_of(&Router::<()>::new());
        let mut routed: BTreeSet<String> = paths_of(&router).difference(&own).cloned().collect();
        assert!(routed.remove(super::super::scopes::DEEPER), "it is described with the path of one level");
        let is_read = routed.contains("/v1/reminders/{id}/{verb}") && routed.len() > 20;
        assert!(is_read, "axum says its paths otherwise now: {routed:?}");
        assert_eq!(routed, described.difference(&own).cloned().collect());
    }

    #[test]
    fn a_route_without_a_description_is_noticed() {
        let undescribed = super::super::table().route("/v1/secret", axum::routing::get(show));
        let (router, document) = undescribed.split_for_parts();
        assert!(paths_of(&router).contains("/v1/secret") && !document.paths.paths.contains_key("/v1/secret"));
    }

    /// Operations without a function in `routes.rs` of the typed client.
    const NOT_OF_THE_CLIENT: &[&str] = &[
        // It is in `stream.rs`.
        "stream_journal",
        // People, calendars and monitoring read them.
        "answer_by_link",
        "ask_by_link",
        "describe",
        "docs",
        "show_calendar",
        "show_metrics",
        // Platforms call them.
        "greet_platform",
        "receive",
        // Other protocols begin there.
        "ask_as_assistant",
        "end_assistant_session",
        "open_websocket",
    ];

    /// The text before the first `)` that closes what begins there.
    fn until_closed(text: &str) -> &str {
        let mut depth = 0;
        let end = text.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0
        });
        &text[..end.unwrap_or(text.len())]
    }

    /// A path with `{}` for everything that changes.
    fn bare(path: &str) -> String {
        let mut parts = path.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |path, part| format!("{path}{{}}{}", part.split_once('}').map_or(part, |(_, rest)| rest)))
    }

    /// The method and the path that each function of the client asks for, as its source has them.
    fn asked_by_the_client() -> BTreeSet<(String, String)> {
        let source = include_str!("../../../client/src/routes.rs");
        let (functions, helpers) = source.split_once("\nfn ").expect("the helpers follow the functions");
        let literal = |text: &str| text.split('"').nth(1).unwrap_or_default().to_owned();
        let mut paths: Vec<(String, String)> = Vec::new();
        for helper in helpers.split("\nfn ") {
            let name = helper.split('(').next().unwrap_or_default().to_owned();
            let body = helper.split_once("format!(").map_or("", |(_, body)| until_closed(body));
            let inner = paths.iter().find(|(inner, _)| body.contains(&format!("{inner}(")));
            let path = match (literal(body), inner) {
                (path, Some((_, inner))) => path.replacen("{}", inner, 1),
                (path, None) => path,
            };
            paths.push((name, path));
        }
        functions
            .split("pub async fn ")
            .skip(1)
            .map(|function| {
                let (_, call) = function.split_once("self.").expect("it asks");
                let method = match call.split('(').next() {
                    Some("delete") => "delete".to_owned(),
                    Some("call") => call
                        .split("Method::")
                        .nth(1)
                        .and_then(|rest| rest.split(',').next())
                        .unwrap_or_default()
                        .to_lowercase(),
                    _ => "get".to_owned(),
                };
                let call = until_closed(call.split_once('(').map_or("", |(_, arguments)| arguments));
                let helper = paths
                    .iter()
                    .find(|(name, _)| call.contains(&format!("&{name}(")) || call.contains(&format!(" {name}(")));
                let path = match (literal(call), helper) {
                    (path, Some((_, helper))) if path.is_empty() => helper.clone(),
                    (path, Some((_, helper))) => path.replacen("{}", helper, 1),
                    (path, None) => path,
                };
                (method, bare(&path))
            })
            .collect()
    }

    #[test]
    fn the_typed_client_has_a_function_for_every_route_that_programs_call() {
        let asked = asked_by_the_client();
        let mut known = BTreeSet::new();
        for (path, item) in document()["paths"].as_object().expect("there are paths") {
            for (method, operation) in operations(item) {
                let id = operation["operationId"].as_str().unwrap_or_default();
                let route = (method.to_owned(), bare(path));
                let has_function = asked.contains(&route);
                assert!(has_function != NOT_OF_THE_CLIENT.contains(&id), "{id}, {method} {path}: {asked:#?}");
                known.insert(route);
            }
        }
        let unknown: Vec<_> = asked.difference(&known).collect();
        assert!(unknown.is_empty(), "the client asks for what is not there: {unknown:?}");
    }
}

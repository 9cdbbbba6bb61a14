//! The API describes itself, as OpenAPI 3.1 has it.
//!
//! A route is entered into [`super::table`] together with the description that stands above its handler, so none can be added without
//! one. Here is what all routes have in common.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem,
    Ref, RefOr, Required, ResponseBuilder, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::shown;
use crate::wire::Problem;

/// Operations whose body may be left out.
const WITHOUT_BODY: [&str; 3] = ["command_reminder", "test_channel", "rotate_key"];
/// The name of the scheme by which a caller shows its key.
const KEY: &str = "key";

const DESCRIPTION: &str = "Reminders that arrive at the moment they were asked for. Every call under /v1 needs a key. A refused request \
    changes nothing, and is answered with a problem document (RFC 9457) that names the field and says what would be right. The same calls can be made over one \
    WebSocket, GET /v1/ws, which speaks JSON-RPC 2.0 and tells the journal live.";

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let document = complete(super::table().into_openapi());
    serde_json::to_vec(&document).expect("a description always becomes JSON").into()
});

/// This document.
///
/// It describes every route of this server, and needs no key.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "describe", tag = "server",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
)]
pub(super) async fn show() -> Response {
    shown::answer_bytes(StatusCode::OK, DOCUMENT.to_vec())
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

/// Adds what all routes have in common: problems, keys, and the header that makes a POST happen once.
fn complete(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        // The platforms prove by their signatures who they are.
        let is_platforms = path == "/v1/inbound/{channel}";
        let needs_key = path.starts_with("/v1/") && !is_platforms;
        for (method, operation) in operations(item) {
            if needs_key {
                operation.security = Some(vec![SecurityRequirement::new(KEY, [] as [&str; 0])]);
            }
            if method == "post" && !is_platforms {
                operation.parameters.get_or_insert_default().push(RefOr::T(idempotency_key()));
            }
            let may_be_empty = operation.operation_id.as_deref().is_some_and(|id| WITHOUT_BODY.contains(&id));
            if let Some(RefOr::T(body)) = operation.request_body.as_mut().filter(|_| may_be_empty) {
                body.required = Some(Required::False);
            }
            operation.responses.responses.insert("default".into(), problem());
        }
    }
    document
}

fn problem() -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
    let response = ResponseBuilder::new().description("Refused; nothing was changed");
    RefOr::T(response.content("application/problem+json", content).build())
}

fn idempotency_key() -> Parameter {
    let description =
        "The same key, path and body are answered the same again, for 48 hours; a different body is a 409.";
    let schema = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(255));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// The operations of a path, with their methods.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let all = [
        ("get", &mut item.get),
        ("put", &mut item.put),
        ("post", &mut item.post),
        ("delete", &mut item.delete),
        ("patch", &mut item.patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
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
}

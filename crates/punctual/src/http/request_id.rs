//! Every request has an id, by which a caller and the log speak of the same one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use punctual_core::id::hex;
use tracing::Instrument;

use super::App;
use super::problem::Document;

/// The header that carries it, both ways.
pub(super) const NAME: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken over from a caller.
const LENGTH_MAX: usize = 128;

/// Gives the request an id, unless it has one that is fit for a log; the answer has it, and so have the log's lines about it and a problem.
pub(super) async fn layer(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let id = given(request.headers()).unwrap_or_else(|| {
        let mut bytes = [0; 12];
        app.engine.random().fill(&mut bytes);
        hex(&bytes)
    });
    // It is wanted with every line, so it is there at every level.
    let span = tracing::error_span!("request", request_id = %id);
    let mut response = next.run(request).instrument(span).await;
    if let Some(document) = response.extensions_mut().remove::<Document>() {
        let body = document.of_request(&id);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = Body::from(body);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(NAME, value);
    }
    response
}

/// The caller's own id, if it is one.
fn given(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(NAME)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/+=@-".contains(&byte);
    ((1..=LENGTH_MAX).contains(&id.len()) && id.bytes().all(is_plain)).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_fit_for_a_log_is_kept() {
        let long = "x".repeat(LENGTH_MAX + 1);
        for (id, is_kept) in
            [("abc-1", true), ("4bf92f3577b34da6", true), ("", false), ("a b", false), ("a\"b", false), (&long, false)]
        {
            let headers: HeaderMap = [(NAME, id.parse().unwrap())].into_iter().collect();
            assert_eq!(given(&headers).is_some(), is_kept, "{id}");
        }
        assert_eq!(given(&HeaderMap::new()), None);
    }
}

//! Conditions of requests (RFC 9110, section 13): who has seen what.
//!
//! A tag has two parts: the version of what is kept, which core works out in the transaction of a change ([`Expects`]), and a hash of what is
//! shown, which also depends on the moment and on the person's language. `If-Match` is about the first; `If-None-Match` of a reader about both.

use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use punctual_core::id::hex;
use punctual_core::journal::Who;
use punctual_core::store::By;
use punctual_core::version::{Expects, Version};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::describe;
use super::idempotency::PLATFORMS;
use super::problem::Problem;
use super::shown;

/// The most tags in one header.
const TAGS_MAX: usize = 32;

/// What a request takes to be there before it changes it.
pub(super) struct Expecting(pub(super) Expects);

impl Expecting {
    /// The same change, on this condition.
    pub(super) fn of(self, by: By) -> By {
        By { who: self.by(by.who.clone()), ..by }
    }

    /// The same caller, on this condition.
    pub(super) fn by(self, who: Who) -> Who {
        Who { expects: self.0, ..who }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Expecting {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        expected(&parts.headers).map(Self)
    }
}

fn expected(headers: &HeaderMap) -> Result<Expects, Problem> {
    let (matches, none_matches) = (tags(headers, &header::IF_MATCH)?, tags(headers, &header::IF_NONE_MATCH)?);
    match (matches, none_matches) {
        (None, None) => Ok(Expects::Anything),
        (Some(_), Some(_)) => Err(Problem::bad_request("send either If-Match or If-None-Match, not both")),
        (None, Some(Tags::Any)) => Ok(Expects::Nothing),
        (None, Some(Tags::These(_))) => Err(Problem::bad_request(
            "a change takes no other If-None-Match than `*`, which says that nothing is there",
        )),
        (Some(Tags::Any), None) => Ok(Expects::Something),
        // A tag that is not ours, or is weak, is of nothing that is there.
        (Some(Tags::These(tags)), None) => Ok(Expects::OneOf(tags.iter().filter_map(|tag| version_of(tag)).collect())),
    }
}

/// The version in a strong tag.
fn version_of(tag: &str) -> Option<Version> {
    let (version, _) = tag.strip_prefix('"')?.strip_suffix('"')?.split_once('-')?;
    version.parse().ok()
}

enum Tags {
    Any,
    These(Vec<String>),
}

/// The tags in a header, as they are written.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let wrong = || {
        Problem::bad_request(format!(
            "the header {name} must be `*`, or tags such as \"0123456789abcdef-0123456789abcdef\""
        ))
    };
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        let text = value.to_str().map_err(|_| wrong())?;
        found.extend(text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned));
    }
    let is_tag = |tag: &String| {
        let opaque = tag.strip_prefix("W/").unwrap_or(tag);
        opaque.len() >= 2
            && opaque.starts_with('"')
            && opaque.ends_with('"')
            && !opaque[1..opaque.len() - 1].contains('"')
    };
    match &found[..] {
        [] if !headers.contains_key(name) => Ok(None),
        [one] if one == "*" => Ok(Some(Tags::Any)),
        [] => Err(wrong()),
        all if all.len() <= TAGS_MAX && all.iter().all(is_tag) => Ok(Some(Tags::These(found))),
        _ => Err(wrong()),
    }
}

/// The tag of something of this version that is shown as `body`.
fn tag(version: Version, body: &[u8]) -> HeaderValue {
    let hash: [u8; 32] = Sha256::digest(body).into();
    HeaderValue::from_str(&format!("\"{version}-{}\"", hex(&hash[..8]))).unwrap_or(HeaderValue::from_static("\"-\""))
}

/// An answer in JSON with its tag.
pub(super) fn tagged(status: StatusCode, version: Version, body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, body).expect("what is shown always becomes JSON");
    let tag = tag(version, &bytes);
    let mut response = shown::answer_bytes(status, bytes);
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// The same answer with the tag of `plain`, which is what a reader would be shown: the answer to a change may say more.
pub(super) fn tagged_as(mut response: Response, version: Version, plain: &impl Serialize) -> Response {
    let plain = serde_json::to_vec(plain).expect("what is shown always becomes JSON");
    response.headers_mut().insert(header::ETAG, tag(version, &plain));
    response
}

/// The same answer, which says where the new thing is.
pub(super) fn located(mut response: Response, path: &str) -> Response {
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

/// Spares a reader what it has already, and says where a thing is that a PUT has made.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let is_read = method == Method::GET || method == Method::HEAD;
    // What cannot be read says nothing: the reader gets everything.
    let known = is_read.then(|| tags(request.headers(), &header::IF_NONE_MATCH).ok().flatten()).flatten();
    let path = (method == Method::PUT).then(|| request.uri().path().to_owned());
    let response = next.run(request).await;
    if let Some(path) = path.filter(|_| response.status() == StatusCode::CREATED) {
        return located(response, &path);
    }
    let (Some(known), Some(tag)) = (known, response.headers().get(header::ETAG)) else { return response };
    let has_it = match known {
        Tags::Any => true,
        Tags::These(tags) => {
            tags.iter().any(|known| known.strip_prefix("W/").unwrap_or(known).as_bytes() == tag.as_bytes())
        }
    };
    if response.status() != StatusCode::OK || !has_it {
        return response;
    }
    let (parts, _) = response.into_parts();
    let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
    *unchanged.headers_mut() = parts.headers;
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        unchanged.headers_mut().remove(name);
    }
    unchanged
}

/// Refuses a condition on a change that is made on none: its caller would believe that it was looked at.
pub(super) async fn unconditional(request: Request, next: Next) -> Result<Response, Problem> {
    let method = request.method();
    let is_change = method != Method::GET && method != Method::HEAD;
    let given = [header::IF_MATCH, header::IF_NONE_MATCH].into_iter().find(|name| request.headers().contains_key(name));
    let Some(given) = given.filter(|_| is_change) else { return Ok(next.run(request).await) };
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    // A platform may send such a header for reasons of its own.
    if path == PLATFORMS || !describe::takes_no_condition(method, path) {
        return Ok(next.run(request).await);
    }
    let detail = format!("{method} {path} is made on no condition; leave out {given}");
    Err(Problem::bad_request(detail).at_field(given.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), value.parse().unwrap());
        given.iter().map(header).collect()
    }

    #[test]
    fn a_condition_is_read_from_the_headers() {
        let version = Version::of(&1);
        let own = format!("\"{version}-0123456789abcdef\"");
        let weak = format!("W/{own}");
        let table: [(&[(&'static str, &str)], Expects); 8] = [
            (&[], Expects::Anything),
            (&[("if-match", "*")], Expects::Something),
            (&[("if-none-match", "*")], Expects::Nothing),
            (&[("if-match", &own)], Expects::OneOf(vec![version])),
            (&[("if-match", &weak)], Expects::OneOf(vec![])),
            (&[("if-match", "\"of-another\"")], Expects::OneOf(vec![])),
            (&[("if-match", "\"x\""), ("if-match", &own)], Expects::OneOf(vec![version])),
            (&[("if-match", "\"\"")], Expects::OneOf(vec![])),
        ];
        for (given, expect) in table {
            assert_eq!(expected(&headers(given)).unwrap(), expect, "{given:?}");
        }
        for wrong in [
            &[("if-match", "")][..],
            &[("if-match", "abc")],
            &[("if-match", "\"a\" \"b\"")],
            &[("if-match", "*, \"a\"")],
            &[("if-none-match", "\"a\"")],
            &[("if-match", "*"), ("if-none-match", "*")],
        ] {
            assert!(expected(&headers(wrong)).is_err(), "{wrong:?}");
        }
    }
}

//! Who has signed in: the cookie, signing in and out, and the proof that a form is ours.

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use maud::{Markup, html};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Web;
use crate::house::{House, NoEntry, Proof};
use crate::layout;
use crate::manner::Manner;
use crate::texts::sign_in as t;
use crate::viewer::Posted;

/// The most that a sign-in may have. A key is far shorter.
const FORM_BYTES_MAX: usize = 8 * 1024;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/sign-in", get(ask).post(begin)).route("/sign-out", post(end))
}

/// The session in the cookie of a request.
pub(crate) fn of<'a>(headers: &'a HeaderMap, house: &dyn House) -> Option<&'a str> {
    cookie(headers, house.cookie())
}

/// A cookie of a request.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut each = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    each.find(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

/// The proof that a form was written for this session. Only we and the session's pages know it: the cookie is out of reach for scripts.
pub(crate) fn form_token(session: &str) -> String {
    let digest = Sha256::digest(format!("punctual form {session}"));
    BASE64_URL_SAFE_NO_PAD.encode(&digest[..18])
}

/// Whether a form has the proof.
pub(crate) fn proves(session: &str, token: &str) -> bool {
    form_token(session).as_bytes().ct_eq(token.as_bytes()).into()
}

/// Whether a browser sends this from one of our own pages. A program that says nothing about it has no cookie to misuse.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    if let Some(site) = headers.get(FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let host = |value: &HeaderValue| value.to_str().ok().map(str::to_lowercase);
    match (headers.get(ORIGIN).and_then(host), headers.get(HOST).and_then(host)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        (Some(_), None) => false,
    }
}

#[derive(Deserialize)]
struct Asked {
    link: Option<String>,
    key: Option<String>,
    next: Option<String>,
}

/// Shows the form, or follows a link that signs in.
async fn ask(State(house): State<Web>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let asked = serde_urlencoded::from_str(parts.uri.query().unwrap_or_default());
    let Asked { link, next, .. } = asked.unwrap_or(Asked { link: None, key: None, next: None });
    match link {
        Some(link) => {
            let from = house.peer(&parts.extensions);
            enter(&*house, Proof::Link(&link), next.as_deref(), from, parts.headers).await
        }
        None => form(&parts.headers, StatusCode::OK, None, next.as_deref()),
    }
}

/// Signs in with a key.
async fn begin(State(house): State<Web>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, FORM_BYTES_MAX).await.unwrap_or_default();
    let (from, headers) = (house.peer(&parts.extensions), parts.headers);
    if !is_from_here(&headers) {
        return form(&headers, StatusCode::FORBIDDEN, Some(Why::Elsewhere), None);
    }
    let Ok(asked) = serde_urlencoded::from_bytes::<Asked>(&bytes) else {
        return form(&headers, StatusCode::BAD_REQUEST, Some(Why::Key(NoEntry::Wrong)), None);
    };
    let key = asked.key.as_deref().unwrap_or_default().trim();
    enter(&*house, Proof::Key(key), asked.next.as_deref(), from, headers).await
}

#[derive(Deserialize)]
struct Out {
    everywhere: Option<String>,
}

/// Ends the session, or all sessions of its key.
async fn end(State(house): State<Web>, posted: Posted<Out>) -> Response {
    // A session that is over already is as ended as it can be.
    let _ = house.end(&posted.viewer.session, posted.form.everywhere.is_some()).await;
    let gone = format!("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{}", house.cookie(), secure(&*house));
    ([(SET_COOKIE, gone)], Redirect::to("/sign-in")).into_response()
}

/// Why the form is shown once more.
enum Why {
    Key(NoEntry),
    Link(NoEntry),
    Elsewhere,
}

async fn enter(
    house: &dyn House,
    proof: Proof<'_>,
    next: Option<&str>,
    from: Option<IpAddr>,
    headers: HeaderMap,
) -> Response {
    match house.begin(proof, from).await {
        Ok(begun) => {
            let (name, session, seconds) = (house.cookie(), begun.session, begun.lasts.as_secs());
            let set = format!("{name}={session}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{}", secure(house));
            ([(SET_COOKIE, set)], Redirect::to(ours(next))).into_response()
        }
        Err(refused) => {
            let status = match refused {
                NoEntry::Wrong => StatusCode::UNAUTHORIZED,
                NoEntry::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
                NoEntry::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            };
            let why = match proof {
                Proof::Key(_) => Why::Key(refused),
                Proof::Link(_) => Why::Link(refused),
            };
            form(&headers, status, Some(why), next)
        }
    }
}

fn secure(house: &dyn House) -> &'static str {
    if house.is_secure() { "; Secure" } else { "" }
}

/// Where to go after signing in or after a form: a page of ours.
pub(crate) fn ours(next: Option<&str>) -> &str {
    let is_ours = |next: &&str| {
        next.starts_with('/') && !next.starts_with("//") && next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    };
    next.filter(is_ours).unwrap_or("/")
}

fn form(headers: &HeaderMap, status: StatusCode, why: Option<Why>, next: Option<&str>) -> Response {
    let manner = Manner::of_stranger(headers);
    let m = &manner;
    let problem = why.map(|why| match why {
        Why::Key(NoEntry::Wrong) => m.t(t::WRONG_KEY).into_owned(),
        Why::Link(NoEntry::Wrong) => m.t(t::WRONG_LINK).into_owned(),
        Why::Key(NoEntry::TooMany { seconds }) | Why::Link(NoEntry::TooMany { seconds }) => {
            m.say(t::TOO_MANY, &[("n", &m.number(seconds.into()))])
        }
        Why::Key(NoEntry::Unavailable) | Why::Link(NoEntry::Unavailable) => m.t(t::UNAVAILABLE).into_owned(),
        Why::Elsewhere => m.t(t::ELSEWHERE).into_owned(),
    });
    let page: Markup = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::INTRO)) }
        @if let Some(problem) = &problem { p.problem #problem role="alert" { (problem) } }
        form.stack method="post" action="/sign-in" {
            label for="key" { (m.t(t::KEY)) }
            input #key name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false"
                aria-describedby=[problem.is_some().then_some("problem")];
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            div.buttons { button.main type="submit" { (m.t(t::BUTTON)) } }
        }
        h2 { (m.t(t::NO_KEY)) }
        p { (m.t(t::HOW)) }
        pre { code { "punctual open" } }
    };
    (status, layout::bare(m, &m.t(t::TITLE), &page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_nobody_is_led_elsewhere() {
        for (next, expect) in [
            (None, "/"),
            (Some("/reminders?q=a"), "/reminders?q=a"),
            (Some("https://evil.example/"), "/"),
            (Some("//evil.example/"), "/"),
            (Some("/\\evil.example/"), "/"),
            (Some("/a\r\nset-cookie: b"), "/"),
        ] {
            assert_eq!(ours(next), expect, "{next:?}");
        }
    }

    #[test]
    fn a_form_of_another_site_is_told_from_one_of_ours() {
        for (given, expect) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "http://a:1"), ("host", "a:1")], false),
            (&[("origin", "http://a:1"), ("host", "a:1")], true),
            (&[("origin", "http://a:2"), ("host", "a:1")], false),
            (&[("origin", "null"), ("host", "a:1")], false),
        ] {
            let headers: HeaderMap = given
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            assert_eq!(is_from_here(&headers), expect, "{given:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("a=1; xpunctual-1=2; punctual-1=3"))]);
        assert_eq!(cookie(&headers, "punctual-1"), Some("3"));
        assert_eq!(cookie(&headers, "punctual"), None);
    }

    #[test]
    fn the_proof_of_a_form_belongs_to_its_session() {
        assert!(proves("one", &form_token("one")));
        assert!(!proves("one", &form_token("two")));
        assert!(!proves("one", ""));
    }
}

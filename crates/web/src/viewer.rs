//! Who looks at a page: their client, zone, language and rights.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::future::join;
use maud::Markup;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_client::wire::{self, UserQuery};
use punctual_client::{Client, Failure};
use serde::de::DeserializeOwned;

use crate::Web;
use crate::flash::{self, Flash};
use crate::house::House;
use crate::layout::{self, Place};
use crate::manner::Manner;
use crate::session;
use crate::trouble::Trouble;

pub(crate) use punctual_client::known::Scope;

/// The most that a form may have: a long message, or many ticked boxes.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// Somebody who has signed in and looks at a page.
pub(crate) struct Viewer {
    /// What the cookie says.
    pub(crate) session: String,
    /// The API, asked with their rights.
    pub(crate) client: Client,
    /// The key that they act with, and what it may do.
    pub(crate) caller: wire::Caller,
    /// Whose things are shown: their own first. Somebody whose key is bound to nobody may look at another's, with `?user=`.
    pub(crate) person: String,
    /// The entry of that person, if there is one.
    pub(crate) user: Option<wire::User>,
    /// How they read numbers, dates and texts.
    pub(crate) m: Manner,
    /// Path and query of the page.
    pub(crate) here: String,
    /// Whether only parts of the page are wanted, to be put in the place of older ones.
    pub(crate) is_part: bool,
    said: Option<Flash>,
}

impl FromRequestParts<Web> for Viewer {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, house: &Web) -> Result<Self, Trouble> {
        // News may wait its turn; somebody who types does not.
        if parts.headers.get(PART).is_some_and(|part| part != "asked") {
            house.turn().await;
        }
        Self::of(&**house, &parts.headers, &parts.uri).await
    }
}

/// The header of a request for parts of a page.
const PART: &str = "x-part";

impl Viewer {
    /// Who looks at the page at `uri`, by the headers of their browser.
    pub(crate) async fn of(house: &dyn House, headers: &HeaderMap, uri: &Uri) -> Result<Self, Trouble> {
        let session = session::of(headers, house).ok_or(Trouble::SignedOut)?.to_owned();
        let client = house.client(&session);
        let is_part = headers.contains_key(PART);
        let here = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        let asked = query_value(uri.query().unwrap_or_default(), "user");
        let (caller, settings) = join(client.caller(), client.settings()).await;
        let (caller, settings) = (caller?, settings?);
        let person = match asked.filter(|user| !user.is_empty()) {
            Some(user) if !caller.is_bound => user,
            _ => caller.user.clone(),
        };
        // The manner is the viewer's own; the things may be another's.
        let own = async { entry(&client, &caller.user).await };
        let theirs = async { if person == caller.user { None } else { entry(&client, &person).await } };
        let (own, theirs) = join(own, theirs).await;
        let m = Manner::of(own.as_ref(), &settings, headers, house.now());
        let user = if person == caller.user { own } else { theirs };
        // A part that is fetched anew beside what somebody does takes no words from the page that follows it.
        let said = Flash::of(headers).filter(|_| !is_part);
        Ok(Self { session, client, caller, person, user, m, here, is_part, said })
    }
}

/// The entry of a user. One that is not there, or that the key may not read, says nothing.
async fn entry(client: &Client, user: &str) -> Option<wire::User> {
    client.user(user).await.ok()
}

/// One value of a query.
pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

impl Viewer {
    /// The page, with everything that stands around it.
    pub(crate) fn page(&self, place: impl Into<Option<Place>>, title: &str, main: &Markup) -> Response {
        let mut response = layout::page(self, place.into(), title, main, self.said.as_ref()).into_response();
        if self.said.is_some() {
            response.headers_mut().append(SET_COOKIE, flash::said());
        }
        response
    }

    /// Whether their key may do what needs this scope.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.caller.may(scope)
    }

    /// That their key may change things. A page that only asks whether to is none for anybody else.
    pub(crate) fn must_write(&self) -> Result<(), Trouble> {
        if self.may(Scope::Write) { Ok(()) } else { Err(Trouble::NotFound) }
    }

    /// Whether their key may do what concerns everybody.
    pub(crate) fn is_admin(&self) -> bool {
        self.may(Scope::Admin) && !self.caller.is_bound && self.caller.channels.is_empty()
    }

    /// Whether their page is live. What happens is told to no key without `read`, and to none that is bound to channels.
    pub(crate) fn may_follow(&self) -> bool {
        self.may(Scope::Read) && self.caller.channels.is_empty()
    }

    /// Whether another's things are shown.
    pub(crate) fn looks_at_another(&self) -> bool {
        self.person != self.caller.user
    }

    /// The address of a page of ours, for the person whose things are shown.
    pub(crate) fn href(&self, path: &str) -> String {
        match self.looks_at_another() {
            false => path.to_owned(),
            true => {
                let (page, place) = path.find('#').map_or((path, ""), |at| path.split_at(at));
                let joint = if page.contains('?') { '&' } else { '?' };
                format!("{page}{joint}user={}{place}", utf8_percent_encode(&self.person, NON_ALPHANUMERIC))
            }
        }
    }

    /// For calls that name a reminder: it must be the person's, unless the viewer looks at everybody's.
    pub(crate) fn anybody(&self) -> UserQuery {
        UserQuery::default()
    }

    /// The proof that a form was written for this session.
    pub(crate) fn form_token(&self) -> String {
        session::form_token(&self.session)
    }
}

/// A form that somebody sent from one of our pages.
pub(crate) struct Posted<T> {
    pub(crate) viewer: Viewer,
    pub(crate) form: T,
}

impl<T: DeserializeOwned> FromRequest<Web> for Posted<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request, house: &Web) -> Result<Self, Trouble> {
        let (mut parts, body) = request.into_parts();
        if !session::is_from_here(&parts.headers) {
            return Err(Trouble::Elsewhere);
        }
        let mut viewer = Viewer::from_request_parts(&mut parts, house).await?;
        // What an earlier form said stays for the page that follows this one.
        viewer.said = None;
        let bytes = axum::body::to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| Trouble::TooLarge)?;
        if !is_proved(&bytes, &viewer.session) {
            return Err(Trouble::Elsewhere);
        }
        let form = serde_urlencoded::from_bytes(&bytes).map_err(|error| Trouble::Form(error.to_string()))?;
        Ok(Self { viewer, form })
    }
}

fn is_proved(form: &Bytes, session: &str) -> bool {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(form).unwrap_or_default();
    pairs.iter().any(|(name, value)| name == "form" && session::proves(session, value))
}

/// What there is, or nothing where there is no such thing.
pub(crate) fn found<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.refused().is_some_and(|refused| refused.status == StatusCode::NOT_FOUND) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Changes something as it is now: `change` sees it and changes what it has seen, once more where somebody else was faster.
pub(crate) async fn as_it_is<T, F>(change: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    for _ in 0..3 {
        match change().await {
            Err(failure) if failure.is_overtaken() => {}
            done => return done,
        }
    }
    change().await
}

/// What to tell somebody whose wish the API refused.
pub(crate) fn refused(failure: &Failure) -> Option<&str> {
    let refused = failure.refused()?;
    refused
        .status
        .is_client_error()
        .then_some(refused.words.as_str())
        .filter(|_| refused.status != StatusCode::UNAUTHORIZED)
}

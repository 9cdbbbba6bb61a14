//! Pages that say what went wrong.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::join;
use maud::html;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_client::Failure;

use crate::house::House;
use crate::manner::Manner;
use crate::texts::trouble as t;
use crate::viewer::Viewer;
use crate::{Web, layout, session};

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody has signed in, or the session is over.
    SignedOut,
    /// A form that was not written for this session.
    Elsewhere,
    /// A form that is too large.
    TooLarge,
    /// A form that cannot be read.
    Form(String),
    /// There is no such page or thing.
    NotFound,
    /// The API refused.
    Api(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure.refused().map(|refused| refused.status) {
            Some(StatusCode::UNAUTHORIZED) => Self::SignedOut,
            Some(StatusCode::NOT_FOUND) => Self::NotFound,
            _ => Self::Api(failure),
        }
    }
}

impl Trouble {
    fn status(&self) -> StatusCode {
        match self {
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::Elsewhere => StatusCode::FORBIDDEN,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Form(_) => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Api(failure) => failure.refused().map_or(StatusCode::BAD_GATEWAY, |refused| refused.status),
        }
    }
}

impl IntoResponse for Trouble {
    /// An answer that [`layer`] makes a page of.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Makes pages of troubles. Somebody who has not signed in is asked to.
pub(crate) async fn layer(State(house): State<Web>, request: Request, next: Next) -> Response {
    let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
    let response = next.run(request).await;
    let Some(trouble) = response.extensions().get::<Arc<Trouble>>().cloned() else { return response };
    if let Trouble::SignedOut = *trouble {
        let here = uri.path_and_query().map_or("/", |here| here.as_str());
        let next = utf8_percent_encode(here, NON_ALPHANUMERIC);
        let is_first = here == "/" || method != Method::GET;
        return Redirect::to(&if is_first { "/sign-in".to_owned() } else { format!("/sign-in?next={next}") })
            .into_response();
    }
    // Whoever has signed in and asked for what their key may not do has the way on and out around the page.
    if trouble.status() == StatusCode::FORBIDDEN
        && let Trouble::Api(failure) = &*trouble
        && let Ok(v) = Viewer::of(&*house, &headers, &uri).await
    {
        let title = v.m.t(t::FORBIDDEN);
        let page = html! { h1 { (title) } p.sub { (failure) } };
        return (StatusCode::FORBIDDEN, v.page(None, &title, &page)).into_response();
    }
    page(&*house, &headers, &trouble).await
}

/// The page about a trouble, in the language of whoever has it.
pub(crate) async fn page(house: &dyn House, headers: &HeaderMap, trouble: &Trouble) -> Response {
    let m = manner(house, headers).await;
    let (heading, words) = match trouble {
        Trouble::SignedOut | Trouble::Elsewhere => (t::REFUSED, m.t(t::ELSEWHERE).into_owned()),
        Trouble::TooLarge => (t::REFUSED, m.t(t::TOO_LARGE).into_owned()),
        Trouble::Form(problem) => (t::REFUSED, problem.clone()),
        Trouble::NotFound => (t::NOT_FOUND, m.t(t::NOT_FOUND_WHY).into_owned()),
        Trouble::Api(failure) if trouble.status() == StatusCode::FORBIDDEN => (t::FORBIDDEN, failure.to_string()),
        Trouble::Api(failure) => (t::FAILED, failure.to_string()),
    };
    let page = html! {
        h1 { (m.t(heading)) }
        p.sub { (words) }
        p { a href="/" { (m.t(t::BACK)) } }
    };
    (trouble.status(), layout::bare(&m, &m.t(heading), &page)).into_response()
}

/// How somebody reads: as their entry says where they have signed in, else as their browser does.
async fn manner(house: &dyn House, headers: &HeaderMap) -> Manner {
    let Some(session) = session::of(headers, house) else { return Manner::of_stranger(headers) };
    let client = house.client(session);
    let (Ok(caller), Ok(settings)) = join(client.caller(), client.settings()).await else {
        return Manner::of_stranger(headers);
    };
    let user = client.user(&caller.user).await.ok();
    Manner::of(user.as_ref(), &settings, headers, house.now())
}

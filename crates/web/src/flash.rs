//! What is said once, on the next page: a cookie that the page which shows it removes.

use axum::http::StatusCode;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use punctual_client::Failure;
use serde::{Deserialize, Serialize};

use crate::manner::Manner;
use crate::session::{cookie, ours};
use crate::texts::trouble;

/// The name of the cookie. It holds no secret, so servers beside each other may share it.
const NAME: &str = "punctual-said";
const TEXT_CHARS_MAX: usize = 300;
/// A page has 40 reminders; their ids and the text fit into a cookie of 4 kB.
const UNDO_MANY_MAX: usize = 50;

/// Something that was done, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flash {
    /// In the viewer's language.
    pub(crate) text: String,
    /// What else is to be said, such as what the same words could mean too. A long text does not cut it off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) note: Option<String>,
    /// The person whom nothing reaches, and on whose page an address is added.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) unreached: Option<String>,
    /// Undo: the reminder, and what takes back what was done to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) undo: Option<(String, String)>,
    /// The same for many at once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) undo_many: Option<(Vec<String>, String)>,
    /// Whether it could not be done.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) is_problem: bool,
}

impl Flash {
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), note: None, unreached: None, undo: None, undo_many: None, is_problem: false }
    }

    /// Something that `verb` takes back.
    pub(crate) fn undoable(text: impl Into<String>, reminder: &str, verb: &str) -> Self {
        Self { undo: Some((reminder.to_owned(), verb.to_owned())), ..Self::done(text) }
    }

    /// Something done to many that `verb` takes back. Of very many nothing is offered: a browser keeps no cookie that large.
    pub(crate) fn undoable_many(text: impl Into<String>, reminders: Vec<String>, verb: &str) -> Self {
        let undo_many = (reminders.len() <= UNDO_MANY_MAX).then(|| (reminders, verb.to_owned()));
        Self { undo_many, ..Self::done(text) }
    }

    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self { is_problem: true, ..Self::done(text) }
    }

    /// Something that could not be done, because this person has no address that works.
    pub(crate) fn unreached(text: impl Into<String>, person: impl Into<String>) -> Self {
        Self { unreached: Some(person.into()), ..Self::problem(text) }
    }

    /// The same, and what else there is to say about it.
    pub(crate) fn noting(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    /// Somebody has changed what was to be removed since the viewer was asked.
    pub(crate) fn of_overtaken(m: &Manner, gone: &Result<(), Failure>) -> Option<Self> {
        let is_overtaken = gone.as_ref().is_err_and(Failure::is_overtaken);
        is_overtaken.then(|| Self::problem(m.t(trouble::NOT_REMOVED)))
    }

    /// Leads to `to`, where this is said.
    pub(crate) fn then(mut self, to: &str) -> Response {
        cut(&mut self.text);
        self.note.iter_mut().for_each(cut);
        // Texts and flags always become JSON, and base64 is always a header.
        let value = BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&self).unwrap_or_default());
        let set = format!("{NAME}={value}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
        let mut response = leads(to);
        if let Ok(set) = HeaderValue::from_str(&set) {
            response.headers_mut().append(SET_COOKIE, set);
        }
        response
    }

    /// What the page that is shown now says.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(cookie(headers, NAME)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// A cookie has room for so much.
fn cut(text: &mut String) {
    if text.chars().count() > TEXT_CHARS_MAX {
        *text = text.chars().take(TEXT_CHARS_MAX).chain(['…']).collect();
    }
}

/// Leads to a page of ours after a form, whatever the form says.
pub(crate) fn leads(to: &str) -> Response {
    let to = HeaderValue::from_str(ours(Some(to))).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// Removes the cookie: what it says has been said.
pub(crate) fn said() -> HeaderValue {
    HeaderValue::from_static("punctual-said=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}

//! Links that answer a reminder, such as those in a mail.
//!
//! The link carries its own proof and needs no key: a person who has it may give that one answer to that one run. Fetching it changes
//! nothing and the page has no script, because mail scanners fetch every link they see and some of them run what they fetch. The answer is
//! given by a click on the page's button.

/// The page that a person sees.
mod page;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::answer::{Pressed, Verb};
use punctual_core::change::{Change, Refused};
use punctual_core::id::OccurrenceId;
use punctual_core::journal::Who;
use punctual_core::occurrence::{Attempt, AttemptStatus};
use punctual_core::phrase::Lang;
use punctual_core::reminder::Reminder;
use punctual_core::store::{self, By, ChangeError};

use self::page::{Said, page};
use super::App;
use super::input::InPath;
use super::problem::Problem;
use super::shown;
use crate::wire::LinkAnswer;

/// Who answers, in the journal.
const ACTOR: &str = "link";

/// The run and the answer that one link stands for.
struct Asked {
    verb: Verb,
    occurrence: OccurrenceId,
    reminder: Reminder,
    /// Where the link was last sent.
    channel: Option<String>,
    lang: Lang,
    /// Whether the run has ended, so that nothing can be answered any more.
    is_over: bool,
}

/// Shows what a link is about, with a button that gives the answer. It changes nothing.
#[utoipa::path(
    get, path = "/a/{token}", operation_id = "ask_by_link", tag = "answers", params(("token" = String, Path, description = "What the link carries")),
    responses((status = 200, description = "A page, or JSON for a program", content((LinkAnswer = "application/json"), (String = "text/html")))),
)]
pub(super) async fn ask(State(app): State<Arc<App>>, InPath(token): InPath<String>, headers: HeaderMap) -> Response {
    let asked = match find(&app, &token).await {
        Ok(asked) => asked,
        Err(said) => return refuse(said, &headers, accepted_lang(&headers)),
    };
    if asked.is_over {
        return refuse(Said::Over, &headers, asked.lang);
    }
    if wants_json(&headers) {
        let body = LinkAnswer {
            answered: false,
            response: asked.verb.as_str().into(),
            reminder_id: asked.reminder.id.to_string(),
            occurrence_id: asked.occurrence.to_string(),
            hint: Some("POST here to answer".into()),
            until: None,
        };
        return shown::answer(StatusCode::OK, &body);
    }
    page(StatusCode::OK, asked.lang, &Said::Ask(asked.verb, &asked.reminder.message))
}

/// Gives the answer of a link.
#[utoipa::path(
    post, path = "/a/{token}", operation_id = "answer_by_link", tag = "answers", params(("token" = String, Path, description = "What the link carries")),
    responses((status = 200, description = "A page, or JSON for a program", content((LinkAnswer = "application/json"), (String = "text/html")))),
)]
pub(super) async fn answer(State(app): State<Arc<App>>, InPath(token): InPath<String>, headers: HeaderMap) -> Response {
    let Asked { verb, occurrence, reminder, channel, lang, is_over } = match find(&app, &token).await {
        Ok(asked) => asked,
        Err(said) => return refuse(said, &headers, accepted_lang(&headers)),
    };
    let now = app.now();
    let change = Pressed::new(verb, occurrence).change(now);
    let until = match change.plain() {
        Change::Snooze { until } => Some(*until),
        _ => None,
    };
    let said = store::Said { channel, ..store::Said::default() };
    let by = By { said, ..By::new(Who::from(ACTOR).via("link"), now) };
    match app.change(occurrence.reminder, change, by).await {
        Ok(_) => {}
        Err(ChangeError::Refused(Refused::SendBegun | Refused::OtherBegun(_))) => {
            return refuse(Said::Busy, &headers, lang);
        }
        Err(ChangeError::Refused(_)) if !is_over => return refuse(Said::NotNow, &headers, lang),
        Err(ChangeError::Refused(_)) => return refuse(Said::Over, &headers, lang),
        Err(ChangeError::NotFound) => return refuse(Said::Unknown, &headers, lang),
        Err(ChangeError::Store(_)) => return refuse(Said::Trouble, &headers, lang),
    }
    if wants_json(&headers) {
        let body = LinkAnswer {
            answered: true,
            response: verb.as_str().into(),
            reminder_id: reminder.id.to_string(),
            occurrence_id: occurrence.to_string(),
            hint: None,
            until: Some(until),
        };
        return shown::answer(StatusCode::OK, &body);
    }
    let time =
        until.map(|until: Timestamp| until.to_zoned(reminder.timezone.rules().clone()).strftime("%H:%M").to_string());
    page(StatusCode::OK, lang, &Said::Answered(verb, time.as_deref(), &reminder.message))
}

async fn find(app: &App, token: &str) -> Result<Asked, Said<'static>> {
    let (verb, occurrence) = app.links.as_ref().and_then(|links| links.read(token)).ok_or(Said::Unknown)?;
    let trouble = |error| {
        app.remember_refusal(&error);
        Said::Trouble
    };
    let view = app.engine.store().reminder(occurrence.reminder).await.map_err(trouble)?.ok_or(Said::Unknown)?;
    let trail = app.engine.store().occurrence(occurrence).await.map_err(trouble)?;
    let lang = app.lang_of(&view.reminder.user).await;
    let is_over = trail.as_ref().is_none_or(|trail| trail.occurrence.state.is_final());
    let reached = |attempt: &&Attempt| matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered);
    let last = trail.as_ref().and_then(|trail| trail.attempts.iter().rfind(reached));
    let channel = last.map(|attempt| attempt.channel.clone());
    Ok(Asked { verb, occurrence, reminder: view.reminder, channel, lang, is_over })
}

/// Says no: a page for a person, a problem for a program.
fn refuse(said: Said<'_>, headers: &HeaderMap, lang: Lang) -> Response {
    let (status, code) = match said {
        Said::Unknown => (StatusCode::NOT_FOUND, "not_found"),
        Said::Over => (StatusCode::GONE, "answered"),
        Said::Trouble => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        _ => (StatusCode::CONFLICT, "not_now"),
    };
    if wants_json(headers) {
        return Problem::new(status, code, said.words(Lang::En)).into_response();
    }
    page(status, lang, &said)
}

/// Whether a program asks. Browsers ask for a page first.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/html")
}

/// The first language of ours that the browser names.
fn accepted_lang(headers: &HeaderMap) -> Lang {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let tag = |part: &str| part.split(';').next().unwrap_or_default().trim().parse().ok();
    accepted.split(',').find_map(tag).unwrap_or(Lang::En)
}

//! Turns the store's values into answers.

mod entry;
mod event;
mod occurrence;
mod reminder;
mod user;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_core::{span, step};
use serde::Serialize;

pub(super) use entry::entry;
pub(super) use event::{event, event_view};
pub(super) use occurrence::occurrence;
pub(super) use reminder::reminder;
pub(super) use user::user;

use crate::wire::{Span, Step};

/// An answer in JSON.
pub(super) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, body).expect("what is shown always becomes JSON");
    answer_bytes(status, bytes)
}

/// An answer that is JSON already.
pub(super) fn answer_bytes(status: StatusCode, body: Vec<u8>) -> Response {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// One step of a plan.
fn step(step: &step::Step) -> Step {
    Step { after: Span(span::format(step.after)), to: step.to.to_string() }
}

/// Cuts `items` to `limit` and returns the cursor of the next page, if one item more was read than
/// fits.
pub(super) fn cut<T>(items: &mut Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Option<String> {
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(cursor)
}

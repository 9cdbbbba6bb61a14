//! What a text says about time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::Invalid;
use punctual_core::phrase::{self, TEXT_MAX};
use punctual_core::schedule::parse_instant;
use punctual_core::steps::Steps;

use super::App;
use super::auth::{Caller, OfChannels};
use super::input::Input;
use super::problem::Problem;
use super::{asked, shown};
use crate::understood::understood;
use crate::wire::{ParseInput, Understood};

/// A text that takes longer than a request should hold up others, in bytes.
const LONG_BYTES: usize = 500;

/// Says what a text says about time.
///
/// A text without a time is no error. It changes nothing, so a key that may read is enough.
#[utoipa::path(
    post, path = "/v1/parse", operation_id = "parse", tag = "reminders", request_body = ParseInput,
    responses((status = 200, description = "What was understood", body = Understood)),
)]
pub(super) async fn parse(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    body: Input,
) -> Result<Response, Problem> {
    let (asked, mut faults) = body.partly::<ParseInput>(&[])?;
    let missing = || Invalid::missing("text", "send words such as \"tomorrow at 8\"");
    let text = faults.note(asked.text.ok_or_else(missing)).unwrap_or_default();
    if text.len() > TEXT_MAX {
        faults.add(Invalid::new("text", format!("is {} bytes long; at most {TEXT_MAX}", text.len())));
    }
    let lang = faults.note(asked::lang(asked.lang, "lang")).flatten();
    let zone = faults.note(asked::zone(asked.tz, "tz")).flatten();
    let user = asked.user.unwrap_or_else(|| caller.default_user().to_owned());
    caller.must_be(&user)?;
    let clock = app.now();
    let locale = app.locale_of(&user, clock).await?;
    let lang = lang.or(locale.lang);
    let zone = zone.or(locale.zone).unwrap_or_else(|| app.zone.clone());
    let now = asked.now.map(|now| parse_instant(&now, &zone, clock)).transpose();
    let now = faults.note(now.map_err(|problem| Invalid::new("now", problem))).flatten().unwrap_or(clock);
    faults.finish()?;
    let is_long = text.len() > LONG_BYTES;
    let understand = move || {
        let steps = Steps::of_request(1);
        understood(phrase::parse_for(&text, lang, &zone, now, locale.habits, &steps), &zone, now, &steps)
    };
    let understood = if is_long { app.aside(understand).await? } else { understand() };
    Ok(shown::answer(StatusCode::OK, &understood))
}

//! Sends again what has failed, many runs at a time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::{End, parse_end};
use punctual_core::store::FailedQuery;
use punctual_core::zone::Zone;
use punctual_core::{span, tag};

use super::App;
use super::auth::Writer;
use super::input::Input;
use super::problem::Problem;
use super::shown;
use crate::wire::{ResendInput, Resent};

/// Sends runs again that have failed, or counts them.
///
/// Each keeps its id and so its idempotency key: a receiver that got it after all drops it. Runs that may have arrived are left alone unless
/// `held` is true. At most 10,000 a call.
#[utoipa::path(
    post, path = "/v1/resend", operation_id = "resend", tag = "reminders", request_body = ResendInput,
    responses((status = 200, description = "How many there were, and how many are sent again", body = Resent)),
)]
pub(super) async fn resend(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    body: Input,
) -> Result<Response, Problem> {
    let (input, mut faults) = body.partly::<ResendInput>(&[])?;
    if input.failed == Some(false) {
        faults.add(Invalid::new("failed", "must be true: only runs that failed are sent again"));
    }
    let user = match input.user {
        Some(user) => {
            caller.must_be(&user)?;
            Some(user)
        }
        None => caller.bound_to().map(str::to_owned),
    };
    let now = app.now();
    let zone = match &user {
        Some(user) => app.zone_of(user, now).await?,
        None => app.zone.clone(),
    };
    let missing = || Invalid::missing("since", "say since when, such as \"2h\" or \"today\"");
    let since = input.since.ok_or_else(missing).and_then(|since| since_when(&since, &zone, now));
    let since = faults.note(since).unwrap_or(now);
    faults.finish()?;
    let query = FailedQuery {
        since,
        user,
        tag: input.tag.as_deref().map(tag::one),
        channel: input.channel,
        after: None,
        limit: 0,
    };
    let held = input.held.unwrap_or_default();
    let answer = match input.count_only.unwrap_or_default() {
        true => {
            let counted = app.engine.count_failed(query, held).await?;
            Resent { count: counted.count, resent: 0, left_out: 0, held: counted.held, more: counted.more }
        }
        false => {
            let done = app.engine.resend(query, held, &caller.by(now)).await?;
            let count = done.count + done.left_out;
            Resent { count, resent: done.count, left_out: done.left_out, held: done.held, more: done.more }
        }
    };
    Ok(shown::answer(StatusCode::OK, &answer))
}

/// The instant so long ago, or the one that `text` names.
fn since_when(text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, Invalid> {
    let since = match span::parse(text) {
        Ok(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        Err(_) => parse_end(text, End::From, zone, now).map_err(|problem| Invalid::new("since", problem))?,
    };
    if since > now {
        return Err(Invalid::new("since", format!("`{text}` is in the future; nothing has failed yet")));
    }
    Ok(since)
}

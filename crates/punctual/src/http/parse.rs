//! What a text says about time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::Invalid;
use punctual_core::phrase::{self, Lang, TEXT_MAX};
use punctual_core::schedule::parse_instant;

use super::App;
use super::auth::Caller;
use super::fields::Fields;
use super::input::Input;
use super::problem::{Problem, WHOLE};
use super::wire;
use crate::understood::Understood;

/// A text that takes longer than a request should hold up others, in bytes.
const LONG_BYTES: usize = 500;

/// Answers what was understood; what has no time in it is an answer as well. Changes nothing, so reading is enough.
pub(super) async fn parse(State(app): State<Arc<App>>, caller: Caller, body: Input) -> Result<Response, Problem> {
    let mut fields = Fields::of(body.json()?, WHOLE, &["text", "lang", "now", "tz", "user"], &[])?;
    let text = fields.text("text")?;
    let text = text.ok_or_else(|| Invalid::new("text", "is missing; send words such as \"tomorrow at 8\""))?;
    if text.len() > TEXT_MAX {
        return Err(Invalid::new("text", format!("is {} bytes long; at most {TEXT_MAX}", text.len())).into());
    }
    let lang: Option<Lang> = fields.text("lang")?.map(|tag| tag.parse()).transpose().map_err(in_field("lang"))?;
    let zone = fields.zone("tz")?;
    let user = fields.text("user")?.unwrap_or_else(|| caller.default_user().to_owned());
    caller.must_be(&user)?;
    let clock = app.now();
    let person = app.person(&user, clock).await?;
    let lang = lang.or(person.lang);
    let zone = zone.or(person.zone).unwrap_or_else(|| app.zone.clone());
    let now = fields.text("now")?.map(|now| parse_instant(&now, &zone, clock)).transpose();
    let now = now.map_err(in_field("now"))?.unwrap_or(clock);
    let is_long = text.len() > LONG_BYTES;
    let understand = move || Understood::of(phrase::parse(&text, lang, &zone, now), &zone, now);
    let understood = if is_long { app.aside(understand).await? } else { understand() };
    Ok(wire::answer(StatusCode::OK, &understood))
}

fn in_field(name: &'static str) -> impl Fn(String) -> Invalid {
    move |problem| Invalid::new(name, problem)
}

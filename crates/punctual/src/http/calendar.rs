//! A user's coming reminders as a calendar.
//!
//! The address carries its own proof and needs no key, because calendar programs can send none. A wrong one costs no query. The text says
//! nothing of when it was made, so it is the same until something changes, and a program that has it is told so.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_calendar::Kind;
use punctual_calendar::write::{self, Entry};
use punctual_core::decide::calendar::address_version;
use punctual_core::reminder::ReminderStatus;
use punctual_core::store::{ReminderQuery, ReminderView, StatusFilter};
use punctual_core::version::Version;
use sha2::{Digest, Sha256};

use super::App;
use super::input::{InPath, Params};
use super::problem::Problem;

/// The most reminders of one calendar, those that are due first.
const REMINDERS_MAX: usize = 2000;
/// How many are read at most to find them, and how many at once.
const LOOKED_AT_MAX: usize = 20_000;
const PAGE: usize = 500;

/// A calendar as it was written a moment ago.
pub(super) struct Written {
    text: String,
    etag: String,
}

/// Shows a user's coming reminders as a calendar (RFC 5545).
///
/// `calendar_url` of a user has the address, which is a secret and needs no key. `?only=events` leaves out what is to be done, `?only=todos` all
/// else; `?alarms=off` lets nothing ring.
#[utoipa::path(
    get, path = "/calendar/{file}", operation_id = "show_calendar", tag = "users",
    params(
        ("file" = String, Path, description = "The last part of `calendar_url`"),
        ("only" = Option<String>, Query, description = "`events` or `todos`"),
        ("alarms" = Option<String>, Query, description = "`off`: nothing rings"),
    ),
    responses(
        (status = 200, description = "The calendar", body = String, content_type = "text/calendar"),
        (status = 304, description = "It is what `If-None-Match` says"),
    ),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    InPath(file): InPath<String>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let named = app.links.as_ref().and_then(|links| links.read_calendar(&file));
    let (user, generation) = named.ok_or_else(no_such_calendar)?;
    if app.engine.store().calendar_key(&user).await? != generation {
        return Err(no_such_calendar());
    }
    let params = params.only(&["only", "alarms"])?;
    let wanted = Wanted::read(&params)?;
    let written = written(&app, &user, wanted).await?;
    let own = [
        (header::ETAG, written.etag.clone()),
        (header::CACHE_CONTROL, "private, no-cache".into()),
        (header::REFERRER_POLICY, "no-referrer".into()),
        (HeaderName::from_static("x-robots-tag"), "noindex".into()),
    ];
    let own = own.map(|(name, value)| (name, HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static(""))));
    if has(&headers, &written.etag) {
        return Ok((StatusCode::NOT_MODIFIED, own).into_response());
    }
    let kind = [(header::CONTENT_TYPE, "text/calendar; charset=utf-8")];
    Ok((own, kind, written.text.clone()).into_response())
}

/// The address of a user's calendar with its version; none where the server has no address itself.
pub(super) async fn address(app: &App, user: &str) -> Result<Option<(String, Version)>, Problem> {
    let Some(links) = &app.links else { return Ok(None) };
    let generation = app.engine.store().calendar_key(user).await?;
    Ok(Some((links.calendar(user, generation), address_version(generation))))
}

/// What somebody wants to see of a calendar.
#[derive(Clone, Copy)]
struct Wanted {
    only: Option<Kind>,
    alarms: bool,
}

impl Wanted {
    fn read(params: &Params) -> Result<Self, Problem> {
        let only = match params.get("only") {
            None => None,
            Some("events") => Some(Kind::Event),
            Some("todos") => Some(Kind::Todo),
            Some(other) => {
                return Err(
                    Problem::bad_request(format!("only: `{other}` is neither events nor todos")).at_field("only")
                );
            }
        };
        let alarms = match params.get("alarms") {
            None | Some("on") => true,
            Some("off") => false,
            Some(other) => {
                return Err(Problem::bad_request(format!("alarms: `{other}` is neither on nor off")).at_field("alarms"));
            }
        };
        Ok(Self { only, alarms })
    }

    fn of(self, entry: Entry) -> Option<Entry> {
        let entry = if self.alarms { entry } else { Entry { alarms: Vec::new(), ..entry } };
        Some(entry).filter(|entry| self.only.is_none_or(|only| only == entry.kind))
    }
}

/// Writes the calendar, or takes the one that was written within this second.
async fn written(app: &App, user: &str, wanted: Wanted) -> Result<Arc<Written>, Problem> {
    let key = format!("{user}\n{:?}{}", wanted.only, wanted.alarms);
    let (now, generation) = (app.now(), app.calendars.generation());
    if let Some(written) = app.calendars.get(&key, now) {
        return Ok(written);
    }
    let views = coming(app, user).await?;
    let name = format!("punctual: {user}");
    let written = move || {
        let entries: Vec<Entry> =
            views.iter().flat_map(write::of_reminder).filter_map(|entry| wanted.of(entry)).collect();
        let text = write::write(&name, &entries);
        let digest = Sha256::digest(&text);
        let etag: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Arc::new(Written { text, etag: format!("\"{etag}\"") })
    };
    let written = app.aside(written).await?;
    app.calendars.put(generation, key, Arc::clone(&written), now);
    Ok(written)
}

/// The user's active reminders, those that are due first.
async fn coming(app: &App, user: &str) -> Result<Vec<ReminderView>, Problem> {
    let mut views: Vec<ReminderView> = Vec::new();
    let mut before = None;
    loop {
        let query = ReminderQuery {
            user: Some(user.to_owned()),
            status: Some(StatusFilter::Is(ReminderStatus::Active)),
            before,
            limit: PAGE,
            ..ReminderQuery::default()
        };
        let page = app.engine.store().reminders(query).await?;
        before = page.last().map(|view| view.reminder.id);
        let is_last = page.len() < PAGE;
        views.extend(page);
        if is_last || views.len() >= LOOKED_AT_MAX {
            break;
        }
    }
    views.sort_by_key(|view| (view.next_run_at, view.reminder.id));
    views.truncate(REMINDERS_MAX);
    Ok(views)
}

/// Whether a reader has this already.
fn has(headers: &HeaderMap, etag: &str) -> bool {
    let said = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = said.flat_map(|value| value.split(',')).map(|tag| tag.trim());
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// The address is not repeated: it may have been a secret.
fn no_such_calendar() -> Problem {
    Problem::not_found("no such calendar; its address may have been changed")
}

//! Foreign calendars that are followed, and calendars that are taken over once.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use punctual_calendar::event::{Defaults, of_item};
use punctual_calendar::{Limits, read};
use punctual_core::feed::{
    Alarms, EVERY, FEEDS_OF_USER_MAX, Feed, FeedKey, FeedKind, FeedSettings, check_name, imported_prefix,
};
use punctual_core::invalid::Invalid;
use punctual_core::scope::Path;
use punctual_core::steps::Steps;
use punctual_core::store::{PLANNED_AT_ONCE, PutEvent};
use punctual_core::{event, span};
use punctual_engine::CreateError;

use super::App;
use super::asked;
use super::auth::{Caller, Writer};
use super::conditions::{Expecting, tagged};
use super::input::{BATCH_BYTES_MAX, InPath, Input};
use super::problem::Problem;
use super::shown;
use crate::feeds::STEPS;
use crate::wire::{Calendar, CalendarImportInput, CalendarImported, CalendarImportedItem, CalendarInput, Calendars};

/// Lists the calendars that a user follows.
#[utoipa::path(
    get, path = "/v1/users/{id}/calendars", operation_id = "list_calendars", tag = "users", params(("id" = String, Path, description = "The user")),
    responses((status = 200, description = "The calendars", body = Calendars)),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let calendars = of_user(&app, &id).await?.into_iter().map(shown_feed).collect();
    Ok(shown::answer(StatusCode::OK, &Calendars { calendars }))
}

/// Shows one calendar that a user follows.
#[utoipa::path(
    get, path = "/v1/users/{id}/calendars/{name}", operation_id = "show_followed_calendar", tag = "users",
    params(("id" = String, Path, description = "The user"), ("name" = String, Path, description = "What they call it")),
    responses((status = 200, description = "The calendar", body = Calendar)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath((id, name)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let feed = of_user(&app, &id).await?.into_iter().find(|feed| feed.key.name == name).ok_or_else(no_such_calendar)?;
    Ok(tagged(StatusCode::OK, feed.version(), &shown_feed(feed)))
}

/// Follows a calendar: it is read now and every so often, and its items become events.
#[utoipa::path(
    put, path = "/v1/users/{id}/calendars/{name}", operation_id = "put_calendar", tag = "users",
    params(("id" = String, Path, description = "The user"), ("name" = String, Path, description = "What they call it")), request_body = CalendarInput,
    responses((status = 200, description = "It was replaced", body = Calendar), (status = 201, description = "It is new", body = Calendar)),
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((id, name)): InPath<(String, String)>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let (input, mut faults) = body.partly::<CalendarInput>(&[])?;
    let sources = app.sources.as_ref().ok_or_else(|| Problem::not_found("this server reads no calendars"))?;
    let missing = || Invalid::missing("url", "write where the calendar is, such as https://…");
    let source = faults.note(input.url.ok_or_else(missing).and_then(|url| sources.check("url", &url)));
    let every = input.every.map(|every| span::parse(&every.0)).transpose();
    let every = faults.note(every.map_err(|problem| Invalid::new("every", problem))).flatten().unwrap_or(EVERY);
    let settings = FeedSettings {
        alarms: faults.note(alarms(input.alarms)).unwrap_or_default(),
        offsets: faults.note(input.offsets.map(asked::offsets).transpose()).flatten(),
        message: input.message,
    };
    faults.note(check_message(&settings));
    faults.settle();
    let feed = Feed::new(FeedKey::of_user(&id, &name), source.unwrap_or_default(), settings, every, app.now());
    faults.note(feed.validate());
    faults.finish()?;
    let before = of_user(&app, &id).await?;
    let is_new = !before.iter().any(|other| other.key == feed.key);
    if is_new && before.len() >= FEEDS_OF_USER_MAX {
        return Err(Invalid::new("name", format!("is one too many; a user follows at most {FEEDS_OF_USER_MAX}")).into());
    }
    app.engine.put_feed(feed.clone(), expecting.by(caller.who())).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(tagged(status, feed.version(), &shown_feed(feed)))
}

/// Follows a calendar no more: its events are withdrawn.
#[utoipa::path(
    delete, path = "/v1/users/{id}/calendars/{name}", operation_id = "delete_calendar", tag = "users",
    params(("id" = String, Path, description = "The user"), ("name" = String, Path, description = "What they call it")),
    responses((status = 204, description = "It is followed no more")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((id, name)): InPath<(String, String)>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    match app.engine.remove_feed(&FeedKey::of_user(&id, &name), expecting.by(caller.who())).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such_calendar()),
    }
}

/// Reads a calendar now.
#[utoipa::path(
    post, path = "/v1/users/{id}/calendars/{name}/read", operation_id = "read_calendar", tag = "users",
    params(("id" = String, Path, description = "The user"), ("name" = String, Path, description = "What they call it")),
    responses((status = 202, description = "It is being read", body = Calendar)),
)]
pub(super) async fn read_now(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((id, name)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let feed = of_user(&app, &id).await?.into_iter().find(|feed| feed.key.name == name).ok_or_else(no_such_calendar)?;
    app.engine.read_feed(feed.clone(), caller.who()).await?;
    Ok(shown::answer(StatusCode::ACCEPTED, &shown_feed(feed)))
}

/// Takes over a calendar: its items become events. The same name again moves and adds; nothing is removed.
#[utoipa::path(
    post, path = "/v1/import/calendar", operation_id = "import_calendar", tag = "import", request_body = CalendarImportInput,
    responses((status = 200, description = "What became of each item", body = CalendarImported)),
)]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    body: Input<BATCH_BYTES_MAX>,
) -> Result<Response, Problem> {
    let _permit = app.batch_permit(body.batch_weight()).await;
    let (input, mut faults) = body.partly::<CalendarImportInput>(&[])?;
    let user = input.user.filter(|user| !user.is_empty());
    let user = faults.note(user.ok_or_else(|| Invalid::missing("user", "say whose calendar it is")));
    if let Some(user) = &user {
        must_see(&caller, user)?;
    }
    let name = input.name.unwrap_or_else(|| "calendar".into());
    faults.note(check_name(&name));
    let ical = faults.note(input.ical.ok_or_else(|| Invalid::missing("ical", "send the calendar's text")));
    let settings = FeedSettings {
        alarms: faults.note(alarms(input.alarms)).unwrap_or_default(),
        offsets: faults.note(input.offsets.map(asked::offsets).transpose()).flatten(),
        message: None,
    };
    let (user, ical) = (user.unwrap_or_default(), ical.unwrap_or_default());
    faults.finish()?;
    let (zone, now) = (app.zone_of(&user, app.now()).await?, app.now());
    let understood = app
        .aside(move || {
            let steps = Steps::new(STEPS);
            let calendar = read(&ical, &zone, &Limits::default(), &steps, now)
                .map_err(|invalid| Invalid::new("ical", invalid.problem))?;
            let defaults = Defaults {
                prefix: &format!("{}{name}:", imported_prefix(&user)),
                user: &user,
                scope: Path::of_user(&user),
                source: None,
                settings: &settings,
                now,
            };
            let events: Vec<event::Event> = calendar.items.iter().filter_map(|item| of_item(item, &defaults)).collect();
            let problems: Vec<String> = calendar.problems.iter().map(ToString::to_string).collect();
            Ok::<_, Invalid>((calendar.items.len() - events.len(), events, problems))
        })
        .await?;
    let (over, events, problems) = understood?;
    let shown = |event: &event::Event| CalendarImportedItem {
        key: event.key.clone(),
        title: event.name.clone().unwrap_or_default(),
        starts_at: event.starts_at,
        repeats: event.repeats.is_some(),
        outcome: "would_import".into(),
        problem: None,
    };
    let mut items: Vec<CalendarImportedItem> = events.iter().map(shown).collect();
    if !input.dry_run.unwrap_or(false) {
        let parts = items.chunks_mut(PLANNED_AT_ONCE).zip(events.chunks(PLANNED_AT_ONCE));
        for (items, events) in parts {
            take_over(&app, &caller, events, items).await?;
        }
    }
    Ok(shown::answer(StatusCode::OK, &CalendarImported { items, over, problems }))
}

/// Puts events together and writes down what became of each; where one is refused, each by itself, so that it stops no other.
async fn take_over(
    app: &App,
    caller: &Caller,
    events: &[event::Event],
    items: &mut [CalendarImportedItem],
) -> Result<(), Problem> {
    let put = events.iter().map(|event| PutEvent { event: event.clone(), keeps_instances: false }).collect();
    match app.engine.put_events(put, caller.who(), None).await {
        Ok(put) => {
            for (item, done) in items.iter_mut().zip(put.done) {
                item.outcome = match (done.is_new, done.is_changed) {
                    (true, _) => "created",
                    (false, true) => "changed",
                    (false, false) => "unchanged",
                }
                .into();
            }
        }
        Err(CreateError::Store(error)) => return Err(error.into()),
        Err(CreateError::Invalid { invalid, .. }) => match items {
            [item] => (item.outcome, item.problem) = ("refused".into(), Some(invalid.to_string())),
            items => {
                for (item, event) in items.chunks_mut(1).zip(events.chunks(1)) {
                    Box::pin(take_over(app, caller, event, item)).await?;
                }
            }
        },
    }
    Ok(())
}

async fn of_user(app: &App, user: &str) -> Result<Vec<Feed>, Problem> {
    Ok(app.engine.store().feeds(FeedKind::User, Some(user.to_owned()), None, FEEDS_OF_USER_MAX).await?)
}

fn alarms(word: Option<String>) -> Result<Alarms, Invalid> {
    word.map_or(Ok(Alarms::default()), |word| word.parse())
}

/// Refuses a message with fields that no item has.
fn check_message(settings: &FeedSettings) -> Result<(), Invalid> {
    let Some(message) = &settings.message else { return Ok(()) };
    let fields = ["title", "uid", "location", "description"];
    let sample = fields.iter().map(|field| ((*field).to_owned(), serde_json::Value::from(""))).collect();
    event::template(message, &punctual_core::reminder::Metadata::new(&sample)).map(drop)
}

fn shown_feed(feed: Feed) -> Calendar {
    Calendar {
        source: feed.shown_source(),
        name: feed.key.name,
        every_seconds: feed.every.as_secs(),
        alarms: feed.settings.alarms.as_str().to_owned(),
        message: feed.settings.message,
        next_read_at: feed.next_at,
        read_at: feed.read_at,
        changed_at: feed.changed_at,
        failures: feed.failures,
        problem: feed.problem,
        problems: feed.problems,
    }
}

fn must_see(caller: &Caller, user: &str) -> Result<(), Problem> {
    if caller.sees(user) { Ok(()) } else { Err(Problem::not_found("no such user")) }
}

fn no_such_calendar() -> Problem {
    Problem::not_found("the user follows no such calendar")
}

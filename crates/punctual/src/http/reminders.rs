//! Reminders, one at a time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::change::{Change, snooze_until};
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Reminder;
use punctual_core::schedule::{End, parse_end, parse_until};
use punctual_core::steps::Steps;
use punctual_core::store::{By, ReminderQuery, ReminderView, Said};
use serde_json::Value;

use super::App;
use super::auth::{Caller, Writer};
use super::fields::Fields;
use super::idempotency::Repeated;
use super::input::{InPath, Input, Params};
use super::pages;
use super::problem::{Problem, WHOLE};
use super::wire::{self, Asked, NewReminder, ReminderJson};

/// How long a snooze lasts that does not say.
const SNOOZE_MINUTES: u32 = 10;
/// The longest answer in words that is kept.
const WORDS_BYTES_MAX: usize = 4096;
/// The longest name of a channel that an answer can come from.
const CHANNEL_BYTES_MAX: usize = 256;

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    Repeated(repeatable): Repeated,
    body: Input,
) -> Result<Response, Problem> {
    let steps = Arc::new(Steps::of_request(1));
    let reminder = reminder_from(body.json()?, &app, &caller, app.now(), &steps).await?;
    let Some(repeatable) = repeatable else {
        let views = app.create(vec![reminder], &caller, None).await?;
        return match views.first() {
            Some(view) => Ok(wire::answer(StatusCode::CREATED, &app.shown_new(view).await)),
            None => Err(Problem::internal("the reminder was made and cannot be shown")),
        };
    };
    let now = reminder.created_at;
    let Some(view) = app.first_views(vec![reminder], now).await?.pop() else {
        return Err(Problem::internal("the reminder was read and cannot be shown"));
    };
    let answer = serde_json::to_string(&app.shown_new(&view).await).expect("a reminder always becomes JSON");
    let answered = Some(repeatable.with(StatusCode::CREATED, &answer));
    app.create(vec![view.reminder], &caller, answered).await?;
    Ok(wire::answer_bytes(StatusCode::CREATED, answer.into_bytes()))
}

/// The reminder that `value` asks for.
pub(super) async fn reminder_from(
    value: Value,
    app: &App,
    caller: &Caller,
    now: Timestamp,
    steps: &Arc<Steps>,
) -> Result<Reminder, Problem> {
    let mut asked = Asked::read(value)?;
    let user = asked.user.take().unwrap_or_else(|| caller.default_user().to_owned());
    caller.must_be(&user)?;
    let timezone = match asked.timezone.take() {
        Some(zone) => zone,
        None => app.zone_of(&user, now).await?,
    };
    let id = ReminderId::new(now, app.engine.random().ten());
    let steps = Arc::clone(steps);
    let new = NewReminder { id, user, timezone, retries_max: app.retries_max, now, steps };
    match asked.is_heavy() {
        true => Ok(app.aside(move || asked.reminder(new)).await??),
        false => Ok(asked.reminder(new)?),
    }
}

pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["user", "mine", "status", "from", "to", "match", "limit", "cursor"])?;
    let user = match (params.get("user"), params.get("mine")) {
        (Some(user), _) => {
            caller.must_be(user)?;
            Some(user)
        }
        (None, Some("true" | "1")) => Some(caller.default_user()),
        (None, _) => caller.bound_to(),
    };
    // `today` is a day of the user whose reminders are listed.
    let zone = match user {
        Some(user) => app.zone_of(user, app.now()).await?,
        None => app.zone.clone(),
    };
    let bound = |name: &str, end: End| match params.get(name) {
        Some(text) => parse_end(text, end, &zone, app.now()).map(Some).map_err(|problem| Invalid::new(name, problem)),
        None => Ok(None),
    };
    let limit = params.limit()?;
    let query = ReminderQuery {
        user: user.map(str::to_owned),
        status: params.get("status").map(str::parse).transpose()?,
        from: bound("from", End::From)?,
        to: bound("to", End::To)?,
        matching: params.get("match").map(str::to_owned),
        ..ReminderQuery::default()
    };
    let before: Option<ReminderId> = params.cursor(|text| text.parse().ok())?;
    let read = |before, limit| app.engine.store().reminders(ReminderQuery { before, limit, ..query.clone() });
    let bytes_of = |view: &ReminderView| pages::bytes_of(&view.reminder);
    let (views, next) = pages::gather(limit, before, read, bytes_of, |view| view.reminder.id).await?;
    let next_cursor = next.map(|id| id.to_string());
    #[derive(serde::Serialize)]
    struct Page<'a> {
        reminders: Vec<ReminderJson<'a>>,
        next_cursor: Option<String>,
    }
    let mut reminders = Vec::with_capacity(views.len());
    for view in &views {
        reminders.push(app.shown(view).await);
    }
    Ok(wire::answer(StatusCode::OK, &Page { reminders, next_cursor }))
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let view = seen(&app, &caller, id_from(&id)?).await?;
    Ok(answer(&app, StatusCode::OK, &view).await)
}

pub(super) async fn update(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
    body: Input,
) -> Result<Response, Problem> {
    let id = id_from(&id)?;
    let before = seen(&app, &caller, id).await?;
    let (value, now, steps) = (body.json()?, app.now(), Steps::of_request(1));
    let patch = match wire::is_heavy(&value["schedule"]) {
        true => app.aside(move || wire::patch(value, &before.reminder, now, &steps)).await??,
        false => wire::patch(value, &before.reminder, now, &steps)?,
    };
    let changed = app.change(id, Change::Update(Box::new(patch)), caller.by(app.now())).await?;
    Ok(wire::answer(StatusCode::OK, &app.shown_new(&changed.view).await))
}

pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    change(&app, id_from(&id)?, Change::Cancel, caller.by(app.now())).await
}

/// The commands that are one word: `ack`, `pause` and their kin.
pub(super) async fn command(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((id, verb)): InPath<(String, String)>,
    Repeated(repeatable): Repeated,
    body: Input,
) -> Result<Response, Problem> {
    let id = id_from(&id)?;
    let value = body.json_or_nothing()?;
    let mut by = caller.by(app.now());
    let wanted = match verb.as_str() {
        verb @ ("ack" | "snooze" | "dismiss") => {
            let known: &[&str] = match verb {
                "snooze" => &["minutes", "until", "run", "text", "channel"],
                _ => &["run", "text", "channel"],
            };
            let mut fields = Fields::of(value, WHOLE, known, &[])?;
            let run = fields.number("run")?;
            by.said = said(&mut fields)?;
            let plain = match verb {
                "ack" => Change::Ack,
                "dismiss" => Change::Dismiss,
                _ => Change::Snooze { until: snooze(fields, &app, &caller, id).await? },
            };
            match run {
                Some(run) => Change::AnswerRun { run, answer: Box::new(plain) },
                None => plain,
            }
        }
        verb => {
            let change = match verb {
                "pause" => Change::Pause,
                "resume" => Change::Resume,
                "skip" => Change::Skip,
                "fire" => Change::Fire,
                _ => {
                    let known = "ack, snooze, dismiss, pause, resume, skip, fire";
                    return Err(Problem::not_found(format!("`{verb}` is no command; known are {known}")));
                }
            };
            if !value.as_object().is_some_and(serde_json::Map::is_empty) {
                return Err(Invalid::new(WHOLE, format!("`{verb}` takes no fields; leave the body empty")).into());
            }
            change
        }
    };
    if let Some(repeatable) = repeatable {
        let lang = app.lang_of(&seen(&app, &caller, id).await?.reminder.user).await;
        let show = move |view: &ReminderView| {
            serde_json::to_string(&ReminderJson { view, lang, warnings: Vec::new() })
                .expect("a reminder always becomes JSON")
        };
        by.repeat = Some(repeatable.of_change(show));
    }
    change(&app, id, wanted, by).await
}

/// The person's own words, and where they said them.
fn said(fields: &mut Fields) -> Result<Said, Invalid> {
    let bounded = |field: &str, text: Option<String>, max: usize| match text {
        Some(text) if text.len() > max => {
            Err(Invalid::new(field, format!("is {} bytes long; at most {max} are accepted", text.len())))
        }
        text => Ok(text.filter(|text| !text.trim().is_empty())),
    };
    let text = bounded("text", fields.text("text")?, WORDS_BYTES_MAX)?;
    let channel = bounded("channel", fields.text("channel")?, CHANNEL_BYTES_MAX)?;
    Ok(Said { text, channel })
}

async fn snooze(mut fields: Fields, app: &App, caller: &Caller, id: ReminderId) -> Result<Timestamp, Problem> {
    let now = app.now();
    match (fields.number("minutes")?, fields.text("until")?) {
        (Some(_), Some(_)) => Err(Invalid::new("until", "give either `minutes` or `until`, not both").into()),
        (Some(0), None) => Err(Invalid::new("minutes", "must be a whole number from 1 up").into()),
        (minutes, None) => Ok(snooze_until(now, u64::from(minutes.unwrap_or(SNOOZE_MINUTES)))),
        (None, Some(until)) => {
            // A local time means the reminder's own zone.
            let reminder = seen(app, caller, id).await?.reminder;
            let lang = app.person(&reminder.user, now).await?.lang;
            let until = parse_until(&until, lang, &reminder.timezone, now);
            Ok(until.map_err(|problem| Invalid::new("until", problem))?)
        }
    }
}

async fn change(app: &App, id: ReminderId, change: Change, by: By) -> Result<Response, Problem> {
    let changed = app.change(id, change, by).await?;
    Ok(answer(app, StatusCode::OK, &changed.view).await)
}

async fn answer(app: &App, status: StatusCode, view: &ReminderView) -> Response {
    wire::answer(status, &app.shown(view).await)
}

/// A reminder the caller may see; another's is not found.
pub(super) async fn seen(app: &App, caller: &Caller, id: ReminderId) -> Result<ReminderView, Problem> {
    match app.engine.store().reminder(id).await? {
        Some(view) if caller.sees(&view.reminder.user) => Ok(view),
        _ => Err(Problem::not_found("no such reminder")),
    }
}

pub(super) fn id_from(text: &str) -> Result<ReminderId, Problem> {
    text.parse().map_err(|error: punctual_core::id::BadId| Problem::not_found(error.to_string()))
}

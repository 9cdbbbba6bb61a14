//! Reminders, one at a time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::answer::SNOOZE_MINUTES;
use punctual_core::change::{Change, Resend, snooze_until};
use punctual_core::id::ReminderId;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::rules::search::Words;
use punctual_core::schedule::{End, parse_end, parse_until};
use punctual_core::steps::Steps;
use punctual_core::store::{self, By, ReminderView, Said};
use punctual_core::tag;
use serde_json::Value;

use super::asked::{self, Asked, Made, Speaker, Unsaid};
use super::auth::{Caller, OfChannels, Writer};
use super::conditions::{Expecting, located, tagged};
use super::idempotency::Repeated;
use super::input::{InPath, Input, Params};
use super::pages;
use super::problem::Problem;
use super::read::{self, WHOLE};
use super::shown;
use super::{App, Locale};
use crate::wire::{Answer, Command, Reminder, ReminderInput, ReminderQuery, Reminders, Total, UserQuery};

/// The longest answer in words that is kept.
const WORDS_BYTES_MAX: usize = 4096;
/// The most reminders in a page of those that are looked for, by words or by a channel.
const LOOKED_FOR_MAX: usize = 100;
/// The longest name of a channel that an answer can come from.
const CHANNEL_BYTES_MAX: usize = 256;

/// Makes a reminder, from fields or from a sentence.
#[utoipa::path(
    post, path = "/v1/reminders", operation_id = "create_reminder", tag = "reminders", request_body = ReminderInput,
    responses((status = 201, description = "The reminder", body = Reminder<'static>)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    OfChannels(Writer(caller)): OfChannels<Writer>,
    Repeated(repeatable): Repeated,
    body: Input,
) -> Result<Response, Problem> {
    let steps = Arc::new(Steps::of_request(1));
    let Made { reminder, understood } = made_from(body.json()?, &app, &caller, app.now(), &steps).await?;
    let Some(repeatable) = repeatable else {
        let views = app.create(vec![reminder], &caller, None).await?;
        return match views.first() {
            Some(view) => {
                let answer = shown::answer(StatusCode::CREATED, &app.shown_new(view, understood).await);
                Ok(located(app.tagged(answer, view).await, &format!("/v1/reminders/{}", view.reminder.id)))
            }
            None => Err(Problem::internal("the reminder was made and cannot be shown")),
        };
    };
    let now = reminder.created_at;
    let Some(view) = app.first_views(vec![reminder], now).await?.pop() else {
        return Err(Problem::internal("the reminder was read and cannot be shown"));
    };
    let answer =
        serde_json::to_string(&app.shown_new(&view, understood).await).expect("a reminder always becomes JSON");
    let answered = Some(repeatable.with(StatusCode::CREATED, &answer));
    let answer = app.tagged(shown::answer_bytes(StatusCode::CREATED, answer.into_bytes()), &view).await;
    let answer = located(answer, &format!("/v1/reminders/{}", view.reminder.id));
    app.create(vec![view.reminder], &caller, answered).await?;
    Ok(answer)
}

/// The reminder that `value` asks for.
pub(super) async fn made_from(
    value: Value,
    app: &App,
    caller: &Caller,
    now: Timestamp,
    steps: &Arc<Steps>,
) -> Result<Made, Problem> {
    let mut asked = Asked::read(&value)?;
    let user = asked.user.take().unwrap_or_else(|| caller.default_user().to_owned());
    caller.must_be(&user)?;
    let locale = match asked.timezone.is_none() || asked.is_sentence() {
        true => app.locale_of(&user, now).await?,
        false => Locale::default(),
    };
    let timezone = asked.timezone.take().or(locale.zone).unwrap_or_else(|| app.zone.clone());
    let id = ReminderId::new(now, app.engine.random().ten());
    let (is_heavy, steps) = (asked.is_heavy(), Arc::clone(steps));
    let unsaid = Unsaid { id, user, timezone, retries_max: app.retries_max, now, via: caller.via(), steps };
    let make = move || {
        asked.understand(&Speaker {
            lang: locale.lang,
            zone: &unsaid.timezone,
            now,
            habits: locale.habits,
            steps: &unsaid.steps,
        })?;
        Ok(asked.reminder(unsaid))
    };
    let made: Result<(Made, Faults), Problem> = if is_heavy { app.aside(make).await? } else { make() };
    let (mut made, mut faults) = made?;
    caller.may_ask(&made.reminder.escalate)?;
    caller.hold_to_channels(&mut made.reminder)?;
    if !faults.is_empty() {
        // What else is wrong with it is found as if the rest were right.
        let reminder = std::slice::from_ref(&made.reminder);
        for checked in app.engine.check(reminder, now).await? {
            faults.note(checked);
        }
    }
    faults.finish()?;
    Ok(made)
}

/// Lists reminders, newest first, or finds them by words in their text.
#[utoipa::path(
    get, path = "/v1/reminders", operation_id = "list_reminders", tag = "reminders", params(ReminderQuery),
    responses((status = 200, description = "A page", body = Reminders<'static>)),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params
        .only(&["user", "mine", "status", "from", "to", "tag", "channel", "q", "match", "count", "limit", "cursor"])?;
    let user = match (params.get("user"), params.flag("mine")?) {
        (Some(user), _) => {
            caller.must_be(user)?;
            Some(user)
        }
        (None, true) => Some(caller.default_user()),
        (None, false) => caller.bound_to(),
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
    let query = store::ReminderQuery {
        user: user.map(str::to_owned),
        status: params.get("status").map(str::parse).transpose()?,
        from: bound("from", End::From)?,
        to: bound("to", End::To)?,
        tag: params.get("tag").map(tag::one),
        matching: params.get("match").map(str::to_owned),
        channel: params.get("channel").map(str::to_owned),
        limit,
        before: None,
    };
    let is_counted = params.flag("count")?;
    if is_counted && (params.has("channel") || !caller.channels().is_empty()) {
        let problem = "cannot be given together with `channel`, nor by a key that is bound to channels; leave it out";
        return Err(Invalid::new("count", problem).into());
    }
    if let Some(words) = params.get("q") {
        let before = params.cursor(|text| app.place(&caller, text).parse().ok())?;
        return search(&app, &caller, words, query, before, is_counted).await;
    }
    let before: Option<ReminderId> = params.cursor(|text| app.place(&caller, text).parse().ok())?;
    let read = |before, limit| app.engine.store().reminders(store::ReminderQuery { before, limit, ..query.clone() });
    let (views, next) = if query.channel.is_some() {
        let limit = limit.min(LOOKED_FOR_MAX);
        let views = read(before, limit).await?;
        let next = match views.last().filter(|_| views.len() == limit) {
            Some(last) => Some(last.reminder.id),
            None => app.engine.store().looks_to(store::ReminderQuery { before, ..query.clone() }).await?,
        };
        (views, next)
    } else {
        let bytes_of = |view: &ReminderView| pages::bytes_of(&view.reminder);
        pages::read_page(limit, before, read, bytes_of, |view| view.reminder.id).await?
    };
    let total = match is_counted {
        // A page that begins at the beginning and has no next one is everything.
        true if before.is_none() && next.is_none() => Some(Total { n: views.len(), exact: true }),
        true => {
            let counted = app.engine.store().count(query).await?;
            Some(Total { n: counted.n, exact: counted.is_all })
        }
        false => None,
    };
    let page = Page { next: next.map(|id| id.to_string()), indexing: None, total };
    Ok(listed(&app, &caller, &views, page).await)
}

/// A page of the reminders that have these words, from the place `before` of the index on.
async fn search(
    app: &App,
    caller: &Caller,
    words: &str,
    query: store::ReminderQuery,
    before: Option<i64>,
    is_counted: bool,
) -> Result<Response, Problem> {
    if query.channel.is_some() {
        return Err(Invalid::new("channel", "cannot be given together with `q`; leave out one of them").into());
    }
    let words = Words::read("q", words, query.user.is_some())?;
    let query = store::ReminderQuery { limit: query.limit.min(LOOKED_FOR_MAX), ..query };
    let found = app.engine.search(&words, &query, before).await?;
    let total = match is_counted {
        true if before.is_none() && found.next.is_none() => {
            Some(Total { n: found.views.len(), exact: found.indexing.is_none() })
        }
        true => {
            let counted = app.engine.how_many(&words, &query).await?;
            Some(Total { n: counted.n, exact: counted.is_all })
        }
        false => None,
    };
    let page = Page { next: found.next.map(|place| place.to_string()), indexing: found.indexing, total };
    Ok(listed(app, caller, &found.views, page).await)
}

/// What a page of reminders says beside them.
struct Page {
    /// The place after which the next one begins.
    next: Option<String>,
    indexing: Option<u64>,
    total: Option<Total>,
}

async fn listed(app: &App, caller: &Caller, views: &[ReminderView], page: Page) -> Response {
    let Page { next, indexing, total } = page;
    let next_cursor = next.map(|place| app.cursor(caller, place));
    let mut reminders = Vec::with_capacity(views.len());
    // A key that is bound to channels leaves out the others', so that its page may have fewer.
    for view in views.iter().filter(|view| caller.sees_reminder(&view.reminder)) {
        reminders.push(app.shown(view).await);
    }
    shown::answer(StatusCode::OK, &Reminders { reminders, next_cursor, indexing, total })
}

/// Shows one reminder.
#[utoipa::path(
    get, path = "/v1/reminders/{id}", operation_id = "show_reminder", tag = "reminders", params(("id" = String, Path, description = "The id of a reminder"), UserQuery),
    responses((status = 200, description = "The reminder", body = Reminder<'static>)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let view = seen(&app, &caller, id_from(&id)?).await?;
    Ok(answer(&app, &view).await)
}

/// Changes the given fields of a reminder.
///
/// `user`, `text`, `lang`, `created_via` and `original_text` cannot be changed.
#[utoipa::path(
    patch, path = "/v1/reminders/{id}", operation_id = "update_reminder", tag = "reminders", params(("id" = String, Path, description = "The id of a reminder"), UserQuery),
    request_body = ReminderInput, responses((status = 200, description = "The reminder", body = Reminder<'static>)),
)]
pub(super) async fn update(
    State(app): State<Arc<App>>,
    OfChannels(Writer(caller)): OfChannels<Writer>,
    InPath(id): InPath<String>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    let id = id_from(&id)?;
    let before = seen(&app, &caller, id).await?;
    let (value, now, steps) = (body.json()?, app.now(), Steps::of_request(1));
    let patch = match asked::is_heavy(&value["schedule"]) {
        true => app.aside(move || asked::patch(value, &before.reminder, now, &steps)).await??,
        false => asked::patch(value, &before.reminder, now, &steps)?,
    };
    caller.may_ask(patch.escalate.as_deref().unwrap_or_default())?;
    if !caller.channels().is_empty() {
        caller.may_send_to(patch.to.as_deref().unwrap_or_default())?;
        if patch.only == Some(false) || patch.to.as_ref().is_some_and(Vec::is_empty) {
            let detail = format!("this key may only send by {}, and by no other", caller.named_channels());
            return Err(Problem::forbidden(detail).at_field(if patch.only.is_some() { "only" } else { "to" }));
        }
    }
    let changed = app.change(id, Change::Update(Box::new(patch)), expecting.of(caller.by(app.now()))).await?;
    let answer = shown::answer(StatusCode::OK, &app.shown_new(&changed.view, None).await);
    Ok(app.tagged(answer, &changed.view).await)
}

/// Cancels a reminder: nothing of it is sent any more.
///
/// It is a 409 when the send has begun.
#[utoipa::path(
    delete, path = "/v1/reminders/{id}", operation_id = "cancel_reminder", tag = "reminders", params(("id" = String, Path, description = "The id of a reminder"), UserQuery),
    responses((status = 200, description = "The reminder", body = Reminder<'static>)),
)]
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    OfChannels(Writer(caller)): OfChannels<Writer>,
    InPath(id): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    let id = id_from(&id)?;
    must_see(&app, &caller, id).await?;
    change(&app, id, Change::Cancel, expecting.of(caller.by(app.now()))).await
}

/// Answers, pauses, resumes, skips or fires a reminder, undoes its cancel, or sends a failed run again.
///
/// `ack`, `snooze` and `dismiss` are about the first run that awaits an answer, or about `run`; `resend` is about the last that has ended, or
/// about `run`; the others take no body. `undo` works for 10 minutes; what fell due meanwhile is `missed`.
#[utoipa::path(
    post, path = "/v1/reminders/{id}/{verb}", operation_id = "command_reminder", tag = "reminders",
    params(("id" = String, Path, description = "The id of a reminder"), ("verb" = inline(Command), Path, description = "What to do"), UserQuery),
    request_body = Answer, responses((status = 200, description = "The reminder", body = Reminder<'static>)),
)]
pub(super) async fn command(
    State(app): State<Arc<App>>,
    OfChannels(Writer(caller)): OfChannels<Writer>,
    InPath((id, verb)): InPath<(String, String)>,
    Repeated(repeatable): Repeated,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    let id = id_from(&id)?;
    let value = body.json_or_nothing()?;
    must_see(&app, &caller, id).await?;
    let mut by = expecting.of(caller.by(app.now()));
    let wanted = match verb.as_str() {
        verb @ ("ack" | "snooze" | "dismiss") => {
            let (answer, mut faults) = read::partly::<Answer>(&value, WHOLE, &[])?;
            let (run, minutes, until) = (answer.run, answer.minutes, answer.until);
            let is_snooze = verb == "snooze";
            let others = [
                ("minutes", minutes.is_some() && !is_snooze),
                ("until", until.is_some() && !is_snooze),
                ("held", answer.held.is_some()),
            ];
            let known: &[&str] =
                if is_snooze { &["minutes", "until", "run", "text", "channel"] } else { &["run", "text", "channel"] };
            refuse_unknown(&mut faults, others, known);
            by.said = said(answer.text, answer.channel, &mut faults);
            let snoozed = match is_snooze {
                true => faults.note(snooze(minutes, until, &app, &caller, id).await?),
                false => None,
            };
            faults.finish()?;
            let plain = match (verb, snoozed) {
                ("dismiss", _) => Change::Dismiss,
                (_, Some(until)) => Change::Snooze { until },
                _ => Change::Ack,
            };
            match run {
                Some(run) => Change::AnswerRun { run, answer: Box::new(plain) },
                None => plain,
            }
        }
        "resend" => {
            let (answer, mut faults) = read::partly::<Answer>(&value, WHOLE, &[])?;
            let Answer { run, minutes, until, text, channel, held } = answer;
            let others = [
                ("minutes", minutes.is_some()),
                ("until", until.is_some()),
                ("text", text.is_some()),
                ("channel", channel.is_some()),
            ];
            refuse_unknown(&mut faults, others, &["run", "held"]);
            faults.finish()?;
            Change::Resend(Resend { run, held: held.unwrap_or_default(), ..Resend::default() })
        }
        verb => {
            let change = match verb {
                "pause" => Change::Pause,
                "resume" => Change::Resume,
                "skip" => Change::Skip,
                "fire" => Change::Fire,
                "undo" => Change::Undo,
                _ => {
                    let known = "ack, snooze, dismiss, pause, resume, skip, fire, undo, resend";
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
            serde_json::to_string(&shown::reminder(view, lang, Vec::new())).expect("a reminder always becomes JSON")
        };
        by.repeat = Some(repeatable.of_change(show));
    }
    change(&app, id, wanted, by).await
}

/// Notes the fields that were given and that a command does not take.
fn refuse_unknown<const N: usize>(faults: &mut Faults, given: [(&str, bool); N], known: &[&'static str]) {
    for (field, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        faults.add(read::unknown(field, known));
    }
}

/// The person's own words, and where they said them.
fn said(text: Option<String>, channel: Option<String>, faults: &mut Faults) -> Said {
    let mut bounded = |field: &str, text: Option<String>, max: usize| match text {
        Some(text) if text.len() > max => {
            faults.add(Invalid::new(field, format!("is {} bytes long; at most {max} are accepted", text.len())));
            None
        }
        text => text.filter(|text| !text.trim().is_empty()),
    };
    let text = bounded("text", text, WORDS_BYTES_MAX);
    Said { text, channel: bounded("channel", channel, CHANNEL_BYTES_MAX), name: None }
}

async fn snooze(
    minutes: Option<u32>,
    until: Option<String>,
    app: &App,
    caller: &Caller,
    id: ReminderId,
) -> Result<Result<Timestamp, Invalid>, Problem> {
    let now = app.now();
    Ok(match (minutes, until) {
        (Some(_), Some(_)) => Err(Invalid::new("until", "give either `minutes` or `until`, not both")),
        (Some(0), None) => Err(Invalid::new("minutes", "must be a whole number from 1 up")),
        (minutes, None) => Ok(snooze_until(now, u64::from(minutes.unwrap_or(SNOOZE_MINUTES)))),
        (None, Some(until)) => {
            // A local time means the reminder's own zone.
            let reminder = seen(app, caller, id).await?.reminder;
            let lang = app.locale_of(&reminder.user, now).await?.lang;
            let until = parse_until(&until, lang, &reminder.timezone, now);
            until.map_err(|problem| Invalid::new("until", problem))
        }
    })
}

async fn change(app: &App, id: ReminderId, change: Change, by: By) -> Result<Response, Problem> {
    let changed = app.change(id, change, by).await?;
    Ok(answer(app, &changed.view).await)
}

async fn answer(app: &App, view: &ReminderView) -> Response {
    tagged(StatusCode::OK, view.version(), &app.shown(view).await)
}

/// A reminder the caller may see; another's is not found.
pub(super) async fn seen(app: &App, caller: &Caller, id: ReminderId) -> Result<ReminderView, Problem> {
    match app.engine.store().reminder(id).await? {
        Some(view) if caller.sees_reminder(&view.reminder) => Ok(view),
        _ => Err(Problem::not_found("no such reminder")),
    }
}

/// Refuses a key that is bound to channels where the reminder is not of these. Whose it is, the change itself looks at.
async fn must_see(app: &App, caller: &Caller, id: ReminderId) -> Result<(), Problem> {
    match caller.channels().is_empty() {
        true => Ok(()),
        false => seen(app, caller, id).await.map(drop),
    }
}

pub(super) fn id_from(text: &str) -> Result<ReminderId, Problem> {
    text.parse().map_err(|error: punctual_core::id::BadId| Problem::not_found(error.to_string()))
}

//! Many reminders in one transaction.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::{FAULTS_MAX, Invalid};
use punctual_core::steps::Steps;
use punctual_core::store::ReminderView;
use punctual_engine::CreateError;

use super::App;
use super::auth::{OfChannels, Writer};
use super::idempotency::Repeated;
use super::input::{BATCH_BYTES_MAX, Input};
use super::problem::Problem;
use super::read;
use super::reminders::made_from;
use super::shown;
use crate::wire::{Batch, Created, Understood};

/// The most reminders in one batch.
const BATCH_MAX: usize = 10_000;

/// Makes many reminders in one transaction: all or nothing.
///
/// One bad item is a 422 with its `index`.
#[utoipa::path(
    post, path = "/v1/reminders/batch", operation_id = "create_reminders", tag = "reminders", request_body = Batch,
    responses((status = 201, description = "The reminders", body = Created<'static>)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    OfChannels(Writer(caller)): OfChannels<Writer>,
    Repeated(repeatable): Repeated,
    body: Input<BATCH_BYTES_MAX>,
) -> Result<Response, Problem> {
    let _permit = app.batch_permit(body.batch_weight()).await;
    let items = read::list(body.json()?, "reminders")?;
    drop(body);
    if items.len() > BATCH_MAX {
        let problem = format!("has {} items; at most {BATCH_MAX} fit in one batch", items.len());
        return Err(Invalid::new("reminders", problem).into());
    }
    if items.is_empty() {
        return Err(Invalid::new("reminders", "is empty; send at least one").into());
    }
    let now = app.now();
    let steps = Arc::new(Steps::of_request(items.len()));
    let (mut reminders, mut understood) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    let (mut wrong, mut right) = (Vec::new(), Vec::new());
    for (index, item) in items.into_iter().enumerate() {
        match made_from(item, &app, &caller, now, &steps).await {
            Ok(made) => {
                right.push(index);
                reminders.push(made.reminder);
                understood.push(made.understood);
            }
            Err(problem) if problem.is_invalid() => wrong.push((index, problem)),
            Err(problem) => return Err(problem.in_batch("reminders", index)),
        }
        if wrong.len() >= FAULTS_MAX {
            break;
        }
    }
    if !wrong.is_empty() {
        // The others are looked at as well: a caller mends all of them at once.
        let checked = app.engine.check(&reminders, now).await?;
        let others = right.into_iter().zip(checked).filter_map(|(index, checked)| Some((index, checked.err()?.into())));
        wrong.extend(others.take(FAULTS_MAX));
        return Err(all_named("reminders", wrong));
    }
    let Some(repeatable) = repeatable else {
        let views = app.create(reminders, &caller, None).await.map_err(|error| named("reminders", error))?;
        return Ok(shown::answer(StatusCode::CREATED, &created(&app, &views, understood).await));
    };
    let views = app.first_views(reminders, now).await.map_err(|error| named("reminders", error))?;
    let answer = serde_json::to_string(&created(&app, &views, understood).await).expect("reminders always become JSON");
    let reminders = views.into_iter().map(|view| view.reminder).collect();
    let answered = repeatable.with(StatusCode::CREATED, &answer);
    app.create(reminders, &caller, Some(answered)).await.map_err(|error| named("reminders", error))?;
    Ok(shown::answer_bytes(StatusCode::CREATED, answer.into_bytes()))
}

async fn created<'a>(app: &App, views: &'a [ReminderView], understood: Vec<Option<Box<Understood>>>) -> Created<'a> {
    let mut reminders = Vec::with_capacity(views.len());
    for (view, understood) in views.iter().zip(understood) {
        reminders.push(app.shown_new(view, understood).await);
    }
    Created { created: views.len(), reminders }
}

/// The problems of items of `list`, in their order, as one.
pub(super) fn all_named(list: &str, mut wrong: Vec<(usize, Problem)>) -> Problem {
    wrong.sort_by_key(|(index, _)| *index);
    let named = wrong.into_iter().map(|(index, problem)| problem.in_batch(list, index)).collect();
    // Whoever calls has one at least.
    Problem::of_batch(named).unwrap_or_else(|| Problem::from(Invalid::new(list, "has something wrong")))
}

/// The problem with the items of `list` it was met at.
pub(super) fn named(list: &str, error: CreateError) -> Problem {
    match error {
        CreateError::Invalid { index, invalid, others } => {
            let first = (index, Problem::from(invalid));
            let others = others.into_iter().map(|(index, invalid)| (index, Problem::from(invalid)));
            all_named(list, std::iter::once(first).chain(others).collect())
        }
        error => error.into(),
    }
}

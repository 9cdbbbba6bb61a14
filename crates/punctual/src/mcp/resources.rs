//! What can be read without a tool: today, one reminder, the journal. All of it is JSON, so that texts which people wrote stay in their fields.

use punctual_client::Failure;
use punctual_client::wire::{DueQuery, DueRun, JournalQuery, PageQuery, ReminderQuery};
use punctual_core::clock::Clock;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::ReminderStatus;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::say::{self, Here};
use super::{Acting, LIST_MAX, error_of};
use crate::when;

pub(super) const TODAY: &str = "punctual://today";
const JOURNAL: &str = "punctual://journal";
const REMINDERS: &str = "punctual://reminders/";
const JSON: &str = "application/json";

/// How many entries of the journal are read.
const ENTRIES_MAX: usize = 50;
/// How many runs of a reminder are read.
const RUNS_MAX: usize = 5;

/// The resources that are always there.
pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, title: &str, description: &str| {
        Resource::new(uri, name).with_title(title).with_description(description).with_mime_type(JSON)
    };
    vec![
        resource(
            TODAY,
            "today",
            "Today's reminders",
            "The user's day in their time zone: what waits for an answer, what ran today, and the reminders that are still to come.",
        ),
        resource(
            JOURNAL,
            "journal",
            "What happened",
            "The last things that happened to the user's reminders, newest first.",
        ),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new(format!("{REMINDERS}{{id}}"), "reminder").with_title("One reminder");
    vec![template.with_description("A reminder by its id, with its last runs.").with_mime_type(JSON)]
}

/// Reads a resource.
pub(super) async fn read(uri: &str, acting: &Acting, clock: &dyn Clock) -> Result<ReadResourceResult, ErrorData> {
    let data = match uri {
        TODAY => today(acting).await?,
        JOURNAL => journal(acting).await?,
        _ => match uri.strip_prefix(REMINDERS) {
            Some(id) if !id.is_empty() => reminder(id, acting, clock).await?,
            _ => return Err(not_found(uri)),
        },
    };
    let contents = ResourceContents::text(format!("{data:#}"), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The user's day: what waits for an answer, what ran today, and the reminders that are still to come today.
pub(super) async fn today(acting: &Acting) -> Result<Value, ErrorData> {
    let failed = |failure: Failure| error_of(&failure);
    let caller = acting.client.caller().await.map_err(failed)?;
    let user = acting.user.as_deref().unwrap_or(&caller.user);
    let here = acting.here(Some(user), caller.now).await.map_err(failed)?;
    let limit = usize::try_from(LIST_MAX).ok();
    let of_user = DueQuery { user: Some(user.to_owned()), limit, ..DueQuery::default() };
    let waits = DueQuery { status: Some(StateKind::AwaitingAck.as_str().to_owned()), ..of_user.clone() };
    let waiting = acting.client.runs(&waits).await.map_err(failed)?;
    let until_now = DueQuery { from: Some("today".to_owned()), to: Some(here.now.to_string()), ..of_user };
    let ran = acting.client.runs(&until_now).await.map_err(failed)?;
    let day = || Some("today".to_owned());
    let status = Some(ReminderStatus::Active.as_str().to_owned());
    let query = ReminderQuery { from: day(), to: day(), status, limit, ..acting.whose() };
    let coming = acting.client.reminders(&query).await.map_err(failed)?;
    let mut reminders = coming.reminders;
    reminders.sort_by_key(|reminder| reminder.next_run_at);
    let more = [waiting.next_cursor, ran.next_cursor, coming.next_cursor].iter().any(Option::is_some);
    let shown = |runs: &[DueRun<'_>]| runs.iter().map(|run| shown_due(run, &here)).collect::<Vec<_>>();
    Ok(json!({
        "note": say::NOTE,
        "user": user,
        "now": when::labelled(here.now, &here.zone, here.now),
        "timezone": here.zone.name(),
        "waiting_for_an_answer": shown(&waiting.runs),
        "ran_today": shown(&ran.runs),
        "reminders": reminders.iter().map(|reminder| say::data(reminder, &here)).collect::<Vec<_>>(),
        "more": more,
    }))
}

async fn journal(acting: &Acting) -> Result<Value, ErrorData> {
    let query = JournalQuery {
        user: acting.user.clone(),
        mine: acting.user.is_none().then_some(true),
        order: Some("newest".to_owned()),
        limit: Some(ENTRIES_MAX),
        ..JournalQuery::default()
    };
    let page = acting.client.journal(&query).await.map_err(|failure| error_of(&failure))?;
    Ok(json!({ "note": say::NOTE, "entries": page.entries }))
}

async fn reminder(id: &str, acting: &Acting, clock: &dyn Clock) -> Result<Value, ErrorData> {
    // A list finds only what the user who is meant has.
    let query = ReminderQuery { matching: Some(id.to_owned()), limit: Some(2), ..acting.whose() };
    let found = acting.client.reminders(&query).await.map_err(|failure| error_of(&failure))?.reminders;
    let Some(reminder) = found.into_iter().find(|reminder| reminder.id == id) else {
        return Err(not_found(&format!("{REMINDERS}{id}")));
    };
    let query = PageQuery { limit: Some(RUNS_MAX), cursor: None };
    let runs = acting.client.occurrences(&reminder.id, &query).await.map_err(|failure| error_of(&failure))?;
    let here = acting.here(Some(&reminder.user), clock.now()).await.map_err(|failure| error_of(&failure))?;
    let run = |run: &punctual_client::wire::Occurrence| shown_run(run, &here);
    let runs: Vec<Value> = runs.occurrences.iter().map(run).collect();
    Ok(json!({ "note": say::NOTE, "reminder": say::data(&reminder, &here), "runs": runs }))
}

/// A run with what its reminder says.
fn shown_due(due: &DueRun<'_>, here: &Here) -> Value {
    let mut shown = shown_run(&due.occurrence, here);
    shown["reminder_id"] = due.reminder.id.as_str().into();
    shown["message"] = due.reminder.message.as_ref().into();
    if let Some(name) = &due.reminder.name {
        shown["name"] = name.as_ref().into();
    }
    shown
}

fn shown_run(run: &punctual_client::wire::Occurrence, here: &Here) -> Value {
    let responses: Vec<Value> =
        run.responses.iter().map(|response| json!({ "response": response.response, "at": response.at })).collect();
    json!({ "run": run.run_number, "due": here.local(run.due_at), "state": run.state, "responses": responses })
}

fn not_found(uri: &str) -> ErrorData {
    let problem = format!("there is nothing at {uri}; there are {TODAY}, {JOURNAL} and {REMINDERS}{{id}}");
    ErrorData::resource_not_found(problem, Some(json!({ "uri": uri })))
}

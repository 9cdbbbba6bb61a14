//! One reminder: what was asked, when it is due, and every run as a story.

/// A run told as sentences.
mod story;

/// The next weeks as a small calendar.
mod weeks;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::join;
use maud::{Markup, html};
use punctual_client::escaped;
use punctual_client::known::{ReminderStatus, StateKind};
use punctual_client::wire::{Occurrence, Occurrences, PageQuery, Reminder};
use punctual_time::span;

use super::reminders::{buttons, edit};
use super::today::ask::ask;
use crate::Web;
use crate::layout::Place;
use crate::parts::{self, Refusal};
use crate::texts::{reminder as t, reminders};
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer};

/// How many runs are told at once.
const RUNS: usize = 10;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/reminders/{id}", get(show)).route("/runs/{id}/raw", get(raw))
}

async fn show(v: Viewer, Path(id): Path<String>) -> Result<Response, Trouble> {
    render(&v, &id, None).await
}

/// A run as the API has it: fetched when somebody unfolds it in its story, and a page of its own without a script.
async fn raw(v: Viewer, Path(id): Path<String>) -> Result<Response, Trouble> {
    let m = &v.m;
    let run = v.client.occurrence(&id, &v.anybody()).await?;
    let text = serde_json::to_value(&run).map(|value| format!("{value:#}")).unwrap_or_default();
    let detail = html! { div { pre tabindex="0" { code { (text) } } } };
    if v.is_part {
        return Ok(detail.into_response());
    }
    let title = format!("{} · {}", m.t(t::RAW), m.say(t::RUN, &[("n", &m.number(run.run_number.into()))]));
    let back = v.href(&format!("/reminders/{}#run-{}", escaped(&run.reminder_id), run.run_number));
    let main = html! { p.crumb { a href=(back) { (m.t(reminders::TITLE)) } } h1 { (title) } (detail) };
    Ok(v.page(Place::Reminders, &title, &main))
}

/// The page, also for a form of it that was refused.
pub(super) async fn render(v: &Viewer, id: &str, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let (any, page) = (v.anybody(), PageQuery { limit: Some(RUNS), cursor: parts::asked(v, "cursor") });
    let (reminder, runs) = join(v.client.reminder(id, &any), v.client.occurrences(id, &page)).await;
    let (reminder, runs) = (reminder?, runs?);
    let main = html! {
        div #reminder data-live="reminder. attempt." data-live-reminder=(reminder.id) {
            (head(v, &reminder, refusal))
            @for run in runs.occurrences.iter().filter(|run| run.state == StateKind::AwaitingAck) { (ask(v, run, &reminder)) }
            @if reminder.next_run_at.is_some() { (weeks::weeks(v, &reminder, planned(&reminder, &runs))) }
            (told(v, &reminder, &runs))
        }
    };
    Ok(v.page(Place::Reminders, &reminder.message, &main))
}

/// How many runs have been planned: the newest has that number. Further back there are only those that were.
fn planned(reminder: &Reminder<'_>, runs: &Occurrences) -> u32 {
    let newest = runs.occurrences.iter().map(|run| run.run_number).max().unwrap_or(0);
    newest.max(reminder.total_runs + 1)
}

/// What was asked, and in whose words.
fn head(v: &Viewer, reminder: &Reminder<'_>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let asked_at = m.instant(reminder.created_at);
    let is_open = reminder.status == ReminderStatus::Active || reminder.status == ReminderStatus::Paused;
    let asked = match &reminder.original_text {
        Some(words) => m.say(t::IN_WORDS, &[("words", words), ("when", &asked_at), ("via", &reminder.created_via)]),
        None => m.say(t::ASKED, &[("when", &asked_at), ("via", &reminder.created_via)]),
    };
    html! {
        h1 { (reminder.message) }
        p.sub {
            (parts::state(&parts::of_reminder(m, &reminder.status))) " · "
            (m.say(t::FOR, &[("who", &reminder.user)])) " · " b { (m.schedule(reminder)) }
            " · " (m.say(t::PRIORITY, &[("what", &parts::priority(m, &reminder.priority))]))
            @if reminder.require_ack { " · " (m.t(t::ANSWER)) }
            @for step in &reminder.escalate {
                ", " (m.say(t::THEN, &[("who", &step.to), ("span", &step_span(v, &step.after.0))]))
            }
        }
        p { (asked) }
        @if v.may(Scope::Write) { (buttons(v, reminder)) }
        div.folds {
            @if v.may(Scope::Write) && is_open { (parts::unfold("edit", &m.t(reminders::EDIT), refusal.is_some(), &edit(v, reminder, refusal))) }
            (parts::unfold("facts", &m.t(t::DETAILS), false, &html! { dl.facts {
                dt { (m.t(t::TO)) }
                dd {
                    @if reminder.to.is_empty() { (m.t(t::OWN_ADDRESSES)) }
                    @for to in reminder.to.iter() { (to.channel) " " code { (to.address) } br; }
                }
                dt { (m.t(t::ZONE)) } dd { (reminder.timezone) }
                @if !reminder.tags.is_empty() {
                    dt { (m.t(t::TAGS)) }
                    dd { @for tag in reminder.tags.iter() { a href=(v.href(&format!("/reminders?tag={}", escaped(tag)))) { "#" (tag) } " " } }
                }
                dt { (m.t(t::SCHEDULE)) } dd { code { (reminder.schedule.0) } }
            } }))
        }
    }
}

fn step_span(v: &Viewer, after: &str) -> String {
    let seconds = span::parse(after).ok().and_then(|span| i64::try_from(span.as_secs()).ok());
    seconds.map_or_else(|| after.to_owned(), |seconds| v.m.span(seconds))
}

fn told(v: &Viewer, reminder: &Reminder<'_>, runs: &Occurrences) -> Markup {
    let m = &v.m;
    // A run that is only planned has no story yet.
    let is_told = |run: &&Occurrence| !run.attempts.is_empty() || !run.audit.is_empty() || run.at.is_some();
    let told: Vec<&Occurrence> = runs.occurrences.iter().filter(is_told).collect();
    html! {
        @if told.is_empty() { h2 { (m.t(t::RUNS)) } p.sub { (m.t(t::NO_RUNS)) } }
        @for run in told { (story::story(v, reminder, run)) }
        @if let Some(cursor) = &runs.next_cursor {
            p { a.button href=(v.href(&format!("/reminders/{}?cursor={cursor}", reminder.id))) { (m.t(t::OLDER)) } }
        }
        @if !runs.audit.is_empty() {
            h2 { (m.t(t::HISTORY)) }
            ol.story { @for entry in &runs.audit { (story::entry(v, entry)) } }
        }
    }
}

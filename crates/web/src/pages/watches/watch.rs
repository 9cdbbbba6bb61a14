//! One watch, its runs, and a dry run.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use punctual_client::known::RunState;
use punctual_client::wire::{BadRow, PageQuery, Watch, WatchRun, WatchTest};

use super::{counts, of_watch, shape};
use crate::flash::Flash;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::{self, Filled};
use crate::texts::watches as t;
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer, refused};

/// How many rows that went wrong are shown.
const BAD_SHOWN: usize = 100;

pub(super) async fn show(v: Viewer, Path(name): Path<String>) -> Result<Response, Trouble> {
    let watch = v.client.watch(&name).await?;
    Ok(v.page(Place::Watches, &name, &page(&v, &watch, None)))
}

/// Runs it now, or says what a run would do.
pub(super) async fn act(
    Path(name): Path<String>,
    Posted { viewer: mut v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    v.here = of_watch(&name);
    let failure = match form.get("do") {
        Some("run") => match v.client.run_watch(&name).await {
            Ok(run) => {
                let (text, id) = (if run.state == RunState::Running { t::GOES_ON } else { t::RAN }, short(&run.run_id));
                let said = v.m.say(text, &[("run", id), ("counts", &counts(&v.m, &run))]);
                let said = if run.state == RunState::GivenUp {
                    Flash::problem(run.error.unwrap_or(said))
                } else {
                    Flash::done(said)
                };
                return Ok(said.then(&v.here));
            }
            Err(failure) => failure,
        },
        Some("test") => match v.client.test_watch(&name).await {
            Ok(test) => {
                let watch = v.client.watch(&name).await?;
                return Ok(v.page(Place::Watches, &name, &page(&v, &watch, Some(&Ok(test)))));
            }
            Err(failure) => {
                let Some(words) = said(&failure) else { return Err(failure.into()) };
                let watch = v.client.watch(&name).await?;
                let answer = v.page(Place::Watches, &name, &page(&v, &watch, Some(&Err(words))));
                return Ok((StatusCode::UNPROCESSABLE_ENTITY, answer).into_response());
            }
        },
        _ => return Err(Trouble::NotFound),
    };
    match said(&failure) {
        Some(words) => Ok(Flash::problem(words).then(&v.here)),
        None => Err(failure.into()),
    }
}

/// What to tell somebody whose run was refused, or whose database did not answer.
fn said(failure: &punctual_client::Failure) -> Option<String> {
    let is_source = |refused: &&punctual_client::Refused| refused.status == StatusCode::BAD_GATEWAY;
    let source = failure.refused().filter(is_source).map(|refused| refused.words.clone());
    source.or_else(|| refused(failure).map(str::to_owned))
}

fn page(v: &Viewer, watch: &Watch, tested: Option<&Result<WatchTest, String>>) -> Markup {
    let m = &v.m;
    let button = |what: &str, class: &str, label: &str| {
        parts::form(
            v,
            &of_watch(&watch.name),
            html! {
                input type="hidden" name="do" value=(what);
                button class=(class) type="submit" { (label) }
            },
        )
    };
    html! {
        p.crumb { a href="/watches" { (m.t(t::TITLE)) } }
        h1 { (watch.name) }
        p.sub {
            @if let Some(next) = watch.next_at { (m.say(t::NEXT, &[("when", &m.relative(next))])) " · " }
            (watch.message)
        }
        @if !watch.defined_here { p.card { (m.t(t::NOT_HERE)) } }
        @if let Some(problem) = &watch.problem { p.problem { (problem) } }
        @if v.may(Scope::Write) {
            div.buttons {
                @if watch.defined_here {
                    (button("run", "main", &m.t(t::RUN_NOW)))
                    (button("test", "", &m.t(t::DRY_RUN)))
                    span.hint { (m.t(t::DRY_WHAT)) }
                } @else { a.button href=(format!("{}/forget", of_watch(&watch.name))) { (m.t(t::FORGET)) } }
            }
        }
        @match tested {
            Some(Ok(test)) => { (dry_run(m, test)) }
            Some(Err(words)) => { p.problem role="alert" { (words) } }
            None => {}
        }
        (runs(m, watch))
        (definition(m, watch))
    }
}

/// The rows that a run would remind of now.
fn dry_run(m: &Manner, test: &WatchTest) -> Markup {
    let n = m.number(test.n_due);
    let shown = test.rows.len() as u64;
    html! {
        section.card #dry aria-labelledby="dry-title" {
            h2 #dry-title { (m.t(t::DRY_RUN)) }
            p role="status" {
                (m.say(if test.is_all { t::WOULD } else { t::WOULD_MORE }, &[("n", &n)]))
                @if shown < test.n_due { " " (m.say(t::FIRST_ROWS, &[("n", &m.number(shown))])) }
                " " (mode(m, &test.mode)) @if let Some(why) = &test.why { " " (why) }
            }
            @for warning in &test.warnings { p.problem { (warning) } }
            @if !test.rows.is_empty() {
                div.table tabindex="0" role="group" aria-labelledby="dry-title" {
                    table {
                        thead { tr { @for head in [t::ROW_KEY, t::DUE, t::LAST_SENT, t::WHO, t::WHAT, t::CHANNEL] { th scope="col" { (m.t(head)) } } } }
                        tbody {
                            @for row in &test.rows {
                                tr {
                                    th scope="row" { (row.key) } td { (row.due) } td { (row.sent.as_deref().unwrap_or("–")) } td { (row.user) } td { (row.message) }
                                    td { (row.channel.as_deref().unwrap_or("–")) }
                                }
                            }
                        }
                    }
                }
            }
            @if !test.bad.is_empty() { h3 { (m.t(t::BAD)) } (bad_rows(m, &test.bad)) }
        }
    }
}

fn mode(m: &Manner, mode: &str) -> String {
    match mode {
        "column" => m.t(t::MODE_COLUMN).into_owned(),
        "ledger" => m.t(t::MODE_LEDGER).into_owned(),
        other => other.to_owned(),
    }
}

fn bad_rows(m: &Manner, rows: &[BadRow]) -> Markup {
    html! {
        div.table tabindex="0" role="group" aria-label=(m.t(t::BAD)) {
            table {
                thead { tr { @for head in [t::ROW_KEY, t::COLUMN, t::WRONG] { th scope="col" { (m.t(head)) } } } }
                tbody { @for row in rows.iter().take(BAD_SHOWN) { tr { th scope="row" { (row.key) } td { (row.field.as_deref().unwrap_or("–")) } td { (row.problem) } } } }
            }
        }
    }
}

fn runs(m: &Manner, watch: &Watch) -> Markup {
    let going = watch.running.iter().filter(|run| !watch.runs.iter().any(|known| known.run_id == run.run_id));
    let all: Vec<&WatchRun> = going.chain(&watch.runs).collect();
    let heads = [t::SEEN, t::SENT, t::SKIPPED, t::FAILED, t::RETRIED];
    html! {
        section #runs data-live="watch." aria-labelledby="runs-title" {
            h2 #runs-title { (m.t(t::RUNS)) }
            @if all.is_empty() { p { (m.t(t::NOT_RUN)) } }
            @else {
                div.table tabindex="0" role="group" aria-labelledby="runs-title" {
                    table {
                        thead { tr {
                            th scope="col" { (m.t(t::BEGAN)) } th scope="col" { (m.t(t::STATE)) }
                            @for head in heads { th.num scope="col" { (m.t(head)) } }
                            th.num scope="col" { (m.t(t::TOOK)) } th scope="col" { (m.t(t::RUN)) }
                        } }
                        tbody { @for run in all { (run_row(m, watch, run)) } }
                    }
                }
            }
        }
    }
}

fn run_row(m: &Manner, watch: &Watch, run: &WatchRun) -> Markup {
    html! {
        tr {
            td { (parts::instant(m, run.started_at)) }
            td { (parts::state(&shape(m, run))) @if run.asked { " " small { (m.t(t::ASKED)) } } @if let Some(error) = &run.error { br; small.problem { (error) } } }
            @for n in [run.seen, run.sent, run.skipped, run.failed, run.retried] { td.num { (m.number(n)) } }
            td.num { (m.millis(run.seconds * 1000.0)) }
            td { a.mono href=(format!("{}/runs/{}", of_watch(&watch.name), punctual_client::escaped(&run.run_id))) { (short(&run.run_id)) } }
        }
    }
}

/// The end of an id, by which people tell runs apart.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

fn definition(m: &Manner, watch: &Watch) -> Markup {
    let schedule = &watch.schedule;
    let looks = schedule["expression"]
        .as_str()
        .or(schedule["cron"].as_str())
        .or(schedule["every"].as_str())
        .map_or_else(|| schedule.to_string(), str::to_owned);
    html! {
        section aria-labelledby="definition" {
            h2 #definition { (m.t(t::DEFINITION)) }
            dl.facts {
                dt { (m.t(t::DATABASE)) } dd.mono { (watch.database) }
                dt { (m.t(t::ROWS)) } dd.mono { (watch.table.as_deref().or(watch.query.as_deref()).unwrap_or_default()) }
                @if let Some(only) = &watch.only { dt { (m.t(t::WHERE)) } dd.mono { (only) } }
                dt { (m.t(t::LOOKS)) } dd { span.mono { (looks) } " · " (watch.timezone) }
                dt { (m.t(t::WINDOW)) } dd { (watch.window) }
                dt { (m.t(t::AGAIN)) } dd { (watch.again_after) }
                dt { (m.t(t::PRIORITY)) } dd { (parts::priority(m, &punctual_client::wire::Priority::new(&watch.priority))) }
                @if let Some(next) = watch.next_at { dt { (m.t(t::NEXT_RUN)) } dd { (parts::instant(m, next)) } }
            }
            @if let Some(known) = &watch.mode { p { (mode(m, known)) } }
        }
    }
}

pub(super) async fn show_run(v: Viewer, Path((name, id)): Path<(String, String)>) -> Result<Response, Trouble> {
    let cursor = parts::asked(&v, "cursor");
    let run = v.client.watch_run(&name, &id, &PageQuery { limit: Some(BAD_SHOWN), cursor: cursor.clone() }).await?;
    let m = &v.m;
    let title = format!("{} {}", m.t(t::RUN), short(&run.run_id));
    let main = html! {
        p.crumb { a href="/watches" { (m.t(t::TITLE)) } " / " a href=(of_watch(&name)) { (name) } }
        h1 { (title) }
        p.sub #counts data-live="watch." { (parts::state(&shape(m, &run))) " · " (counts(m, &run)) }
        @if let Some(error) = &run.error { p.problem { (error) } }
        dl.facts {
            dt { (m.t(t::RUN)) } dd.mono { (run.run_id) }
            dt { (m.t(t::BEGAN)) } dd { (parts::instant(m, run.started_at)) @if run.asked { " · " (m.t(t::ASKED)) } }
            dt { (m.t(t::TOOK)) } dd { (m.millis(run.seconds * 1000.0)) }
            dt { (m.t(t::NODE)) } dd { (run.node) }
        }
        section aria-labelledby="bad" {
            h2 #bad { (m.t(t::BAD)) }
            @if run.bad.is_empty() { p { (m.t(t::BAD_NONE)) } } @else { (bad_rows(m, &run.bad)) }
            (parts::more(m, &format!("{}/runs/{}", of_watch(&name), punctual_client::escaped(&id)), &[], cursor.as_deref(), run.next_cursor.as_deref()))
        }
    };
    Ok(v.page(Place::Watches, &title, &main))
}

pub(super) async fn ask_forget(v: Viewer, Path(name): Path<String>) -> Result<Response, Trouble> {
    v.must_write()?;
    v.client.watch(&name).await?;
    let m = &v.m;
    let (question, page) = (m.say(t::FORGET_ASK, &[("name", &name)]), of_watch(&name));
    Ok(parts::ask(&v, Place::Watches, &question, &m.t(t::FORGET_WHAT), (&page, "forget"), None, &m.t(t::FORGET)))
}

pub(super) async fn forget(
    Path(name): Path<String>,
    Posted { viewer: v, .. }: Posted<Filled>,
) -> Result<Response, Trouble> {
    match v.client.forget_watch(&name).await {
        Ok(()) => Ok(Flash::done(v.m.say(t::FORGOTTEN, &[("name", &name)])).then("/watches")),
        Err(failure) => match refused(&failure) {
            Some(words) => Ok(Flash::problem(words).then(&of_watch(&name))),
            None => Err(failure.into()),
        },
    }
}

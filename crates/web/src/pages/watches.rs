//! Watches: standing queries over applications' own tables.

/// All of them.
mod list;

/// One watch, its runs, and a dry run.
mod watch;

use axum::Router;
use axum::routing::get;
use punctual_client::escaped;
use punctual_client::wire::WatchRun;

use crate::Web;
use crate::manner::Manner;
use crate::parts::Shape;
use crate::texts::watches as t;

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/watches", get(list::show))
        .route("/watches/{name}", get(watch::show).post(watch::act))
        .route("/watches/{name}/runs/{run}", get(watch::show_run))
        .route("/watches/{name}/forget", get(watch::ask_forget).post(watch::forget))
}

/// The page of a watch.
fn of_watch(name: &str) -> String {
    format!("/watches/{}", escaped(name))
}

/// The counts of a run, in words.
fn counts(m: &Manner, run: &WatchRun) -> String {
    let counts = [run.seen, run.sent, run.skipped, run.failed, run.retried].map(|n| m.number(n));
    let [seen, sent, skipped, failed, retried] = &counts;
    m.say(t::COUNTS, &[("seen", seen), ("sent", sent), ("skipped", skipped), ("failed", failed), ("retried", retried)])
}

/// How a run ended, or that it goes on.
fn shape(m: &Manner, run: &WatchRun) -> Shape {
    let (mark, word, class) = match run.state.as_str() {
        "running" => ("➤", m.t(t::RUNNING).into_owned(), ""),
        "done" if run.failed > 0 => ("!", m.t(t::DONE).into_owned(), "wait"),
        "done" => ("✓", m.t(t::DONE).into_owned(), "good"),
        "given_up" => ("✕", m.t(t::GIVEN_UP).into_owned(), "bad"),
        other => ("·", other.to_owned(), ""),
    };
    Shape { mark, word, class }
}

//! All watches.

use axum::response::Response;
use maud::{Markup, html};
use punctual_client::wire::Watch;

use super::{counts, of_watch, shape};
use crate::layout::Place;
use crate::parts::{self, Empty, Shape};
use crate::texts::watches as t;
use crate::trouble::Trouble;
use crate::viewer::Viewer;

/// How many watches stand on a page. A config file has far fewer.
const SHOWN: usize = 500;

/// A watch that works as it stands, but for the names in it.
const EXAMPLE: &str = r#"[watches.tasks]
database = "sqlite:app.db"           # or postgres://app@db/app
table = "tasks"
key = "id"
due = "due_date"
sent = "reminder_sent_at"            # optional: where a row is marked
user = "owner"                       # the column that says whom to remind
message = "{title} is due {due}"
every = "30m"
window = "24h"
"#;

pub(super) async fn show(v: Viewer) -> Result<Response, Trouble> {
    let m = &v.m;
    let watches = v.client.watches().await?.watches;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::INTRO)) }
        @if watches.is_empty() {
            (parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: html! {
                pre tabindex="0" { code { (EXAMPLE) } }
                p { (m.t(t::EMPTY_THEN)) }
                pre { code { "punctual watches test tasks" } }
            } }))
        } @else {
            ul.rows #watches data-live="watch." data-each-minute { @for watch in watches.iter().take(SHOWN) { (row(&v, watch)) } }
        }
    };
    Ok(v.page(Place::Watches, &m.t(t::TITLE), &main))
}

fn row(v: &Viewer, watch: &Watch) -> Markup {
    let m = &v.m;
    let run = watch.running.as_ref().or(watch.last.as_ref());
    let shape = match (run, &watch.problem) {
        (Some(run), None) => shape(m, run),
        (_, Some(_)) => Shape { mark: "!", word: m.t(t::PROBLEM).into_owned(), class: "wait" },
        (None, None) => Shape { mark: "○", word: m.t(t::NOT_RUN).into_owned(), class: "" },
    };
    html! {
        li {
            span.dot.(shape.class) aria-hidden="true" { (shape.mark) }
            a.what href=(of_watch(&watch.name)) { (watch.name) small { (watch.table.as_deref().or(watch.query.as_deref()).unwrap_or_default()) } }
            span.when {
                @if let Some(next) = watch.next_at { (m.say(t::NEXT, &[("when", &m.relative(next))])) }
                @else if !watch.defined_here { (m.t(t::NOT_HERE)) }
            }
            p.sub {
                @if let Some(run) = run { (counts(m, run)) " · " (parts::instant(m, run.started_at)) } @else { (m.t(t::NOT_RUN)) }
                @if let Some(problem) = &watch.problem { br; span.problem { (problem) } }
            }
            span.do { (parts::state(&shape)) }
        }
    }
}

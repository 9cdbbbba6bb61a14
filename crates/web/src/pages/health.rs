//! Health: how late messages are, over a day and now; the nodes, the database and the journal.

use axum::Router;
use axum::extract::Query;
use axum::response::Response;
use axum::routing::get;
use futures_util::future::{join, join3};
use jiff::civil::Date;
use jiff::{SignedDuration, ToSpan};
use maud::{Markup, html};
use punctual_client::Failure;
use punctual_client::known::NodeState;
use punctual_client::wire::{LateCount, LatePart, Lateness, LatenessQuery, Node, Nodes, Stats};
use serde::Deserialize;

use crate::Web;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::plot::{self, Line, Scale};
use crate::parts::{self, Empty, Shape};
use crate::texts::health as t;
use crate::texts::today;
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer};

/// How many days can be chosen beside the last 24 hours.
const DAYS: i64 = 6;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/health", get(show))
}

#[derive(Deserialize)]
struct Asked {
    /// A day where the viewer is; without it the last 24 hours.
    day: Option<Date>,
}

async fn show(Query(asked): Query<Asked>, v: Viewer) -> Result<Response, Trouble> {
    let late = LatenessQuery {
        from: asked.day.map(|day| v.m.begins(day).to_string()),
        to: asked.day.and_then(|day| day.tomorrow().ok()).map(|day| v.m.begins(day).to_string()),
        step: asked.day.map(|_| "15m".to_owned()),
    };
    let (late, nodes, stats) = join3(v.client.lateness(&late), v.client.nodes(), v.client.stale_stats()).await;
    let (late, nodes, stats) = (late?, nodes?, stats?);
    let m = &v.m;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        div #health data-live="reminder.sent reminder.failed attempt.failed" data-each-minute {
            (tiles(&v, &late, &stats))
            (days(&v, asked.day))
            @if late.total.sends == 0 && late.total.failed == 0 { (teach(&v)) } @else {
                (histogram(&v, &late.histogram))
                (over_time(&v, &late))
            }
            (of_nodes(&v, &nodes))
            (of_database(&v, &stats))
        }
    };
    Ok(v.page(Place::Health, &m.t(t::TITLE), &main))
}

/// The numbers that matter, large.
fn tiles(v: &Viewer, late: &Lateness, stats: &Stats) -> Markup {
    let m = &v.m;
    let millis = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), |ms| m.millis(ms));
    let total = &late.total;
    let is_overdue = stats.oldest_due_seconds >= 10.0;
    let overdue = if is_overdue { m.span(stats.oldest_due_seconds as i64) } else { m.t(t::NOTHING).into_owned() };
    let tile = |value: &str, what: &str, class: &str| html! { div class=(class) { dd { (value) } dt { (what) } } };
    html! {
        dl.tiles {
            (tile(&millis(total.p50_ms), &m.t(t::HALF), ""))
            (tile(&millis(total.p99_ms), &m.t(t::MOST), ""))
            (tile(&millis(total.max_ms), &m.t(t::LATEST), ""))
            (tile(&m.number(total.sends), &m.t(t::SENDS), ""))
            (tile(&m.number(total.given_up), &m.t(t::GIVEN_UP), if total.given_up > 0 { "bad" } else { "" }))
            (tile(&overdue, &m.t(t::OVERDUE), if is_overdue { "bad" } else { "" }))
        }
    }
}

/// The days that can be looked at, each a link that can be shared.
fn days(v: &Viewer, chosen: Option<Date>) -> Markup {
    let m = &v.m;
    let day = |ago: i64| m.today().checked_sub(ago.days()).ok();
    html! {
        nav.chips aria-label=(m.t(t::DAYS)) {
            a.chip href=(v.href("/health")) aria-current=[chosen.is_none().then_some("true")] { (m.t(t::LAST_DAY)) }
            @for day in (0..DAYS).filter_map(day) {
                a.chip href=(v.href(&format!("/health?day={day}"))) aria-current=[(chosen == Some(day)).then_some("true")] { (short_day(m, day)) }
            }
        }
    }
}

/// `Today`, `Yesterday`, or a short date.
fn short_day(m: &Manner, day: Date) -> String {
    let is_near = day == m.today() || day.tomorrow().is_ok_and(|next| next == m.today());
    if is_near { m.day(day) } else { m.date(day) }
}

/// The day in a line: what was sent, how late, and whether the nodes are well.
pub(super) async fn figures(v: &Viewer) -> Result<Markup, Failure> {
    let m = &v.m;
    let today = LatenessQuery { from: Some(m.begins(m.today()).to_string()), ..LatenessQuery::default() };
    let (late, nodes) = join(v.client.lateness(&today), v.client.nodes()).await;
    let (late, nodes) = (late?, nodes?);
    let values: Vec<f64> = late.parts.iter().filter_map(|part| part.late.p99_ms).collect();
    let n_silent = nodes.nodes.iter().filter(|node| node.state != NodeState::Alive).count() as u64;
    let (mark, word) = if n_silent == 0 { ("✓", t::ALL_ALIVE) } else { ("!", t::SOME_SILENT) };
    let word = m.say(word, &[("n", &m.number(nodes.nodes.len() as u64)), ("silent", &m.number(n_silent))]);
    Ok(html! {
        p.figures {
            span { (m.t(t::SENT_TODAY)) " " b { (m.number(late.total.sends)) } }
            @if let Some(ms) = late.total.p99_ms {
                span { (m.t(t::MOST)) " " b { (m.millis(ms)) } @if values.len() > 1 { " " (plot::spark(&values)) } }
            }
            @if late.total.given_up > 0 { span.is.bad { "✕ " (m.t(t::GIVEN_UP)) " " (m.number(late.total.given_up)) } }
            a href=(v.href("/health")) { span aria-hidden="true" { (mark) " " } (word) }
        }
    })
}

fn teach(v: &Viewer) -> Markup {
    let m = &v.m;
    let example = if v.may(Scope::Write) {
        super::today::to_try(v, &m.t(today::EXAMPLE))
    } else {
        html! {}
    };
    parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example })
}

/// A row for each step that has any: the numbers are the plot.
fn histogram(v: &Viewer, counts: &[LateCount]) -> Markup {
    let m = &v.m;
    let first = counts.iter().position(|count| count.sends > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| count.sends > 0).unwrap_or(0);
    let most = counts.iter().map(|count| count.sends).max().unwrap_or(0);
    let label = |count: &LateCount| match count.below_ms {
        Some(ms) => m.say(t::BELOW, &[("span", &short(v, ms))]),
        None => m.t(t::LATER).into_owned(),
    };
    html! {
        h2 { (m.t(t::HISTOGRAM)) }
        table.histogram {
            caption.unseen { (m.t(t::HISTOGRAM)) }
            thead.unseen { tr { th scope="col" { (m.t(t::LATENESS)) } td {} th scope="col" { (m.t(t::SENDS)) } } }
            tbody {
                @for count in &counts[first..=last] {
                    tr { th scope="row" { (label(count)) } td { (plot::bar(count.sends, most, "good")) } td.num { (m.number(count.sends)) } }
                }
            }
        }
    }
}

/// A span of a scale, which is a round number.
fn short(v: &Viewer, ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{} ms", v.m.decimal(ms, 1)),
        ms if ms < 1000.0 => format!("{} ms", v.m.decimal(ms, 0)),
        ms => v.m.span((ms / 1000.0) as i64),
    }
}

fn over_time(v: &Viewer, late: &Lateness) -> Markup {
    let m = &v.m;
    let step = late.step_seconds.max(1);
    let place = |part: &LatePart| usize::try_from(part.at.duration_since(late.from).as_secs() / step).unwrap_or(0);
    let n = usize::try_from((late.to.duration_since(late.from).as_secs() + step - 1) / step).unwrap_or(1).max(1);
    let line = |class, of: fn(&LatePart) -> Option<f64>| Line {
        class,
        values: late.parts.iter().filter_map(|part| Some((place(part), of(part)?))).collect(),
    };
    let of_time = [
        line("p99", |part| part.late.p99_ms),
        line("p90", |part| part.late.p90_ms),
        line("p50", |part| part.late.p50_ms),
    ];
    let scale = Scale::of(of_time.iter().flat_map(|line| line.values.iter().map(|(_, ms)| ms)));
    let sends: Vec<(usize, u64, u64)> = late
        .parts
        .iter()
        .map(|part| (place(part), part.late.sends.saturating_sub(part.late.failed), part.late.failed))
        .collect();
    let peak = late.parts.iter().map(|part| part.late.sends).max().unwrap_or(0);
    let step_said = m.span(step);
    html! {
        h2 { (m.t(t::OVER_TIME)) }
        p.hint { (m.say(t::OVER_TIME_HINT, &[("span", &step_said)])) }
        figure.over-time aria-label=(m.t(t::OVER_TIME)) {
            ul.scale aria-hidden="true" { @for tick in scale.ticks() { li { (short(v, tick)) } } }
            (plot::lines(n, &scale, &of_time))
            (hours(v, late))
            figcaption.legend {
                span.key-p50 { (m.t(t::P50)) } span.key-p90 { (m.t(t::P90)) } span.key-p99 { (m.t(t::P99)) }
            }
        }
        h2 { (m.t(t::THROUGHPUT)) }
        p.hint { (m.say(t::PEAK, &[("n", &m.number(peak)), ("span", &step_said)])) }
        figure.over-time.low aria-label=(m.t(t::THROUGHPUT)) {
            ul.scale aria-hidden="true" { li { (m.number(peak)) } li { "0" } }
            (plot::bars(n, &sends))
            (hours(v, late))
        }
        details #as-table {
            summary { (m.t(t::AS_TABLE)) }
            (table(v, &late.parts))
        }
    }
}

/// The instants below a plot.
fn hours(v: &Viewer, late: &Lateness) -> Markup {
    // Round times: a label stands at the begin of a part.
    let (whole, step) = (late.to.duration_since(late.from).as_secs(), late.step_seconds.max(1));
    let at = |n: i64| late.from + SignedDuration::from_secs(whole * n / 4 / step * step);
    html! { div.hours aria-hidden="true" { @for n in 0..=4 { span { (v.m.time(at(n))) } } } }
}

fn table(v: &Viewer, parts: &[LatePart]) -> Markup {
    let m = &v.m;
    let millis = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), |ms| m.millis(ms));
    let heads = [t::SENDS, t::FAILED, t::GIVEN_UP, t::P50, t::P90, t::P99, t::MAX, t::BACKLOG];
    html! {
        div.table tabindex="0" role="group" aria-label=(m.t(t::AS_TABLE)) {
            // A day has 96 rows, so a cell is no more than its number.
            table.of-numbers {
                thead { tr { th scope="col" { (m.t(t::WHEN)) } @for head in heads { th scope="col" { (m.t(head)) } } } }
                tbody {
                    @for LatePart { at, late } in parts.iter().rev() {
                        tr {
                            th { (m.instant(*at)) }
                            @for n in [late.sends, late.failed, late.given_up] { td { (m.number(n)) } }
                            @for ms in [late.p50_ms, late.p90_ms, late.p99_ms, late.max_ms] { td { (millis(ms)) } }
                            td { (m.number(late.waiting)) }
                        }
                    }
                }
            }
        }
    }
}

fn of_nodes(v: &Viewer, nodes: &Nodes) -> Markup {
    let m = &v.m;
    let heads = [t::SINCE, t::SEEN];
    let counted = [t::SHARDS, t::IN_FLIGHT, t::WAITING];
    html! {
        h2 { (m.t(t::NODES)) }
        @if !nodes.shared { p.hint { (m.t(t::ONE_NODE)) } }
        div.table tabindex="0" role="group" aria-label=(m.t(t::NODES)) {
            table {
                thead { tr {
                    th scope="col" { (m.t(t::NODE)) }
                    @for head in heads { th scope="col" { (m.t(head)) } }
                    @for head in counted { th.num scope="col" { (m.t(head)) } }
                    th scope="col" { (m.t(t::CLOCK)) }
                    th scope="col" { (m.t(t::VERSION)) }
                } }
                tbody { @for node in &nodes.nodes { (of_node(v, node)) } }
            }
        }
    }
}

fn of_node(v: &Viewer, node: &Node) -> Markup {
    let m = &v.m;
    let shape = match node.state.as_str() {
        "alive" => Shape { mark: "✓", word: m.t(t::ALIVE).into_owned(), class: "good" },
        _ => Shape { mark: "!", word: m.t(t::SILENT).into_owned(), class: "bad" },
    };
    let count = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| m.number(n));
    let clock = match node.clock_offset_ms {
        Some(ms) if ms.abs() >= 1.0 => m.say(t::CLOCK_OFF, &[("span", &m.millis(ms.abs()))]),
        Some(_) => m.t(t::CLOCK_RIGHT).into_owned(),
        None => "–".to_owned(),
    };
    html! {
        tr {
            th scope="row" { (node.name) " " (parts::state(&shape)) @if node.this { br; small { (m.t(t::THIS)) } } }
            td { (parts::instant(m, node.since)) }
            td { (m.relative(node.seen_at)) }
            td.num { (m.say(t::SHARDS_OF, &[("n", &m.number(node.shards.len() as u64))])) br; (plot::bar(node.shards.len() as u64, 256, "good")) }
            td.num { (count(node.in_flight)) }
            td.num { (count(node.waiting)) }
            td { (clock) }
            td { (node.version.as_deref().unwrap_or("–")) }
        }
    }
}

fn of_database(v: &Viewer, stats: &Stats) -> Markup {
    let m = &v.m;
    let database = &stats.database;
    let shape = match &database.error {
        None => Shape { mark: "✓", word: m.t(t::WORKS).into_owned(), class: "good" },
        Some(error) => Shape { mark: "✕", word: error.clone(), class: "bad" },
    };
    let journal = &stats.journal;
    let kept = u64::try_from(journal.last - journal.first + 1).unwrap_or(0);
    let number = |n: i64| m.number(u64::try_from(n).unwrap_or(0));
    html! {
        h2 { (m.t(t::DATABASE)) }
        dl.facts {
            dt { (database.kind) } dd { (database.version) " " (parts::state(&shape)) }
            dt { (m.t(t::SIZE)) } dd { (bytes(v, database.bytes)) }
            dt { (m.t(t::SCHEMA)) } dd { (m.say(t::SCHEMA_VERSION, &[("n", &database.schema.to_string())])) }
            dt { (m.t(t::PENDING)) } dd { (m.number(stats.pending)) " " small { (m.say(t::COUNTED, &[("when", &m.relative(stats.counted_at))])) } }
            dt { (m.t(t::REMINDERS)) } dd { (m.number(stats.reminders.values().sum())) }
            dt { (m.t(t::QUERIES)) } dd { (m.say(t::SINCE_START, &[("n", &m.number(stats.queries))])) }
        }
        h2 { (m.t(t::JOURNAL)) }
        dl.facts {
            dt { (m.t(t::POSITION)) } dd { (number(journal.last)) " · " small { (m.say(t::KEPT, &[("n", &m.number(kept)), ("first", &number(journal.first))])) } }
            dt { (m.t(t::LAST_ENTRY)) } dd { @if let Some(at) = journal.last_at { (parts::instant(m, at)) " · " (m.relative(at)) } @else { "–" } }
        }
    }
}

/// `4.2 MB`.
fn bytes(v: &Viewer, n: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (n as f64, 0);
    while size >= 1000.0 && unit + 1 < units.len() {
        (size, unit) = (size / 1000.0, unit + 1);
    }
    format!("{} {}", v.m.decimal(size, usize::from(unit > 0 && size < 100.0)), units[unit])
}

//! How late the sends of all nodes were, rolled up over a day or another time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use punctual_core::invalid::Invalid;
use punctual_core::model::lateness::{KEPT_FOR, STRETCH_SECONDS, Stretch, stretch_of};
use punctual_core::schedule::{End, parse_end};
use punctual_core::span;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::{Late, LateCount, LatePart, Lateness, LatenessQuery};

/// The bounds between which sends are counted, in milliseconds.
const BOUNDS_MS: [u64; 15] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 15_000, 60_000, 600_000];
/// How many parts there are about, where nobody says how long each is.
const PARTS: i64 = 96;
/// And how many at most.
const PARTS_MAX: i64 = 2016;

/// Says how late sends were, how many there were, and how many failed, over all nodes.
///
/// Every node counts for itself and writes its counts every ten seconds while it sends; those of the node that answers are up to date.
#[utoipa::path(
    get, path = "/v1/lateness", operation_id = "show_lateness", tag = "server", params(LatenessQuery),
    responses((status = 200, description = "Counts and percentiles", body = Lateness)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["from", "to", "step"])?;
    caller.must_be_unbound()?;
    let now = app.now();
    let bound = |name: &str, end: End| match params.get(name) {
        Some(text) => parse_end(text, end, &app.zone, now).map(Some).map_err(|problem| Invalid::new(name, problem)),
        None => Ok(None),
    };
    let to = bound("to", End::To)?.unwrap_or(now);
    let day_before = to.checked_sub(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MIN);
    let from = bound("from", End::From)?.unwrap_or(day_before);
    if to <= from {
        return Err(Invalid::new("to", "is not after `from`").into());
    }
    if to.duration_since(from).unsigned_abs() > KEPT_FOR + Duration::from_secs(86_400) {
        return Err(Invalid::new("from", "is more than 36 days before `to`; counts are kept for 35 days").into());
    }
    let step = step(params.get("step"), to.duration_since(from).as_secs())?;
    let from = stretch_of(from);
    let stretches = app.engine.lateness(from, to).await?;
    Ok(shown::answer(StatusCode::OK, &rolled_up(&stretches, from, to, step)))
}

/// How long each part is, in seconds, when there are `seconds` in all.
fn step(asked: Option<&str>, seconds: i64) -> Result<i64, Invalid> {
    let wrong = |problem: String| Invalid::new("step", problem);
    let Some(text) = asked else {
        return Ok((seconds / PARTS).div_euclid(STRETCH_SECONDS).max(1) * STRETCH_SECONDS);
    };
    let step = span::parse(text).map_err(wrong)?.as_secs() as i64;
    if step == 0 || step % STRETCH_SECONDS != 0 {
        return Err(wrong(format!("`{text}` is no multiple of five minutes; write 5m, 15m or 1h")));
    }
    match seconds / step {
        n if n > PARTS_MAX => Err(wrong(format!("makes {n} parts; at most {PARTS_MAX}, so write a longer one"))),
        _ => Ok(step),
    }
}

fn rolled_up(stretches: &[Stretch], from: Timestamp, to: Timestamp, step: i64) -> Lateness {
    let place = |at: Timestamp| at.duration_since(from).as_secs().div_euclid(step);
    let mut total = Stretch::new(from, String::new(), from);
    let mut parts: BTreeMap<i64, Stretch> = BTreeMap::new();
    for stretch in stretches {
        let part = parts.entry(place(stretch.at)).or_insert_with(|| total_of(from));
        for sum in [&mut total, part] {
            sum.late.merge(&stretch.late);
            sum.failed += stretch.failed;
            sum.given_up += stretch.given_up;
            sum.waiting = sum.waiting.max(stretch.waiting);
        }
    }
    let bounds = BOUNDS_MS.map(Duration::from_millis);
    let counts = total.late.between(&bounds).into_iter();
    let below = BOUNDS_MS.into_iter().map(|bound| Some(bound as f64)).chain([None]);
    let at = |place: i64| from.checked_add(SignedDuration::from_secs(place * step)).unwrap_or(to);
    let mut nodes: Vec<String> = stretches.iter().map(|stretch| stretch.node.clone()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Lateness {
        from,
        to,
        step_seconds: step,
        total: late(&total),
        histogram: below.zip(counts).map(|(below_ms, sends)| LateCount { below_ms, sends }).collect(),
        parts: parts.iter().map(|(place, part)| LatePart { at: at(*place), late: late(part) }).collect(),
        nodes,
    }
}

/// Sums to begin with.
fn total_of(from: Timestamp) -> Stretch {
    Stretch::new(from, String::new(), from)
}

fn late(stretch: &Stretch) -> Late {
    let millis = |late: Duration| late.as_micros() as f64 / 1000.0;
    let percentile = |percent: f64| stretch.late.percentile(percent).map(millis);
    Late {
        sends: stretch.late.count(),
        failed: stretch.failed,
        given_up: stretch.given_up,
        waiting: stretch.waiting,
        p50_ms: percentile(50.0),
        p90_ms: percentile(90.0),
        p99_ms: percentile(99.0),
        max_ms: percentile(100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second * STRETCH_SECONDS).expect("a small number of seconds")
    }

    #[test]
    fn stretches_of_all_nodes_are_rolled_up_by_parts() {
        let stretch = |place: i64, node: &str, late_ms: &[u64]| {
            let mut stretch = Stretch::new(stretch_of(at(place)), node.into(), at(0));
            late_ms.iter().for_each(|late| stretch.late.add(Duration::from_millis(*late)));
            Stretch { failed: 1, waiting: late_ms.len() as u64, ..stretch }
        };
        let from = stretch_of(at(0));
        let stretches =
            [stretch(0, "a", &[3, 3]), stretch(0, "b", &[3, 700]), stretch(1, "a", &[]), stretch(7, "a", &[1])];
        let rolled = rolled_up(&stretches, from, at(12), 2 * STRETCH_SECONDS);
        assert_eq!((rolled.total.sends, rolled.total.failed, rolled.total.waiting), (5, 4, 2));
        assert_eq!(rolled.total.max_ms, Some(700.0));
        assert_eq!(rolled.nodes, ["a", "b"]);
        let parts: Vec<_> = rolled.parts.iter().map(|part| (part.at, part.late.sends)).collect();
        assert_eq!(
            parts,
            [(from, 4), (stretch_of(at(6)), 1)],
            "two stretches make a part, and an empty part is left out"
        );
        let counted =
            |below: f64| rolled.histogram.iter().find(|count| count.below_ms == Some(below)).map(|count| count.sends);
        // The step of 1 ms begins at 0.96 ms, and counts where it begins.
        assert_eq!((counted(1.0), counted(5.0), counted(1000.0)), (Some(1), Some(3), Some(1)));
        assert_eq!(rolled.histogram.iter().map(|count| count.sends).sum::<u64>(), 5);
    }

    #[test]
    fn a_step_is_a_multiple_of_five_minutes() {
        assert_eq!(step(None, 86_400), Ok(900));
        assert_eq!(step(None, 60), Ok(300));
        assert_eq!(step(Some("1h"), 86_400), Ok(3600));
        assert!(step(Some("7m"), 86_400).unwrap_err().problem.contains("no multiple"));
        assert!(step(Some("5m"), 86_400 * 35).unwrap_err().problem.contains("at most 2016"));
    }
}

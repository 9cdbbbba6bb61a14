//! Taking over what another store has written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::whole::{Line, LineKind, Overdue};
use punctual_engine::Here;
use punctual_store::line;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::App;
use super::auth::Admin;
use super::input::{BATCH_BYTES_MAX, Input};
use super::problem::Problem;
use super::read::WHOLE;
use super::shown;
use crate::wire::{Adopt, AdoptInput, Adopted, Differs, RefusedLine};

/// The most lines in one request.
const LINES_MAX: usize = 10_000;
/// The most fields that are listed because they differ.
const DIFFERS_MAX: usize = 100;

/// Takes over lines of another server, as `GET /v1/export` gives them.
///
/// Things keep their ids. What is here already stays as it is, with everything that belongs to it, so lines may come again. A run that is overdue, or
/// was being sent when its line was written, is missed: the other server may have sent it.
#[utoipa::path(
    post, path = "/v1/import/lines", operation_id = "import_lines", tag = "import", request_body = AdoptInput,
    responses((status = 200, description = "What became of them", body = Adopted)),
)]
pub(super) async fn take(
    State(app): State<Arc<App>>,
    Admin(_caller): Admin,
    body: Input<BATCH_BYTES_MAX>,
) -> Result<Response, Problem> {
    let _permit = app.batch_permit(body.batch_weight()).await;
    let Adopt { lines, overdue, check } = match serde_json::from_slice(&body.0) {
        Ok(asked) => asked,
        Err(error) => return Err(unreadable(&body, &error)),
    };
    drop(body);
    let mut faults = Faults::default();
    faults.note(check_number(lines.len()));
    let overdue = faults.note(overdue_of(overdue.as_deref())).unwrap_or_default();
    faults.finish()?;
    let (indexes, known, refused) = app.aside(move || read(&lines)).await?;
    let mut answer = Adopted { refused, ..Adopted::default() };
    if check {
        let here = app.engine.here(&known).await?;
        for ((index, line), here) in indexes.into_iter().zip(&known).zip(here) {
            match here {
                Here::Nothing => count(&mut answer.new, line.kind()),
                Here::This(other) => {
                    count(&mut answer.here, line.kind());
                    let found = line::differences(line, &other);
                    answer.n_differ += usize::from(!found.is_empty());
                    let room = DIFFERS_MAX.saturating_sub(answer.differs.len());
                    answer.differs.extend(found.into_iter().take(room).map(|(field, there, here)| Differs {
                        index,
                        kind: Cow::Borrowed(line.kind().as_str()),
                        key: line.key(),
                        field,
                        line: there,
                        here,
                    }));
                }
            }
        }
    } else {
        let kinds: Vec<LineKind> = known.iter().map(Line::kind).collect();
        let adopted = app.engine.adopt(known, overdue).await?;
        app.locales.forget();
        answer.missed = adopted.n_missed;
        for (kind, is_new) in kinds.into_iter().zip(adopted.is_new) {
            count(if is_new { &mut answer.new } else { &mut answer.here }, kind);
        }
    }
    Ok(shown::answer(StatusCode::OK, &answer))
}

/// The fault of a body that serde_json cannot read.
fn unreadable(body: &Input<BATCH_BYTES_MAX>, error: &serde_json::Error) -> Problem {
    /// The body without the texts of its lines.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        lines: Option<Vec<IgnoredAny>>,
        overdue: Option<String>,
        #[serde(default, rename = "check")]
        _check: bool,
    }
    match body.partly::<Shape>(&[]) {
        Err(problem) => problem,
        Ok((shape, mut faults)) => {
            let missing = || Invalid::missing("lines", "send a list, such as the lines of GET /v1/export");
            faults.note(shape.lines.ok_or_else(missing).and_then(|lines| check_number(lines.len())));
            faults.note(overdue_of(shape.overdue.as_deref()));
            faults.finish().err().unwrap_or_else(|| Invalid::new(WHOLE, error.to_string())).into()
        }
    }
}

fn check_number(n_lines: usize) -> Result<(), Invalid> {
    match n_lines > LINES_MAX {
        true => Err(Invalid::new("lines", format!("has {n_lines} lines; at most {LINES_MAX} fit in one request"))),
        false => Ok(()),
    }
}

fn overdue_of(word: Option<&str>) -> Result<Overdue, Invalid> {
    word.map_or(Ok(Overdue::default()), str::parse)
}

fn count(counts: &mut BTreeMap<Cow<'static, str>, usize>, kind: LineKind) {
    *counts.entry(Cow::Borrowed(kind.as_str())).or_default() += 1;
}

/// Reads each line by itself: one that is wrong stops no other. Returns where each of those that can be taken stood, and those that cannot.
fn read(lines: &[Box<serde_json::value::RawValue>]) -> (Vec<usize>, Vec<Line>, Vec<RefusedLine>) {
    let (mut indexes, mut known, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (index, text) in lines.iter().enumerate() {
        match line::from_json(text.get()) {
            Ok(line) => {
                indexes.push(index);
                known.push(line);
            }
            Err(Invalid { field, problem, .. }) => refused.push(RefusedLine { index, field, detail: problem }),
        }
    }
    (indexes, known, refused)
}

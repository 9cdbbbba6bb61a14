//! Taking over what another store has written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::Invalid;
use punctual_core::whole::{Line, LineKind, Overdue};
use punctual_engine::Here;
use punctual_store::line;

use super::App;
use super::auth::Admin;
use super::input::{BATCH_BYTES_MAX, Input};
use super::problem::Problem;
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
    let Adopt { lines, overdue, check } = serde_json::from_slice(&body.0).map_err(|error| {
        Problem::bad_request(format!("the body is not {{\"lines\":[…],\"overdue\":…,\"check\":…}}: {error}"))
    })?;
    drop(body);
    if lines.len() > LINES_MAX {
        let problem = format!("has {} lines; at most {LINES_MAX} fit in one request", lines.len());
        return Err(Invalid::new("lines", problem).into());
    }
    let overdue: Overdue = overdue.as_deref().map(str::parse).transpose()?.unwrap_or_default();
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

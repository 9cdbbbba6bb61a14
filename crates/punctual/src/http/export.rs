//! Everything there is, page by page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::invalid::Invalid;
use punctual_core::span;
use punctual_core::whole::{Cursor, RUNS_MAX, Section};
use punctual_engine::export::{Export, History};
use punctual_store::line;
use serde_json::value::RawValue;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::{ExportPage, ExportQuery, Unreadable};

/// A page ends when its lines are larger than this.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Reads everything there is, page by page: lines that stand alone, and can be imported elsewhere.
///
/// What changes while the pages are read comes again at the end; of two lines about the same thing the later one counts. A key bound to a user
/// gets what is that user's.
#[utoipa::path(
    get, path = "/v1/export", operation_id = "export", tag = "import", params(ExportQuery),
    responses((status = 200, description = "A page", body = ExportPage)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["after", "head", "user", "history"])?;
    let user = match (caller.bound_to(), params.get("user")) {
        (Some(bound), Some(user)) if bound != user => {
            return Err(Problem::forbidden("the key is bound to another user").at_field("user"));
        }
        (Some(bound), _) => Some(bound.to_owned()),
        (None, user) => user.map(str::to_owned),
    };
    let after: Cursor = match params.get("after") {
        Some(text) => text.parse()?,
        None => Cursor::begin(Section::Entries),
    };
    let head = match params.one("head")? {
        Some(text) => text.parse().map_err(|_| Invalid::new("head", format!("`{text}` is no number")))?,
        None => app.engine.journal_head().await?,
    };
    let history = match params.get("history") {
        None | Some("all") => History::All,
        Some("none") => History::None,
        Some(text) => {
            let wrong =
                |problem: String| Invalid::new("history", format!("{problem}; write all, none, or a time such as 90d"));
            let back = span::parse(text).map_err(wrong)?;
            let from = app.now().checked_sub(back).map_err(|_| wrong(format!("`{text}` is too long")))?;
            History::Since(from)
        }
    };
    // Its lines take memory, as those of a batch do.
    let _permit = app.batch_permit(2 * PAGE_BYTES).await;
    let mut export = Export { after, head, user, history, runs_max: RUNS_MAX };
    let (mut lines, mut unreadable, mut bytes) = (Vec::new(), Vec::new(), 0);
    let is_last = loop {
        let page = app.engine.export(&export).await?;
        for line in &page.lines {
            let text = line::to_json(line);
            bytes += text.len();
            lines.push(RawValue::from_string(text).map_err(|error| Problem::internal(error.to_string()))?);
        }
        unreadable.extend(page.unreadable.into_iter().map(|(id, detail)| Unreadable { id: id.to_string(), detail }));
        // Where lines begin that count instead of earlier ones, a page begins.
        let begins_again = export.after.section != Section::Changes && page.next.section == Section::Changes;
        export.after = page.next;
        if page.is_last || bytes >= PAGE_BYTES || begins_again {
            break page.is_last;
        }
    };
    let after = export.after.to_string();
    Ok(shown::answer(StatusCode::OK, &ExportPage { lines, unreadable, after, is_last, head }))
}

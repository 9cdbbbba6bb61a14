//! The result of a call, as the protocol has it.

use punctual_client::Failure;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::arguments::{self, Action};
use super::ask::Question;
use super::say::{self, Said};
use super::understand;

/// The result where the client cannot ask its user: the model must.
pub(super) fn unasked(arguments: &Map<String, Value>, only: Option<Action>, question: &Question) -> CallToolResult {
    let action = only.or_else(|| arguments::action_of(arguments));
    let mut words = question.words.clone();
    for (value, title) in &question.choices {
        words.push_str(&match value == title {
            true => format!("\n- {title}"),
            false => format!("\n- \"job_id\":{}: {title}", say::quoted(value)),
        });
    }
    words.push_str(match (question.choices.is_empty(), question.key()) {
        (true, _) => "\nAsk the user when, and call again with the time in `text`, or with `message` and `schedule`.",
        (false, understand::KEY) => "\nAsk the user, and call again with a `text` or `schedule` that says it exactly.",
        (false, _) => "\nAsk the user which one, and call again with its id.",
    });
    refused(action, None, &words)
}

/// The result where the API refused, or did not answer.
pub(super) fn failed(action: Option<Action>, failure: &Failure) -> CallToolResult {
    let Some(answer) = failure.refused() else {
        // A request may have arrived although its answer did not.
        let words =
            format!("{failure}. Whether anything was changed is not known: list the reminders before you call again.");
        return not_done(action, None, &words);
    };
    let problem = answer.problem.as_ref();
    let mut words = failure.to_string();
    for error in problem.into_iter().flat_map(|problem| &problem.errors).skip(1) {
        words.push_str(&format!("\n{}: {}", error.field, error.detail));
    }
    refused(action, problem.and_then(|problem| problem.field.as_deref()), &words)
}

/// The result of a call that changed nothing.
pub(super) fn refused(action: Option<Action>, field: Option<&str>, detail: &str) -> CallToolResult {
    not_done(action, field, &format!("Nothing was changed: {detail}"))
}

/// The result of a call that was not done as it was asked: what is wrong, what would be right, and a call that works.
pub(super) fn not_done(action: Option<Action>, field: Option<&str>, detail: &str) -> CallToolResult {
    let example = action.unwrap_or(Action::Add).example();
    let mut error = json!({ "detail": detail, "example": example });
    if let Some(field) = field {
        error["field"] = field.into();
    }
    let mut said = Said::of(format!("{detail}\nExample: {example}"));
    said.data.insert("error".into(), error);
    result(action, false, said)
}

pub(super) fn result(action: Option<Action>, ok: bool, said: Said) -> CallToolResult {
    let Said { words, mut data } = said;
    data.insert("ok".into(), ok.into());
    data.insert("action".into(), action.map_or("", Action::word).into());
    data.insert("said".into(), words.as_str().into());
    let content = vec![ContentBlock::text(words)];
    let mut result = if ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = Some(Value::Object(data));
    result
}

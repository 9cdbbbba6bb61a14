//! What went wrong, as RFC 9457 has it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A refused request. Nothing was changed by it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: `code` says what kind of problem it is.
    #[serde(rename = "type")]
    pub(crate) kind: Cow<'static, str>,
    pub(crate) title: Cow<'static, str>,
    pub(crate) status: u16,
    /// What kind of problem it is, for programs.
    pub(crate) code: Cow<'static, str>,
    /// What is wrong and what would be right.
    pub(crate) detail: String,
    /// The field that is to blame, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// The item of a batch that is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<usize>,
    /// What is wrong with which field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<FieldProblem>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct FieldProblem {
    pub(crate) field: String,
    pub(crate) detail: String,
}

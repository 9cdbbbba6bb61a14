//! What went wrong, as RFC 9457 has it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A refused request. Nothing was changed by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Always `about:blank`: `code` says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The status in words.
    pub title: Cow<'static, str>,
    /// The status of the answer.
    pub status: u16,
    /// What kind of problem it is, for programs.
    pub code: Cow<'static, str>,
    /// What is wrong and what would be right.
    pub detail: String,
    /// The field that is to blame, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The item of a batch that is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// What is wrong with which field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldProblem {
    /// Which field.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub detail: String,
}

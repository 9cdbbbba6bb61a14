//! Lines that stand alone: everything out and in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Which page of everything.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ExportQuery {
    /// The `after` of the page before; without it the first.
    pub after: Option<String>,
    /// The `head` of the first page.
    pub head: Option<i64>,
    /// Only what is this user's.
    pub user: Option<String>,
    /// How much of the journal: `all`, `none`, or how far back, such as `90d`.
    pub history: Option<String>,
}

/// A page of everything.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportPage {
    /// The lines, each an object that stands alone.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub lines: Vec<Box<RawValue>>,
    /// Reminders that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
    /// Where the next page begins.
    pub after: String,
    /// Whether this is all, for now: what changes from now on is in the pages after it.
    pub is_last: bool,
    /// The end of the journal when the export began.
    pub head: i64,
}

/// A reminder that cannot be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Unreadable {
    /// Which.
    pub id: String,
    /// Why.
    pub detail: String,
}

/// Lines of another store, as they are described.
pub type AdoptInput = Adopt;

/// Lines of another store, to be taken over.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Adopt {
    /// Up to 10,000 lines, as `GET /v1/export` gives them. One that is no line stops no other.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<serde_json::Value>))]
    pub lines: Vec<Box<RawValue>>,
    /// What becomes of runs that are overdue, or were being sent: `missed`, or `deliver`. `missed` if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue: Option<String>,
    /// Nothing is written: the lines are compared with what is here.
    #[serde(default)]
    pub check: bool,
}

/// What became of lines. What is here already stayed as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Adopted {
    /// How many are new, by their kind; with `check`, how many would be.
    pub new: BTreeMap<Cow<'static, str>, usize>,
    /// How many are here already, by their kind.
    pub here: BTreeMap<Cow<'static, str>, usize>,
    /// How many runs were missed because they were overdue.
    pub missed: usize,
    /// Lines that cannot be taken.
    pub refused: Vec<RefusedLine>,
    /// With `check`: the first hundred fields that say something else here.
    pub differs: Vec<Differs>,
    /// With `check`: how many lines differ.
    pub n_differ: usize,
}

/// A line that cannot be taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedLine {
    /// Which line of the request, from 0.
    pub index: usize,
    /// The field that is to blame.
    pub field: String,
    /// What is wrong.
    pub detail: String,
}

/// A field that says something else here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Differs {
    /// Which line of the request, from 0.
    pub index: usize,
    /// What it is about, and which.
    pub kind: Cow<'static, str>,
    /// What it is called.
    pub key: String,
    /// Which field.
    pub field: String,
    /// What the line says.
    pub line: String,
    /// What it says here.
    pub here: String,
}

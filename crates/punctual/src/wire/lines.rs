//! Lines that stand alone: everything out and in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

/// Which page of everything.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// The `after` of the page before; without it the first.
    pub(crate) after: Option<String>,
    /// The `head` of the first page.
    pub(crate) head: Option<i64>,
    /// Only what is this user's.
    pub(crate) user: Option<String>,
    /// How much of the journal: `all`, `none`, or how far back, such as `90d`.
    pub(crate) history: Option<String>,
}

/// A page of everything.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ExportPage {
    /// The lines, each an object that stands alone.
    #[schema(value_type = Vec<Object>)]
    pub(crate) lines: Vec<Box<RawValue>>,
    /// Reminders that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unreadable: Vec<Unreadable>,
    /// Where the next page begins.
    pub(crate) after: String,
    /// Whether this is all, for now: what changes from now on is in the pages after it.
    pub(crate) is_last: bool,
    /// The end of the journal when the export began.
    pub(crate) head: i64,
}

/// A reminder that cannot be read.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Unreadable {
    pub(crate) id: String,
    pub(crate) detail: String,
}

/// Lines of another store, as they are described.
pub(crate) type AdoptInput = Adopt;

/// Lines of another store, to be taken over.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adopt {
    /// Up to 10,000 lines, as `GET /v1/export` gives them. One that is no line stops no other.
    #[schema(value_type = Vec<serde_json::Value>)]
    pub(crate) lines: Vec<Box<RawValue>>,
    /// What becomes of runs that are overdue, or were being sent: `missed`, or `deliver`. `missed` if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) overdue: Option<String>,
    /// Nothing is written: the lines are compared with what is here.
    #[serde(default)]
    pub(crate) check: bool,
}

/// What became of lines. What is here already stayed as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct Adopted {
    /// How many are new, by their kind; with `check`, how many would be.
    pub(crate) new: BTreeMap<Cow<'static, str>, usize>,
    /// How many are here already, by their kind.
    pub(crate) here: BTreeMap<Cow<'static, str>, usize>,
    /// How many runs were missed because they were overdue.
    pub(crate) missed: usize,
    /// Lines that cannot be taken.
    pub(crate) refused: Vec<RefusedLine>,
    /// With `check`: the first hundred fields that say something else here.
    pub(crate) differs: Vec<Differs>,
    /// With `check`: how many lines differ.
    pub(crate) n_differ: usize,
}

/// A line that cannot be taken.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct RefusedLine {
    /// Which line of the request, from 0.
    pub(crate) index: usize,
    pub(crate) field: String,
    pub(crate) detail: String,
}

/// A field that says something else here.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Differs {
    /// Which line of the request, from 0.
    pub(crate) index: usize,
    /// What it is about, and which.
    pub(crate) kind: Cow<'static, str>,
    pub(crate) key: String,
    pub(crate) field: String,
    /// What the line says.
    pub(crate) line: String,
    /// What it says here.
    pub(crate) here: String,
}

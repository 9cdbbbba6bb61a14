//! Who is asked next when a person does not answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::either::Span;
use super::word::OccurrenceState;

/// One step of a plan, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StepInput {
    /// How long after the run was due, such as `5m`.
    pub after: Span,
    /// A user such as `bob`, or a group such as `group:on-call`.
    pub to: String,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Step {
    /// How long after the run was due, such as `5m`.
    pub after: Span,
    /// A user such as `bob`, or a group such as `group:on-call`.
    pub to: String,
}

impl From<Step> for StepInput {
    fn from(Step { after, to }: Step) -> Self {
        Self { after, to }
    }
}

/// How far asking further people about a run has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Escalation {
    /// `planned`: they are asked at `at`, if nobody answers; `asked`: they are, and the run is open until `until`.
    pub state: String,
    /// When they are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Until when the run is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Who, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Escalated>,
    /// While it is `planned`: who is asked when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextAsked>,
}

/// Somebody who is to be asked, if nobody answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NextAsked {
    /// When.
    pub at: Timestamp,
    /// A user such as `bob`, or a group such as `group:on-call`.
    pub to: String,
}

/// Somebody who is asked in another's place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Escalated {
    /// Who.
    pub user: String,
    /// Their own reminder.
    pub reminder_id: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// Where its run stands.
    pub state: OccurrenceState,
    /// When they were first reached.
    pub reached_at: Option<Timestamp>,
}

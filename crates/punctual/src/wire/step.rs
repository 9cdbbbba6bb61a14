//! Who is asked next when a person does not answer.

use jiff::Timestamp;
use punctual_core::{span, step};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::either::Span;
use super::word::OccurrenceState;

/// One step of a plan, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepInput {
    /// How long after the run was due, such as `5m`.
    pub(crate) after: Span,
    /// A user such as `bob`, or a group such as `group:on-call`.
    pub(crate) to: String,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Step {
    /// How long after the run was due, such as `5m`.
    pub(crate) after: Span,
    /// A user such as `bob`, or a group such as `group:on-call`.
    pub(crate) to: String,
}

impl From<Step> for StepInput {
    fn from(Step { after, to }: Step) -> Self {
        Self { after, to }
    }
}

impl From<&step::Step> for Step {
    fn from(step: &step::Step) -> Self {
        Self { after: Span(span::format(step.after)), to: step.to.to_string() }
    }
}

/// How far asking further people about a run has come.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Escalation {
    /// `planned`: they are asked at `at`, if nobody answers; `asked`: they are, and the run is open until `until`.
    pub(crate) state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Timestamp>,
    /// Who, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) to: Vec<Escalated>,
}

/// Somebody who is asked in another's place.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Escalated {
    pub(crate) user: String,
    /// Their own reminder.
    pub(crate) reminder_id: String,
    pub(crate) due_at: Timestamp,
    /// Where its run stands.
    pub(crate) state: OccurrenceState,
    /// When they were first reached.
    pub(crate) reached_at: Option<Timestamp>,
}

//! The error for an input that cannot be accepted.

/// A field that cannot be accepted, and the sentence a person needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// The field as the caller knows it, such as `schedule.at` or `to[1].channel`.
    pub field: String,
    /// The problem and its remedy, as a lowercase fragment.
    pub problem: String,
}

impl Invalid {
    /// Says that `field` has `problem`.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same problem seen from one level further out: `within("schedule")` turns `at` into `schedule.at`.
    pub fn within(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field), ..self }
    }
}

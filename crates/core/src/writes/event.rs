//! What planning events asks a store to write.

/// What is written of events and scopes.
#[derive(Debug, Clone, Default)]
pub struct EventWrites {}

impl EventWrites {
    /// Adds what another decision of the same transaction writes.
    pub(crate) fn add(&mut self, other: Self) {
        let Self {} = other;
    }
}

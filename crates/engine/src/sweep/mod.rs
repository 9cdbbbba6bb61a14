//! Finding runs that were overlooked, removing old history.

/// Looks for overdue runs, of which there should be none.
pub(crate) mod overdue;

/// Removes old history.
pub(crate) mod prune;

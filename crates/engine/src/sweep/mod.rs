//! Keeping leases alive, finding what was overlooked, removing old history.

/// Prolongs the leases of what is under way.
pub(crate) mod renew;

/// Looks for what is overdue although nothing should be.
pub(crate) mod fallback;

/// Removes old history.
pub(crate) mod prune;

//! Small rules, each written once.

/// Wait, go another way, or fail: how a run goes on that was not delivered.
pub mod route;

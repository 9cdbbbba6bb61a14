//! Small rules, each written once.

/// How far a reminder has come: which run comes next, and when it is over.
pub mod course;

/// When a reminder that was written in SQL is first due.
pub mod first;

/// Wait, go another way, or fail: how a run goes on that was not delivered.
pub mod route;

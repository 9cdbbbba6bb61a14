//! Time as people and calendars say it.
//!
//! A schedule says when something is due, a phrase is how a person says so, and a summary is how we say it back. This crate knows no
//! reminder and no store, and it is pure: no I/O, no runtime, and `now` is handed in. The modules are in reading order.

/// The error for an input that cannot be accepted.
pub mod invalid;

/// Gives an enum the words in which doors and stores write it.
pub mod words;

/// Time zones by name, and the nearest names to a misspelt one.
pub mod zone;

/// Spans such as `5m` or `1h30m`, as people write them.
pub mod span;

/// The things that a person means by words that leave something open.
pub mod habits;

/// Texts in their plainest form, for finding them.
pub mod fold;

/// How much work somebody may ask for.
pub mod steps;

/// When something is due: the schedule types and their next instant.
pub mod schedule;

/// Time as people say it, and how they answer.
pub mod phrase;

/// The request of a sentence: what to be reminded of, and when.
pub mod sentence;

#[cfg(test)]
#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and depends on this crate")]
mod report;

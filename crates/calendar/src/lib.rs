//! Calendars: what one says ([`read`]), and what we say in one ([`write`]).
//!
//! calcard takes a text apart into components and lines, and puts one together; when a rule is due is worked out by our own
//! engine (`punctual_core::schedule`), and when clocks change by jiff, so that a calendar and a reminder never disagree about an instant.
//! This crate is pure: what it needs to know is handed in, `now` too.

/// What a calendar has: events and to-dos, with their rules, exceptions and alarms.
pub mod item;

/// The instances of an item in a stretch of time.
mod instances;

/// A calendar from its text.
pub mod read;

/// The items of a calendar as events.
pub mod event;

/// A calendar as its text.
pub mod write;

pub use instances::Instance;
pub use item::{Alarm, Calendar, Change, Edge, Item, Kind, Override, Problem, Repeats};
pub use read::{Limits, read};

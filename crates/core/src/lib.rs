//! What a reminder is and how it may change.
//!
//! Everything here is pure: no I/O, no runtime, and no reading of the clock or of randomness; both are handed in. [`model`] says what
//! there is, [`rules`] and [`decide`] say how it may change, [`writes`] is what they return, and the ports ([`store`], [`channel`],
//! [`alarm`], [`clock`]) are what the outside must give. Whatever knows only time is in `punctual-time`.

/// What there is: reminders, their occurrences and the states of those, attempts, people.
pub mod model;

/// Small rules, each written once.
pub mod rules;

/// The decisions: create, change, claim, an attempt's result, settle, a person that changed, who is told.
pub mod decide;

/// Everything that a decision can ask a store to write.
pub mod writes;

/// Everything that a store keeps, as lines that stand alone.
pub mod whole;

/// The promise a store makes.
pub mod store;

/// The promise a channel makes.
pub mod channel;

/// The promise of a timer outside this process.
pub mod alarm;

/// The promise of whoever reads foreign calendars.
pub mod calendars;

/// A second opinion on what a person wrote.
pub mod opinion;

/// Time and randomness, handed in.
pub mod clock;

/// The promise of an application's own database.
pub mod source;

/// Texts of other people, on a terminal.
pub mod terminal;

/// Texts with `{fields}` in them.
pub mod template;

// What other crates name often is found without its room.
pub use decide::change;
pub use model::{
    answer, event, feed, group, id, journal, key, occurrence, reminder, scope, shard, silence, step, tag, user,
    version, watch,
};
pub use punctual_time::{fold, habits, invalid, phrase, schedule, sentence, span, steps, words, zone};
pub use rules::{alert, digest, escalate, quiet, reach, retry, wake};

// A table of tests beside private rules uses what the tests outside use.
#[cfg(test)]
extern crate self as punctual_core;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

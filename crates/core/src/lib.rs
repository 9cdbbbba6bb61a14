//! What a reminder is and how it may change.
//!
//! Everything here is pure: no I/O, no runtime, and no reading of the clock or of randomness; both are
//! handed in. The modules follow the life of a reminder, in reading order. Whatever knows only time is in `punctual-time`, and
//! is found here under the same names.

pub use punctual_time::{invalid, phrase, schedule, sentence, span, steps, words, zone};

/// Names of things: reminders, occurrences, and the key that makes a send happen once.
pub mod id;

/// Texts of other people, on a terminal.
pub mod terminal;

/// What a user asked for.
pub mod reminder;

/// One instant at which a reminder is due, and the states it goes through.
pub mod occurrence;

/// Which part of the work an occurrence belongs to, where many nodes divide it.
pub mod shard;

/// How long to wait before trying again.
pub mod retry;

/// Small rules, each written once.
pub mod rules;

/// What happens when an occurrence's moment comes, or has passed unnoticed.
pub mod wake;

/// What an attempt's result means for its occurrence.
pub mod decide;

/// Everything that a decision can ask a store to write.
pub mod writes;

/// Where a reminder goes, and whether anybody can receive it.
pub mod reach;

/// What a command changes: cancel, pause, snooze, ack and their kin.
pub mod change;

/// The people reminders are for, and the keys that may act for them.
pub mod user;

/// When a person must not be disturbed.
pub mod quiet;

/// Telling the admins what a critical reminder did not lead to.
pub mod alert;

/// The promise a store makes.
pub mod store;

/// Puts runs that waited through quiet hours into one message.
pub mod digest;

/// The promise a channel makes.
pub mod channel;

/// The promise of a timer outside this process.
pub mod alarm;

/// Time and randomness, handed in.
pub mod clock;

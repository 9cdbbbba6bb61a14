//! Where reminders live.
//!
//! A store locks, loads, lets the pure code of `punctual-core` decide, and writes. It keeps time in microseconds, rounded up, so
//! that nothing is ever due before the instant that was asked for.

/// The columns of the tables that decisions write, once for every store.
mod columns;

/// Rows as values, once for every store.
mod rows;

/// The tables of watches, once for every store.
mod watch;

/// Which entries of the journal a reader wants, once for every store.
mod journal;

/// What people see who look at their day, once for every store.
mod overview;

/// Reminders with all that belongs to them, once for every store.
mod whole;

/// Removing a person, once for every store.
mod erase;

/// Lines that stand alone, as JSON: what an export writes and an import reads.
pub mod line;

/// One embedded file: no server, nothing to configure.
pub mod sqlite;

/// Tables of other systems, read and never written.
pub mod foreign;

/// Applications' own tables, in which watches look.
pub mod watched;

/// One PostgreSQL, for any number of nodes.
pub mod postgres;

//! Where reminders live.
//!
//! A store writes what the pure code of `punctual-core` decided. It keeps time in microseconds, rounded up, so
//! that nothing is ever due before the instant that was asked for.

/// One embedded file: no server, nothing to configure.
pub mod sqlite;

/// Tables of other systems, read and never written.
pub mod foreign;

/// One PostgreSQL, for any number of nodes.
pub mod postgres;

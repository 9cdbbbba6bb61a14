//! Answers from the platforms.
//!
//! ```text
//! platform ─ connection (one node at a time) ─▶ connect ─┐
//! platform ─ webhook ─▶ the HTTP door ───────────────────┴─▶ take ─ commit ─▶ reaction ─▶ acknowledged
//!                                                               └─▶ edit: every message of the run shows the answer
//! ```
//!
//! The node that has a channel's connection is written in the store, with a number that rises whenever another takes it. The right ends
//! with the node's heartbeat, so an idle connection costs no query; and an answer that comes by it is written only under its number.

/// Which connections are this node's.
pub(crate) mod hold;

/// Keeping one connection open.
mod connect;

/// From an event to a reaction.
pub(crate) mod take;

/// What people write.
pub(crate) mod words;

/// Reminders by message.
mod obey;

/// Messages that show what became of their run.
pub(crate) mod edit;

/// How receiving stands, channel by channel.
pub(crate) mod standing;

/// What was made of an event.
pub(crate) mod outcome;

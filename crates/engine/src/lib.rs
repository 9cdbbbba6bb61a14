//! When reminders fire.
//!
//! The engine sees only the traits of `punctual-core`: it can reach no database, no network and no clock but those it
//! is handed. The modules follow the life of a reminder; each task is a struct of the parts that it needs, and `parts` puts them
//! together.

/// The commands: what every front door calls, one verb a file.
mod commands;

/// The moments that come soon, and sleeping until then.
mod timer;

/// Taking the right to deliver, a little ahead of time.
mod claim;

/// The runs that this node holds a lease for.
mod flight;

/// From the claim to the channel: flights in, settlements out.
mod dispatch;

/// Writing down what became of each lease.
mod settle;

/// Keeping this node's leases.
mod leases;

/// Placing what happened, and telling those who follow it.
pub mod journal;

/// Going on after the store could not be used.
mod outage;

/// Other nodes on the same store.
mod peers;

/// Answers from the platforms.
mod inbound;

/// Planning the reminders of events.
mod events;

/// Telling applications what happened.
mod subscriptions;

/// Keeping the index by which reminders are found.
mod search;

/// Looking into applications' own tables for what is due soon.
mod watches;

/// How late the sends of this node are.
mod lateness;

/// What became of the last sends of each channel.
mod outcomes;

/// A second way to be woken: a timer outside this process.
mod alarm;

/// Foreign calendars, read every so often.
mod feeds;

/// Finding runs that were overlooked, removing old history.
mod sweep;

/// The things that every task of a node has.
mod node;

/// The parts of an engine.
mod parts;

/// How they are put together.
mod wiring;

/// Starting and stopping.
mod run;

/// The limits and delays.
pub mod settings;

/// The lines that a healthy system says, and how many of them.
mod log;

/// Its counters.
pub mod metrics;

/// Arithmetic with instants that stops at the ends of time.
mod instant;

/// The system's clock, randomness and tasks.
pub mod system;

pub use commands::export;
pub use commands::{CreateError, Erasure, FoundPage, Here, RESEND_MAX, Resent, Trial, all_right};
pub use dispatch::standing::{ChannelStanding, ClosedGate};
pub use inbound::outcome::Outcome;
pub use inbound::standing::{Link, Receiving};
pub use inbound::words::{Reply, Written};
pub use outcomes::Outcomes;
pub use parts::{Engine, Health, Parts};
pub use peers::Standing;
pub use peers::known::{AllNodes, NodeStanding};
pub use run::Running;
pub use settings::Settings;
pub use subscriptions::Subscription;
pub use system::{Runtime, SystemClock, SystemRandom, TokioRuntime, machine};
pub use watches::{DefinedWatch, Ran, Rehearsal, RehearsedRow, WatchError, WatchHere};

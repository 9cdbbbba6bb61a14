//! punctual: a message reaches a person at the moment it was asked for, or somebody is told that it
//! did not.
//!
//! This crate is the program: configuration, the HTTP API, the command line, and the wiring of the
//! crates that do the work. As a library it offers [`embed`], for programs that want reminders
//! without a second process.

/// punctual inside another program.
pub mod embed;

/// Timers in Redis, for reminders and for an application's own.
pub use punctual_redis as redis;

/// Settings from flags, environment and file.
mod config;

/// How much room is left.
mod disk;

/// Who is connected over HTTP, and for how long.
mod connections;

/// What the program says about itself while it runs.
mod logging;

/// Everything wired together, from start to orderly stop.
mod serve;

/// A second opinion on what a reply means.
mod opinion;

/// What a text says about time.
mod understood;

/// Foreign calendars: where they come from, and what their text means.
mod feeds;

/// Instants as people read them.
mod when;

/// Which of several reminders a text means.
mod meant;

/// The assistants' door.
mod mcp;

/// The API.
mod http;

/// The server of this machine, from the outside.
mod local;

/// The command line.
mod cli;

/// Requests and answers of the API, as types that the server and its clients share.
use punctual_client::wire;

/// Runs the program with the process's own arguments.
pub fn main() -> std::process::ExitCode {
    cli::main()
}

//! Many nodes on one PostgreSQL: real processes, killed, paused, cut off and given wrong clocks, and what their receiver sees
//! meanwhile.
//!
//! `cargo test --test nodes` takes a good minute. With `PUNCTUAL_TEST_NODES_FULL=1` and `--release` the same tests run at the sizes
//! the guarantees are measured with (`sizes.rs`); `-- --nocapture` shows what was measured.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../program/common.rs"]
#[expect(dead_code, reason = "the tests of one program need more of it")]
mod common;

#[path = "../program/events.rs"]
mod events;

/// Nodes, their database, and what can be done to them.
mod cluster;

/// Where their messages arrive.
mod receiver;

/// Compares the reminders that were asked for with those that arrived.
mod books;

/// How large everything is.
mod sizes;

mod answered;
mod bad_network;
mod benches;
mod cancelled;
mod database_stopped;
mod forged;
mod inbound;
mod journal;
mod killed;
mod listening;
mod outages;
mod partitioned;
mod paused;
mod plain_sql;
mod skewed;
mod together;
mod unreachable;
mod watches;

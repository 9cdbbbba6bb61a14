//! What other clients do to the database in plain SQL, and what the nodes are told of it.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod cancel;
mod client;
mod events;
mod functions;
mod plan;
mod recipe;
mod remind;
mod role;
mod wake;
mod zones;

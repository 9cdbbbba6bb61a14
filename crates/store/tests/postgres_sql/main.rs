//! What other clients do to the database in plain SQL, and what the nodes are told of it.

mod client;
mod wake;

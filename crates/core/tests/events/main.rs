//! Events: which reminders they should have, and what becomes of those that are there.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../common/mod.rs"]
mod common;

mod planned;
mod wanted;

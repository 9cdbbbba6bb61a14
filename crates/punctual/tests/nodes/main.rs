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

/// Nodes, their database, and what can be done to them.
mod cluster;

/// Where their messages arrive.
mod receiver;

/// What was asked for, compared with what arrived.
mod books;

/// How large everything is.
mod sizes;

mod bad_network;
mod benches;
mod cancelled;
mod database_stopped;
mod forged;
mod killed;
mod listening;
mod outages;
mod partitioned;
mod paused;
mod plain_sql;
mod skewed;
mod together;
mod unreachable;

use std::thread::JoinHandle;

/// These scenarios wait for leases to end and for silence to be noticed, so they run at once: each has nodes and a database of its
/// own, and waiting costs nothing.
#[test]
fn what_a_node_can_no_longer_do_others_do() {
    at_once([
        alone(killed::a_dead_nodes_work_is_done_by_others),
        alone(paused::a_node_that_slept_past_its_lease_changes_nothing),
        alone(partitioned::others_go_on_when_a_node_is_cut_off_and_it_comes_back_by_itself),
        alone(listening::a_listening_connection_that_died_silently_is_noticed_and_made_again),
        alone(together::a_rate_is_kept_by_all_nodes_together),
        alone(together::what_one_node_is_told_to_wait_all_wait),
        alone(unreachable::a_node_without_a_database_tries_about_once_a_second_and_is_back_at_once),
    ]);
}

/// Waits for scenarios that run beside each other.
fn at_once(scenarios: impl IntoIterator<Item = JoinHandle<()>>) {
    for scenario in scenarios {
        if let Err(failure) = scenario.join() {
            std::panic::resume_unwind(failure);
        }
    }
}

/// Runs a scenario in a thread and a runtime of its own. Starting a server blocks its thread, and a neighbour that is blocked for
/// longer than a node waits for a request loses its connection.
fn alone<S: Future<Output = ()>>(scenario: impl FnOnce() -> S + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(scenario());
    })
}

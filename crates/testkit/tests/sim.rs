//! The simulator, over many seeds.
//!
//! By hand: `PUNCTUAL_SIM_RUNS=10000 cargo test -p punctual-testkit --test sim nodes` runs that many worlds of two to five nodes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_testkit::sim::{self, Options};

/// As many worlds of one node, and of many, as take less than a minute each.
const RUNS: u64 = 200;
const RUNS_MANY: u64 = 300;
const RUNS_PRESSED: u64 = 60;
const RUNS_ASKED: u64 = 40;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs the worlds of many seeds, and fails with what was broken in them.
#[track_caller]
fn check_all(options: fn(u64) -> Options, runs: u64) {
    let first = number("PUNCTUAL_SIM_FIRST").unwrap_or(1);
    let last = first + number("PUNCTUAL_SIM_RUNS").unwrap_or(runs);
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last || failures.lock().expect("no world panics").len() >= 10 {
                        return;
                    }
                    if let Err(failure) = sim::run(seed, &options(seed)) {
                        failures.lock().expect("no world panics").push(failure.to_string());
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no world panics");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_promise_holds_in_every_world() {
    check_all(Options::of, RUNS);
}

#[test]
fn every_promise_holds_in_every_world_of_many_nodes() {
    check_all(Options::many, RUNS_MANY);
}

#[test]
fn every_promise_holds_where_people_press_buttons() {
    let pressed =
        |seed| Options { presses: true, ..if seed % 2 == 0 { Options::of(seed) } else { Options::many(seed) } };
    check_all(pressed, RUNS_PRESSED);
}

#[test]
fn every_promise_holds_where_questions_wait_in_lanes() {
    let asked = |seed: u64| {
        let calm = Options::calm_for(2 + (seed % 3) as u32);
        Options { questions: true, subscribed: seed.is_multiple_of(2), ..calm }
    };
    check_all(asked, RUNS_ASKED);
}

#[test]
fn the_same_seed_is_the_same_world() {
    for options in [Options::of, Options::many] {
        for seed in 1..12 {
            let traces = [(); 2].map(|()| sim::run(seed, &options(seed)).map(|report| report.trace));
            let [first, second] = traces.map(|trace| trace.unwrap_or_else(|failure| panic!("{failure}")));
            assert_eq!(first, second, "seed {seed} has two different runs");
        }
    }
}

/// Tells the story of a world that broke a promise: of one node by `PUNCTUAL_SIM_SEED`, of many by `PUNCTUAL_SIM_MANY_SEED`.
#[test]
fn replay() {
    let one = number("PUNCTUAL_SIM_SEED").map(|seed| (seed, Options::of(seed)));
    let many = number("PUNCTUAL_SIM_MANY_SEED").map(|seed| (seed, Options::many(seed)));
    for (seed, options) in one.into_iter().chain(many) {
        match sim::run(seed, &options) {
            Ok(report) => println!("seed {seed} ({options}): {report:?}"),
            Err(failure) => {
                // `PUNCTUAL_SIM_ABOUT=<part of an id>` tells the story of one reminder, with what was done to the world.
                let about = std::env::var("PUNCTUAL_SIM_ABOUT").unwrap_or_default();
                let told = |line: &&String| line.contains(&about) || line.contains(" of ");
                failure.story.iter().filter(told).for_each(|line| println!("{line}"));
                panic!("{failure}")
            }
        }
    }
}

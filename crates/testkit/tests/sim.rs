//! The simulator, over many seeds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_testkit::sim::{self, Options};

/// As many as take less than a minute.
const RUNS: u64 = 200;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_promise_holds_in_every_world() {
    let first = number("PUNCTUAL_SIM_FIRST").unwrap_or(1);
    let last = first + number("PUNCTUAL_SIM_RUNS").unwrap_or(RUNS);
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last || failures.lock().unwrap().len() >= 10 {
                        return;
                    }
                    if let Err(failure) = sim::run(seed, &Options::of(seed)) {
                        failures.lock().unwrap().push(failure.to_string());
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 1..12 {
        let traces = [(); 2].map(|()| sim::run(seed, &Options::of(seed)).map(|report| report.trace));
        let [first, second] = traces.map(|trace| trace.unwrap_or_else(|failure| panic!("{failure}")));
        assert_eq!(first, second, "seed {seed} has two different runs");
    }
}

#[test]
fn replay() {
    let Some(seed) = number("PUNCTUAL_SIM_SEED") else { return };
    match sim::run(seed, &Options::of(seed)) {
        Ok(report) => println!("seed {seed}: {report:?}"),
        Err(failure) => {
            // `PUNCTUAL_SIM_ABOUT=<part of an id>` tells the story of one reminder, with what was done to the world.
            let about = std::env::var("PUNCTUAL_SIM_ABOUT").unwrap_or_default();
            let told = |line: &&String| line.contains(&about) || line.contains(" of ");
            failure.story.iter().filter(told).for_each(|line| println!("{line}"));
            panic!("{failure}")
        }
    }
}

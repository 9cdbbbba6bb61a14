//! How large everything is: small by default, because every change runs it; with `PUNCTUAL_TEST_NODES_FULL=1` as large as the
//! figures that are promised.

use std::time::Duration;

/// A load, and what is done to the nodes under it.
#[derive(Clone, Copy)]
pub(crate) struct Chaos {
    pub(crate) nodes: usize,
    pub(crate) reminders: usize,
    pub(crate) over: Duration,
}

impl Chaos {
    /// How long all of them may take to be created.
    pub(crate) fn created_within(&self) -> Duration {
        let each = Duration::from_micros(if cfg!(debug_assertions) { 2_000 } else { 300 });
        Duration::from_secs(1) + each * self.reminders as u32
    }
}

/// Nodes killed and started at random.
pub(crate) fn chaos() -> Chaos {
    if is_full() {
        Chaos { nodes: 4, reminders: 100_000, over: Duration::from_secs(120) }
    } else {
        Chaos { nodes: 4, reminders: 1_500, over: Duration::from_secs(7) }
    }
}

/// Nodes whose way to the database fails at random.
pub(crate) fn bad_network() -> Chaos {
    if is_full() {
        Chaos { nodes: 4, reminders: 20_000, over: Duration::from_secs(60) }
    } else {
        Chaos { nodes: 3, reminders: 800, over: Duration::from_secs(5) }
    }
}

/// How often the database is stopped under load.
pub(crate) fn database_stops() -> usize {
    if is_full() { 50 } else { 3 }
}

/// How many reminders a node that dies, or is cut off, leaves to the others.
pub(crate) fn left_to_others() -> usize {
    if is_full() { 2_000 } else { 200 }
}

/// How many cancels race with their sends.
pub(crate) fn cancels() -> usize {
    if is_full() { 2_000 } else { 150 }
}

/// An application's table, and how many of its rows are due.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) n_rows: usize,
    pub(crate) n_due: usize,
}

/// A table that several nodes watch.
pub(crate) fn watched() -> Watched {
    if is_full() { Watched { n_rows: 1_000_000, n_due: 10_000 } } else { Watched { n_rows: 40_000, n_due: 4_000 } }
}

/// A number that decides everything that is left to chance; printed, so that a failure can be tried again.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("PUNCTUAL_TEST_NODES_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()))
}

fn is_full() -> bool {
    std::env::var("PUNCTUAL_TEST_NODES_FULL").is_ok_and(|value| value == "1")
}

/// Chance that is the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `n`.
    pub(crate) fn roll(&mut self, n: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    pub(crate) fn millis(&mut self, from: usize, to: usize) -> Duration {
        Duration::from_millis((from + self.roll(to - from)) as u64)
    }
}

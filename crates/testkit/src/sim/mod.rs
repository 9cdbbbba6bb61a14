//! The simulator: the real engine in a world that a seed makes, one node on the real SQLite store or many nodes on a store in memory.
//!
//! One thread runs everything. A seed chooses which task is polled next, what users ask for, what receivers answer, when the
//! store fails, when a process dies and when the clock is set. Time passes only when nobody can go on. So a run is the same
//! every time, hours take milliseconds, and a failure is replayed by its seed.
//!
//! Users and receivers write down what they were told and what they saw. When the world has been quiet long enough,
//! `check` compares that with the rows in the store.

/// The promises, one file each.
pub mod check;

/// The events of a run as seen from outside.
pub mod ledger;

/// The options of a world.
pub mod options;

/// The application that is told what becomes of reminders.
pub mod listener;

/// Silences: who asked for which, and when.
pub mod silences;

mod load;
mod node_clock;
mod presses;
mod process;
mod reader;
mod receiver;
mod weather;
mod world;

use std::fmt;

pub use check::Violation;
pub use options::{Options, Sabotage};

/// The report of a run that kept every promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The same if and only if everything happened in the same way.
    pub trace: u64,
    /// How many polls it took.
    pub n_polls: u64,
    /// How many reminders there were.
    pub n_reminders: usize,
    /// How many messages were sent.
    pub n_sends: usize,
    /// How many things went wrong on purpose.
    pub n_faults: usize,
}

/// A run that broke a promise.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which run.
    pub seed: u64,
    /// What the world was like.
    pub world: String,
    /// The environment variable that replays it.
    pub replay: &'static str,
    /// Which promises were broken.
    pub violations: Vec<Violation>,
    /// Everything that happened, one line each.
    pub story: Vec<String>,
}

impl Failure {
    /// Whether the checker of this name is among those that complain.
    pub fn is_by(&self, checker: &str) -> bool {
        self.violations.iter().any(|violation| violation.checker == checker)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} ({}) broke a promise:", self.seed, self.world)?;
        for violation in self.violations.iter().take(8) {
            writeln!(f, "  {}: {}", violation.checker, violation.what)?;
        }
        if self.violations.len() > 8 {
            writeln!(f, "  … and {} more", self.violations.len() - 8)?;
        }
        write!(
            f,
            "replay: {}={} cargo test -p punctual-testkit --test sim replay -- --nocapture",
            self.replay, self.seed
        )
    }
}

/// Runs the world of `seed` and checks every promise.
pub fn run(seed: u64, options: &Options) -> Result<Report, Failure> {
    let replay = if options.n_nodes == 1 { "PUNCTUAL_SIM_SEED" } else { "PUNCTUAL_SIM_MANY_SEED" };
    let failure = |violations, story| Failure { seed, world: options.to_string(), replay, violations, story };
    let evidence = world::run(seed, options)
        .map_err(|what| failure(vec![Violation { checker: "the world goes on", what }], Vec::new()))?;
    let violations = check::all(&evidence);
    if !violations.is_empty() {
        let mut story = evidence.ledger.read().story();
        for trail in evidence.rows.iter().flat_map(|row| &row.trails) {
            let id = trail.occurrence.id;
            story.push(format!("{id} is now {:?}, {:?}", trail.occurrence.state, trail.occurrence.tries));
            story.extend(trail.attempts.iter().map(|attempt| format!("{id} {attempt:?}")));
        }
        return Err(failure(violations, story));
    }
    let book = evidence.ledger.read();
    Ok(Report {
        trace: evidence.hash,
        n_polls: evidence.n_polls,
        n_reminders: evidence.rows.len(),
        n_sends: book.sends.len(),
        n_faults: book.faults.len(),
    })
}

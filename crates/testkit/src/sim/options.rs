//! What a simulated world is like.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::Runtime;

use crate::random::SeededRandom;

/// What a simulated world is like.
#[derive(Clone)]
pub struct Options {
    /// How long users are active and things go wrong. After it, the world is quiet until everything has settled.
    pub busy_for: SignedDuration,
    /// How many engines share the store.
    pub n_engines: u32,
    /// Processes die.
    pub crashes: bool,
    /// Processes stand still for longer than a lease, at one poll in so many.
    pub stalls: Option<u64>,
    /// The clock is set, by up to an hour either way.
    pub jumps: bool,
    /// The store fails, before and after its commit.
    pub store_fails: bool,
    /// Receivers fail in every way that says so.
    pub receivers_fail: bool,
    /// Receivers hang, and fail after having taken the message.
    pub receivers_hang: bool,
    /// Every limit of the engine is so low that it is reached.
    pub tight: bool,
    /// People have quiet hours, and ask for silence.
    pub people: bool,
    /// A guarantee that is broken on purpose.
    pub sabotage: Option<Arc<dyn Sabotage>>,
}

impl Options {
    /// A world in which nothing goes wrong.
    pub fn calm() -> Self {
        Self {
            busy_for: SignedDuration::from_mins(12),
            n_engines: 1,
            crashes: false,
            stalls: None,
            jumps: false,
            store_fails: false,
            receivers_fail: false,
            receivers_hang: false,
            tight: false,
            people: false,
            sabotage: None,
        }
    }

    /// A world in which some things go wrong; `seed` says which. No world has all of it all the time, because one kind of
    /// trouble can hide another.
    pub fn of(seed: u64) -> Self {
        let random = SeededRandom::stream(seed, "options");
        let coin = |n| random.one_in(n);
        let mut options = Self {
            crashes: coin(2),
            stalls: coin(4).then_some(1500),
            jumps: coin(3),
            store_fails: coin(3),
            receivers_fail: coin(2),
            receivers_hang: coin(2),
            ..Self::calm()
        };
        if coin(8) {
            options = Self::calm();
        }
        // A SQLite file has one process; a second engine in it stands for a second node, so neither may be restarted.
        if coin(8) {
            options = Self { n_engines: 2, crashes: false, ..options };
        }
        options.tight = coin(4);
        options.people = coin(3);
        options
    }

    /// How long after the last trouble everything must be on time again: the delays of retries and a sweep, and an hour more
    /// where a clock that was set back has put them off.
    pub fn settles_within(&self) -> SignedDuration {
        SignedDuration::from_mins(if self.jumps { 80 } else { 25 })
    }

    /// Whether the engine has no excuse for being late.
    pub fn is_punctual(&self) -> bool {
        !(self.crashes || self.stalls.is_some() || self.jumps || self.store_fails) && self.n_engines == 1
    }
}

impl std::fmt::Display for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { crashes, stalls, jumps, store_fails, receivers_fail, receivers_hang, tight, people, .. } = *self;
        let words = [
            (crashes, "crashes"),
            (stalls.is_some(), "stalls"),
            (jumps, "jumps"),
            (store_fails, "store fails"),
            (receivers_fail, "receivers fail"),
            (receivers_hang, "receivers hang"),
            (tight, "tight limits"),
            (people, "quiet hours"),
        ];
        let words: Vec<_> = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
        write!(f, "{} engine(s): {}", self.n_engines, if words.is_empty() { "calm".into() } else { words.join(", ") })
    }
}

/// Breaks a guarantee on purpose, to see that a checker notices.
pub trait Sabotage: Send + Sync {
    /// The clock the engine gets.
    fn clock(&self, world: Arc<dyn Clock>) -> Arc<dyn Clock> {
        world
    }

    /// The store the engine gets. Tasks started on `runtime` die with the engine.
    fn store(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>, runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        let _ = (clock, runtime);
        store
    }
}

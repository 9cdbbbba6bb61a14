//! The options of a simulated world.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::Runtime;

use crate::random::SeededRandom;

/// The options of a simulated world.
#[derive(Clone)]
pub struct Options {
    /// How long users are active and things go wrong. After it, the world is quiet until everything has settled.
    pub busy_for: SignedDuration,
    /// How many nodes there are. One lives on a SQLite file, several on a store in memory that they share.
    pub n_nodes: u32,
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
    /// People have quiet hours and pauses, and silence reminders.
    pub people: bool,
    /// Everybody is asked for an answer, by a phone that takes its time: a question that is asked again waits in a lane.
    pub questions: bool,
    /// An application is told what becomes of reminders.
    pub subscribed: bool,
    /// People press buttons, and the platform tells of it until it is acknowledged.
    pub presses: bool,
    /// Some messages are calls: their platform takes them and says later what became of them.
    pub calls: bool,
    /// Nodes are stopped in order and started again.
    pub stops: bool,
    /// Nodes lose sight of their store.
    pub cuts: bool,
    /// Notifications get lost.
    pub deaf: bool,
    /// Every node's own clock is wrong, by milliseconds or by up to an hour, either way.
    pub skewed: bool,
    /// A guarantee that is broken on purpose.
    pub sabotage: Option<Arc<dyn Sabotage>>,
}

impl Options {
    /// A world in which nothing goes wrong.
    pub fn calm() -> Self {
        Self {
            busy_for: SignedDuration::from_mins(12),
            n_nodes: 1,
            crashes: false,
            stalls: None,
            jumps: false,
            store_fails: false,
            receivers_fail: false,
            receivers_hang: false,
            tight: false,
            people: false,
            questions: false,
            subscribed: false,
            presses: false,
            calls: false,
            stops: false,
            cuts: false,
            deaf: false,
            skewed: false,
            sabotage: None,
        }
    }

    /// A world of two to five nodes in which nothing goes wrong.
    pub fn calm_for(n_nodes: u32) -> Self {
        Self { n_nodes, busy_for: SignedDuration::from_mins(6), ..Self::calm() }
    }

    /// A world of one node in which some things go wrong; `seed` says which. No world has all of it all the time, because one kind
    /// of trouble can hide another.
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
        options.tight = coin(4);
        options.people = coin(3);
        options.subscribed = coin(3);
        options
    }

    /// The same for two to five nodes. Nobody sets the clock of the store, by which all of them go.
    pub fn many(seed: u64) -> Self {
        let random = SeededRandom::stream(seed, "many");
        let coin = |n| random.one_in(n);
        let calm = Self::calm_for(random.between(2, 5) as u32);
        let mut options = Self {
            crashes: coin(2),
            stalls: coin(4).then_some(1500),
            store_fails: coin(4),
            receivers_fail: coin(2),
            receivers_hang: coin(2),
            stops: coin(3),
            cuts: coin(3),
            deaf: coin(3),
            ..calm.clone()
        };
        if coin(5) {
            options = calm;
        }
        Self { tight: coin(4), people: coin(3), calls: coin(2), skewed: coin(2), subscribed: coin(3), ..options }
    }

    /// How long after the last trouble everything must be on time again: the delays of retries and a sweep, and an hour more
    /// where a clock that was set back has put them off. Nodes look every second for what is late.
    pub fn settles_within(&self) -> SignedDuration {
        SignedDuration::from_mins(match self.n_nodes {
            1 if self.jumps => 80,
            1 => 25,
            _ => 8,
        })
    }

    /// Whether the engine has no excuse for being late.
    pub fn is_punctual(&self) -> bool {
        let Self { crashes, stalls, jumps, store_fails, stops, cuts, deaf, .. } = *self;
        !(crashes || stalls.is_some() || jumps || store_fails || stops || cuts || deaf)
    }
}

impl std::fmt::Display for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { crashes, stalls, jumps, store_fails, receivers_fail, receivers_hang, tight, people, .. } = *self;
        let Self { questions, subscribed, presses, calls, stops, cuts, deaf, skewed, .. } = *self;
        let words = [
            (crashes, "crashes"),
            (stalls.is_some(), "stalls"),
            (jumps, "jumps"),
            (store_fails, "store fails"),
            (receivers_fail, "receivers fail"),
            (receivers_hang, "receivers hang"),
            (tight, "tight limits"),
            (people, "quiet hours and silences"),
            (questions, "questions on slow phones"),
            (subscribed, "an application listens"),
            (presses, "presses"),
            (calls, "calls"),
            (stops, "stops"),
            (cuts, "cut off"),
            (deaf, "lost notifications"),
            (skewed, "wrong clocks"),
        ];
        let words: Vec<_> = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
        write!(f, "{} node(s): {}", self.n_nodes, if words.is_empty() { "calm".into() } else { words.join(", ") })
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

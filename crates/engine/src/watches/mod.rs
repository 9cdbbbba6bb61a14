//! Watches: looking into an application's own table for what is due soon, and reminding of each row once.
//!
//! Two databases share no transaction. So what is about to be done for a row is written first (an intent), then the row is marked in the
//! application's table, then its reminder is made in one transaction with the end of the intent. A node that dies in between leaves its run to the
//! next one, by a lease, and its intents say what is left to do.

/// What `$work` leads to in the application's database. It is tried again where that may help; then the run is given up.
macro_rules! retried {
    ($run:ident, $work:expr) => {{
        let mut n_tried = 0;
        loop {
            match $work.await {
                Ok(value) => break Ok(value),
                Err(error) if may_help(&error) && $run.wait_again(n_tried).await.is_some() => n_tried += 1,
                Err(error) => break Err(Stopped::GivenUp(error.to_string())),
            }
        }
    }};
}

/// One batch of rows, from reading to reminders.
mod batch;

/// A run, from its first row to its last.
mod run;

/// A run that does nothing but say what it would do.
mod rehearse;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Random;
use punctual_core::id::WatchRunId;
use punctual_core::journal::Who;
use punctual_core::source::{Source, Standing};
use punctual_core::store::{BeginRun, Begun, DefineWatch, Defined, StoreError};
use punctual_core::watch::{Place, RunState, SourceRow, Watch, WatchRun};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};

pub use self::rehearse::{Rehearsal, RehearsedRow};
use self::run::{Over, Run};
use crate::Engine;
use crate::node::{Node, lock};
use crate::parts::Wired;
use crate::peers::Peers;

/// How often a node looks whether another has left a run behind. With the lease of a run it makes a takeover within five seconds.
const LOOK_EVERY: Duration = Duration::from_millis(1500);
/// How often somebody who waits for another node's run looks whether it has ended.
const JOIN_EVERY: Duration = Duration::from_millis(200);
/// How many looks of those who wait pass before it is tried to take the run over.
const JOINS_A_TRY: u32 = 5;
/// How long a watch waits after the store has failed.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How many watches run at once on a node.
pub(crate) const AT_ONCE_MAX: usize = 2;

/// A watch, and the rows it looks at.
#[derive(Clone)]
pub struct DefinedWatch {
    /// As it was defined.
    pub watch: Arc<Watch>,
    /// The application's rows.
    pub source: Arc<dyn Source>,
}

impl fmt::Debug for DefinedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watch {}", self.watch.name)
    }
}

/// Why a watch was not run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WatchError {
    /// No node, or not this one, knows it.
    #[error("this server has no watch of this name")]
    Unknown,
    /// Another node has defined it in another way since.
    #[error(
        "another node has defined this watch in another way since; give both the same definition and restart this one"
    )]
    Replaced,
    /// The engine stops.
    #[error("the server is stopping")]
    Stopping,
    /// The application's database refuses, or is gone.
    #[error("{0}")]
    Source(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run that somebody asked for.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The run, which has ended.
    pub run: WatchRun,
    /// It was going when it was asked for.
    pub joined: bool,
}

/// Where reading goes on after a page of rows; `None`: it was the last.
fn place_after(page: &[SourceRow], rows_max: usize) -> Option<Place> {
    let last = page.last().filter(|_| page.len() >= rows_max)?;
    Some(Place { due: last.due.clone(), key: last.key.clone()? })
}

/// How a watch stands on this node.
#[derive(Debug, Clone, Default)]
pub struct WatchHere {
    /// Tells its definition from another.
    pub hash: String,
    /// How its table stood at the last look.
    pub standing: Option<Standing>,
    /// What keeps it from running.
    pub problem: Option<String>,
}

type Answer = Result<Ran, WatchError>;
type Ask = oneshot::Sender<Answer>;

/// The watches of this node, by name.
#[derive(Default)]
pub(crate) struct Watchers(BTreeMap<String, Arc<Watcher>>);

impl Watchers {
    pub(crate) fn new(node: &Node, peers: &Arc<Peers>, random: &Arc<dyn Random>) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE_MAX));
        let watcher = |defined: &DefinedWatch| {
            let (sender, asks) = mpsc::unbounded_channel();
            let DefinedWatch { watch, source } = defined.clone();
            let here = WatchHere { hash: watch.hash(), ..WatchHere::default() };
            let watcher = Watcher {
                node: node.clone(),
                peers: peers.clone(),
                random: random.clone(),
                source,
                rows_hash: watch.rows_hash(),
                turns: turns.clone(),
                sender,
                asks: Mutex::new(Some(asks)),
                here: Mutex::new(here),
                engine: OnceLock::new(),
                watch,
            };
            (watcher.watch.name.clone(), Arc::new(watcher))
        };
        Self(node.settings.watches.iter().map(watcher).collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Watcher>> {
        self.0.values()
    }

    /// Says which engine they belong to.
    pub(crate) fn belong_to(&self, engine: &Arc<Wired>) {
        for watcher in self.all() {
            // The only one who sets it.
            let _ = watcher.engine.set(Arc::downgrade(engine));
        }
    }
}

/// Runs one watch.
pub(crate) struct Watcher {
    node: Node,
    peers: Arc<Peers>,
    random: Arc<dyn Random>,
    watch: Arc<Watch>,
    source: Arc<dyn Source>,
    /// Tells its rows from those that an earlier definition had.
    rows_hash: String,
    /// Who may run now.
    turns: Arc<Semaphore>,
    sender: mpsc::UnboundedSender<Ask>,
    asks: Mutex<Option<mpsc::UnboundedReceiver<Ask>>>,
    here: Mutex<WatchHere>,
    engine: OnceLock<Weak<Wired>>,
}

/// Those who wait for a run.
#[derive(Default)]
struct Waiting {
    /// They asked before it was known whether one is going.
    first: Vec<Ask>,
    /// They asked while one was going.
    joined: Vec<Ask>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.joined.is_empty()
    }

    /// Another run was going already: all of them join it.
    fn join(&mut self) {
        self.joined.append(&mut self.first);
    }

    /// The run that they joined has ended. Who has asked since then waits for another.
    fn answer_joined(&mut self, run: &WatchRun) {
        for ask in self.joined.drain(..) {
            // Who no longer waits need not know.
            let _ = ask.send(Ok(Ran { run: run.clone(), joined: true }));
        }
    }

    fn answer(&mut self, answer: &Result<WatchRun, WatchError>) {
        let asked = self.first.drain(..).map(|ask| (ask, false)).chain(self.joined.drain(..).map(|ask| (ask, true)));
        for (ask, joined) in asked {
            // Who no longer waits need not know.
            let _ = ask.send(answer.clone().map(|run| Ran { run, joined }));
        }
    }
}

impl Watcher {
    pub(crate) async fn run(self: Arc<Self>) {
        let Some(mut asks) = lock(&self.asks).take() else { return };
        if !self.define().await {
            return;
        }
        let mut next_at = self.turn(&mut asks, None).await;
        loop {
            let time = async {
                match next_at {
                    Some(at) => self.node.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let look = async {
                match self.peers.is_shared() {
                    true => self.node.clock.pause(LOOK_EVERY).await,
                    false => std::future::pending().await,
                }
            };
            let ask = tokio::select! { biased;
                () = self.node.stopped() => break,
                ask = asks.recv() => ask,
                () = time => None,
                () = look => match self.is_left().await {
                    true => None,
                    false => continue,
                },
            };
            next_at = self.turn(&mut asks, ask).await;
        }
        asks.close();
        while let Ok(ask) = asks.try_recv() {
            let _ = ask.send(Err(WatchError::Stopping));
        }
    }

    /// Writes the definition down; returns whether the engine still runs then.
    async fn define(&self) -> bool {
        let Watch { name, .. } = &*self.watch;
        loop {
            let now = self.node.now();
            let new = DefineWatch {
                name: name.clone(),
                hash: self.watch.hash(),
                definition: self.watch.definition().to_string(),
                next_at: self.watch.next_after(now),
                now,
            };
            match self.node.store.define_watch(new).await {
                Ok(Defined::Replaced) => {
                    tracing::warn!(watch = %name, "its definition replaces another of the same name")
                }
                Ok(Defined::New) => tracing::info!(watch = %name, "a new watch"),
                Ok(Defined::Same) => {}
                Err(error) => {
                    self.node.health.failed(&error);
                    if !self.node.pause(AGAIN_AFTER).await {
                        return false;
                    }
                    continue;
                }
            }
            self.node.journal.written();
            return true;
        }
    }

    /// Whether a run is going, which another node may have left.
    async fn is_left(&self) -> bool {
        match self.node.store.watch_runs(&self.watch.name, 1).await {
            Ok(runs) => runs.first().is_some_and(|run| run.state == RunState::Running),
            Err(error) => {
                self.node.health.failed(&error);
                false
            }
        }
    }

    /// Runs the watch if it is its time, or somebody asks; goes on with a run that was left. Returns when to look again.
    async fn turn(&self, asks: &mut mpsc::UnboundedReceiver<Ask>, ask: Option<Ask>) -> Option<Timestamp> {
        let mut waiting = Waiting { first: ask.into_iter().collect(), ..Waiting::default() };
        loop {
            if self.node.stopping() {
                waiting.answer(&Err(WatchError::Stopping));
                return None;
            }
            let turn = self.take_turn().await;
            if self.node.stopping() {
                continue;
            }
            let begun = match self.begin(!waiting.first.is_empty()).await {
                Ok(begun) => begun,
                Err(error) => {
                    self.node.health.failed(&error);
                    waiting.answer(&Err(error.into()));
                    drop(turn);
                    self.node.pause(AGAIN_AFTER).await;
                    return Some(self.node.now());
                }
            };
            match begun {
                Begun::Taken(taken) => {
                    if !taken.is_new {
                        waiting.join();
                    }
                    let mut run = Run::new(self, *taken);
                    let over = {
                        let mut going = std::pin::pin!(run.go());
                        loop {
                            tokio::select! { biased;
                                over = &mut going => break over,
                                Some(ask) = asks.recv() => waiting.joined.push(ask),
                            }
                        }
                    };
                    match over {
                        Over::Ended(run) => waiting.answer(&Ok(*run)),
                        // Whoever has it answers for it; those who wait here go on waiting.
                        Over::Lost => waiting.join(),
                        Over::Left => {}
                    }
                }
                Begun::Going(run) => {
                    drop(turn);
                    waiting.join();
                    self.wait_for(&run, asks, &mut waiting).await;
                }
                Begun::NotDue(next_at) => {
                    if waiting.is_empty() {
                        return next_at;
                    }
                    // The run that they waited for has ended meanwhile.
                    self.answer_with_last(&mut waiting).await;
                }
                Begun::Replaced => {
                    let error = WatchError::Replaced;
                    let mut here = lock(&self.here);
                    if here.problem.replace(error.to_string()).is_none() {
                        tracing::warn!(watch = %self.watch.name, "{error}");
                    }
                    drop(here);
                    waiting.answer(&Err(error));
                    return None;
                }
            }
        }
    }

    /// Waits until the watch may run, or this node stops. A run that may have been left waits for nobody, and needs no turn: it is to go on within
    /// five seconds, whatever else runs here.
    async fn take_turn(&self) -> Option<SemaphorePermit<'_>> {
        loop {
            if let Ok(turn) = self.turns.try_acquire() {
                return Some(turn);
            }
            if self.is_left().await {
                return None;
            }
            tokio::select! { biased;
                () = self.node.stopped() => return None,
                turn = self.turns.acquire() => return turn.ok(),
                () = self.node.clock.pause(LOOK_EVERY) => {}
            }
        }
    }

    /// The present, to the microsecond: instants are kept and shown no finer.
    fn now(&self) -> Timestamp {
        let now = self.node.now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    async fn begin(&self, asked: bool) -> Result<Begun, StoreError> {
        let now = self.now();
        let begin = BeginRun {
            watch: self.watch.name.clone(),
            hash: self.watch.hash(),
            id: WatchRunId::new(now, self.random.ten()),
            node: self.node.settings.node.clone(),
            asked,
            next_at: self.watch.next_after(now),
            now,
        };
        self.node.store.begin_run(begin).await
    }

    /// Waits until another node's run has ended, or may have been left.
    async fn wait_for(&self, run: &WatchRun, asks: &mut mpsc::UnboundedReceiver<Ask>, waiting: &mut Waiting) {
        for _ in 0..JOINS_A_TRY {
            let pause = if waiting.is_empty() { LOOK_EVERY } else { JOIN_EVERY };
            tokio::select! { biased;
                () = self.node.stopped() => return,
                Some(ask) = asks.recv() => waiting.first.push(ask),
                () = self.node.clock.pause(pause) => {}
            }
            match self.node.store.watch_run(run.id).await {
                Ok(Some(run)) if run.state == RunState::Running => waiting.join(),
                Ok(Some(run)) => return waiting.answer_joined(&run),
                Ok(None) => return waiting.answer(&Err(WatchError::Unknown)),
                Err(error) => self.node.health.failed(&error),
            }
            if waiting.is_empty() {
                return;
            }
        }
    }

    async fn answer_with_last(&self, waiting: &mut Waiting) {
        let answer = match self.node.store.watch_runs(&self.watch.name, 1).await {
            Ok(runs) => runs.into_iter().next().ok_or(WatchError::Unknown),
            Err(error) => Err(error.into()),
        };
        waiting.answer(&answer);
    }
}

impl Engine {
    fn watcher(&self, name: &str) -> Result<&Arc<Watcher>, WatchError> {
        self.parts.watchers.0.get(name).ok_or(WatchError::Unknown)
    }

    /// Runs a watch now, or joins the run that is going, on whichever node; returns when it has ended.
    pub async fn run_watch(&self, name: &str) -> Result<Ran, WatchError> {
        let (ask, answered) = oneshot::channel();
        self.watcher(name)?.sender.send(ask).map_err(|_| WatchError::Stopping)?;
        answered.await.unwrap_or(Err(WatchError::Stopping))
    }

    /// Says what a run would do now. Nothing is written.
    pub async fn rehearse_watch(&self, name: &str) -> Result<Rehearsal, WatchError> {
        self.watcher(name)?.rehearse().await
    }

    /// How a watch stands on this node; `None`: it is not defined here.
    pub fn watch_here(&self, name: &str) -> Option<WatchHere> {
        self.watcher(name).ok().map(|watcher| lock(&watcher.here).clone())
    }

    /// Removes a watch that this node does not define, with its runs and its ledger; returns whether there was one.
    pub async fn forget_watch(&self, name: &str, who: Who) -> Result<bool, StoreError> {
        let forgotten = self.parts.node.store.forget_watch(name, who, self.parts.node.now()).await?;
        self.parts.node.journal.written();
        Ok(forgotten)
    }
}

//! The threads that talk to SQLite.
//!
//! # Sharing a commit
//!
//! A commit waits for the disk; the statements before it take microseconds. The writer therefore takes every job that
//! waits, runs each inside a savepoint of one transaction, commits once, and only then answers all of them. A job that
//! fails is rolled back alone. Nobody is answered before the commit has returned.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use punctual_core::store::StoreError;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::oneshot;

use super::commits::Commits;
use super::row::broken;

/// The most jobs that share one commit; more wait for the next.
const SHARED_MAX: usize = 512;
/// The most jobs that may wait; more are refused, so that memory stays bounded.
const WAITING_MAX: usize = 65_536;
/// The log is copied into the file when it has this many pages.
const CHECKPOINT_PAGES: i32 = 2_000;
/// The log is so long that writing pauses until it is copied: about 256 MB.
const CHECKPOINT_PAGES_MAX: i32 = 65_536;

/// Which job goes first when both wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Claims and settles: an instant depends on them.
    Urgent,
    /// All else.
    Normal,
    /// Many rows at once. It has a commit of its own: its share of the wait for the disk is small, and a savepoint around
    /// thousands of statements costs more than all of them, because SQLite walks its undo log at the end of each.
    Bulk,
}

type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Runs on the connection, or is told why there is none. Says whether it worked, and how to answer once that is committed.
type Work = Box<dyn FnOnce(Result<&Connection, StoreError>) -> (bool, Answer) + Send>;
type Receiver<T> = oneshot::Receiver<Result<T, StoreError>>;

/// Runs writes, one commit for all that wait.
pub(super) enum Writer {
    Thread(Threads),
    Inline(Arc<Mutex<Connection>>, Arc<AtomicU64>),
}

impl Writer {
    pub(super) fn thread(connection: Connection, checkpointer: Connection, commits: Commits) -> Self {
        let jobs = Arc::new(Jobs::default());
        let log_pages = Arc::new(LogPages::default());
        let checkpointer = spawn("checkpoint", {
            let log_pages = log_pages.clone();
            move || checkpoint(checkpointer, &log_pages)
        });
        let writer = spawn("writer", {
            let jobs = jobs.clone();
            move || {
                let connection = write(connection, &jobs, &log_pages, &commits);
                log_pages.close();
                connection
            }
        });
        Self::Thread(Threads { jobs, handles: vec![writer, checkpointer] })
    }

    pub(super) fn inline(connection: Connection) -> Self {
        Self::Inline(Arc::new(Mutex::new(connection)), Arc::default())
    }

    pub(super) fn queries(&self) -> u64 {
        match self {
            Self::Thread(threads) => threads.jobs.n_done.load(Ordering::Relaxed),
            Self::Inline(_, n_done) => n_done.load(Ordering::Relaxed),
        }
    }

    /// How many rows have been inserted, updated and deleted.
    pub(super) fn changes(&self) -> u64 {
        match self {
            Self::Thread(threads) => threads.jobs.n_changed.load(Ordering::Relaxed),
            Self::Inline(connection, _) => lock(connection).total_changes(),
        }
    }

    /// Runs `work` in a transaction and returns when it is committed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, receiver) = job(work);
        match self {
            Self::Thread(threads) => threads.jobs.push(urgency, work)?,
            Self::Inline(connection, n_done) => {
                n_done.fetch_add(1, Ordering::Relaxed);
                transact(&lock(connection), vec![work], None);
            }
        }
        answer(receiver).await
    }
}

/// Threads that work off jobs. Dropping it waits until they have worked off what there is and closed the file, so that whoever
/// comes next finds it closed, and the last one has copied the log into it.
pub(super) struct Threads {
    jobs: Arc<Jobs>,
    handles: Vec<JoinHandle<Connection>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs.close();
        for handle in self.handles.drain(..) {
            // One after the other: of two that close at once, neither knows that it is the last. A thread that panicked has
            // said so, and has closed its own.
            drop(handle.join());
        }
    }
}

/// Runs reads beside the writer.
pub(super) enum Readers {
    Threads(Threads),
    Inline(Arc<Mutex<Connection>>, Arc<AtomicU64>),
}

impl Readers {
    pub(super) fn threads(connections: Vec<Connection>) -> Self {
        let jobs = Arc::new(Jobs::default());
        let read = |connection: Connection| {
            let jobs = jobs.clone();
            spawn("reader", move || {
                while let Some(batch) = jobs.take(1) {
                    for work in batch {
                        guarded(&connection, work).1(Ok(()));
                    }
                }
                connection
            })
        };
        let handles = connections.into_iter().map(read).collect();
        Self::Threads(Threads { jobs, handles })
    }

    pub(super) fn inline(writer: &Writer) -> Self {
        match writer {
            Writer::Inline(connection, _) => Self::Inline(connection.clone(), Arc::default()),
            Writer::Thread(_) => Self::threads(Vec::new()),
        }
    }

    pub(super) fn queries(&self) -> u64 {
        match self {
            Self::Threads(threads) => threads.jobs.n_done.load(Ordering::Relaxed),
            Self::Inline(_, n_done) => n_done.load(Ordering::Relaxed),
        }
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Threads(threads) => {
                let (work, receiver) = job(work);
                threads.jobs.push(Urgency::Normal, work)?;
                answer(receiver).await
            }
            Self::Inline(connection, n_done) => {
                n_done.fetch_add(1, Ordering::Relaxed);
                work(&lock(connection))
            }
        }
    }
}

fn job<T: Send + 'static>(
    work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> (Work, Receiver<T>) {
    let (sender, receiver) = oneshot::channel();
    let work: Work = Box::new(move |connection| {
        let result = connection.and_then(work);
        let ok = result.is_ok();
        let answer: Answer = Box::new(move |committed| {
            // A failed job's own error says more than the commit's. Nobody waits any more when the caller was
            // dropped; the work is committed all the same.
            let _ = sender.send(result.and_then(|value| committed.map(|()| value)));
        });
        (ok, answer)
    });
    (work, receiver)
}

async fn answer<T>(receiver: Receiver<T>) -> Result<T, StoreError> {
    receiver.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the store has been closed".into())))
}

/// The jobs that wait for a thread.
#[derive(Default)]
pub(super) struct Jobs {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    n_done: AtomicU64,
    /// Rows that the jobs have changed, as SQLite counts them.
    n_changed: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    urgent: VecDeque<Work>,
    normal: VecDeque<Work>,
    bulk: VecDeque<Work>,
    /// Whether it is the turn of what is in bulk, so that neither keeps the other waiting.
    bulk_turn: bool,
    closed: bool,
}

impl Jobs {
    fn push(&self, urgency: Urgency, work: Work) -> Result<(), StoreError> {
        let mut waiting = lock(&self.waiting);
        if waiting.closed {
            return Err(StoreError::Unavailable("the store has been closed".into()));
        }
        match urgency {
            Urgency::Urgent => waiting.urgent.push_back(work),
            Urgency::Normal | Urgency::Bulk if waiting.normal.len() + waiting.bulk.len() >= WAITING_MAX => {
                return Err(StoreError::Unavailable("too many requests are waiting for the database".into()));
            }
            Urgency::Normal => waiting.normal.push_back(work),
            Urgency::Bulk => waiting.bulk.push_back(work),
        }
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for work and takes up to `max` of it, urgent first, or one piece that is in bulk. `None` when closed and empty.
    fn take(&self, max: usize) -> Option<Vec<Work>> {
        let mut waiting = lock(&self.waiting);
        loop {
            let n_urgent = waiting.urgent.len().min(max);
            let n_normal = waiting.normal.len().min(max - n_urgent);
            if (waiting.bulk_turn || n_urgent + n_normal == 0)
                && let Some(bulk) = waiting.bulk.pop_front()
            {
                waiting.bulk_turn = false;
                self.n_done.fetch_add(1, Ordering::Relaxed);
                return Some(vec![bulk]);
            }
            if n_urgent + n_normal > 0 {
                waiting.bulk_turn = true;
                let mut taken: Vec<Work> = waiting.urgent.drain(..n_urgent).collect();
                taken.extend(waiting.normal.drain(..n_normal));
                self.n_done.fetch_add(taken.len() as u64, Ordering::Relaxed);
                return Some(taken);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        lock(&self.waiting).closed = true;
        self.changed.notify_all();
    }
}

fn write(mut connection: Connection, jobs: &Jobs, log_pages: &Arc<LogPages>, commits: &Commits) -> Connection {
    let told = log_pages.clone();
    let hook = move |_: &mut Wal, n_pages| {
        told.has_grown(n_pages);
        Ok(())
    };
    if let Err(error) = connection.wal_hook(Some(hook)) {
        tracing::warn!(%error, "the log's length cannot be watched; it is copied only when the server stops");
    }
    while let Some(batch) = jobs.take(SHARED_MAX) {
        transact(&connection, batch, Some(commits));
        jobs.n_changed.store(connection.total_changes(), Ordering::Relaxed);
        if log_pages.is_too_long() {
            // Readers are short, so this waits little; without it the log could grow for ever under constant writing.
            let _ = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
            log_pages.reset();
        }
    }
    connection
}

/// Runs all of `batch` in one transaction; answers when it is committed.
fn transact(connection: &Connection, batch: Vec<Work>, commits: Option<&Commits>) {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        // The transaction never began: each job is told, and none has run.
        for work in batch {
            work(Err(error.clone())).1(Ok(()));
        }
        return;
    }
    let n_changed = connection.total_changes();
    // A job that is alone needs no savepoint: when it fails, the whole transaction goes.
    let shared = batch.len() > 1;
    let mut answers = Vec::with_capacity(batch.len());
    for work in batch {
        if connection.is_autocommit() {
            // A full disk has ended the transaction. Nothing may run outside of one: it would be kept, and called failed.
            work(Err(ended())).1(Ok(()));
            continue;
        }
        if shared && let Err(error) = execute(connection, "SAVEPOINT job") {
            work(Err(error)).1(Ok(()));
            continue;
        }
        let (ok, answer) = guarded(connection, work);
        if !ok && !shared {
            // A failed job may have written some of its rows.
            let _ = execute(connection, "ROLLBACK");
            answer(Ok(()));
            return;
        }
        if !ok {
            let _ = execute(connection, "ROLLBACK TO job");
        }
        if shared {
            let _ = execute(connection, "RELEASE job");
        }
        answers.push(answer);
    }
    let committed = commit(connection, commits, n_changed);
    if committed.is_err() && !connection.is_autocommit() {
        let _ = execute(connection, "ROLLBACK");
    }
    for answer in answers {
        answer(committed.clone());
    }
}

/// Commits, and counts the commit if anything was written since there were `n_changed` changes. A transaction that wrote nothing
/// is not counted: it then costs no flush to disk.
fn commit(connection: &Connection, commits: Option<&Commits>, n_changed: u64) -> Result<(), StoreError> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    let Some(commits) = commits.filter(|_| connection.total_changes() > n_changed) else {
        return execute(connection, "COMMIT");
    };
    let n = Commits::count(connection).map_err(broken)?;
    execute(connection, "COMMIT")?;
    commits.tell(n);
    Ok(())
}

fn ended() -> StoreError {
    StoreError::Unavailable("the database ended the transaction: the disk is full or failing".into())
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(broken)?;
    Ok(())
}

/// Runs a job; a panic in it is one failed job and not a dead writer.
fn guarded(connection: &Connection, work: Work) -> (bool, Answer) {
    std::panic::catch_unwind(AssertUnwindSafe(|| work(Ok(connection)))).unwrap_or_else(|_| {
        tracing::error!("a database job panicked; its caller is told that the store is closed");
        (false, Box::new(|_| {}))
    })
}

/// How long the log is, told by SQLite after each commit.
#[derive(Default)]
struct LogPages {
    state: Mutex<(i32, bool)>,
    changed: Condvar,
    too_long: AtomicBool,
}

impl LogPages {
    fn has_grown(&self, n_pages: i32) {
        if n_pages >= CHECKPOINT_PAGES {
            self.too_long.store(n_pages >= CHECKPOINT_PAGES_MAX, Ordering::Relaxed);
            lock(&self.state).0 = n_pages;
            self.changed.notify_one();
        }
    }

    fn is_too_long(&self) -> bool {
        self.too_long.load(Ordering::Relaxed)
    }

    fn reset(&self) {
        self.too_long.store(false, Ordering::Relaxed);
    }

    fn close(&self) {
        lock(&self.state).1 = true;
        self.changed.notify_all();
    }
}

/// Copies the log into the file whenever it has grown, beside the writer and without making it wait.
fn checkpoint(connection: Connection, log_pages: &LogPages) -> Connection {
    let mut state = lock(&log_pages.state);
    loop {
        while state.0 == 0 && !state.1 {
            state = log_pages.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.1 {
            return connection;
        }
        state.0 = 0;
        drop(state);
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "copying the log into the database file failed; it is tried again");
        }
        state = lock(&log_pages.state);
    }
}

fn spawn(name: &str, body: impl FnOnce() -> Connection + Send + 'static) -> JoinHandle<Connection> {
    let spawned = std::thread::Builder::new().name(name.into()).spawn(body);
    spawned.expect("a process that cannot start a thread cannot serve")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A job's panic is caught before it can leave anything half-done under a lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

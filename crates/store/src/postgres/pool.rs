//! Connections, and who gets one.
//!
//! A pool of our own, because it is short and two things are peculiar to us. Claims and settles have connections that nothing
//! else can take, since an instant depends on them. And a connection goes back only when its transaction has ended in order:
//! one whose caller went away half-way, or whose server said something odd, is closed, and the server undoes what was begun.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_core::clock::{Machine, within};
use punctual_core::store::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::Fault;
use super::reach::{Bare, reach};
use super::url::Url;
use super::way::{Pass, Way};

/// Connections for claims, settles and renewals. A claim, a settle and a renewal can be under way at once.
const URGENT_MAX: usize = 3;
/// Connections for all else; more callers wait their turn. Together with the above it stays far below a server's usual 100.
const NORMAL_MAX: usize = 9;

/// A claim or a settle that is not answered within this never will be: the way to the server swallows what is sent. It is
/// far longer than the slowest takes, and leaves time to take leases anew.
const URGENT_WITHIN: Duration = Duration::from_secs(5);
/// All else may have to read much; but a caller over HTTP waits for it.
const NORMAL_WITHIN: Duration = Duration::from_secs(15);

/// A statement's parameter and its type. Types are given, so that a statement needs no preparing: behind PgBouncer in
/// transaction mode, what is prepared in one moment is on another server's connection in the next.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// How urgent a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Claims and settles: an instant depends on them.
    Urgent,
    /// Work that no send has to wait for: while the server cannot be reached, it fails at once.
    Brief,
    /// All else.
    Normal,
    /// Making the schema, which takes as long as it takes.
    Patient,
}

impl Urgency {
    fn within(self) -> Option<Duration> {
        match self {
            Self::Urgent | Self::Brief => Some(URGENT_WITHIN),
            Self::Normal => Some(NORMAL_WITHIN),
            Self::Patient => None,
        }
    }
}

/// Connections to one database.
pub(super) struct Pool {
    url: Url,
    tls: MakeRustlsConnect,
    way: Way,
    idle: Mutex<Vec<Client>>,
    urgent: Semaphore,
    normal: Semaphore,
    n_queries: AtomicU64,
    /// The node that uses it, as of its last beat.
    node: Mutex<Option<Arc<str>>>,
    machine: Machine,
}

impl Pool {
    pub(super) fn new(url: Url, tls: MakeRustlsConnect, machine: Machine) -> Self {
        Self {
            url,
            tls,
            way: Way::new(machine.clone()),
            idle: Mutex::default(),
            urgent: Semaphore::new(URGENT_MAX),
            normal: Semaphore::new(NORMAL_MAX),
            n_queries: AtomicU64::new(0),
            node: Mutex::default(),
            machine,
        }
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Says which node uses it.
    pub(super) fn is_used_by(&self, node: &str) {
        let mut used_by = self.node.lock().unwrap_or_else(PoisonError::into_inner);
        if used_by.as_deref() != Some(node) {
            *used_by = Some(node.into());
        }
    }

    pub(super) fn queries(&self) -> u64 {
        self.n_queries.load(Ordering::Relaxed)
    }

    /// A connection, when it is the caller's turn; a new one where none is left from before.
    pub(super) async fn get(&self, urgency: Urgency) -> Result<Connection<'_>, Fault> {
        let turns = match urgency {
            Urgency::Urgent | Urgency::Brief => &self.urgent,
            Urgency::Normal | Urgency::Patient => &self.normal,
        };
        let closed = |_| Fault::Store(StoreError::Unavailable("the store has been closed".into()));
        let (permit, client) = loop {
            // A connection that lives is used, whatever a new one would meet: a server that has no place left serves those it has.
            if let Ok(permit) = turns.try_acquire()
                && let Some(client) = self.left()
            {
                break (permit, client);
            }
            if urgency == Urgency::Brief
                && let Some(error) = self.way.closed()
            {
                return Err(Fault::Store(error));
            }
            // Before a turn is taken: those who wait for the server must not keep each other waiting.
            self.pass().await?;
            let permit = turns.acquire().await.map_err(closed)?;
            if let Some(client) = self.left() {
                break (permit, client);
            }
            if !self.way.is_in_doubt() {
                break (permit, self.connect().await?);
            }
        };
        Ok(Connection {
            pool: self,
            client: Some(client),
            is_begun: AtomicBool::new(false),
            is_refused: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            has_gap: AtomicBool::new(false),
            in_order: false,
            within: urgency.within(),
            _permit: permit,
        })
    }

    /// A connection that was made before and lives.
    fn left(&self) -> Option<Client> {
        loop {
            let client = self.idle().pop()?;
            if !client.is_closed() {
                return Some(client);
            }
            self.way.doubt();
        }
    }

    /// Waits until the server can be reached. Where it is not known, one caller connects for all; the connection is left in the pool.
    async fn pass(&self) -> Result<(), Fault> {
        let turn = match self.way.pass().await {
            Pass::Open => return Ok(()),
            Pass::Closed(error) => return Err(Fault::Store(error)),
            Pass::Try(turn) => turn,
        };
        match reach(&self.url, &self.tls, None, &self.machine).await {
            Ok((bare, host)) => {
                self.idle().push(kept_alive(bare));
                self.way.opened(host);
                drop(turn);
                Ok(())
            }
            Err(fault) => {
                let error = StoreError::from(fault);
                self.way.failed(error.clone());
                Err(Fault::Store(error))
            }
        }
    }

    /// A connection that the caller keeps alive.
    pub(super) async fn connect_bare(&self) -> Result<Bare, Fault> {
        self.pass().await?;
        let reached = reach(&self.url, &self.tls, self.way.host(), &self.machine).await;
        Ok(reached.inspect_err(|_| self.way.doubt())?.0)
    }

    /// A connection of the caller's own.
    pub(super) async fn connect(&self) -> Result<Client, Fault> {
        Ok(kept_alive(self.connect_bare().await?))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        // Nothing under this lock can panic half-way.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is polled for as long as it lives.
fn kept_alive((client, connection): Bare) -> Client {
    tokio::spawn(async move {
        // A caller that waits for an answer gets the error as well.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the database ended");
        }
    });
    client
}

/// One connection, for one transaction.
pub(super) struct Connection<'p> {
    pool: &'p Pool,
    client: Option<Client>,
    /// A transaction was begun.
    is_begun: AtomicBool,
    /// And the server said that it will not: whatever was sent behind that was not run.
    is_refused: AtomicBool,
    /// COMMIT was sent.
    is_ending: AtomicBool,
    /// A statement was not sent, or not answered: statements behind it must not be committed.
    has_gap: AtomicBool,
    in_order: bool,
    within: Option<Duration>,
    _permit: SemaphorePermit<'p>,
}

impl Connection<'_> {
    /// The node that uses the pool, if it has beaten.
    pub(super) fn node(&self) -> Option<Arc<str>> {
        self.pool.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a statement; returns its rows.
    ///
    /// Statements whose futures are joined are sent together, in the order in which they are first polled, and the server
    /// runs them in that order: a handful of statements cost one round trip.
    pub(super) async fn rows(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Fault> {
        self.count();
        self.said(self.client()?.query_typed(sql, params)).await
    }

    /// Runs a statement; returns how many rows it touched.
    pub(super) async fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.count();
        self.said(self.client()?.execute_typed(sql, params)).await
    }

    /// Begins a transaction; `sql` is BEGIN, and settings for this transaction alone.
    pub(super) async fn begin(&self, sql: &str) -> Result<(), Fault> {
        self.is_begun.store(true, Ordering::Relaxed);
        self.count();
        let client = self.client()?;
        let begun = async {
            let begun = client.batch_execute(sql).await;
            // Most often a connection that the server ended while it lay idle.
            self.is_refused.store(begun.as_ref().is_err_and(|error| error.as_db_error().is_some()), Ordering::Relaxed);
            begun
        };
        self.said(begun).await
    }

    pub(super) async fn commit(&self) -> Result<(), Fault> {
        if self.has_gap.load(Ordering::Relaxed) {
            return Err(Fault::Lost("a statement of the transaction was not sent".into()));
        }
        self.is_ending.store(true, Ordering::Relaxed);
        self.batch("commit").await
    }

    /// Ends a transaction that has written nothing.
    pub(super) async fn rollback(&self) -> Result<(), Fault> {
        self.batch("rollback").await
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        self.count();
        self.said(self.client()?.batch_execute(sql)).await
    }

    /// What the server says to a statement.
    async fn said<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Fault> {
        let answer = match self.within {
            Some(span) => within(&*self.pool.machine.clock, span, answer).await,
            None => Some(answer.await),
        };
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                let is_answer = error.as_db_error().is_some();
                self.has_gap.fetch_or(!is_answer, Ordering::Relaxed);
                Err(error.into())
            }
            None => {
                self.has_gap.store(true, Ordering::Relaxed);
                // Idle connections lead to the same server.
                self.pool.idle().clear();
                Err(Fault::Store(StoreError::Unavailable("the server does not answer".into())))
            }
        }
    }

    /// Gives the connection back, if what was done on it has ended in order.
    pub(super) async fn end<T>(mut self, result: Result<T, Fault>) -> Result<T, (Fault, Retry)> {
        match result {
            Ok(value) => {
                self.in_order = true;
                Ok(value)
            }
            Err(fault) => {
                if !fault.was_answered() {
                    self.pool.way.doubt();
                }
                let (is_begun, is_ending) =
                    (self.is_begun.load(Ordering::Relaxed), self.is_ending.load(Ordering::Relaxed));
                // A COMMIT that was sent behind a statement that failed has undone the transaction.
                let is_over = is_ending || !is_begun;
                self.in_order = fault.was_answered() && (is_over || self.rollback().await.is_ok());
                let retry = match fault {
                    Fault::RolledBack(_) => Retry::Safe,
                    Fault::Lost(_) if is_begun && (!is_ending || self.is_refused.load(Ordering::Relaxed)) => {
                        Retry::Safe
                    }
                    Fault::Lost(_) => Retry::SafeForReads,
                    Fault::Blocked(_) | Fault::Store(_) => Retry::Useless,
                };
                Err((fault, retry))
            }
        }
    }

    fn client(&self) -> Result<&Client, Fault> {
        self.client.as_ref().ok_or_else(|| Fault::Lost("the connection has been given back".into()))
    }

    fn count(&self) {
        self.pool.n_queries.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client.take().filter(|client| self.in_order && !client.is_closed()) {
            self.pool.idle().push(client);
        }
    }
}

/// Whether a transaction that failed may be done again, as if it had never been tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// No part of it has been written.
    Safe,
    /// It may have been written: the connection was lost while it was being committed.
    SafeForReads,
    /// It would fail again.
    Useless,
}

impl Retry {
    /// Whether work is done again that only reads, or does not.
    pub(super) fn is_safe(self, reads: bool) -> bool {
        match self {
            Self::Safe => true,
            Self::SafeForReads => reads,
            Self::Useless => false,
        }
    }
}

//! Who is connected over HTTP, and for how long.
//!
//! A connection costs a descriptor and memory, and a client that reaches the port can open as many as it likes. So each part of a request
//! has its time, there is a number of connections that is never exceeded, and connections that have shown a key are the last to go.
//!
//! Time is counted in ticks of a second, by one task for all connections: a request then costs no timer, and a server that nobody
//! is connected to does nothing.

/// Taking connections, and attending to each until it ends.
mod accept;

/// How many descriptors there are, and what they are for.
pub(crate) mod descriptors;

/// Connections that give their buffers back between requests.
mod rest;

/// A stream of which some bytes were read too early.
mod rewound;

/// The socket, which says how reading and writing go.
mod socket;

/// TLS, with a certificate that is read again when its files change.
mod tls;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_core::clock::{BoxFuture, Clock};
use tokio::sync::Notify;

pub(crate) use self::accept::{Listener, serve};
use self::rest::{Resting, Waking};
pub(crate) use self::rewound::Duplex;
pub(crate) use self::tls::{Tls, TlsFiles};

/// How long a tick is.
const TICK: Duration = Duration::from_secs(1);
/// How long a request's head may take, from its first byte; of a new connection from its begin. Then the connection is closed.
const HEAD_TICKS: u64 = 10;
/// How long a connection may be open between two requests. Then it is closed.
const IDLE_TICKS: u64 = 75;
/// How long an answer may wait for its reader, unless [`PROGRESS_BYTES`] are taken meanwhile. Then the connection is closed.
const WRITE_TICKS: u64 = 20;
/// How long the reader of an answer without an end has after that to take what is on its way, and the reason behind it.
const END_TICKS: u64 = 5;
/// A reader that takes so many bytes goes on. Less would let one that takes a byte now and then keep an answer for days.
const PROGRESS_BYTES: u64 = 32 * 1024;
/// The most bytes of answers that wait for their readers, in all. When there are more, the readers that have kept theirs waiting longest
/// are closed.
const ANSWERS_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// An answer of less is not looked at one by one.
const LARGE_ANSWER_BYTES: u64 = 64 * 1024;

/// All connections.
pub(crate) struct Connections {
    tick: AtomicU64,
    open: Mutex<Open>,
    /// A connection has come.
    came: Notify,
    /// A connection has gone, or has become one that may be closed.
    freed: Notify,
    resting: Resting,
}

#[derive(Default)]
struct Open {
    by_number: HashMap<u64, Arc<Connection>>,
    last_number: u64,
}

/// One connection, as the code that may have to close it sees it.
pub(crate) struct Connection {
    number: u64,
    /// Who is at the other end, as the socket says it: a proxy, where there is one.
    peer: Option<IpAddr>,
    all: Arc<Connections>,
    state: Mutex<State>,
    close: Notify,
    /// Nothing was asked on it for a while.
    rests: Notify,
    /// An answer without an end is to end.
    gives_up: Notify,
    after_http: Mutex<Option<AfterHttp>>,
}

/// What is done with a connection when HTTP is over.
type AfterHttp = Box<dyn FnOnce(Box<dyn Duplex>) -> BoxFuture<()> + Send>;

#[derive(Debug, Clone)]
struct State {
    doing: Doing,
    /// Since which tick.
    since: u64,
    /// Whether a request on it has shown a valid key.
    authenticated: bool,
    /// Whether it has been told to end.
    closing: bool,
    /// Bytes of answers that the socket has not taken.
    owed: u64,
    /// Since which tick its reader takes too little, and how many bytes since then.
    blocked: Option<(u64, u64)>,
    /// Whether its answer has no end of its own.
    endless: bool,
    /// Whether such an answer is to end because its reader takes too little.
    given_up: bool,
    waking: Waking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// A head is awaited or being read.
    Head,
    /// A request is worked on or answered.
    Request,
    /// Nothing, after a request.
    Idle,
}

impl Connections {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            tick: AtomicU64::new(0),
            open: Mutex::default(),
            came: Notify::new(),
            freed: Notify::new(),
            resting: Resting::default(),
        })
    }

    /// Ends connections that take too long. Runs for ever.
    async fn watch(&self, clock: &dyn Clock) {
        loop {
            if self.lock().by_number.is_empty() {
                self.came.notified().await;
            }
            clock.pause(TICK).await;
            let now = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
            let open: Vec<_> = self.lock().by_number.values().cloned().collect();
            for connection in &open {
                connection.close_if_overdue(now);
            }
        }
    }

    fn join(self: &Arc<Self>, peer: Option<IpAddr>) -> Arc<Connection> {
        let state = State {
            doing: Doing::Head,
            since: self.now(),
            authenticated: false,
            closing: false,
            owed: 0,
            blocked: None,
            endless: false,
            given_up: false,
            waking: Waking::default(),
        };
        let mut open = self.lock();
        open.last_number += 1;
        let connection = Arc::new(Connection {
            number: open.last_number,
            peer,
            all: Arc::clone(self),
            state: Mutex::new(state),
            close: Notify::new(),
            rests: Notify::new(),
            gives_up: Notify::new(),
            after_http: Mutex::new(None),
        });
        open.by_number.insert(connection.number, Arc::clone(&connection));
        drop(open);
        self.came.notify_one();
        connection
    }

    fn leave(&self, connection: &Connection) {
        self.lock().by_number.remove(&connection.number);
        self.freed.notify_one();
    }

    fn n_open(&self) -> usize {
        self.lock().by_number.len()
    }

    /// How many have not been told to end.
    fn n_staying(&self) -> usize {
        self.lock().by_number.values().filter(|connection| !connection.lock().closing).count()
    }

    /// Closes the connection that has been idle longest, one that has shown no key before one that has. A request that has
    /// shown a key is never ended. Returns whether there was a connection to close.
    fn close_idlest(&self) -> bool {
        let open = self.lock();
        let rank = |connection: &Arc<Connection>| {
            let state = connection.lock();
            let spared = state.closing || (state.authenticated && state.doing == Doing::Request);
            (!spared).then(|| ((state.authenticated, state.since, connection.number), Arc::clone(connection)))
        };
        let idlest = open.by_number.values().filter_map(rank).min_by_key(|(rank, _)| *rank);
        drop(open);
        let Some((_, connection)) = idlest else { return false };
        connection.end("there are too many, and it was idle longest");
        true
    }

    /// Closes the readers that have kept their answers waiting longest, until the others have room.
    fn bound_answers(&self) {
        let owing = |connection: &Arc<Connection>| {
            let state = connection.lock();
            (state.owed > 0 && !state.closing).then(|| (state.blocked, state.owed, Arc::clone(connection)))
        };
        let mut owing: Vec<_> = self.lock().by_number.values().filter_map(owing).collect();
        let mut total: u64 = owing.iter().map(|(_, owed, _)| owed).sum();
        owing.retain(|(blocked, ..)| blocked.is_some());
        owing.sort_by_key(|(blocked, owed, _)| (blocked.map(|(since, _)| since), u64::MAX - owed));
        for (_, owed, connection) in owing {
            if total <= ANSWERS_BYTES_MAX {
                return;
            }
            connection.end("too many answers wait for their readers");
            total -= owed;
        }
    }

    /// Ends connections whose request head has not come whole. hyper ends those that are idle after an answer, and sends the answer first.
    fn end_without_request(&self) {
        let open: Vec<_> = self.lock().by_number.values().cloned().collect();
        for connection in open {
            if connection.lock().doing == Doing::Head {
                connection.end("the server stops");
            }
        }
    }

    fn now(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Who is at the other end, as the socket says it.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// To be called when a request has shown a valid key.
    pub(crate) fn authenticated(&self) {
        self.lock().authenticated = true;
    }

    /// To be called by an answer without an end, which is then told when it is to end ([`Connection::given_up`]).
    pub(crate) fn is_endless(&self) {
        self.lock().endless = true;
    }

    /// Waits until an answer without an end is to end because its reader takes too little. What it says then reaches the reader if that goes
    /// on reading soon; else the connection is closed.
    pub(crate) async fn given_up(&self) {
        while !self.lock().given_up {
            self.gives_up.notified().await;
        }
    }

    /// Says what is done with the connection when HTTP is over: from then on another protocol is spoken on it. The connection counts as one at
    /// work, whose answer has no end.
    pub(crate) fn then(&self, work: AfterHttp) {
        *self.after_http.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }

    fn after_http(&self) -> Option<AfterHttp> {
        self.after_http.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A request has come whole, but for its body. It ends when the returned value is dropped.
    fn begin(self: &Arc<Self>) -> InRequest {
        let mut state = self.lock();
        (state.doing, state.since) = (Doing::Request, self.all.now());
        (state.endless, state.given_up) = (false, false);
        state.waking.was_idle = false;
        drop(state);
        InRequest(Arc::clone(self))
    }

    /// Its answer is this long.
    pub(crate) fn owes(&self, bytes: u64) {
        self.lock().owed += bytes;
        if bytes >= LARGE_ANSWER_BYTES {
            self.all.bound_answers();
        }
    }

    /// Bytes have been read.
    fn read(&self) {
        let mut state = self.lock();
        if state.doing == Doing::Idle {
            (state.doing, state.since) = (Doing::Head, self.all.now());
        }
    }

    /// The socket takes no more for now.
    fn cannot_write(&self) {
        let mut state = self.lock();
        if state.blocked.is_none() {
            state.blocked = Some((self.all.now(), 0));
            let large = state.owed >= LARGE_ANSWER_BYTES;
            drop(state);
            if large {
                self.all.bound_answers();
            }
        }
    }

    /// The socket has taken `n` bytes.
    fn wrote(&self, n: u64) {
        let mut state = self.lock();
        let owed = std::mem::replace(&mut state.owed, 0);
        state.owed = owed.saturating_sub(n);
        let now = self.all.now();
        state.blocked = match state.blocked {
            _ if owed > 0 && state.owed == 0 => None,
            Some((_, taken)) if taken + n >= PROGRESS_BYTES => Some((now, 0)),
            Some((since, taken)) => Some((since, taken + n)),
            None => None,
        };
    }

    /// The socket has taken everything there was.
    fn wrote_all(&self) {
        self.lock().blocked = None;
    }

    /// Whether it was told to end while its answer waited for its reader.
    pub(crate) fn is_unread(&self) -> bool {
        let state = self.lock();
        state.closing && state.blocked.is_some()
    }

    fn now_does(&self, doing: Doing) {
        let mut state = self.lock();
        (state.doing, state.since) = (doing, self.all.now());
    }

    fn close_if_overdue(&self, now: u64) {
        let state = self.lock().clone();
        let waits_for = state.blocked.map_or(0, |(since, _)| now - since);
        if waits_for > WRITE_TICKS && state.endless && !state.given_up {
            self.lock().given_up = true;
            self.gives_up.notify_one();
        }
        if waits_for > WRITE_TICKS + if state.endless { END_TICKS } else { 0 } {
            return self.end("nobody reads its answer");
        }
        match state.doing {
            Doing::Head if now - state.since > HEAD_TICKS => self.end("its request's head did not come in time"),
            Doing::Idle if now - state.since > IDLE_TICKS => self.end("it was idle"),
            _ => {}
        }
    }

    fn end(&self, why: &str) {
        let was_closing = std::mem::replace(&mut self.lock().closing, true);
        if !was_closing {
            tracing::debug!(number = self.number, "a connection is closed: {why}");
        }
        self.close.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is worked on.
struct InRequest(Arc<Connection>);

impl Drop for InRequest {
    fn drop(&mut self) {
        self.0.now_does(Doing::Idle);
        self.0.may_rest_soon();
        self.0.all.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Connection {
        fn is_closing(&self) -> bool {
            self.lock().closing
        }
    }

    impl Connections {
        fn pass(&self, ticks: u64) {
            for _ in 0..ticks {
                let now = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
                let open: Vec<_> = self.lock().by_number.values().cloned().collect();
                open.iter().for_each(|connection| connection.close_if_overdue(now));
            }
        }
    }

    #[test]
    fn each_part_of_a_request_has_its_time() {
        let connections = Connections::new();
        let silent = connections.join(None);
        let idle = connections.join(None);
        drop(idle.begin());
        let half = connections.join(None);
        drop(half.begin());
        let working = connections.join(None);
        let _request = working.begin();
        connections.pass(10);
        assert!(!silent.is_closing());
        half.read();
        connections.pass(1);
        assert!(silent.is_closing() && !half.is_closing(), "a head has ten seconds");
        connections.pass(10);
        assert!(half.is_closing() && !idle.is_closing(), "also after another request, from its first byte");
        connections.pass(54);
        assert!(!idle.is_closing());
        connections.pass(1);
        assert!(idle.is_closing() && !working.is_closing(), "between requests 75");
    }

    #[test]
    fn a_reader_must_go_on_reading() {
        let connections = Connections::new();
        let [slow, stuck, quick] = [(); 3].map(|()| connections.join(None));
        let _requests = [&slow, &stuck, &quick].map(|connection| {
            connection.owes(1024 * 1024);
            connection.cannot_write();
            connection.begin()
        });
        for _ in 0..20 {
            connections.pass(1);
            slow.wrote(PROGRESS_BYTES / 10);
            stuck.wrote(1);
        }
        quick.wrote(1024 * 1024);
        connections.pass(1);
        assert!(stuck.is_closing() && !slow.is_closing() && !quick.is_closing());
        connections.pass(21);
        assert!(slow.is_closing() && !quick.is_closing());
    }

    #[test]
    fn the_reader_of_an_answer_without_an_end_can_still_learn_why_it_ends() {
        let connections = Connections::new();
        let [stuck, dripping, comes_back] = [(); 3].map(|()| connections.join(None));
        let all = [&stuck, &dripping, &comes_back];
        let _requests = all.map(|connection| {
            let request = connection.begin();
            connection.is_endless();
            connection.cannot_write();
            request
        });
        let is_given_up = |connection: &Connection| connection.lock().given_up;
        for _ in 0..20 {
            connections.pass(1);
            dripping.wrote(1);
        }
        assert!(!all.iter().any(|connection| is_given_up(connection)));
        comes_back.wrote(1000);
        comes_back.wrote_all();
        connections.pass(1);
        assert!(is_given_up(&stuck) && is_given_up(&dripping) && !is_given_up(&comes_back));
        assert!(!all.iter().any(|connection| connection.is_closing()), "the reason is on its way");
        dripping.wrote(1000);
        dripping.wrote_all();
        connections.pass(5);
        assert!(stuck.is_closing() && stuck.is_unread() && !dripping.is_closing() && !comes_back.is_closing());
    }

    #[test]
    fn at_the_cap_the_idlest_without_a_key_goes_first() {
        let connections = Connections::new();
        let known = connections.join(None);
        let _request = known.begin();
        known.authenticated();
        let known_and_idle = connections.join(None);
        known_and_idle.authenticated();
        drop(known_and_idle.begin());
        connections.pass(1);
        let first = connections.join(None);
        connections.pass(1);
        let second = connections.join(None);
        for next in [&first, &second, &known_and_idle] {
            assert!(!next.is_closing() && connections.close_idlest() && next.is_closing());
        }
        assert!(!connections.close_idlest() && !known.is_closing(), "a request with a key is not ended");
        assert_eq!((connections.n_open(), connections.n_staying()), (4, 1));
    }

    #[test]
    fn answers_that_wait_longest_make_room_for_others() {
        let connections = Connections::new();
        let readers: Vec<_> = (0..5).map(|_| connections.join(None)).collect();
        for reader in &readers {
            connections.pass(1);
            reader.owes(40 * 1024 * 1024);
            reader.cannot_write();
        }
        let closing: Vec<_> = readers.iter().map(|reader| reader.is_closing()).collect();
        assert_eq!(closing, [true, true, false, false, false], "three times forty megabytes fit");
    }
}

//! A network that fails when a test says so: a TCP proxy on the loopback that can delay, hold back, swallow, cut and refuse.
//!
//! A test can change what the proxy does at any moment, for all connections or for those that it picks out. *Withholding* is a partition
//! that heals: bytes on their way arrive in the end. *Swallowing* is a connection that is dead without anybody saying so, as a
//! router that forgot it leaves it: bytes are taken and go nowhere, an end is not passed on, and it stays dead for good;
//! [`Proxy::resume`] lets only new ones through. Neither side's TCP notices, because the proxy acknowledges what it takes.
//!
//! It runs on a thread of its own, so tests with and without a runtime can use it.

mod pump;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

/// How much of what a client says first is remembered, to tell connections apart.
const REMEMBERED_BYTES: usize = 16 * 1024;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// From the client to the server.
    Server,
    /// From the server to the client.
    Client,
    /// Both ways.
    Both,
}

/// What happens to bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fault {
    /// They arrive.
    #[default]
    None,
    /// They wait until this is over.
    Withhold,
    /// They are gone, and with them the connection in this direction.
    Swallow,
}

/// One direction of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Way {
    delay: Duration,
    fault: Fault,
}

/// Both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ways {
    to_server: Way,
    to_client: Way,
}

impl Ways {
    fn change(&mut self, toward: Toward, change: impl Fn(&mut Way)) {
        if toward != Toward::Client {
            change(&mut self.to_server);
        }
        if toward != Toward::Server {
            change(&mut self.to_client);
        }
    }

    /// Ends the faults, but a connection that has lost bytes stays dead.
    fn resume(&mut self) {
        for way in [&mut self.to_server, &mut self.to_client] {
            way.delay = Duration::ZERO;
            if way.fault == Fault::Withhold {
                way.fault = Fault::None;
            }
        }
    }
}

/// A running proxy. Dropping it cuts every connection.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    target: SocketAddr,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// For connections that are still to come.
    ways: Ways,
    refusing: bool,
    /// A connection that says these words is swallowed from then on.
    unheard: Option<String>,
    /// How many connections were ever made to it.
    n_accepted: usize,
    connections: Vec<Connection>,
}

/// A connection as the proxy's owner sees it.
struct Connection {
    ways: watch::Sender<Ways>,
    said: Arc<Said>,
    /// Both sockets, which belong to the pumps and close with them.
    sides: [Weak<TcpStream>; 2],
    pumps: [AbortHandle; 2],
}

/// The first bytes of a connection's client.
struct Said {
    bytes: Mutex<Vec<u8>>,
    ways: watch::Sender<Ways>,
    shared: Arc<Shared>,
}

impl Said {
    /// Called before the words go on their way.
    fn add(&self, piece: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let room = REMEMBERED_BYTES.saturating_sub(bytes.len());
        bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        drop(bytes);
        let unheard = self.shared.lock().unheard.clone();
        if unheard.is_some_and(|words| self.has(&words)) {
            self.ways.send_modify(|ways| ways.change(Toward::Both, |way| way.fault = Fault::Swallow));
        }
    }

    fn has(&self, words: &str) -> bool {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()))
    }
}

impl Connection {
    fn is_over(&self) -> bool {
        self.pumps.iter().all(AbortHandle::is_finished)
    }

    /// Ends it as a crash would: with a reset, not with an end.
    fn cut(self) {
        for side in self.sides.iter().filter_map(Weak::upgrade) {
            // Of no use on a socket that the other side has closed already.
            let _ = side.set_zero_linger();
        }
        for pump in &self.pumps {
            pump.abort();
        }
    }
}

impl Proxy {
    /// Listens on a free port of the loopback and passes everything on to `target`.
    pub fn start(target: SocketAddr) -> Self {
        let shared = Arc::new(Shared { target, state: Mutex::default() });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket can be told not to block");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a socket that does not block");
                tokio::select! {
                    () = accept(&for_thread, &listener) => {}
                    _ = stopped => {}
                }
                for_thread.lock().connections.drain(..).for_each(Connection::cut);
            });
        });
        Self { port, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// A proxy before the server on `port` of this machine.
    pub fn before(port: u16) -> Self {
        Self::start((Ipv4Addr::LOCALHOST, port).into())
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `url`, which leads to the target, led through the proxy instead.
    ///
    /// # Panics
    /// When the target's port is not in it.
    pub fn url_for(&self, url: &str) -> String {
        let port = format!(":{}", self.shared.target.port());
        assert!(url.contains(&port), "the URL does not name the proxy's target");
        url.replacen(&port, &format!(":{}", self.port), 1)
    }

    /// Everything that goes `toward` arrives later by `delay`, in order.
    pub fn delay(&self, toward: Toward, delay: Duration) {
        self.change(|ways| ways.change(toward, |way| way.delay = delay));
    }

    /// Nothing that goes `toward` arrives before [`Proxy::resume`].
    pub fn withhold(&self, toward: Toward) {
        self.change(|ways| ways.change(toward, |way| way.fault = Fault::Withhold));
    }

    /// Nothing that goes `toward` arrives any more, nor an end, and nobody is told: on connections that are there and on
    /// those that come before [`Proxy::resume`].
    pub fn swallow(&self, toward: Toward) {
        self.change(|ways| ways.change(toward, |way| way.fault = Fault::Swallow));
    }

    /// The same, but only on connections that are there now and whose client has said `words`, in whatever case; returns how
    /// many they are.
    pub fn swallow_that_said(&self, words: &str, toward: Toward) -> usize {
        let state = self.shared.lock();
        let picked = state.connections.iter().filter(|connection| !connection.is_over() && connection.said.has(words));
        let swallow = |connection: &Connection| {
            connection.ways.send_modify(|ways| ways.change(toward, |way| way.fault = Fault::Swallow));
        };
        picked.map(swallow).count()
    }

    /// From now until [`Proxy::resume`], a connection that says `words` is swallowed from that moment on, both ways.
    pub fn swallow_whoever_says(&self, words: &str) {
        self.shared.lock().unheard = Some(words.to_owned());
    }

    /// Resets every connection.
    pub fn cut(&self) {
        self.shared.lock().connections.drain(..).for_each(Connection::cut);
    }

    /// From now on new connections are reset before they are of any use, or are not.
    pub fn refuse(&self, refusing: bool) {
        self.shared.lock().refusing = refusing;
    }

    /// All bytes pass again. Those that were withheld arrive; connections that were swallowed stay dead.
    pub fn resume(&self) {
        let mut state = self.shared.lock();
        state.refusing = false;
        state.unheard = None;
        state.ways = Ways::default();
        for connection in &state.connections {
            connection.ways.send_modify(Ways::resume);
        }
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections.iter().filter(|connection| !connection.is_over()).count()
    }

    /// How many connections were made to it since it started, also those that it refused.
    pub fn accepted(&self) -> usize {
        self.shared.lock().n_accepted
    }

    /// How many open connections there are whose client has said `words`.
    pub fn connections_that_said(&self, words: &str) -> usize {
        let state = self.shared.lock();
        state.connections.iter().filter(|connection| !connection.is_over() && connection.said.has(words)).count()
    }

    fn change(&self, change: impl Fn(&mut Ways)) {
        let mut state = self.shared.lock();
        change(&mut state.ways);
        for connection in &state.connections {
            connection.ways.send_modify(&change);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both fail only when the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes connections for as long as the proxy lives.
async fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        // A failure here is one connection's, not the listener's.
        let Ok((client, _)) = listener.accept().await else { continue };
        shared.lock().n_accepted += 1;
        tokio::spawn(connect(Arc::clone(shared), client));
    }
}

async fn connect(shared: Arc<Shared>, client: TcpStream) {
    let refusing = shared.lock().refusing;
    let server = if refusing { None } else { TcpStream::connect(shared.target).await.ok() };
    let Some(server) = server else {
        // The client sees a reset, as if nobody were there.
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client, server) = (Arc::new(client), Arc::new(server));
    let sides = [Arc::downgrade(&client), Arc::downgrade(&server)];
    let mut state = shared.lock();
    let ways = watch::Sender::new(state.ways);
    let said = Arc::new(Said { bytes: Mutex::default(), ways: ways.clone(), shared: Arc::clone(&shared) });
    let to_server = pump::Pump {
        from: Arc::clone(&client),
        to: Arc::clone(&server),
        ways: ways.subscribe(),
        way: |ways| ways.to_server,
        said: Some(Arc::clone(&said)),
    };
    let to_client =
        pump::Pump { from: server, to: client, ways: ways.subscribe(), way: |ways| ways.to_client, said: None };
    let pumps = [to_server, to_client].map(|pump| tokio::spawn(pump.run()).abort_handle());
    state.connections.retain(|connection| !connection.is_over());
    state.connections.push(Connection { ways, said, sides, pumps });
}

//! Taking connections, and attending to each until it ends.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use punctual_core::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::rewound::{Duplex, Rewound};
use super::socket::Socket;
use super::tls::Tls;
use super::{Connection, Connections, InRequest};

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// The most that is read or written at a time.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// So much of a request is read before there are buffers for it.
const FIRST_BYTES_MAX: usize = 64;
/// Connections that were told to end and have not yet, before taking new ones waits for them.
const ENDING_MAX: usize = 32;
/// How long to wait when the system has no descriptor left for a connection.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    /// None: they are not encrypted.
    pub(crate) tls: Option<Arc<Tls>>,
}

/// Serves `router` over HTTP/1.1 until `stopping`, then lets the requests under way end.
pub(crate) async fn serve(
    listener: Listener,
    router: Router,
    connections_max: usize,
    clock: Arc<dyn Clock>,
    stopping: watch::Receiver<bool>,
) {
    let connections = Connections::new();
    let mut stopped = stopping.clone();
    tokio::select! {
        () = take(&listener, &router, connections_max, &connections, &*clock, &stopping) => {}
        () = connections.watch(&*clock) => {}
        () = connections.let_rest(&*clock) => {}
        // An error means that the sender is gone, which is a stop as well.
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    connections.end_without_request();
    while connections.n_open() > 0 {
        connections.freed.notified().await;
    }
}

/// Takes connections, for ever.
async fn take(
    listener: &Listener,
    router: &Router,
    connections_max: usize,
    connections: &Arc<Connections>,
    clock: &dyn Clock,
    stopping: &watch::Receiver<bool>,
) {
    let mut is_exhausted = false;
    loop {
        let (stream, peer) = match listener.socket.accept().await {
            Ok(accepted) => accepted,
            // It is gone before it was taken.
            Err(error) if is_of_the_connection(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut is_exhausted, true) {
                    tracing::warn!(%error, "a connection cannot be taken; idle ones are closed");
                }
                connections.close_idlest();
                clock.pause(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        is_exhausted = false;
        make_room(connections, connections_max).await;
        // Answers are small: waiting to fill a packet would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let connection = connections.join(Some(peer.ip()));
        tokio::spawn(attend(stream, listener.tls.clone(), router.clone(), connection, stopping.clone()));
    }
}

/// Waits until one more connection fits, and closes the idlest for it.
async fn make_room(connections: &Connections, connections_max: usize) {
    while connections.n_open() >= connections_max && connections.n_staying() >= connections_max {
        if !connections.close_idlest() {
            // All are at work for somebody who has shown a key.
            connections.freed.notified().await;
        }
    }
    while connections.n_open() >= connections_max + ENDING_MAX {
        connections.freed.notified().await;
    }
}

fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Leaves, however it ends.
struct Leaving(Arc<Connection>);

impl Drop for Leaving {
    fn drop(&mut self) {
        // Work that was not begun knows the connection.
        drop(self.0.after_http());
        self.0.all.leave(&self.0);
    }
}

async fn attend(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    router: Router,
    connection: Arc<Connection>,
    stopping: watch::Receiver<bool>,
) {
    let leaving = Leaving(Arc::clone(&connection));
    let socket = Socket { stream, connection };
    let Some(tls) = tls else { return speak(socket, &router, &leaving.0, stopping).await };
    // A handshake has its time and its place as the head of a request has: it counts as one.
    let mut stopped = stopping.clone();
    let greeted = tokio::select! {
        greeted = Box::pin(tls.greet(socket)) => greeted,
        () = leaving.0.close.notified() => return,
        _ = stopped.wait_for(|stop| *stop) => return,
    };
    match greeted {
        Ok(stream) => Box::pin(speak(stream, &router, &leaving.0, stopping)).await,
        Err(error) => tracing::debug!(%error, "a connection ended before it was encrypted"),
    }
}

/// Speaks HTTP until the connection ends. While nothing is asked on it for a while, a connection has no buffers: ten thousand of them then take
/// little memory.
async fn speak<S: Duplex + 'static>(
    stream: S,
    router: &Router,
    connection: &Arc<Connection>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut stream = Rewound { first: Bytes::new(), stream };
    loop {
        if stream.first.is_empty() {
            let mut first = [0; FIRST_BYTES_MAX];
            let n_read = tokio::select! {
                n_read = stream.read(&mut first) => n_read.unwrap_or(0),
                () = connection.close.notified() => return,
                // A sender that is gone is a stop as well.
                _ = stopping.wait_for(|stop| *stop) => 0,
            };
            if n_read == 0 {
                break;
            }
            stream.first = Bytes::copy_from_slice(&first[..n_read]);
        }
        let Some((left, after)) = Box::pin(serve_http(stream, router, connection, &mut stopping)).await else { return };
        stream = left;
        if let Some(work) = connection.after_http() {
            let _in_request = connection.begin();
            connection.is_endless();
            tokio::select! {
                () = work(Box::new(stream)) => {}
                () = connection.close.notified() => {}
            }
            return;
        }
        if after == After::End {
            break;
        }
    }
    tokio::select! {
        // A client that is gone cannot be told.
        _ = stream.shutdown() => {}
        () = connection.close.notified() => {}
    }
}

/// What is to come after HTTP was spoken for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Nothing: the connection ends.
    End,
    /// Nothing was asked for a while, and the next request is waited for.
    Rest,
}

/// Speaks HTTP until that is over or nothing is asked for a while. Returns the stream; `None` where it is to be closed at once.
async fn serve_http<S: Duplex + 'static>(
    stream: Rewound<S>,
    router: &Router,
    connection: &Arc<Connection>,
    stopping: &mut watch::Receiver<bool>,
) -> Option<(Rewound<S>, After)> {
    let router = TowerToHyperService::new(router.clone());
    let service = service_fn(|mut request: Request<Incoming>| {
        let in_request = connection.begin();
        request.extensions_mut().insert(Arc::clone(connection));
        let answer = router.call(request);
        Box::pin(async move {
            let Ok(response) = answer.await;
            in_request.0.owes(response.body().size_hint().lower());
            Ok::<_, Infallible>(response.map(|body| Answer { body, _in_request: in_request }))
        })
    });
    let mut builder = http1::Builder::new();
    builder.max_header_size(HEAD_BYTES_MAX).max_buf_size(BUFFER_BYTES_MAX);
    let mut serving = builder.serve_connection(TokioIo::new(stream), service);
    let (mut is_stopping, mut after) = (false, After::End);
    loop {
        tokio::select! {
            ended = poll_fn(|cx| serving.poll_without_shutdown(cx)) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended");
                    return None;
                }
                let parts = serving.into_parts();
                let Rewound { first: unread, stream } = parts.io.into_inner();
                debug_assert!(unread.is_empty(), "hyper reads everything that there is");
                // An empty part of hyper's buffer would keep the whole of it.
                let first = if parts.read_buf.is_empty() { Bytes::new() } else { parts.read_buf };
                return Some((Rewound { first, stream }, after));
            }
            () = connection.close.notified() => return None,
            () = connection.rests.notified(), if after == After::End => {
                // Something may have come since.
                if !is_stopping && connection.is_at_rest() {
                    after = After::Rest;
                    Pin::new(&mut serving).graceful_shutdown();
                }
            }
            _ = stopping.wait_for(|stop| *stop), if !is_stopping => {
                (is_stopping, after) = (true, After::End);
                Pin::new(&mut serving).graceful_shutdown();
            }
        }
    }
}

/// An answer. Its request is over when hyper has taken the whole of it.
struct Answer {
    body: Body,
    _in_request: InRequest,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::get;
    use jiff::{SignedDuration, Timestamp};
    use punctual_testkit::clock::ManualClock;
    use punctual_testkit::wait::until;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;
    use tokio::sync::mpsc;

    use super::*;

    const END: &[u8] = b"that was all";

    #[tokio::test]
    async fn a_connection_on_which_another_protocol_is_spoken_counts_is_not_idle_and_ends_with_its_work() {
        let (sender, mut open) = mpsc::unbounded_channel();
        let (end, ends) = watch::channel(false);
        let handler = move |Extension(connection): Extension<Arc<Connection>>| async move {
            let (sender, mut ends) = (sender.clone(), ends.clone());
            let known = Arc::clone(&connection);
            let work = async move {
                sender.send(known).unwrap();
                let _ = ends.wait_for(|ends| *ends).await;
            };
            connection.then(Box::new(|_| Box::pin(work)));
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let (_stop, stopping) = watch::channel(false);
        let router = Router::new().route("/", get(handler));
        let serving = tokio::spawn(serve(
            Listener { socket: listener, tls: None },
            router,
            10,
            Arc::new(clock.clone()),
            stopping,
        ));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let connection = open.recv().await.unwrap();
        for _ in 0..2 * super::super::IDLE_TICKS {
            until("the ticks are counted", async || clock.until_next().is_some()).await;
            let before = connection.all.now();
            clock.advance(SignedDuration::try_from(super::super::TICK).unwrap());
            until("a tick is counted", async || connection.all.now() > before).await;
        }
        assert!(!connection.lock().closing, "it is at work, not idle");
        assert_eq!(connection.all.n_open(), 1);
        end.send(true).unwrap();
        until("it has left", async || connection.all.n_open() == 0).await;
        until("nothing is left of it", async || {
            clock.advance(SignedDuration::from_millis(100));
            Arc::strong_count(&connection) == 1
        })
        .await;
        serving.abort();
    }

    #[tokio::test]
    async fn work_that_was_never_begun_is_forgotten_with_its_connection() {
        let connection = Connections::new().join(None);
        let known = Arc::clone(&connection);
        connection.then(Box::new(|_| Box::pin(async move { drop(known) })));
        drop(Leaving(Arc::clone(&connection)));
        assert_eq!(Arc::strong_count(&connection), 1, "it and its work would keep each other for ever");
    }

    #[tokio::test]
    async fn a_connection_that_has_rested_is_answered_again_and_ends_with_the_server() {
        let (sender, mut asked) = mpsc::unbounded_channel();
        let handler = move |Extension(connection): Extension<Arc<Connection>>| async move {
            sender.send(connection).unwrap();
            "tea"
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let (stop, stopping) = watch::channel(false);
        let router = Router::new().route("/", get(handler));
        let listener = Listener { socket: listener, tls: None };
        let serving = tokio::spawn(serve(listener, router, 10, Arc::new(clock.clone()), stopping));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let whole = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        for first_part in [whole.len(), 70.min(whole.len()), 1, 20] {
            stream.write_all(&whole[..first_part]).await.unwrap();
            stream.write_all(&whole[first_part..]).await.unwrap();
            let connection = asked.recv().await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"tea") {
                assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
            }
            until("it is answered", async || connection.is_at_rest()).await;
            for _ in 0..3 {
                until("it is looked at", async || clock.until_next().is_some()).await;
                clock.advance(SignedDuration::from_millis(100));
                tokio::task::yield_now().await;
            }
        }
        stop.send(true).unwrap();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0, "it ends with the server, without an error");
        serving.await.unwrap();
    }

    /// An answer that says nothing new until its reader is given up, and then why it ends.
    async fn endless(connection: Arc<Connection>) -> Body {
        connection.is_endless();
        let next = |(connection, n): (Arc<Connection>, u8)| async move {
            match n {
                // More than the buffers of the system take.
                0..128 => Some((Bytes::from(vec![b'#'; 128 * 1024]), (connection, n + 1))),
                128 => {
                    connection.given_up().await;
                    Some((Bytes::from_static(END), (connection, n + 1)))
                }
                _ => None,
            }
        };
        let chunks = futures_util::stream::unfold((connection, 0), next);
        Body::from_stream(futures_util::StreamExt::map(chunks, Ok::<_, Infallible>))
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_told_why_if_it_reads_again_and_is_closed_if_not() {
        for reads_again in [true, false] {
            let (sender, mut open) = mpsc::unbounded_channel();
            let handler = move |Extension(connection): Extension<Arc<Connection>>| async move {
                sender.send(Arc::clone(&connection)).unwrap();
                endless(connection).await
            };
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
            let (_stop, stopping) = watch::channel(false);
            let router = Router::new().route("/", get(handler));
            let listener = Listener { socket: listener, tls: None };
            let serving = tokio::spawn(serve(listener, router, 10, Arc::new(clock.clone()), stopping));
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            let mut stream = socket.connect(address).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
            let connection = open.recv().await.unwrap();
            until("nothing more fits", async || connection.lock().blocked.is_some()).await;
            let tick = async || {
                until("the ticks are counted", async || clock.until_next().is_some()).await;
                let before = connection.all.now();
                clock.advance(SignedDuration::try_from(super::super::TICK).unwrap());
                until("a tick is counted", async || connection.all.now() > before).await;
            };
            while !connection.lock().given_up {
                tick().await;
            }
            assert_eq!(clock.elapsed().as_secs(), 21);
            let mut read = Vec::new();
            if reads_again {
                stream.read_to_end(&mut read).await.unwrap();
                assert_eq!(read.iter().filter(|byte| **byte == b'#').count() % (128 * 1024), 0, "nothing is missing");
                assert!(read.windows(END.len()).any(|window| window == END), "the last word is the reason");
                assert!(!connection.is_unread());
            } else {
                while !connection.lock().closing {
                    tick().await;
                }
                assert_eq!(clock.elapsed().as_secs(), 26);
                assert!(connection.is_unread());
                let cut_off = stream.read_to_end(&mut read).await.unwrap_err();
                assert_eq!(cut_off.kind(), io::ErrorKind::ConnectionReset);
            }
            serving.abort();
        }
    }
}

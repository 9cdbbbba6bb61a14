//! One connection with some channels, each used by one group of messages at a time.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_rs::TokioRuntime;
use lapin::options::ConfirmSelectOptions;
use lapin::tcp::{AMQPUriTcpExt, OwnedTLSConfig};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Channel, ConnectionProperties, ErrorKind};
use punctual_core::clock::{Clock, within};

use super::url::Target;
use crate::broker::Heard;

/// How many channels are kept when nothing is sent.
const IDLE_MAX: usize = 4;

/// Why there is no connection.
pub(super) enum OpenError {
    /// The error of the client or the broker.
    Failed(lapin::Error),
    /// The broker did not answer in time.
    TimedOut(Duration),
}

/// A connection to the broker.
pub(super) struct Connection {
    inner: lapin::Connection,
    idle: Mutex<Vec<Channel>>,
    socket: Socket,
    /// Confirms of any kind.
    pub(super) heard: Heard,
}

/// A second handle of the connection's socket. The client has a thread for each connection, which waits for the other side
/// however long it is silent, also when nobody waits for the client any more; closing the socket ends it.
#[derive(Clone, Default)]
struct Socket(Arc<OnceLock<TcpStream>>);

impl Socket {
    fn close(&self) {
        if let Some(socket) = self.0.get() {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Connection {
    /// Connects and signs in.
    pub(super) async fn open(target: &Target, limit: Duration, clock: &Arc<dyn Clock>) -> Result<Self, OpenError> {
        let socket = Socket::default();
        let inner = match within(&**clock, limit, connect(target, socket.clone(), limit, clock.clone())).await {
            Some(inner) => inner.map_err(OpenError::Failed)?,
            None => {
                socket.close();
                return Err(OpenError::TimedOut(limit));
            }
        };
        Ok(Self { inner, idle: Mutex::default(), socket, heard: Heard::default() })
    }

    pub(super) fn is_up(&self) -> bool {
        self.inner.status().connected()
    }

    /// Whether the broker has asked to send nothing for now.
    pub(super) fn is_blocked(&self) -> bool {
        self.inner.status().blocked()
    }

    /// A channel with nothing under way, on which every message is confirmed.
    pub(super) async fn channel(&self) -> lapin::Result<Channel> {
        while let Some(channel) = self.pop() {
            if channel.status().connected() {
                return Ok(channel);
            }
        }
        let channel = self.inner.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    /// Takes back a channel, for the next group.
    pub(super) fn give_back(&self, channel: Channel) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(channel);
        }
    }

    /// Ends the connection without a word: there is nobody who would hear it.
    pub(super) fn end(&self) {
        self.socket.close();
    }

    fn pop(&self) -> Option<Channel> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Channel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(
    target: &Target,
    socket: Socket,
    limit: Duration,
    clock: Arc<dyn Clock>,
) -> lapin::Result<lapin::Connection> {
    let has_tls = target.has_tls();
    let options = ConnectionProperties::default().with_connection_name("punctual".into());
    let runtime = lapin::runtime::default_runtime()?;
    let connect = async move |mut uri: AMQPUri, runtime: TokioRuntime| {
        uri.scheme = AMQPScheme::AMQP;
        let connecting = async {
            let stream = uri.connect_async(&runtime).await?;
            if let AsyncTcpStream::Plain(stream) = &stream {
                let stream = stream.get_ref();
                stream.set_nodelay(true)?;
                // There is one attempt for each, so it is empty.
                let _ = socket.0.set(second_handle(stream)?);
            }
            match has_tls {
                true => stream.into_tls(&uri.authority.host, OwnedTLSConfig::default().as_ref()).await,
                false => Ok(stream),
            }
        };
        // On the client's own thread, which would otherwise go on for as long as the system tries.
        let connected = within(&*clock, limit, connecting).await;
        let connected = connected.unwrap_or_else(|| Err(std::io::ErrorKind::TimedOut.into()));
        connected.map_err(|error| ErrorKind::IOError(Arc::new(error)).into())
    };
    lapin::Connection::connector(target.uri.clone(), runtime, connect, options).await
}

#[cfg(unix)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<TcpStream> {
    use std::os::fd::AsFd;
    stream.as_fd().try_clone_to_owned().map(TcpStream::from)
}

#[cfg(windows)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<TcpStream> {
    use std::os::windows::io::AsSocket;
    stream.as_socket().try_clone_to_owned().map(TcpStream::from)
}

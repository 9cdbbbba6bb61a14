//! The frames of one connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::{Sink, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_websockets::{CloseCode, Config, Error, Limits, Message, ServerBuilder, WebSocketStream};

use super::ends::End;
use super::meter::{Meter, Metered};
use crate::http::bodies::Part;

/// How much of what comes after the end is read and thrown away.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The head of a short frame from a client.
const HEAD_BYTES: usize = 6;

/// A connection on which both sides speak WebSocket. What is sent is only queued; a caller that has sent flushes before it does anything
/// else, so the queue is never longer than what was sent at once.
pub(super) struct Wire<S> {
    frames: WebSocketStream<Metered<S>>,
    meter: Arc<Meter>,
    is_dirty: bool,
    /// Whether the client has closed, or has said that it knows of the close.
    has_closed: bool,
}

/// What has come.
pub(super) enum Came {
    /// A message, and its part of the memory for messages.
    Text(Bytes, Part),
    /// A ping or its answer.
    Sign,
    /// The client closes; it is told that this was heard.
    Close,
}

/// The connection has ended.
pub(super) enum Over {
    /// The client went away, or does not speak WebSocket.
    Gone,
    /// The client is to be told why.
    Told(End),
    /// Its key does not work any more.
    KeyEnds,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(io: S, meter: Arc<Meter>, message_bytes_max: usize) -> Self {
        let limits = Limits::default().max_payload_len(Some(message_bytes_max));
        let server = ServerBuilder::new().limits(limits).config(Config::default());
        let frames = server.serve(Metered { io, meter: Arc::clone(&meter) });
        Self { frames, meter, is_dirty: false, has_closed: false }
    }

    /// Whether something waits to be flushed.
    pub(super) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// How many bytes of a message have come that is not whole.
    pub(super) fn coming(&self) -> usize {
        self.meter.coming()
    }

    pub(super) fn text(&mut self, text: impl Into<Bytes>) -> Result<(), Over> {
        self.send(Message::text(text.into()))
    }

    pub(super) fn ping(&mut self) -> Result<(), Over> {
        self.send(Message::ping(Bytes::new()))
    }

    /// Says why it ends. Nothing can be sent after it.
    pub(super) fn close(&mut self, end: End) -> Result<(), Over> {
        let code = CloseCode::try_from(end.code).unwrap_or(CloseCode::INTERNAL_SERVER_ERROR);
        self.send(Message::close(Some(code), &end.text()))
    }

    fn send(&mut self, message: Message) -> Result<(), Over> {
        self.is_dirty = true;
        Pin::new(&mut self.frames).start_send(message).map_err(|_| Over::Gone)
    }

    /// Writes what waits. It may be dropped before it is ready: nothing is lost.
    pub(super) async fn flush(&mut self) -> Result<(), Over> {
        let flushed = poll_fn(|context| Pin::new(&mut self.frames).poll_flush(context)).await;
        self.is_dirty = false;
        flushed.map_err(|_| Over::Gone)
    }

    /// Ends the connection: at once where the client knows that it ends, else when the client does. What still comes is not looked at: a
    /// connection that is closed with something unread takes away what the client has not read, such as the reason of the end.
    pub(super) async fn shut(&mut self) {
        if self.has_closed {
            return;
        }
        let io = &mut self.frames.get_mut().io;
        // A client that is gone cannot be told.
        let _ = io.shutdown().await;
        let (mut bytes, mut n_read) = ([0; 8 * 1024], 0);
        while n_read < DRAIN_BYTES_MAX {
            match io.read(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(n) => n_read += n,
            }
        }
    }

    /// What comes next. It may be dropped before it is ready: nothing is lost.
    pub(super) async fn next(&mut self) -> Result<Came, Over> {
        let message = match self.frames.next().await {
            Some(Ok(message)) => message,
            Some(Err(Error::PayloadTooLong { .. })) => return Err(Over::Told(End::TOO_LARGE)),
            Some(Err(Error::Io(_))) if self.meter.is_refused() => return Err(Over::Told(End::BUSY)),
            Some(Err(Error::Protocol(error))) => {
                tracing::debug!(%error, "a client does not speak WebSocket");
                // The library has queued a close frame that says so.
                self.is_dirty = true;
                return Err(Over::Gone);
            }
            Some(Err(_)) | None => return Err(Over::Gone),
        };
        if message.is_text() {
            let part = self.meter.taken();
            return Ok(Came::Text(message.into_payload().into(), part));
        }
        if message.is_binary() {
            return Err(Over::Told(End::NOT_TEXT));
        }
        self.meter.apart(HEAD_BYTES + message.as_payload().len());
        // The library has queued the answer to a ping or a close.
        self.is_dirty |= message.is_ping() || message.is_close();
        self.has_closed |= message.is_close();
        Ok(if message.is_close() { Came::Close } else { Came::Sign })
    }
}

//! Memory for messages that come in.
//!
//! All WebSockets together have a budget, and a message takes its part as it comes in, so an announced length costs nothing. The first bytes of a
//! message are free: most messages are no longer.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use punctual_core::clock::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::App;
use crate::http::bodies::Part;
use crate::http::problem::Problem;

/// So much of a message is free.
const FREE_BYTES: usize = 16 * 1024;

/// Counts what comes in over one connection.
pub(super) struct Meter {
    app: Arc<App>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes since the last message.
    coming: usize,
    part: Part,
    growing: Option<BoxFuture<(Part, Result<(), Problem>)>>,
    is_refused: bool,
}

impl Meter {
    pub(super) fn new(app: Arc<App>) -> Arc<Self> {
        Arc::new(Self { app, state: Mutex::default() })
    }

    /// A message has come whole: the part of the budget that it has.
    pub(super) fn taken(&self) -> Part {
        let mut state = self.lock();
        state.coming = 0;
        std::mem::take(&mut state.part)
    }

    /// So many of the bytes were no part of a message.
    pub(super) fn apart(&self, bytes: usize) {
        let mut state = self.lock();
        state.coming = state.coming.saturating_sub(bytes);
    }

    /// How many bytes of a message have come that is not whole.
    pub(super) fn coming(&self) -> usize {
        self.lock().coming
    }

    /// Whether a message was not read on because there was no room for it.
    pub(super) fn is_refused(&self) -> bool {
        self.lock().is_refused
    }

    /// Waits until what has come has its part of the budget.
    fn poll_room(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        if state.growing.is_none() {
            let wanted = state.coming;
            if wanted <= FREE_BYTES.max(state.part.bytes()) {
                return Poll::Ready(Ok(()));
            }
            let (app, mut part) = (Arc::clone(&self.app), std::mem::take(&mut state.part));
            state.growing = Some(Box::pin(async move {
                let grown = app.sockets.bodies.grow(&mut part, wanted).await;
                (part, grown)
            }));
        }
        let Some(growing) = &mut state.growing else { return Poll::Ready(Ok(())) };
        let (part, grown) = ready!(growing.as_mut().poll(context));
        (state.growing, state.part) = (None, part);
        Poll::Ready(grown.map_err(|_| {
            state.is_refused = true;
            io::Error::other("there is no room for the message")
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose incoming bytes are counted.
pub(super) struct Metered<S> {
    pub(super) io: S,
    pub(super) meter: Arc<Meter>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.meter.poll_room(context))?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        self.meter.lock().coming += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

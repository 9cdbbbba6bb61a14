//! One direction of one connection.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Fault, Said, Way, Ways};

/// Carries bytes from one socket to another.
pub(super) struct Pump {
    pub(super) from: Arc<TcpStream>,
    pub(super) to: Arc<TcpStream>,
    pub(super) ways: watch::Receiver<Ways>,
    /// Which of the two ways is its own.
    pub(super) way: fn(&Ways) -> Way,
    /// Where to keep what is said first.
    pub(super) said: Option<Arc<Said>>,
}

/// Bytes and when they came; none are the end.
type Piece = (Instant, Vec<u8>);

impl Pump {
    /// Runs until there is nothing more to carry.
    pub(super) async fn run(self) {
        let Self { from, to, ways, way, said } = self;
        // Reading never waits for writing, so a delay is a delay and not a narrow pipe.
        let (sender, pieces) = mpsc::unbounded_channel();
        let reading = async move {
            loop {
                let piece = read(&from).await.unwrap_or_default();
                if let Some(said) = &said {
                    said.add(&piece);
                }
                let is_end = piece.is_empty();
                // The writer goes away only when the other side has.
                if sender.send((now(), piece)).is_err() || is_end {
                    return;
                }
            }
        };
        tokio::join!(reading, write_all(pieces, &to, ways, way));
    }
}

async fn write_all(
    mut pieces: mpsc::UnboundedReceiver<Piece>,
    to: &TcpStream,
    mut ways: watch::Receiver<Ways>,
    way: fn(&Ways) -> Way,
) {
    while let Some((read_at, piece)) = pieces.recv().await {
        let delay = way(&ways.borrow()).delay;
        wait_until(read_at + delay).await;
        // The sender is gone only when the proxy is.
        let Ok(now) = ways.wait_for(|ways| way(ways).fault != Fault::Withhold).await.map(|ways| way(&ways)) else {
            return;
        };
        if now.fault == Fault::Swallow {
            // Read on, so that the sender never notices; write no more.
            while pieces.recv().await.is_some() {}
            return;
        }
        if piece.is_empty() {
            // Its other direction may go on.
            let _ = shutdown(to, Shutdown::Write);
            return;
        }
        if write(to, &piece).await.is_err() {
            // That side is gone, which the pump of the other direction learns as well.
            return;
        }
    }
}

async fn read(from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        from.readable().await?;
        match from.try_read(&mut buffer) {
            Ok(n_read) => {
                buffer.truncate(n_read);
                return Ok(buffer);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(n_written) => bytes = &bytes[n_written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the network's time is real")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the network's time is real")]
async fn wait_until(at: Instant) {
    if at > now() {
        tokio::time::sleep_until(at).await;
    }
}

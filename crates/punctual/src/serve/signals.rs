//! The signals that end the server: the first asks it to stop, the second ends it at once.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals, listened for from the moment this is made.
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(not(unix))]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the first, and names it.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "Ctrl-C",
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> &'static str {
        let _ = tokio::signal::ctrl_c().await;
        "Ctrl-C"
    }

    /// Calls `reload` at every SIGHUP, for as long as the process runs.
    #[cfg(unix)]
    pub(super) fn reloads(reload: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
        let mut hangup = signal(SignalKind::hangup())?;
        let reload = std::sync::Arc::new(reload);
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let reload = std::sync::Arc::clone(&reload);
                // It reads files. A panic in it ends nothing else.
                let _ = tokio::task::spawn_blocking(move || reload()).await;
            }
        });
        Ok(())
    }

    #[cfg(not(unix))]
    pub(super) fn reloads(_: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
        Ok(())
    }

    /// Ends the process at the next signal, whatever is under way.
    pub(super) async fn next_exits(mut self) {
        let signal = self.next().await;
        tracing::warn!("{signal} again: stopping at once");
        std::process::exit(1);
    }
}

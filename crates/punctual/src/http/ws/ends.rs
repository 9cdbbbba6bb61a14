//! Why the server ends a connection, and waiting for it.

use std::sync::Arc;

use axum::http::HeaderMap;
use punctual_core::clock::BoxFuture;
use tokio::sync::watch;

use super::keys::Keys;
use crate::connections::Connection;
use crate::http::App;
use crate::http::auth::Caller;
use crate::http::stream;

/// Why the server ends a connection: the reader is told by the close frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: u16,
    /// For programs and metrics.
    pub(super) reason: &'static str,
    /// For people.
    pub(super) detail: &'static str,
}

impl End {
    const fn new(code: u16, reason: &'static str, detail: &'static str) -> Self {
        Self { code, reason, detail }
    }

    pub(super) const STOPPING: Self = Self::new(1001, "stopping", "this server stops");
    pub(super) const NOT_TEXT: Self = Self::new(1003, "not_text", "messages are JSON in text frames");
    pub(super) const TOO_LARGE: Self = Self::new(1009, "too_large", "a message has at most 1 MB; send more over HTTP");
    pub(super) const FAILED: Self =
        Self::new(1011, "failed", "the request hit a mistake in punctual; the log has more");
    pub(super) const BUSY: Self =
        Self::new(1013, "busy", "too many large messages are being read just now; come back later");
    // From here on: 4000 and what the status would be over HTTP.
    const KEY_EXPIRED: Self = Self::new(4401, "key_expired", "the key has expired");
    const KEY_DELETED: Self = Self::new(4401, "key_deleted", "the key was deleted");
    pub(super) const TOO_SLOW: Self =
        Self::new(4408, "too_slow", "the reader takes less than is written: read all the time, or ask for less");
    pub(super) const HALF_SENT: Self = Self::new(4408, "half_sent", "a message was begun and not sent on");
    pub(super) const IDLE: Self = Self::new(4408, "idle", "no answer to a ping for a minute");

    /// The text of the close frame.
    pub(super) fn text(self) -> String {
        format!("{}: {}", self.reason, self.detail)
    }
}

/// Everything that ends a connection from outside it.
pub(super) struct Ends {
    app: Arc<App>,
    headers: HeaderMap,
    caller: Caller,
    connection: Arc<Connection>,
    stopping: watch::Receiver<bool>,
    /// Tells when keys may have changed. An admin's key is none that can be deleted.
    keys: Option<watch::Receiver<u64>>,
    expires: Option<BoxFuture<()>>,
    /// Whether the key still works.
    checking: Option<BoxFuture<Option<Caller>>>,
}

impl Ends {
    pub(super) fn new(app: Arc<App>, headers: HeaderMap, caller: Caller, connection: Arc<Connection>) -> Self {
        let keys = caller.can_be_deleted().then(|| Keys::watch(&app));
        let stopping = app.streams.stopping();
        let mut this = Self { app, headers, caller, connection, stopping, keys, expires: None, checking: None };
        this.wait_for_expiry();
        this
    }

    /// Waits until the connection is to end. It may be dropped before it is ready: nothing is lost.
    pub(super) async fn next(&mut self) -> End {
        loop {
            tokio::select! { biased;
                () = stream::stops(&mut self.stopping) => return End::STOPPING,
                () = self.connection.given_up() => return End::TOO_SLOW,
                () = set(&mut self.expires) => {
                    if self.caller.has_expired(self.app.now()) {
                        return End::KEY_EXPIRED;
                    }
                    self.wait_for_expiry();
                }
                caller = set(&mut self.checking) => {
                    self.checking = None;
                    match caller {
                        Some(caller) => self.caller = caller,
                        None => return self.key_ends(),
                    }
                    self.wait_for_expiry();
                }
                changed = changes(&mut self.keys) => match changed {
                    Ok(()) => self.checking = Some(Box::pin(check(Arc::clone(&self.app), self.headers.clone(), self.caller.clone()))),
                    Err(_) => self.keys = None,
                },
            }
        }
    }

    /// The end of a connection whose key does not work any more.
    pub(super) fn key_ends(&self) -> End {
        if self.caller.has_expired(self.app.now()) { End::KEY_EXPIRED } else { End::KEY_DELETED }
    }

    fn wait_for_expiry(&mut self) {
        self.expires = self.caller.expires_at().map(|at| self.app.engine.clock().sleep_until(at));
    }
}

/// The caller as its key is now; `None`: the key does not work any more. While the store cannot say, it does.
async fn check(app: Arc<App>, headers: HeaderMap, caller: Caller) -> Option<Caller> {
    if matches!(caller.check_again(&app).await, Err(problem) if problem.is_unauthorized()) {
        return None;
    }
    match Caller::of(&headers, &app).await {
        Ok(caller) => Some(caller),
        Err(problem) if problem.is_unauthorized() => None,
        Err(_) => Some(caller),
    }
}

async fn set<T>(future: &mut Option<BoxFuture<T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn changes(keys: &mut Option<watch::Receiver<u64>>) -> Result<(), watch::error::RecvError> {
    match keys {
        Some(keys) => keys.changed().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_fits_into_a_close_frame() {
        for end in [
            End::STOPPING,
            End::NOT_TEXT,
            End::TOO_LARGE,
            End::FAILED,
            End::BUSY,
            End::KEY_EXPIRED,
            End::KEY_DELETED,
            End::TOO_SLOW,
            End::HALF_SENT,
            End::IDLE,
        ] {
            assert!(end.text().len() <= 123, "{}", end.text());
        }
    }
}

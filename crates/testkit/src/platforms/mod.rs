//! Platforms on the loopback: small servers that speak as Telegram, Slack, Discord and a push service do, and requests signed as they sign them.
//!
//! Each keeps what it was sent, lets a test be the person who presses and writes, and confirms, repeats and forgets as the real one
//! does. They run on threads of their own, so tests with and without a runtime can use them.

/// Telegram: a bot's messages, long polling and its webhook.
pub mod telegram;

/// Slack: a bot's messages, and Socket Mode.
pub mod slack;

/// Discord: a bot's messages, interactions, and the gateway with its sessions.
pub mod discord;

/// A push service, and the browsers that it reaches.
pub mod webpush;

mod socket;

/// Requests signed as the platforms sign theirs.
pub mod signed;

use std::future::Future;
use std::net::Ipv4Addr;
use std::thread::JoinHandle;

use axum::Router;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// One request to a platform's API.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What was called: Telegram's method, or the HTTP method and the path.
    pub call: String,
    /// Its body; null if it had none.
    pub body: Value,
}

/// When a person does something.
#[expect(clippy::disallowed_methods, reason = "the program that hears of it is real, and so is its time")]
pub(crate) fn moment() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// The same in whole seconds.
pub(crate) fn second() -> i64 {
    moment().as_second()
}

/// A server on a thread of its own. Dropping it closes every connection.
pub(crate) struct Local {
    pub(crate) port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Local {
    /// Serves HTTP on a free port.
    pub(crate) fn http(router: Router) -> Self {
        Self::start(|listener| async move {
            // It ends with its thread alone.
            let _ = axum::serve(listener, router).await;
        })
    }

    /// Runs `serve` on a free port.
    pub(crate) fn start<F: Future<Output = ()>>(serve: impl FnOnce(TcpListener) -> F + Send + 'static) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket can be told not to block");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a socket that does not block");
                tokio::select! {
                    () = serve(listener) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { port, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // Both fail only when the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

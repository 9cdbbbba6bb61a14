//! Servers that take a connection and say nothing, by a clock that stands still: how long they are given is the clock's affair, and no
//! test waits for it.
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[allow(dead_code, reason = "each file uses a part of it")]
mod common;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use common::{message, within};
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_channels::common::fields::Fields;
use punctual_channels::setup::{Server, make};
use punctual_core::channel::SendError;
use punctual_testkit::clock::ManualClock;
use tokio::net::TcpListener;

/// Far less than any of the limits: none of them is waited for.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Sends through a channel of `kind` to a server that says nothing, and returns the error that the send ends with when `limit` has passed,
/// and not before.
async fn after(limit: SignedDuration, kind: &str, address: &str, settings: &[(&str, &str)]) -> SendError {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
    let fields = settings.iter().map(|(name, value)| ((*name).to_owned(), value.replace("PORT", &port))).collect();
    let channel = make(kind, Fields::new(fields), &Server::new(Arc::new(clock.clone()))).unwrap();
    let message = message(address, 1);
    let mut sending = pin!(channel.send(&message));
    let _connection = tokio::select! { biased;
        said = &mut sending => panic!("{kind}: nobody has answered, and it says {said:?}"),
        connection = server.accept() => connection.unwrap(),
    };
    clock.advance(limit - SignedDuration::from_millis(1));
    for _ in 0..10 {
        tokio::task::yield_now().await;
        assert_eq!((&mut sending).now_or_never(), None, "{kind}: its time has not passed");
    }
    clock.advance(SignedDuration::from_millis(1));
    within(AT_ONCE, sending).await.unwrap_err()
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left_when_its_time_has_passed() {
    let five = SignedDuration::from_secs(5);
    let email =
        [("host", "127.0.0.1"), ("port", "PORT"), ("tls", "none"), ("from", "p@example.net"), ("timeout", "8s")];
    let said = [
        after(five, "nats", "game.x", &[("url", "nats://127.0.0.1:PORT")]).await,
        after(five, "rabbitmq", "game", &[("url", "amqp://127.0.0.1:PORT")]).await,
        after(SignedDuration::from_secs(8), "email", "bob@example.org", &email).await,
    ];
    for (said, expect) in said.iter().zip(["does not answer within 5s", "does not answer within 5s", "longer than 8s"])
    {
        assert!(matches!(said, SendError::Unavailable(why) if why.contains(expect)), "{said:?}");
    }
}

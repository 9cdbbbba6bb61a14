//! What the tests with real brokers share.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::channel::{Channel, Message, Notice, Receipt, SendError};
use punctual_core::clock::Clock;
use punctual_core::id::OccurrenceId;
use punctual_core::journal::{ENGINE, Kind, Placed};
use punctual_core::reminder::Address;
use punctual_engine::SystemClock;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::wait;

/// How long anything may take on a machine that is busy compiling.
const SOON: Duration = Duration::from_secs(60);

/// The machine's clock: the servers are real.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::start())
}

/// `future`, which ends soon.
///
/// # Panics
/// When it does not.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    within(SOON, future).await
}

/// `future`, which ends within `limit`.
///
/// # Panics
/// When it does not.
#[expect(clippy::disallowed_methods, reason = "a real server is waited for, and its time is real")]
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.expect("it takes too long")
}

/// Sends until it works again, and returns what it said then.
pub(crate) async fn until_sent(channel: &dyn Channel, message: &Message) -> Receipt {
    soon(async {
        loop {
            match channel.send(message).await {
                Ok(receipt) => return receipt,
                Err(error) => assert!(may_work_later(&error), "{error:?}"),
            }
            wait::pause().await;
        }
    })
    .await
}

/// Whether it was nobody's verdict, only a bad moment.
pub(crate) fn may_work_later(error: &SendError) -> bool {
    matches!(error, SendError::Unavailable(_) | SendError::Unknown(_))
}

/// The first attempt of run `run`, half a second late.
pub(crate) fn message(address: &str, run: u32) -> Message {
    let due_at = instant("2026-05-04T08:00:00Z");
    let reminder = once(7, due_at, due_at);
    let occurrence = OccurrenceId { reminder: reminder.id, run };
    Message {
        language: punctual_core::phrase::Lang::En,
        occurrence,
        attempt: 1,
        to: Address::new("broker", address),
        idempotency_key: format!("{occurrence}-0a1b2c3d"),
        attempt_key: format!("{occurrence}-1-0a1b2c3d"),
        text: reminder.message.clone(),
        reminder: Arc::new(reminder),
        due_at,
        dated: due_at,
        sent_at: due_at + SignedDuration::from_millis(500),
    }
}

/// The entry at `position` says that a run was sent, and is to be told.
pub(crate) fn notice(address: &str, position: i64) -> Notice {
    let sent = message(address, 1);
    let entry = Placed {
        position,
        at: sent.sent_at,
        kind: Kind::Sent.to_string(),
        actor: ENGINE.into(),
        via: None,
        node: None,
        user: Some(sent.reminder.user.clone()),
        reminder: Some(sent.reminder.id),
        run: Some(1),
        data: None,
    };
    Notice { entry: Arc::new(entry), to: sent.to, sent_at: sent.sent_at }
}

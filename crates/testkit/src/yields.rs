//! Letting others go first.

use std::future::poll_fn;
use std::task::Poll;

/// Gives every other ready task the chance to run before the caller goes on.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

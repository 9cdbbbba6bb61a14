//! A function of the program that punctual runs in.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use async_trait::async_trait;
use punctual_core::channel::{Channel, Limits, Message, Receipt, SendError};
use punctual_core::invalid::Invalid;
use punctual_core::reminder::TEXT_BYTES_MAX;

/// How many calls for one address run at once, unless told otherwise.
pub const CONCURRENCY: usize = 256;

/// Hands reminders to an async function of the same program.
///
/// The function says what happened in the words of [`SendError`]. If it panics the attempt is unknown,
/// because it may have acted before; the engine goes on.
///
/// ```
/// use punctual_channels::Closure;
/// use punctual_core::channel::{Message, Receipt};
///
/// let channel = Closure::new(|message: Message| async move {
///     println!("{}: {}", message.reminder.user, message.text);
///     Ok(Receipt::default())
/// });
/// # let _ = channel;
/// ```
pub struct Closure<F> {
    handle: F,
    concurrency: usize,
}

impl<F, Sending> Closure<F>
where
    F: Fn(Message) -> Sending + Send + Sync + 'static,
    Sending: Future<Output = Result<Receipt, SendError>> + Send,
{
    /// Calls `handle` for every message.
    pub fn new(handle: F) -> Self {
        Self { handle, concurrency: CONCURRENCY }
    }

    /// Runs at most `concurrency` calls for one address at once; at least one.
    #[must_use]
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency: concurrency.max(1), ..self }
    }
}

#[async_trait]
impl<F, Sending> Channel for Closure<F>
where
    F: Fn(Message) -> Sending + Send + Sync + 'static,
    Sending: Future<Output = Result<Receipt, SendError>> + Send,
{
    fn kind(&self) -> &'static str {
        "closure"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let message = message.clone();
        // The call itself may panic as well as the future it returns, so both run inside.
        let mut sending = pin!(async move { (self.handle)(message).await });
        poll_fn(|context| {
            catch_unwind(AssertUnwindSafe(|| sending.as_mut().poll(context))).unwrap_or_else(|_| {
                Poll::Ready(Err(SendError::Unknown("the function panicked; it may have acted before".into())))
            })
        })
        .await
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        if address.len() > TEXT_BYTES_MAX {
            return Err(Invalid::new("address", format!("is longer than {TEXT_BYTES_MAX} bytes")));
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits { concurrency: self.concurrency, ..Limits::default() }
    }
}

impl<F> fmt::Debug for Closure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closure").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::sample;

    #[tokio::test]
    async fn the_function_gets_the_message_and_its_word_counts() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seen_inside = Arc::clone(&seen);
        let channel: Arc<dyn Channel> = Arc::new(Closure::new(move |message: Message| {
            let seen = Arc::clone(&seen_inside);
            async move {
                seen.lock().unwrap().push(message.text.clone());
                match message.to.address.as_str() {
                    "dead" => Err(SendError::Gone("moved out".into())),
                    address => Ok(Receipt::of(address)),
                }
            }
        }));
        let receipt = channel.send(&sample::message("home")).await.unwrap();
        assert_eq!(receipt.message_id.as_deref(), Some("home"));
        let error = channel.send(&sample::message("dead")).await.unwrap_err();
        assert_eq!(error, SendError::Gone("moved out".into()));
        assert_eq!(*seen.lock().unwrap(), ["Take your \"medicine\"", "Take your \"medicine\""]);
        assert_eq!(channel.limits().concurrency, CONCURRENCY);
    }

    #[tokio::test]
    async fn a_panic_is_an_unknown_outcome() {
        async fn nothing() -> Result<Receipt, SendError> {
            Ok(Receipt::default())
        }
        let in_call = Closure::new(|message: Message| {
            assert!(message.text.is_empty(), "expected in this test");
            nothing()
        });
        assert!(matches!(in_call.send(&sample::message("")).await, Err(SendError::Unknown(_))));
        let in_future = Closure::new(|message: Message| async move {
            assert!(message.text.is_empty(), "expected in this test");
            Ok(Receipt::default())
        });
        assert!(matches!(in_future.send(&sample::message("")).await, Err(SendError::Unknown(_))));
    }

    #[test]
    fn concurrency_is_at_least_one_and_addresses_are_bounded() {
        let channel = Closure::new(|_| async { Ok(Receipt::default()) }).with_concurrency(0);
        assert_eq!(channel.limits().concurrency, 1);
        assert!(channel.check_address("").is_ok());
        assert!(channel.check_address(&"x".repeat(TEXT_BYTES_MAX + 1)).is_err());
    }
}

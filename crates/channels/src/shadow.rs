//! A rehearsal: everything but the send.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use punctual_core::channel::{AddressRule, Bucket, Channel, Limits, Message, Notice, Receipt, SendError};
use punctual_core::invalid::Invalid;

/// The text that stands in place of the platform's id of a message.
pub const MESSAGE_ID: &str = "shadow";

/// Stands before a channel and keeps every message from it.
///
/// Addresses are checked as the channel does, and sends to one receiver share its concurrency, so the rehearsal is what will
/// happen. Every message counts as sent. Nobody saw it, so nobody is asked for an answer.
pub struct Shadow {
    behind: Arc<dyn Channel>,
    on_send: Box<dyn Fn(&Message) + Send + Sync>,
}

impl Shadow {
    /// Stands before `behind`, and tells `on_send` of every message that it keeps.
    pub fn before(behind: Arc<dyn Channel>, on_send: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        Self { behind, on_send: Box::new(on_send) }
    }
}

#[async_trait]
impl Channel for Shadow {
    fn kind(&self) -> &'static str {
        self.behind.kind()
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        // An address that the channel would refuse is refused here as well: users may have had it before the channel was told.
        if let Err(invalid) = self.behind.check_address(&message.to.address) {
            return Err(SendError::Refused(invalid.to_string()));
        }
        (self.on_send)(message);
        Ok(Receipt { unanswerable: true, ..Receipt::of(MESSAGE_ID) })
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        match self.behind.check_address(&notice.to.address) {
            Err(invalid) => Err(SendError::Refused(invalid.to_string())),
            Ok(()) => Ok(Receipt::of(MESSAGE_ID)),
        }
    }

    fn takes_notices(&self) -> bool {
        self.behind.takes_notices()
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        self.behind.check_address(address)
    }

    fn address_rule(&self) -> AddressRule {
        self.behind.address_rule()
    }

    fn limits(&self) -> Limits {
        self.behind.limits()
    }

    fn holds_unknown(&self) -> bool {
        self.behind.holds_unknown()
    }

    fn bucket(&self, address: &str) -> Bucket {
        self.behind.bucket(address)
    }

    fn digest_max(&self) -> Option<usize> {
        self.behind.digest_max()
    }

    fn receiver(&self, address: &str) -> String {
        self.behind.receiver(address)
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadow").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Closure, sample};

    #[tokio::test]
    async fn no_message_reaches_the_channel_and_each_counts_as_sent() {
        let (n_sent, n_told) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (sent, told) = (n_sent.clone(), n_told.clone());
        let real = Closure::new(move |_| {
            sent.fetch_add(1, Ordering::Relaxed);
            async { Ok(Receipt::default()) }
        });
        let shadow = Shadow::before(Arc::new(real), move |_| {
            told.fetch_add(1, Ordering::Relaxed);
        });
        let receipt = shadow.send(&sample::message("somewhere")).await.unwrap();
        assert_eq!(receipt, Receipt { unanswerable: true, ..Receipt::of("shadow") });
        assert_eq!((n_sent.load(Ordering::Relaxed), n_told.load(Ordering::Relaxed)), (0, 1));
    }

    #[tokio::test]
    async fn no_program_is_told_and_a_channel_that_tells_none_still_does_not() {
        let webhook = crate::Webhook::new(crate::webhook::Config::default()).unwrap();
        let shadow = Shadow::before(Arc::new(webhook), |_| {});
        assert!(shadow.takes_notices());
        let told = shadow.tell(&sample::notice("https://nobody.invalid/hook")).await;
        assert_eq!(told, Ok(Receipt::of("shadow")));
        assert!(matches!(shadow.tell(&sample::notice("http://127.0.0.1/")).await, Err(SendError::Refused(_))));
        assert!(!Shadow::before(Arc::new(crate::Console::stdout()), |_| {}).takes_notices());
    }

    #[tokio::test]
    async fn an_address_is_judged_by_the_channel() {
        let shadow = Shadow::before(Arc::new(crate::Console::stdout()), |_| {});
        let long = "x".repeat(257);
        assert!(shadow.check_address(&long).is_err() && shadow.check_address("").is_ok());
        assert_eq!((shadow.limits().concurrency, shadow.receiver("a").as_str()), (8, "console"));
        assert!(matches!(shadow.send(&sample::message(&long)).await, Err(SendError::Refused(_))));
    }
}

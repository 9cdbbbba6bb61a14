//! A connection of its own on which the database tells what others change.

use std::future::poll_fn;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::clock::within;
use punctual_core::store::{Ears, Heard, StoreError};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use super::fault::Fault;
use super::pool::Pool;
use super::tell::{CHANNEL, understand};

/// News that nobody has heard yet; when there are more, one look stands for all that are dropped.
const WAITING_MAX: usize = 4096;
/// A server that does not say by then that it will tell never does.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Listener {
    heard: mpsc::Receiver<Heard>,
    /// Held, because the connection ends with it.
    _client: Client,
}

pub(super) async fn listen(pool: &Pool) -> Result<Listener, Fault> {
    let (client, mut connection) = pool.connect_bare().await?;
    let (sender, heard) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let mut has_dropped = false;
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            let payload = match &message {
                Ok(AsyncMessage::Notification(told)) => told.payload(),
                Ok(_) => continue,
                Err(error) => {
                    tracing::debug!(%error, "the listening connection ended");
                    return;
                }
            };
            let news = understand(payload);
            if news == Heard::Nonsense {
                // It takes no room from what means something.
                if sender.capacity() > WAITING_MAX / 2 {
                    let _ = sender.try_send(news);
                }
                continue;
            }
            // A slow listener must not make this grow. A look makes up for a notification that is dropped.
            if has_dropped {
                has_dropped = sender.try_send(Heard::Look).is_err();
            }
            has_dropped |= sender.try_send(news).is_err();
            if sender.is_closed() {
                return;
            }
        }
    });
    let listening =
        within(&*pool.machine().clock, ANSWERED_WITHIN, client.batch_execute(&format!("listen {CHANNEL}"))).await;
    listening.ok_or_else(|| Fault::Lost("the server does not answer".into()))??;
    Ok(Listener { heard, _client: client })
}

#[async_trait]
impl Ears for Listener {
    async fn hear(&mut self) -> Result<Heard, StoreError> {
        let ended = || StoreError::Unavailable("the listening connection has ended".into());
        self.heard.recv().await.ok_or_else(ended)
    }
}

//! Long polling: Telegram holds our question until there is something to say.
//!
//! An update counts as confirmed when a later question names a higher number. That number, the place of the connection, is committed
//! with the answer that the update gave, so an update that comes again after a crash is asked for no more.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::channel::receive::{Ended, Inlet, NotTaken, Place};
use punctual_core::channel::{SendError, Whom};
use serde_json::{Value, json};

use super::answer::{self, Said};
use super::receive::{self, KINDS};
use super::{PLATFORM, Telegram};
use crate::common::beside::Beside;
use crate::common::http::{Answer, origin};
use crate::common::quote::told;

/// How long Telegram may hold a question, unless set.
pub(super) const HELD_FOR: Duration = Duration::from_secs(50);
/// How much of an answer is read: a hundred messages as long as they may be.
pub(super) const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// After a week without updates their numbers begin anew anywhere, so an older place says nothing.
const PLACE_IS_GOOD_FOR: SignedDuration = SignedDuration::from_hours(6 * 24);
/// How long telling people may take after a connection broke, before the next is opened.
const FINISH_WITHIN: Duration = Duration::from_secs(3);
/// How often another poll may end ours before we leave the bot to it.
const CONFLICTS_MAX: u32 = 10;

/// How often another poll has ended ours since one lasted.
#[derive(Debug, Default)]
pub(super) struct Conflicts(AtomicU32);

impl Telegram {
    /// Polls until something is wrong.
    pub(super) async fn poll(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        let mut beside = Beside::new();
        let ended = self.poll_beside(place, inlet, &mut beside).await;
        // The persons who answered are told.
        tokio::select! {
            () = beside.finish() => {}
            () = self.clock.pause(FINISH_WITHIN) => {}
        }
        ended
    }

    async fn poll_beside<'a>(&'a self, place: Option<Place>, inlet: &dyn Inlet, beside: &mut Beside<'a>) -> Ended {
        let now = self.clock.now();
        let fresh = place.filter(|place| now.duration_since(place.at) < PLACE_IS_GOOD_FOR);
        let mut offset: Option<i64> = fresh.and_then(|place| place.text.parse().ok());
        // The first question is answered at once, so that a token that is not accepted shows.
        let mut held_for = Duration::ZERO;
        let mut is_removed = false;
        loop {
            let mut body = json!({"timeout": held_for.as_secs(), "limit": 100, "allowed_updates": KINDS});
            if let Some(offset) = offset {
                body["offset"] = offset.into();
            }
            let request = self.polling.post(&self.method("getUpdates")).json(&body);
            let answer = match beside.run(self.polling.ask(request, PLATFORM)).await {
                Ok(answer) => answer,
                Err(error) => return Ended::Broken(error.to_string()),
            };
            let updates = match self.updates(&answer) {
                Ok(updates) => updates,
                Err(Polled::Ended(ended)) => return ended,
                Err(Polled::Webhook) if is_removed => return Ended::Broken("the bot's webhook comes back".into()),
                Err(Polled::Webhook) => match self.remove_own_webhook().await {
                    Ok(()) => {
                        is_removed = true;
                        continue;
                    }
                    Err(ended) => return ended,
                },
            };
            if held_for.is_zero() {
                inlet.connected();
                held_for = self.held_for;
            } else {
                self.conflicts.0.store(0, Ordering::Relaxed);
            }
            for update in updates {
                let Some(number) = receive::number(&update) else {
                    return Ended::Broken("Telegram sent an update without a number".into());
                };
                match receive::read(&update) {
                    Ok(Some(mut inbound)) => {
                        inbound.place = Some((number + 1).to_string());
                        let reaction = match beside.run(inlet.take(inbound.clone())).await {
                            Ok(reaction) => reaction,
                            Err(NotTaken::LeaseLost) => return Ended::Replaced,
                            Err(NotTaken::Unavailable) => return Ended::Broken("the store cannot write now".into()),
                        };
                        beside.add(self.tell_quietly(inbound, reaction)).await;
                    }
                    Ok(None) => {}
                    // It would come again for ever.
                    Err(problem) => tracing::warn!("{problem}; it is passed over"),
                }
                offset = Some(number + 1);
            }
        }
    }

    /// Reads the answer to a question.
    fn updates(&self, answer: &Answer) -> Result<Vec<Value>, Polled> {
        let mut body = answer.json();
        if body["ok"] == true
            && let Value::Array(updates) = body["result"].take()
        {
            return Ok(updates);
        }
        let words = body["description"].as_str().unwrap_or_default().to_lowercase();
        if answer.status == 409 && words.contains("webhook is active") {
            return Err(Polled::Webhook);
        }
        if answer.status == 409 {
            let n_conflicts = self.conflicts.0.fetch_add(1, Ordering::Relaxed) + 1;
            return Err(Polled::Ended(match n_conflicts < CONFLICTS_MAX {
                true => Ended::Replaced,
                false => Ended::Refused(
                    "another program polls this bot, too; give punctual a bot of its own, or set receive = \"off\""
                        .into(),
                ),
            }));
        }
        Err(Polled::Ended(self.ended(answer)))
    }

    /// Names an answer that is no success by what to do next.
    fn ended(&self, answer: &Answer) -> Ended {
        let chat = super::address::Chat::Id(0);
        let read = answer::read(answer, &chat, &self.token, self.clock.now(), |_| Whom::Receiver);
        match read {
            Err(Said::Failed(SendError::Throttled { wait, .. })) => Ended::Wait(wait),
            Err(Said::Failed(error)) if matches!(answer.status.as_u16(), 401 | 403 | 404) => {
                Ended::Refused(error.to_string())
            }
            Err(Said::Failed(error)) => Ended::Broken(error.to_string()),
            Ok(_) | Err(Said::Moved(_)) => Ended::Broken(format!("Telegram {}", answer.said(&[&self.token]))),
        }
    }

    /// Removes a webhook that this server has set before; another program's stays.
    async fn remove_own_webhook(&self) -> Result<(), Ended> {
        let info = self.ask("getWebhookInfo", &json!({})).await?;
        let url = info["url"].as_str().unwrap_or_default();
        if self.door.as_ref().is_none_or(|door| door.url != url) && !url.is_empty() {
            let place = told(&origin(url), &[&self.token]);
            return Err(Ended::Refused(format!(
                "another program receives what is sent to this bot, by its webhook at {place}; \
                 give punctual a bot of its own, or remove the webhook, or set receive = \"off\""
            )));
        }
        self.ask("deleteWebhook", &json!({"drop_pending_updates": false})).await.map(drop)
    }

    /// Tells Telegram where to send updates.
    pub(super) async fn set_webhook(&self) -> Result<(), Ended> {
        let Some(door) = &self.door else { return Err(Ended::Refused("no address is known to this server".into())) };
        let body = json!({
            "url": door.url,
            "secret_token": door.secret.expose(),
            "allowed_updates": KINDS,
            "max_connections": 40,
        });
        match self.ask("setWebhook", &body).await {
            // Telegram takes no URL that it cannot call; only the operator can change that.
            Err(Ended::Broken(said)) if said.contains(" 400: ") => Err(Ended::Refused(said)),
            asked => asked.map(drop),
        }
    }

    /// Calls a method that sends no message; returns its result.
    async fn ask(&self, method: &str, body: &Value) -> Result<Value, Ended> {
        let request = self.http.post(&self.method(method)).json(body);
        let answer = self.http.ask(request, PLATFORM).await.map_err(|error| Ended::Broken(error.to_string()))?;
        let mut said = answer.json();
        if said["ok"] == true { Ok(said["result"].take()) } else { Err(self.ended(&answer)) }
    }
}

/// Why a question brought no updates.
enum Polled {
    Ended(Ended),
    /// The bot's updates go to a webhook.
    Webhook,
}

//! Messages that show their answer.

use async_trait::async_trait;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Edit, Edits};
use serde_json::{Value, json};

use super::address::Place;
use super::receive::is_id;
use super::{CONTENT_CHARS_MAX, Discord};
use crate::common::fit::Unit;
use crate::common::reactions::line;
use crate::common::whole::ended;

#[async_trait]
impl Edits for Discord {
    async fn edit(&self, edit: &Edit) -> Result<(), SendError> {
        self.edit_message(edit).await
    }
}

impl Discord {
    /// Changes a message as the bot, or through the webhook that it came by.
    pub(super) async fn edit_message(&self, edit: &Edit) -> Result<(), SendError> {
        let ids = edit.message_id.split_once('/').filter(|(channel, id)| is_id(channel) && is_id(id));
        let Some((channel, id)) = ids else {
            return Err(SendError::Refused("the message's id is none of Discord's".into()));
        };
        let (request, secret) = match Place::parse(&edit.message.to.address, &self.api_url) {
            Ok(Place::Webhook { id: webhook, token, thread }) => {
                let url = format!("{}/webhooks/{webhook}/{}/messages/{id}", self.api_url, token.expose());
                let query: Vec<_> = thread.map(|thread| ("thread_id", thread.to_string())).into_iter().collect();
                (self.http.patch(&url).query(&query), token.expose().to_owned())
            }
            _ => {
                let request = self.http.patch(&format!("{}/channels/{channel}/messages/{id}", self.api_url));
                (self.bot(request)?, String::new())
            }
        };
        match self.ask(request.json(&self.edited(edit)), self.clock.now(), &secret).await {
            // The message was deleted.
            Err(SendError::Refused(said)) if said.contains("(10008)") => Ok(()),
            asked => asked.map(drop),
        }
    }

    /// The fields of a message that shows its answer. It calls nobody, and its buttons are gone.
    pub(super) fn edited(&self, edit: &Edit) -> Value {
        let called = match Place::parse(&edit.message.to.address, &self.api_url) {
            Ok(Place::Channel { user, .. }) => user,
            _ => None,
        };
        let mention = called.map(|user| format!("<@{user}>")).unwrap_or_default();
        let count = |text: &str| Unit::Chars.count(text);
        let content = ended(&self.template, &edit.message, &mention, CONTENT_CHARS_MAX, count, &line(edit));
        json!({"content": content, "components": [], "allowed_mentions": {"parse": []}})
    }
}

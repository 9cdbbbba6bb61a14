//! Messages that show their answer.

use async_trait::async_trait;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Edit, Edits};
use serde_json::json;

use super::{TEXT_UNITS_MAX, Telegram, markup, receive};
use crate::common::reactions::line;
use crate::common::whole::ended;

#[async_trait]
impl Edits for Telegram {
    async fn edit(&self, edit: &Edit) -> Result<(), SendError> {
        let Some((chat, id)) = receive::message(&edit.message_id) else {
            return Err(SendError::Refused("the message's id is none of Telegram's".into()));
        };
        // Without `reply_markup` the buttons are gone.
        let body = json!({
            "chat_id": chat.to_json(),
            "message_id": id,
            "text": ended(&self.template, &edit.message, "", TEXT_UNITS_MAX, markup::units, &line(edit)),
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": true},
        });
        match self.call("editMessageText", &body).await {
            Err(SendError::Refused(said)) if is_done(&said) => Ok(()),
            edited => edited,
        }
    }
}

/// Whether nothing is left to be changed: the message shows it already, or is gone.
fn is_done(said: &str) -> bool {
    let said = said.to_lowercase();
    ["message is not modified", "message to edit not found", "message can't be edited"]
        .iter()
        .any(|words| said.contains(words))
}

//! What Telegram's answers mean.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::{Receipt, SendError, WAIT_MAX, Whom};

use super::address::Chat;
use crate::common::http::Answer;
use crate::common::quote::told;
use crate::common::token::Token;

/// What Telegram said of a message that it did not take.
#[derive(Debug)]
pub(super) enum Said {
    /// The group is another one now.
    Moved(Chat),
    Failed(SendError),
}

/// Reads an answer. `whom` says who has to wait, because Telegram does not.
///
/// Telegram's codes are those of HTTP and little is told apart by them, so its words are read too.
pub(super) fn read(
    answer: &Answer,
    chat: &Chat,
    token: &Token,
    sent_at: Timestamp,
    whom: impl FnOnce(Duration) -> Whom,
) -> Result<Receipt, Said> {
    let body = answer.json();
    if body["ok"] == true {
        // A message's number is its chat's own.
        let chat = body["result"]["chat"]["id"].as_i64().map_or_else(|| chat.clone(), Chat::Id);
        let id = body["result"]["message_id"].as_i64();
        return Ok(id.map(|id| Receipt::of(format!("{chat}/{id}"))).unwrap_or_default());
    }
    if let Some(new) = body["parameters"]["migrate_to_chat_id"].as_i64() {
        return Err(Said::Moved(Chat::Id(new)));
    }
    if answer.status.is_success() && !body["ok"].is_boolean() {
        // No answer of the API itself, but of something before it.
        let said = format!("no answer of Telegram itself ({}); it may have arrived", answer.status);
        return Err(Said::Failed(SendError::Unknown(said)));
    }
    let code = body["error_code"].as_u64().unwrap_or_else(|| answer.status.as_u16().into());
    let words = body["description"].as_str().unwrap_or_default().to_lowercase();
    let said = match body["description"].as_str() {
        Some(description) => format!("Telegram answered {code}: {}", told(description, &[token])),
        None => format!("Telegram {}", answer.said(&[token])),
    };
    let says = |some: &[&str]| some.iter().any(|one| words.contains(one));
    Err(Said::Failed(match code {
        429 => {
            let asked = body["parameters"]["retry_after"].as_u64().map(Duration::from_secs);
            let wait = asked.or_else(|| answer.retry_after(sent_at)).unwrap_or(Duration::from_secs(5));
            let wait = wait.clamp(Duration::from_secs(1), WAIT_MAX);
            SendError::Throttled { wait, whom: whom(wait) }
        }
        // A token that nobody has answers 404. Both are the operator's to mend, and no fault of the address.
        401 | 404 => SendError::Unavailable(format!("the token is not accepted; check the channel's token: {said}")),
        400 if says(&["group chat was deactivated"]) => SendError::Gone(said),
        403 if says(&["blocked by the user", "user is deactivated", "bot was kicked", "group chat was deleted"]) => {
            SendError::Gone(said)
        }
        // Among them "chat not found": that too is mended, by a person who presses Start or adds the bot to the group.
        400 | 403 | 413 => SendError::Refused(said),
        _ => answer.failure(said, Whom::Address, sent_at),
    }))
}

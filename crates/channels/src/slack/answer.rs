//! What Slack's answers mean.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::{Receipt, SendError, Whom};

use crate::common::http::Answer;
use crate::common::quote::{quote, told};
use crate::common::token::Token;
use crate::common::waiting::WaitingAddresses;

/// How long to wait where Slack does not say.
const WAIT: Duration = Duration::from_secs(30);

/// The facts about a send that an answer is read with.
pub(super) struct Reading<'a> {
    pub(super) waiting: &'a WaitingAddresses,
    /// The limit that it shares with other addresses.
    pub(super) bucket: &'a str,
    pub(super) sent_at: Timestamp,
    pub(super) secret: &'a Token,
}

/// Reads what `chat.postMessage` answered. Most errors come with status 200 and a word.
pub(super) fn read(answer: &Answer, reading: Reading<'_>) -> Result<Receipt, SendError> {
    let body = answer.json();
    match (body["ok"].as_bool(), body["error"].as_str()) {
        (Some(true), _) => {
            // A message's `ts` is its channel's own.
            let receipt = body["channel"].as_str().zip(body["ts"].as_str());
            Ok(receipt.map(|(channel, ts)| Receipt::of(format!("{channel}/{ts}"))).unwrap_or_default())
        }
        (_, Some(error)) => Err(reading.name(answer, error, &needed(&body))),
        // No answer of the API itself, but of something before it.
        _ if answer.status.is_success() => Err(SendError::Unknown(format!("Slack {}", reading.said(answer)))),
        _ => Err(reading.failure(answer)),
    }
}

/// Reads what an incoming webhook answered: one word.
pub(super) fn read_webhook(answer: &Answer, reading: Reading<'_>) -> Result<Receipt, SendError> {
    let word = String::from_utf8_lossy(&answer.body).trim().trim_matches('"').to_owned();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if answer.status.is_success() {
        // Anything else is no answer of Slack itself, but of something before it.
        let nobody = || SendError::Unknown(format!("no answer of Slack itself ({})", reading.said(answer)));
        return (word == "ok").then(Receipt::default).ok_or_else(nobody);
    }
    Err(if is_word { reading.name(answer, &word, "") } else { reading.failure(answer) })
}

impl Reading<'_> {
    /// Names an error by what to do next. What a token lacks is the operator's to mend, and no fault of the address: the message
    /// is kept and tried again.
    fn name(&self, answer: &Answer, error: &str, needed: &str) -> SendError {
        let said = format!("Slack answered {}", told(error, &[self.secret]));
        match error {
            "is_archived" | "channel_is_archived" | "user_not_found" | "user_disabled" => SendError::Gone(said),
            // The webhook was removed, or its application.
            "no_service" | "no_service_id" | "no_active_hooks" | "no_team" | "team_disabled" | "invalid_token" => {
                SendError::Gone(said)
            }
            "ratelimited" | "rate_limited" | "message_limit_exceeded" => self.throttled(answer),
            // `account_inactive` too is about the token: its bot or its workspace was removed.
            "not_authed" | "invalid_auth" | "account_inactive" | "token_revoked" | "token_expired" => {
                SendError::Unavailable(format!("the token is not accepted; check the channel's token: {said}"))
            }
            "missing_scope"
            | "not_allowed_token_type"
            | "access_denied"
            | "accesslimited"
            | "org_login_required"
            | "team_access_not_granted"
            | "enterprise_is_restricted"
            | "two_factor_setup_required" => {
                SendError::Unavailable(format!("the token may not do this; check the app's scopes{needed}: {said}"))
            }
            "service_unavailable" | "request_timeout" | "team_added_to_org" => SendError::Unavailable(said),
            // Slack says of these that a part may have been done before it broke.
            "fatal_error" | "internal_error" => SendError::Unknown(format!("{said}; it may have arrived")),
            _ if answer.status.is_server_error() => self.failure(answer),
            // Among them channel_not_found, which a private channel says until the bot is invited, and such as not_in_channel,
            // msg_too_long, restricted_action, no_permission, invalid_blocks.
            _ => SendError::Refused(said),
        }
    }

    fn failure(&self, answer: &Answer) -> SendError {
        if answer.status == 429 {
            return self.throttled(answer);
        }
        answer.failure(format!("Slack {}", self.said(answer)), Whom::Address, self.sent_at)
    }

    fn throttled(&self, answer: &Answer) -> SendError {
        let wait = answer.retry_after(self.sent_at).unwrap_or(WAIT);
        SendError::Throttled { wait, whom: self.waiting.whom(self.bucket, self.sent_at, wait) }
    }

    fn said(&self, answer: &Answer) -> String {
        answer.said(&[self.secret])
    }
}

/// Which scope is missing, if Slack says so.
fn needed(body: &serde_json::Value) -> String {
    body["needed"].as_str().map(|scope| format!(" (it needs {})", quote(scope))).unwrap_or_default()
}

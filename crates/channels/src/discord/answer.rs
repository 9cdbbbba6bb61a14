//! What Discord's answers mean.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::{SendError, WAIT_MAX, Whom};
use serde_json::Value;

use crate::common::http::Answer;
use crate::common::quote::told;
use crate::common::token::Token;

/// The shortest wait: Discord counts in milliseconds.
const WAIT_MIN: Duration = Duration::from_millis(100);

/// Names an answer that is no success by what to do next.
///
/// A token that is not accepted is the operator's to mend, and no fault of the address: the message is kept and tried again.
pub(super) fn name(answer: &Answer, secrets: &[&Token], sent_at: Timestamp) -> SendError {
    let body = answer.json();
    let said = said(answer, &body, secrets);
    if answer.status == 429 {
        return throttled(answer, &body, sent_at);
    }
    match (answer.status.as_u16(), body["code"].as_u64().unwrap_or_default()) {
        // Unknown channel, server, member, user, webhook; a webhook's token that was replaced.
        (_, 10003 | 10004 | 10007 | 10013 | 10015 | 50027) => SendError::Gone(said),
        // Opening direct messages too fast.
        (_, 40003) => SendError::Throttled { wait: wait(answer, &body, sent_at), whom: Whom::Address },
        // Sending is switched off for a while, something is broken within, too busy.
        (_, 40004 | 40006 | 130000) => SendError::Unavailable(said),
        // Cloudflare dislikes the client, whatever the address.
        (_, 40333) => SendError::Unavailable(said),
        (401, _) | (_, 40001 | 40002 | 50014) => {
            SendError::Unavailable(format!("the token is not accepted; check the channel's token: {said}"))
        }
        // Among them 50001 and 50013 (no access, no permission) and 50007 and 50278 (this person takes no messages from us).
        _ => answer.failure(said, Whom::Address, sent_at),
    }
}

/// How long Discord asks to wait, and who has to.
fn throttled(answer: &Answer, body: &Value, sent_at: Timestamp) -> SendError {
    let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let is_global = body["global"] == true
        || header("x-ratelimit-global") == Some("true")
        || header("x-ratelimit-scope") == Some("global")
        // Without a word of the API's own it comes from before it, where everything from here is shut out.
        || body["retry_after"].is_null();
    let whom = if is_global { Whom::Receiver } else { Whom::Address };
    SendError::Throttled { wait: wait(answer, body, sent_at), whom }
}

fn wait(answer: &Answer, body: &Value, sent_at: Timestamp) -> Duration {
    let in_body = body["retry_after"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wait = in_body.or_else(|| answer.retry_after(sent_at)).unwrap_or(Duration::from_secs(5));
    wait.clamp(WAIT_MIN, WAIT_MAX)
}

/// Such as `Discord answered 403: Missing Permissions (50013)`.
fn said(answer: &Answer, body: &Value, secrets: &[&Token]) -> String {
    let Some(message) = body["message"].as_str() else { return format!("Discord {}", answer.said(secrets)) };
    let details =
        body.get("errors").map(|errors| format!(": {}", told(&errors.to_string(), secrets))).unwrap_or_default();
    let code = body["code"].as_u64().unwrap_or_default();
    format!("Discord answered {}: {} ({code}){details}", answer.status.as_u16(), told(message, secrets))
}

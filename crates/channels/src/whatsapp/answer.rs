//! What Meta's answers mean.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::{Receipt, SendError, Whom};
use serde_json::Value;

use crate::common::http::Answer;
use crate::common::quote::told;
use crate::common::token::Token;

/// What Meta said of a message that it did not take.
#[derive(Debug)]
pub(super) enum Said {
    /// Free text is not taken now: the person has not written for 24 hours.
    SessionOver(String),
    Failed(SendError),
}

/// Reads an answer. Meta asks to go by the code alone.
pub(super) fn read(answer: &Answer, token: &Token, sent_at: Timestamp) -> Result<Receipt, Said> {
    let body = answer.json();
    let error = &body["error"];
    let said = said(answer, error, token);
    if answer.status.is_success() && error.is_null() {
        return taken(&body["messages"][0], said).map_err(Said::Failed);
    }
    // Meta seldom says how long; these spans are those it publishes, or guesses that cost little.
    let throttled = |seconds, whom| {
        let wait = answer.retry_after(sent_at).unwrap_or(Duration::from_secs(seconds));
        SendError::Throttled { wait, whom }
    };
    let by_status = |said| Said::Failed(answer.failure(said, Whom::Receiver, sent_at));
    Err(by_code(error["code"].as_u64(), said, throttled).unwrap_or_else(by_status))
}

/// The meaning of a report of a failure: Meta took the message, and could not deliver it.
pub(super) fn reported(errors: &Value) -> SendError {
    let error = &errors[0];
    let (code, title) = (error["code"].as_u64(), error["title"].as_str().or(error["message"].as_str()));
    let details = error["error_data"]["details"].as_str();
    let details = details.map(|details| format!(" ({})", told(details, &[]))).unwrap_or_default();
    let title = told(title.unwrap_or("no reason given"), &[]);
    let said = format!("WhatsApp took it, then reported {}: {title}{details}", code.unwrap_or_default());
    // Meta took this message before, so its limit delays nothing now: the run is retried in its own time.
    match by_code(code, said.clone(), |_, _| SendError::Unavailable(said)) {
        Ok(Said::Failed(error)) => error,
        Ok(Said::SessionOver(said)) => SendError::Refused(said),
        Err(said) => SendError::Unavailable(said),
    }
}

/// The meaning of a code; what was said, where the code is new.
fn by_code(code: Option<u64>, said: String, throttled: impl FnOnce(u64, Whom) -> SendError) -> Result<Said, String> {
    Ok(Said::Failed(match code {
        Some(131_047) => return Ok(Said::SessionOver(said)),
        // Too many from this number to this person: one in six seconds.
        Some(131_056) => throttled(6, Whom::Address),
        // Too many at once from this number; too many calls in this hour; too many of ours were reported as unwanted.
        Some(130_429) => throttled(5, Whom::Receiver),
        Some(4 | 80_007) => throttled(60, Whom::Receiver),
        Some(131_048) => throttled(900, Whom::Receiver),
        // A problem with the account is the operator's to mend, and no fault of the address: the message is kept.
        Some(0 | 190) => {
            SendError::Unavailable(format!("the token is not accepted; check the channel's token: {said}"))
        }
        Some(3 | 10 | 200..=299 | 131_005) => {
            SendError::Unavailable(format!("the token may not do this; check its permissions: {said}"))
        }
        Some(33 | 368 | 131_031 | 131_037 | 131_042 | 131_045 | 133_000..=133_999) => SendError::Unavailable(format!(
            "WhatsApp does not let this account send; look at it in Meta's manager: {said}"
        )),
        // Trouble on their side; a template that is paused and comes back.
        Some(1 | 2 | 131_000 | 131_016 | 131_057 | 132_015) => SendError::Unavailable(said),
        // Meta will never take this message, or none to this person: among these codes are 131026 (cannot be reached by WhatsApp), 131030 (not
        // on the test number's list), 100, 131008 and 131009 (parameters) and 1320.. (the template).
        Some(100 | 130_400..=131_999 | 132_000..=132_999 | 135_000) => SendError::Refused(said),
        _ => return Err(said),
    }))
}

/// What became of a message that Meta answered with success.
fn taken(message: &Value, said: String) -> Result<Receipt, SendError> {
    // Something before Meta may answer with success, too, and know nothing of the message.
    let Some(id) = message["id"].as_str() else {
        return Err(SendError::Unknown(format!("{said}, but no message's id; it may have been taken")));
    };
    match message["message_status"].as_str() {
        Some("accepted") | None => Ok(Receipt::of(id)),
        Some("paused") => Err(SendError::Unavailable(
            "WhatsApp has paused the template, so it is not delivered now; look at it in Meta's manager".into(),
        )),
        // Meta sends it, or drops it, when it has made up its mind; it tells a webhook which.
        Some("held_for_quality_assessment") => {
            Err(SendError::Unknown("WhatsApp holds the message to assess the template; it may arrive later".into()))
        }
        Some(new) => Err(SendError::Unknown(format!("WhatsApp took the message as {}, which is new", told(new, &[])))),
    }
}

/// Such as `WhatsApp answered 131026: Message undeliverable (the number is not on WhatsApp)`.
fn said(answer: &Answer, error: &Value, token: &Token) -> String {
    let (Some(code), Some(message)) = (error["code"].as_u64(), error["message"].as_str()) else {
        return format!("WhatsApp {}", answer.said(&[token]));
    };
    let details = error["error_data"]["details"].as_str();
    let details = details.map(|details| format!(" ({})", told(details, &[token]))).unwrap_or_default();
    format!("WhatsApp answered {code}: {}{details}", told(message, &[token]))
}

//! Phone calls over Vapi.
//!
//! A call is made by an assistant of the account's; the reminder is the first thing it says. That a call was taken says nothing
//! yet, and neither does that it ended: the person has to have picked up. So the call is followed to its end, and why it ended
//! decides (see [`reason`]). No answer, busy and voicemail are failures that are tried again.
//!
//! Vapi knows no idempotency key. Ours stand in the call's metadata, for finding it again; a call that may have been made is not
//! made again unless the reminder says so.

/// What the reason for a call's end means.
mod reason;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::{AddressRule, Channel, Followed, Limits, Message, Receipt, SendError, Whom};
use punctual_core::invalid::Invalid;
use serde_json::{Value, json};

use self::reason::Ended;
use crate::common::fields::Fields;
use crate::common::fit::Unit;
use crate::common::http::{self, Answer, Http, TIMEOUT, origin};
use crate::common::phone;
use crate::common::quote::{quote, told};
use crate::common::template::{Template, plain};
use crate::common::token::Token;
use crate::common::whole::whole_with;
use crate::setup::Server;

/// How long the first thing said may be: about a minute. Vapi publishes no limit; listeners have one.
const SAID_CHARS_MAX: usize = 1000;
/// How often a call that rings is asked about.
const RINGS_EVERY: Duration = Duration::from_secs(2);
/// How often a call that goes on is asked about.
const TALKS_EVERY: Duration = Duration::from_secs(5);
/// How long to leave Vapi alone where it does not say.
const WAIT: Duration = Duration::from_secs(10);

/// Reminds by phone. An address is a phone number.
#[derive(Debug)]
pub struct Vapi {
    api_url: String,
    api_key: Token,
    assistant_id: String,
    phone_number_id: String,
    /// Whether calls find out by themselves that a mailbox picked up; else as the assistant is set.
    detects_voicemail: bool,
    template: Template,
    limits: Limits,
    http: Http,
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, _: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    // As many calls as an account may have at once, unless it bought more.
    let defaults = Limits { concurrency: 10, ..Limits::default() };
    let api_url = fields.url("api_url", "https://api.vapi.ai")?;
    let api_key = fields.needed_secret("api_key", "the private key from the dashboard")?;
    http::check_header("api_key", &api_key)?;
    Ok(Arc::new(Vapi {
        api_url,
        api_key,
        assistant_id: fields.needed("assistant_id", "the id of the assistant that makes the call")?,
        phone_number_id: fields.needed("phone_number_id", "the id of the number that calls")?,
        detects_voicemail: fields.boolean("voicemail_detection")?.unwrap_or(true),
        template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed("{word}: {message}", plain)),
        limits: fields.limits(defaults)?,
        http: Http::new(fields.timeout(TIMEOUT, 1)?)?,
    }))
}

impl Vapi {
    /// What the assistant says first.
    fn first_words(&self, message: &Message) -> String {
        let count = |text: &str| Unit::Chars.count(text);
        whole_with(&self.template, message, "", SAID_CHARS_MAX, count, |said, question| {
            // A pause between them.
            let pause = if said.ends_with(['.', '!', '?', ':']) { " " } else { ". " };
            format!("{said}{pause}{question}")
        })
    }

    fn call(&self, message: &Message) -> Value {
        let reminder = &*message.reminder;
        let ack = reminder.ack.as_ref();
        let mut call = json!({
            "name": reminder.id.to_string(),
            "assistantId": self.assistant_id,
            "phoneNumberId": self.phone_number_id,
            "customer": { "number": message.to.address },
            "assistantOverrides": {
                // Vapi fills in what stands in double braces, in this text and not in the values: so whatever the message
                // says, it is said and not interpreted.
                "firstMessage": "{{ first_words }}",
                "firstMessageMode": "assistant-speaks-first",
                "variableValues": {
                    "first_words": self.first_words(message),
                    "message": message.text,
                    "prompt": ack.and_then(|ack| ack.prompt.clone()).unwrap_or_default(),
                    "require_ack": ack.is_some(),
                    "user": reminder.user,
                    "name": reminder.name.clone().unwrap_or_default(),
                    "priority": reminder.priority.to_string(),
                    "language": message.language.tag(),
                    "due_at": message.due_at.to_string(),
                },
                "metadata": {
                    "punctual_reminder_id": reminder.id.to_string(),
                    "punctual_occurrence_id": message.occurrence.to_string(),
                    "punctual_idempotency_key": message.idempotency_key,
                    "punctual_attempt_key": message.attempt_key,
                },
            },
        });
        // Off at Vapi unless asked for; a mailbox that hangs up would then look like a person who has heard it.
        if self.detects_voicemail {
            call["assistantOverrides"]["voicemailDetection"] = json!({ "provider": "vapi" });
        }
        call
    }

    /// The text of an answer; Vapi's `message` is one text or several.
    fn said(&self, answer: &Answer) -> String {
        let message = match &answer.json()["message"] {
            Value::String(text) => text.clone(),
            Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
            _ => return format!("Vapi {}", answer.said(&[&self.api_key])),
        };
        format!("Vapi answered {}: {}", answer.status, told(&message, &[&self.api_key]))
    }

    fn failure(&self, answer: &Answer, message: &Message) -> SendError {
        let said = self.said(answer);
        let throttled = |wait| SendError::Throttled { wait, whom: Whom::Receiver };
        match answer.status.as_u16() {
            429 => throttled(answer.retry_after(message.sent_at).unwrap_or(WAIT)),
            // By Vapi's description a 400 is limits, validation or missing resources; only its words tell them apart.
            400 => {
                let words = said.to_lowercase();
                let about = |any: &[&str]| any.iter().any(|word| words.contains(word));
                if about(&["concurren"]) {
                    throttled(WAIT)
                } else if about(&["credit", "wallet", "subscription", "billing", "daily", "assistant", "phonenumber"]) {
                    SendError::Unavailable(said)
                } else {
                    SendError::Refused(said)
                }
            }
            // The key, the account's money, the URL: for the operator to mend.
            401..=404 | 408 => SendError::Unavailable(said),
            405..=499 => SendError::Refused(said),
            // Only a 503 says that no call was made.
            500..=502 | 504.. => SendError::Unknown(format!("{said}; it may be calling")),
            _ => SendError::Unavailable(said),
        }
    }
}

#[async_trait]
impl Channel for Vapi {
    fn kind(&self) -> &'static str {
        "vapi"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        self.check_address(&message.to.address).map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let request = self
            .http
            .post(&format!("{}/call", self.api_url))
            .bearer_auth(self.api_key.expose())
            .json(&self.call(message));
        let answer = self.http.ask(request, "Vapi").await?;
        if !answer.status.is_success() {
            return Err(self.failure(&answer, message));
        }
        match answer.json()["id"].as_str() {
            Some(id) => Ok(Receipt { pending: true, ..Receipt::of(id) }),
            None => Err(SendError::Unknown(format!("{}, but no id; it may be calling", self.said(&answer)))),
        }
    }

    async fn follow(&self, message_id: &str) -> Result<Followed, SendError> {
        // It stands in a URL.
        if message_id.is_empty() || !message_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(SendError::Unknown("the call's id is none".into()));
        }
        let request = self.http.get(&format!("{}/call/{message_id}", self.api_url)).bearer_auth(self.api_key.expose());
        // The question failed, which says nothing about the call.
        let Ok(answer) = self.http.ask(request, "Vapi").await else { return Ok(Followed::AskAgain(TALKS_EVERY)) };
        if !answer.status.is_success() {
            tracing::debug!("{}; it is asked again what became of a call", self.said(&answer));
            return Ok(Followed::AskAgain(WAIT));
        }
        let call = answer.json();
        // Something before Vapi may answer with success and know nothing of the call.
        let Some(status) = call["status"].as_str() else { return Ok(Followed::AskAgain(WAIT)) };
        match status {
            "ended" => outcome(&call),
            "scheduled" | "queued" | "ringing" => Ok(Followed::AskAgain(RINGS_EVERY)),
            "in-progress" | "forwarding" => Ok(Followed::AskAgain(TALKS_EVERY)),
            status => Err(SendError::Unknown(format!("Vapi has lost the call ({status}); it may have been heard"))),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        phone::check("address", address)
    }

    fn address_rule(&self) -> AddressRule {
        phone::rule()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn holds_unknown(&self) -> bool {
        true
    }

    fn receiver(&self, _: &str) -> String {
        origin(&self.api_url)
    }
}

fn outcome(call: &Value) -> Result<Followed, SendError> {
    let reason = call["endedReason"].as_str().unwrap_or_default();
    let detail = call["endedMessage"].as_str().map(quote).filter(|text| !text.is_empty());
    let said = match detail {
        Some(detail) => format!("the call ended: {reason} ({detail})"),
        None => format!("the call ended: {reason}"),
    };
    match reason::ended(reason) {
        Some(Ended::Heard) => Ok(Followed::Reached),
        Some(Ended::HeardIfTalked) if talked(call) => Ok(Followed::Reached),
        Some(Ended::HeardIfTalked | Ended::NotHeard) => Err(SendError::Unavailable(said)),
        Some(Ended::Never) => Err(SendError::Refused(said)),
        None => Err(SendError::Unknown(format!("{said}, which is new; it may have been heard"))),
    }
}

/// Whether the person said anything.
fn talked(call: &Value) -> bool {
    let messages = call["messages"].as_array().or_else(|| call["artifact"]["messages"].as_array());
    messages.is_some_and(|messages| messages.iter().any(|message| message["role"] == "user"))
}

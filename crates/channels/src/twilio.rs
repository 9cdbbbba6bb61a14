//! SMS over Twilio.
//!
//! Twilio takes a message at once and sends it later, so what became of it is asked for until it has left Twilio: a message that
//! was queued and never sent has not reached anybody. Where this server has a public address, Twilio also tells it what became of a
//! message after that, and what people answer (`receive`). Twilio knows no idempotency key; a message that may have been taken is
//! therefore not sent again unless the reminder says so.

/// What Twilio's codes mean.
mod code;
mod receive;
#[cfg(test)]
mod receive_tests;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::receive::{Receive, Way};
use punctual_core::channel::{AddressRule, Channel, Followed, Limits, Message, Rate, Receipt, SendError, Whom};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;

use self::code::Class;
use crate::common::buttons::Verb;
use crate::common::fields::Fields;
use crate::common::fit::Unit;
use crate::common::http::{Answer, Http, TIMEOUT, form, origin};
use crate::common::links::{Door, Links};
use crate::common::phone;
use crate::common::quote::told;
use crate::common::receiving;
use crate::common::template::{Template, plain};
use crate::common::token::Token;
use crate::common::whole::whole;
use crate::setup::Server;

/// How long a text may be. Twilio says characters; an emoji is two, as in the SMS itself.
const BODY_MAX: usize = 1600;
/// How long a message may wait at Twilio, unless set: a reminder that is later than this is of no use.
const VALID_FOR: Duration = Duration::from_secs(600);
/// The longest that Twilio lets a message wait.
const VALID_FOR_MAX: Duration = Duration::from_secs(36_000);
/// How often a message that is on its way is asked about.
const ASK_EVERY: Duration = Duration::from_secs(3);
/// How long to leave Twilio alone where it does not say: a minute's worth of a full queue.
const WAIT: Duration = Duration::from_secs(30);

/// Sends reminders as SMS. An address is a phone number.
#[derive(Debug)]
pub struct Twilio {
    api_url: String,
    account_sid: String,
    auth_token: Token,
    sender: Sender,
    valid_for: Duration,
    status_callback: Option<String>,
    follows: bool,
    template: Template,
    links: Option<Links>,
    limits: Limits,
    http: Http,
    clock: Arc<dyn Clock>,
    /// Whether answers and reports come.
    receives: bool,
    /// Where Twilio's requests come in.
    door: Option<Door>,
    /// Whether a person is told that their answer was taken; it costs an SMS.
    confirms: bool,
}

/// The sender of a message: a number or a service.
#[derive(Debug)]
enum Sender {
    Number(String),
    Service(String),
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    // A long code sends one SMS a second; toll-free numbers, short codes and services send more.
    let defaults = Limits { concurrency: 8, rate: Some(Rate::per_second(1)), address_rate: None };
    let answer_link = fields.boolean("answer_link")?.unwrap_or(true);
    let is_public = server.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    let way = receiving::way(fields, is_public.then_some(Way::Webhook))?;
    if way == Some(Way::Connection) {
        return Err(receiving::no_connection("Twilio"));
    }
    Ok(Arc::new(Twilio {
        api_url: fields.url("api_url", "https://api.twilio.com")?,
        account_sid: sid(fields, "account_sid", "AC")?.ok_or_else(|| {
            Invalid::new("account_sid", "is missing; the console's front page shows it: AC and 32 digits")
        })?,
        auth_token: fields.needed_secret("auth_token", "the token that the console shows below the account's SID")?,
        sender: sender(fields)?,
        valid_for: valid_for(fields)?,
        status_callback: match fields.text("status_callback") {
            Some(_) => Some(fields.url("status_callback", "https://example.org/twilio")?),
            None => None,
        },
        follows: fields.boolean("follow")?.unwrap_or(true),
        template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed("{message}", plain)),
        links: server.links.clone().filter(|_| answer_link),
        limits: fields.limits(defaults)?,
        http: Http::new(fields.timeout(TIMEOUT, 1)?)?,
        clock: server.clock.clone(),
        receives: way.is_some(),
        door: server.door.clone(),
        confirms: fields.boolean("confirm")?.unwrap_or(false),
    }))
}

/// One of Twilio's ids: a prefix and 32 hex digits. It stands in URLs.
fn sid(fields: &mut Fields, name: &str, prefix: &str) -> Result<Option<String>, Invalid> {
    let Some(text) = fields.text(name) else { return Ok(None) };
    match text.strip_prefix(prefix) {
        Some(rest) if rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(Some(text)),
        _ => Err(Invalid::new(name, format!("is none: write {prefix} and 32 hex digits, as the console shows it"))),
    }
}

fn sender(fields: &mut Fields) -> Result<Sender, Invalid> {
    match (fields.text("from"), sid(fields, "messaging_service_sid", "MG")?) {
        (Some(_), Some(_)) => Err(Invalid::new("from", "is given, and so is messaging_service_sid; give one of them")),
        (None, None) => Err(Invalid::new("from", "is missing; write your Twilio number, or a messaging_service_sid")),
        (None, Some(service)) => Ok(Sender::Service(service)),
        (Some(from), None) => {
            let short_code = (3..=8).contains(&from.len()) && from.bytes().all(|byte| byte.is_ascii_digit());
            let named = (1..=11).contains(&from.len())
                && from.bytes().any(|byte| byte.is_ascii_alphabetic())
                && from.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" +-_&".contains(&byte));
            if short_code || named || phone::check("from", &from).is_ok() {
                return Ok(Sender::Number(from));
            }
            let problem =
                "is no sender: write a number such as +14155552345, a short code, or a name of at most 11 letters";
            Err(Invalid::new("from", problem))
        }
    }
}

fn valid_for(fields: &mut Fields) -> Result<Duration, Invalid> {
    match fields.span("valid_for")? {
        None => Ok(VALID_FOR),
        Some(span) if (Duration::from_secs(1)..=VALID_FOR_MAX).contains(&span) => Ok(span),
        Some(_) => Err(Invalid::new("valid_for", "must be from 1s to 10h, such as 10m")),
    }
}

impl Twilio {
    fn body(&self, message: &Message) -> String {
        let link = match (&self.links, &message.reminder.ack) {
            (Some(links), Some(_)) => format!(" {}", links.link(Verb::Ack, message.occurrence)),
            _ => String::new(),
        };
        let max = BODY_MAX.saturating_sub(Unit::Utf16.count(&link));
        whole(&self.template, message, "", max, |text| Unit::Utf16.count(text)) + &link
    }

    fn messages(&self) -> String {
        format!("{}/2010-04-01/Accounts/{}/Messages", self.api_url, self.account_sid)
    }

    fn said(&self, answer: &Answer) -> String {
        let json = answer.json();
        match (json["code"].as_u64(), json["message"].as_str()) {
            (Some(code), Some(message)) => {
                format!("Twilio answered {code}: {}", told(message, &[&self.auth_token]))
            }
            _ => format!("Twilio {}", answer.said(&[&self.auth_token])),
        }
    }

    fn failure(&self, answer: &Answer, message: &Message) -> SendError {
        let code = answer.json()["code"].as_u64();
        let status = answer.status.as_u16();
        // Twilio says of a 500 that the message may have been taken; only a 503 says that it was not.
        if status >= 500 && status != 503 {
            return SendError::Unknown(format!("{}; it may have been taken", self.said(answer)));
        }
        let wait = answer.retry_after(message.sent_at).unwrap_or(WAIT);
        named(code::class(code, status), self.said(answer), wait)
    }
}

fn named(class: Class, said: String, wait: Duration) -> SendError {
    match class {
        Class::Gone => SendError::Gone(said),
        Class::Refused => SendError::Refused(said),
        Class::Unavailable => SendError::Unavailable(said),
        Class::Throttled => SendError::Throttled { wait, whom: Whom::Receiver },
    }
}

#[async_trait]
impl Channel for Twilio {
    fn kind(&self) -> &'static str {
        "twilio"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        self.check_address(&message.to.address).map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let (sender, from) = match &self.sender {
            Sender::Number(number) => ("From", number),
            Sender::Service(sid) => ("MessagingServiceSid", sid),
        };
        let (body, valid_for) = (self.body(message), self.valid_for.as_secs().to_string());
        let mut pairs = vec![("To", message.to.address.as_str()), (sender, from), ("Body", &body)];
        pairs.push(("ValidityPeriod", &valid_for));
        let callback = self.status_callback.clone().or_else(|| self.report_to(message));
        if let Some(url) = &callback {
            pairs.push(("StatusCallback", url));
        }
        let request = self
            .http
            .post(&format!("{}.json", self.messages()))
            .basic_auth(&self.account_sid, Some(self.auth_token.expose()))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form(&pairs));
        let answer = self.http.ask(request, "Twilio").await?;
        if !answer.status.is_success() {
            return Err(self.failure(&answer, message));
        }
        let json = answer.json();
        match json["sid"].as_str() {
            Some(sid) => Ok(Receipt { pending: self.follows, ..Receipt::of(sid) }),
            None => Err(SendError::Unknown(format!("{}, but no sid; it may have been taken", self.said(&answer)))),
        }
    }

    async fn follow(&self, message_id: &str) -> Result<Followed, SendError> {
        // It stands in a URL.
        if !message_id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(SendError::Unknown("the message's sid is none".into()));
        }
        let request = self
            .http
            .get(&format!("{}/{message_id}.json", self.messages()))
            .basic_auth(&self.account_sid, Some(self.auth_token.expose()));
        // The question failed, which says nothing about the message.
        let Ok(answer) = self.http.ask(request, "Twilio").await else { return Ok(Followed::AskAgain(ASK_EVERY)) };
        if !answer.status.is_success() {
            tracing::debug!("{}; it is asked again what became of an SMS", self.said(&answer));
            return Ok(Followed::AskAgain(WAIT));
        }
        let json = answer.json();
        match json["status"].as_str().unwrap_or_default() {
            // With the carrier: some tell more, many never do.
            "sent" | "delivered" | "read" | "partially_delivered" => Ok(Followed::Reached),
            status @ ("failed" | "undelivered" | "canceled") => {
                let code = json["error_code"].as_u64();
                let why = told(json["error_message"].as_str().unwrap_or("no reason given"), &[&self.auth_token]);
                let said = format!("Twilio took it, then: {status}, {}: {why}", code.unwrap_or_default());
                Err(named(code::class(code, 500), said, WAIT))
            }
            _ => Ok(Followed::AskAgain(ASK_EVERY)),
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

    fn digest_max(&self) -> Option<usize> {
        Some(700)
    }

    fn receiver(&self, _: &str) -> String {
        origin(&self.api_url)
    }

    fn receives(&self) -> Option<&dyn Receive> {
        self.receives.then_some(self)
    }
}

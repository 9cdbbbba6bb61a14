//! WhatsApp, by Meta's Cloud API. An address is a phone number such as `+4915112345678`.
//!
//! WhatsApp takes free text only within 24 hours of the last message that the person wrote to us. Outside of them it takes
//! templates alone, which Meta has approved before. So there are three ways to send:
//!
//! | `mode` | What is sent |
//! | --- | --- |
//! | `template` | always the template; the default when one is set |
//! | `session` | always free text; the default when none is set |
//! | `auto` | free text, and if Meta answers that the 24 hours are over, at once the template |
//!
//! Answers and delivery reports come by requests of Meta's (`receive`).
//!
//! `auto` is not the default, because Meta may take a message with success and say only later, to a webhook, that the 24
//! hours were over.

mod answer;
mod language;
mod receive;
#[cfg(test)]
mod receive_tests;
mod report;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::receive::{Receive, Way};
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Rate, Receipt, SendError};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;
use serde_json::{Value, json};

use crate::common::buttons::{Verb, buttons};
use crate::common::fields::Fields;
use crate::common::fit::{Unit, fit};
use crate::common::http::{self, Http};
use crate::common::phone;
use crate::common::receiving;
use crate::common::template::{Template, plain};
use crate::common::token::Token;
use crate::common::whole::whole;
use crate::setup::Server;
use answer::Said;
use language::Languages;

/// The longest text. It is shortened to that, visibly; so are the others.
pub const TEXT_UNITS_MAX: usize = 4096;
/// The longest text above buttons.
pub const BODY_UNITS_MAX: usize = 1024;
/// The longest text within a template, which has 1024 in all: some are left for what is around it.
pub const PARAMETER_UNITS_MAX: usize = 900;
const PLATFORM: &str = "WhatsApp";
const TEMPLATE: &str = "⏰ *{word}:* {message}";

/// Sends reminders through WhatsApp.
#[derive(Debug)]
pub struct Whatsapp {
    http: Http,
    /// Where messages of this phone number are posted.
    url: String,
    token: Token,
    template: Template,
    mode: Mode,
    approved: Option<Approved>,
    limits: Limits,
    clock: Arc<dyn Clock>,
    /// The number that sends: Meta's notifications may be about others, too.
    phone_number_id: String,
    /// Whether answers come.
    receives: bool,
    /// Proves that a request comes from Meta.
    app_secret: Option<Token>,
    /// The text that Meta repeats when it is told where to send its requests.
    verify_token: Option<Token>,
    /// Whether a person is told that their answer was taken.
    confirms: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Template,
    Session,
    Auto,
}

/// A template that Meta has approved. Its text has one place, which the message takes.
#[derive(Debug)]
struct Approved {
    name: String,
    languages: Languages,
    /// Whether it has the three quick replies: done, later, not needed.
    has_buttons: bool,
}

pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    Ok(Arc::new(Whatsapp::new(fields, server)?))
}

impl Whatsapp {
    fn new(fields: &mut Fields, server: &Server) -> Result<Self, Invalid> {
        // Published: 80 messages a second from one number, and 10 a minute from it to one person.
        let defaults = Limits {
            rate: Some(Rate::per_second(80)),
            address_rate: Some(Rate { n: 10, per: Duration::from_secs(60) }),
            ..Limits::default()
        };
        let token = fields.needed_secret("token", "the access token of a system user")?;
        http::check_header("token", &token)?;
        let number = fields.needed("phone_number_id", "the id of the number that sends, not the number itself")?;
        if number.len() > 32 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Invalid::new("phone_number_id", "is no id; it has digits only, such as 106540352242922"));
        }
        let version = fields.text("api_version").unwrap_or_else(|| "v23.0".into());
        let is_version = |text: &str| text.split('.').all(|part| part.parse::<u32>().is_ok());
        if !version.strip_prefix('v').is_some_and(is_version) {
            return Err(Invalid::new("api_version", "is no version; write one such as v23.0"));
        }
        let api_url = fields.url("api_url", "https://graph.facebook.com")?;
        let approved = approved(fields)?;
        let mode = match (fields.text("mode").as_deref(), &approved) {
            (Some("session"), _) | (None, None) => Mode::Session,
            (Some("template") | None, Some(_)) => Mode::Template,
            (Some("auto"), Some(_)) => Mode::Auto,
            (Some("template" | "auto"), None) => {
                return Err(Invalid::new("template_name", "is missing; write the name of an approved template"));
            }
            _ => return Err(Invalid::new("mode", "is unknown; write template, session or auto")),
        };
        let n_requests = if mode == Mode::Auto { 2 } else { 1 };
        let app_secret = fields.secret("app_secret")?;
        let way = receiving::way(fields, app_secret.is_some().then_some(Way::Webhook))?;
        match way {
            Some(Way::Connection) => return Err(receiving::no_connection(PLATFORM)),
            Some(Way::Webhook) if app_secret.is_none() => {
                let what = "the app's secret, from its basic settings";
                return Err(receiving::needs(Way::Webhook, "app_secret", what));
            }
            _ => {}
        }
        Ok(Self {
            http: Http::new(fields.timeout(http::TIMEOUT, n_requests)?)?,
            url: format!("{api_url}/{version}/{number}/messages"),
            token,
            template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed(TEMPLATE, plain)),
            mode,
            approved,
            limits: fields.limits(defaults)?,
            clock: server.clock.clone(),
            phone_number_id: number,
            receives: way.is_some(),
            app_secret,
            verify_token: fields.secret("verify_token")?,
            confirms: fields.boolean("confirm")?.unwrap_or(true),
        })
    }

    /// Free text, with buttons where an answer is wanted.
    fn free(&self, message: &Message) -> Value {
        // Meta does not say what it counts; these units are never fewer than characters.
        let said = |max| whole(&self.template, message, "", max, |text| Unit::Utf16.count(text));
        let replies: Vec<Value> = buttons(message)
            .into_iter()
            .map(|button| json!({"type": "reply", "reply": {"id": button.data, "title": button.label}}))
            .collect();
        if replies.is_empty() {
            return json!({"type": "text", "text": {"preview_url": false, "body": said(TEXT_UNITS_MAX)}});
        }
        let interactive =
            json!({"type": "button", "body": {"text": said(BODY_UNITS_MAX)}, "action": {"buttons": replies}});
        json!({"type": "interactive", "interactive": interactive})
    }

    /// The approved template, with the message in its place.
    fn templated(&self, approved: &Approved, message: &Message) -> Value {
        let prompt = message.reminder.ack.as_ref().and_then(|ack| ack.prompt.as_deref()).unwrap_or_default();
        // Meta refuses line breaks, tabs and many spaces here.
        let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = on_one_line(&format!("{} {prompt}", message.text));
        let text = fit(&text, PARAMETER_UNITS_MAX, Unit::Utf16, message.language, on_one_line);
        let mut components = vec![json!({"type": "body", "parameters": [{"type": "text", "text": text}]})];
        if approved.has_buttons {
            // A template's buttons are fixed: the one that is not allowed keeps its place, and sends back nothing of ours.
            components.extend(buttons(message).into_iter().map(|button| {
                let index = match button.verb {
                    Verb::Ack => "0",
                    Verb::Snooze => "1",
                    Verb::Dismiss => "2",
                };
                let payload = json!([{"type": "payload", "payload": button.data}]);
                json!({"type": "button", "sub_type": "quick_reply", "index": index, "parameters": payload})
            }));
        }
        let language = json!({"policy": "deterministic", "code": approved.languages.code(message.language)});
        json!({"type": "template", "template": {"name": approved.name, "language": language, "components": components}})
    }

    async fn post(&self, mut body: Value, message: &Message) -> Result<Receipt, Said> {
        body["messaging_product"] = "whatsapp".into();
        body["recipient_type"] = "individual".into();
        body["to"] = message.to.address.as_str().into();
        // Comes back with every status of this message.
        body["biz_opaque_callback_data"] = message.idempotency_key.as_str().into();
        let request = self.http.post(&self.url).bearer_auth(self.token.expose()).json(&body);
        let answer = self.http.ask(request, PLATFORM).await.map_err(Said::Failed)?;
        answer::read(&answer, &self.token, message.sent_at)
    }
}

#[async_trait]
impl Channel for Whatsapp {
    fn kind(&self) -> &'static str {
        "whatsapp"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        self.check_address(&message.to.address).map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let free = match (self.mode, &self.approved) {
            (Mode::Template, Some(approved)) => self.post(self.templated(approved, message), message).await,
            _ => self.post(self.free(message), message).await,
        };
        let said = match (free, &self.approved) {
            (Err(Said::SessionOver(_)), Some(approved)) if self.mode == Mode::Auto => {
                self.post(self.templated(approved, message), message).await
            }
            (said, _) => said,
        };
        said.map_err(|said| match said {
            Said::Failed(error) => error,
            Said::SessionOver(said) => SendError::Refused(format!(
                "the person has not written for 24 hours, so WhatsApp takes only a template; set template_name: {said}"
            )),
        })
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

    fn digest_max(&self) -> Option<usize> {
        Some(800)
    }

    fn receiver(&self, _address: &str) -> String {
        PLATFORM.to_lowercase()
    }

    fn receives(&self) -> Option<&dyn Receive> {
        self.receives.then_some(self)
    }
}

fn approved(fields: &mut Fields) -> Result<Option<Approved>, Invalid> {
    let languages = match fields.text("template_language") {
        Some(text) => text.parse().map_err(|problem: String| Invalid::new("template_language", problem))?,
        None => Languages::default(),
    };
    let has_buttons = fields.boolean("template_buttons")?.unwrap_or(false);
    let Some(name) = fields.text("template_name") else { return Ok(None) };
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.is_empty() || name.len() > 512 || !name.bytes().all(is_part) {
        return Err(Invalid::new("template_name", "is no template's name; it has small letters, digits and _ only"));
    }
    Ok(Some(Approved { name, languages, has_buttons }))
}

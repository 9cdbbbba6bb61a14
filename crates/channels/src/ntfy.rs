//! Push notifications over ntfy, at ntfy.sh or a server of one's own.
//!
//! | Answer | Meaning |
//! | --- | --- |
//! | 200 with the message's id | sent |
//! | 400, 403, 409, 413 | refused: the topic, or who may write to it, will not change within a retry |
//! | 401, 404, 5xx, 507 | unavailable: the settings, the server or its subscribers can be mended |
//! | 429, too many requests | throttled |
//! | 429, a day's quota or a server that is full | unavailable: no wait worth its while, so that another way is tried |
//!
//! ntfy knows no idempotency key: a message that may have arrived and is sent again may be seen twice.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Rate, Receipt, SendError, Whom};
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Priority;
use reqwest::RequestBuilder;
use serde::Serialize;

use crate::common::buttons::buttons;
use crate::common::fields::Fields;
use crate::common::fit::{Unit, fit};
use crate::common::http::{self, Answer, Http, TIMEOUT, origin};
use crate::common::links::Links;
use crate::common::template::{Template, plain};
use crate::common::texts::texts;
use crate::common::token::Token;
use crate::common::whole::whole;
use crate::setup::Server;

/// A longer message becomes an attachment, or is refused.
const MESSAGE_BYTES_MAX: usize = 4096;
/// The server reads twice a message, and no more; escaping counts.
const BODY_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// A title is one line.
const TITLE_CHARS_MAX: usize = 200;
/// The most buttons that the server shows.
const ACTIONS_MAX: usize = 3;
/// How fast a visitor's requests come back, where the server does not say.
const REFILL: Duration = Duration::from_secs(5);

/// Sends reminders to ntfy topics. An address is a topic.
#[derive(Debug)]
pub struct Ntfy {
    url: String,
    login: Login,
    template: Template,
    title: Option<Template>,
    links: Option<Links>,
    limits: Limits,
    http: Http,
}

#[derive(Debug)]
enum Login {
    Nobody,
    Token(Token),
    Password { user: String, password: Token },
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    // The limit of ntfy.sh, and of a server of one's own unless it is set otherwise: 60 at once, and one more every 5 seconds.
    let defaults =
        Limits { concurrency: 16, rate: Some(Rate { n: 60, per: Duration::from_secs(300) }), address_rate: None };
    Ok(Arc::new(Ntfy {
        url: fields.url("url", "https://ntfy.sh")?,
        login: login(fields)?,
        template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed("{message}", plain)),
        title: fields.template("title", plain)?,
        links: server.links.clone(),
        limits: fields.limits(defaults)?,
        http: Http::new(fields.timeout(TIMEOUT, 1)?)?,
    }))
}

fn login(fields: &mut Fields) -> Result<Login, Invalid> {
    match (fields.secret("token")?, fields.text("username"), fields.secret("password")?) {
        (None, None, None) => Ok(Login::Nobody),
        (Some(token), None, None) => {
            http::check_header("token", &token)?;
            Ok(Login::Token(token))
        }
        (None, Some(user), Some(password)) => Ok(Login::Password { user, password }),
        (Some(_), _, _) => Err(Invalid::new("token", "is given, and so is a username or password; give one of them")),
        (None, None, Some(_)) => Err(Invalid::new("username", "is missing; it belongs to the password")),
        (None, Some(_), None) => Err(Invalid::new("password", "is missing; it belongs to the username")),
    }
}

/// A message as ntfy takes it at its root.
#[derive(Debug, Serialize)]
struct Publish<'a> {
    topic: &'a str,
    message: String,
    title: String,
    priority: u8,
    tags: [&'a str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Action>,
}

#[derive(Debug, Serialize)]
struct Action {
    action: &'static str,
    label: &'static str,
    url: String,
    method: &'static str,
    clear: bool,
}

impl Ntfy {
    fn body(&self, message: &Message) -> String {
        let title = match &self.title {
            Some(title) => title.render(message, "").replace(['\r', '\n'], " "),
            None => message.reminder.name.clone().unwrap_or_else(|| texts(message.language).reminder.to_owned()),
        };
        let title = fit(&title, TITLE_CHARS_MAX, Unit::Chars, message.language, str::to_owned);
        let publish = |said: &str| {
            let publish = Publish {
                topic: &message.to.address,
                message: said.to_owned(),
                title: title.clone(),
                priority: priority(message.reminder.priority),
                tags: ["alarm_clock"],
                actions: self.actions(message),
            };
            serde_json::to_string(&publish).expect("texts and numbers are always JSON")
        };
        // The rest of the body must fit into the bytes that a body may have beyond its message.
        let count = |said: &str| said.len().max(publish(said).len().saturating_sub(BODY_BYTES_MAX - MESSAGE_BYTES_MAX));
        publish(&whole(&self.template, message, "", MESSAGE_BYTES_MAX, count))
    }

    fn actions(&self, message: &Message) -> Vec<Action> {
        let Some(links) = &self.links else { return Vec::new() };
        let action = |button: crate::common::buttons::Button| Action {
            action: "http",
            label: button.label,
            url: links.link(button.verb, message.occurrence),
            method: "POST",
            clear: true,
        };
        buttons(message).into_iter().take(ACTIONS_MAX).map(action).collect()
    }

    fn signed_in(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.login {
            Login::Nobody => request,
            Login::Token(token) => request.bearer_auth(token.expose()),
            Login::Password { user, password } => request.basic_auth(user, Some(password.expose())),
        }
    }

    /// The text of an answer, without the secret of our login.
    fn said(&self, answer: &Answer) -> String {
        let secrets: &[&Token] = match &self.login {
            Login::Nobody => &[],
            Login::Token(secret) | Login::Password { password: secret, .. } => &[secret],
        };
        format!("ntfy {}", answer.said(secrets))
    }
}

#[async_trait]
impl Channel for Ntfy {
    fn kind(&self) -> &'static str {
        "ntfy"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        check(&message.to.address).map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let request = self.http.post(&self.url).header("content-type", "application/json").body(self.body(message));
        let answer = self.http.ask(self.signed_in(request), "ntfy").await?;
        let json = answer.json();
        if answer.status.is_success() {
            return match json["id"].as_str() {
                Some(id) => Ok(Receipt::of(id)),
                None => Err(SendError::Unknown(format!("{}, but no id: is it an ntfy server?", self.said(&answer)))),
            };
        }
        let code = json["code"].as_u64().unwrap_or_default();
        Err(match class(code, answer.status.as_u16()) {
            Class::Refused => SendError::Refused(self.said(&answer)),
            Class::Unavailable => SendError::Unavailable(self.said(&answer)),
            Class::Throttled => {
                let wait = answer.retry_after(message.sent_at).unwrap_or(REFILL);
                SendError::Throttled { wait, whom: Whom::Receiver }
            }
        })
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        check(address)
    }

    fn address_rule(&self) -> AddressRule {
        AddressRule::matching("[A-Za-z0-9_-]{1,64}", NO_TOPIC)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn digest_max(&self) -> Option<usize> {
        Some(900)
    }

    fn receiver(&self, _: &str) -> String {
        origin(&self.url)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Refused,
    Unavailable,
    Throttled,
}

/// The meaning of ntfy's own code, else of the status.
fn class(code: u64, status: u16) -> Class {
    match (code, status) {
        // The bucket of requests fills again by itself, in seconds.
        (42_901, _) => Class::Throttled,
        // A day's messages or bytes are used up, the server has no room for another topic, or it locked us out for wrong
        // passwords: that takes hours or a person.
        (42_902..=42_999, _) => Class::Unavailable,
        (_, 429) => Class::Throttled,
        // 401 is the operator's to mend and 404 a wrong `url`; 403 is about this topic and this login.
        (_, 401 | 404 | 408) => Class::Unavailable,
        (_, 400..=499) => Class::Refused,
        _ => Class::Unavailable,
    }
}

fn priority(priority: Priority) -> u8 {
    match priority {
        Priority::Low => 2,
        Priority::Normal => 3,
        Priority::High => 4,
        Priority::Critical => 5,
    }
}

const NO_TOPIC: &str = "is no ntfy topic: write 1 to 64 letters, digits, - or _, such as my-reminders-x7Kq";

fn check(address: &str) -> Result<(), Invalid> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=64).contains(&address.len()) && address.bytes().all(known) {
        return Ok(());
    }
    Err(Invalid::new("address", NO_TOPIC))
}

//! E-mail over SMTP.
//!
//! A mail is text and HTML, with a link for each answer. Its `Message-ID` is made from the idempotency key, so that a mail which
//! is sent again is the same mail: most mailboxes then show it once.
//!
//! A server's reply decides what happens next; [`reply`] has the table. A connection that breaks once the mail is under way
//! leaves it unknown; before that nothing was sent, and it is unavailable.

/// Which addresses are accepted.
mod address;

/// What stands in a mail.
mod mail;

/// Headers that show words as they are.
mod words;

/// What a server's replies mean.
mod reply;

/// Speaking SMTP, over connections that are kept.
mod smtp;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lettre::message::Mailbox;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Receipt, SendError};
use punctual_core::invalid::Invalid;

use self::mail::Composer;
use self::smtp::{Security, Smtp};
use crate::common::fields::Fields;
use crate::common::template::{Template, plain};
use crate::common::token::Token;
use crate::setup::Server;

/// How long a whole send may take, with the connection. Below what the engine waits.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends reminders by e-mail. An address is an e-mail address.
#[derive(Debug)]
pub struct Email {
    composer: Composer,
    smtp: Smtp,
    limits: Limits,
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    let limits = fields.limits(Limits { concurrency: 8, ..Limits::default() })?;
    let from = mailbox(fields, "from")?.ok_or_else(|| {
        Invalid::new("from", "is missing; write the sender, such as Reminders <reminders@example.org>")
    })?;
    let host = fields.needed("host", "the name of your mail server, such as smtp.example.org")?;
    let (security, port) = security(fields, &host)?;
    let smtp = Smtp {
        port: fields.number("port", 1..=65_535)?.map_or(port, |port| port as u16),
        host,
        security,
        login: login(fields)?,
        hello: from.email.domain().to_owned(),
        timeout: fields.timeout(TIMEOUT, 1)?,
        idle_max: limits.concurrency,
        idle: Default::default(),
        clock: server.clock.clone(),
    };
    let composer = Composer {
        from,
        reply_to: mailbox(fields, "reply_to")?,
        subject: fields.template("subject", plain)?,
        template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed("{message}", plain)),
        links: server.links.clone(),
    };
    Ok(Arc::new(Email { composer, smtp, limits }))
}

fn mailbox(fields: &mut Fields, name: &str) -> Result<Option<Mailbox>, Invalid> {
    let Some(text) = fields.text(name) else { return Ok(None) };
    let wrong =
        || Invalid::new(name, "is none: write an e-mail address, or a name and one, such as Me <me@example.org>");
    let mailbox: Mailbox = text.trim().parse().map_err(|_| wrong())?;
    address::check(name, mailbox.email.as_ref()).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) {
        return Err(wrong());
    }
    Ok(Some(mailbox))
}

/// How the way to the server is protected, and the port for that.
fn security(fields: &mut Fields, host: &str) -> Result<(Security, u16), Invalid> {
    let word = fields.text("tls").unwrap_or_else(|| "starttls".into());
    let allow_plain = fields.boolean("allow_plain")?.unwrap_or(false);
    let ca_file = fields.text("ca_file");
    let parameters = || {
        // The process's provider is set before anything else asks for one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = TlsParameters::builder(host.to_owned());
        if let Some(path) = &ca_file {
            let wrong = |why: String| Invalid::new("ca_file", format!("cannot use {path}: {why}"));
            let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
            builder =
                builder.add_root_certificate(Certificate::from_pem(&pem).map_err(|error| wrong(error.to_string()))?);
        }
        builder.build_rustls().map_err(|error| Invalid::new("tls", format!("cannot be set up: {error}")))
    };
    match word.as_str() {
        "starttls" => Ok((Security::StartTls(parameters()?), 587)),
        "tls" => Ok((Security::Tls(parameters()?), 465)),
        "none" if allow_plain || is_loopback(host) => Ok((Security::None, 25)),
        "none" => {
            let problem = "is none, so anyone on the way could read and change mails; write starttls or tls, \
                           or allow_plain = true if the way is safe";
            Err(Invalid::new("tls", problem))
        }
        other => Err(Invalid::new("tls", format!("`{other}` is none of starttls, tls and none"))),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn login(fields: &mut Fields) -> Result<Option<(String, Token)>, Invalid> {
    match (fields.text("username"), fields.secret("password")?) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some((user, password))),
        (Some(_), None) => Err(Invalid::new("password", "is missing; it belongs to the username")),
        (None, Some(_)) => Err(Invalid::new("username", "is missing; it belongs to the password")),
    }
}

#[async_trait]
impl Channel for Email {
    fn kind(&self) -> &'static str {
        "email"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let to = address::check("address", &message.to.address)
            .map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let mail = self.composer.compose(message, &to)?;
        self.smtp.send(&self.composer.from.email, &to, &mail, message.sent_at).await?;
        Ok(Receipt::of(self.composer.message_id(message)))
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        address::check("address", address).map(|_| ())
    }

    fn address_rule(&self) -> AddressRule {
        address::rule()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn digest_max(&self) -> Option<usize> {
        Some(50_000)
    }

    fn receiver(&self, _: &str) -> String {
        format!("{}:{}", self.smtp.host, self.smtp.port)
    }
}

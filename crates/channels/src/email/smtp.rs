//! Speaking SMTP, over connections that are kept.
//!
//! Lettre's own transport keeps connections, too, but it does not say how far a mail had come when something broke. That is what
//! decides whether it may be sent again, so each command is given here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use punctual_core::channel::SendError;
use punctual_core::clock::{Clock, within};

use super::reply::{self, Step};
use crate::common::token::Token;

/// A connection that was not used for longer is not trusted: servers hang up, and firewalls forget. They wait for minutes.
const IDLE_MAX: SignedDuration = SignedDuration::from_secs(60);

/// How long a server may take to forget a mail that it said no to. What it said counts, however long this takes.
const RESET_MAX: Duration = Duration::from_secs(2);

/// The way to one server.
#[derive(Debug)]
pub(super) struct Smtp {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) login: Option<(String, Token)>,
    /// The name that we give in EHLO.
    pub(super) hello: String,
    /// How long a send may take.
    pub(super) timeout: Duration,
    /// How many unused connections are kept.
    pub(super) idle_max: usize,
    pub(super) idle: Idle,
    pub(super) clock: Arc<dyn Clock>,
}

/// How the way is protected.
pub(super) enum Security {
    None,
    /// Asked for after the greeting, and never done without.
    StartTls(TlsParameters),
    Tls(TlsParameters),
}

/// Connections that wait for the next mail, the last used on top.
#[derive(Default)]
pub(super) struct Idle(Mutex<Vec<(AsyncSmtpConnection, Timestamp)>>);

/// Why a mail was not taken.
struct Failed {
    error: SendError,
    /// A server that said no to this mail takes the next one, once it has forgotten this one.
    connection: Option<Box<AsyncSmtpConnection>>,
}

impl From<SendError> for Failed {
    fn from(error: SendError) -> Self {
        Self { error, connection: None }
    }
}

impl Smtp {
    /// Sends one mail to one person. It is taken, or the error says how far it came.
    pub(super) async fn send(&self, from: &Address, to: &Address, mail: &str, now: Timestamp) -> Result<(), SendError> {
        let under_way = AtomicBool::new(false);
        match within(&*self.clock, self.timeout, self.send_once(from, to, mail, now, &under_way)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(Failed { error, connection: None })) => Err(error),
            Some(Err(Failed { error, connection: Some(mut connection) })) => {
                if let Some(Ok(_)) = within(&*self.clock, RESET_MAX, connection.command(Rset)).await {
                    self.keep(*connection, now);
                }
                Err(error)
            }
            None if under_way.load(Ordering::Relaxed) => Err(SendError::Unknown(format!(
                "no answer from {} within {:?}; it may have arrived",
                self.receiver(),
                self.timeout
            ))),
            None => Err(SendError::Unavailable(format!("{} took longer than {:?}", self.receiver(), self.timeout))),
        }
    }

    async fn send_once(
        &self,
        from: &Address,
        to: &Address,
        mail: &str,
        now: Timestamp,
        under_way: &AtomicBool,
    ) -> Result<(), Failed> {
        let mut connection = self.ready(from, to, now).await?;
        let sent = async {
            connection.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(|error| (error, Step::Recipient))?;
            connection.command(Data).await.map_err(|error| (error, Step::Begin))?;
            under_way.store(true, Ordering::Relaxed);
            // In one write, with its end: lettre would write the end by itself, and the network holds back a small write
            // until the one before it is acknowledged. That is 40 ms for each mail.
            connection.command(whole(mail)).await.map_err(|error| (error, Step::Mail))
        };
        match sent.await {
            Ok(_) => {
                self.keep(connection, now);
                Ok(())
            }
            Err((error, step)) => Err(self.failed(connection, &error, step)),
        }
    }

    /// A connection that has taken the sender: one that was kept, if it is still good, else a new one.
    async fn ready(&self, from: &Address, to: &Address, now: Timestamp) -> Result<AsyncSmtpConnection, Failed> {
        let (mut connection, mut is_new) = match self.idle.take(now) {
            Some(connection) => (connection, false),
            None => (self.connect().await?, true),
        };
        loop {
            let beyond_ascii = ![from, to].into_iter().all(|address| AsRef::<str>::as_ref(address).is_ascii());
            if beyond_ascii && !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                self.keep(connection, now);
                let receiver = self.receiver();
                let problem = format!("{receiver} takes no addresses with letters beyond ASCII");
                return Err(SendError::Refused(problem).into());
            }
            let parameters = match beyond_ascii {
                // The address stands in the mail, too, and a server that knows the one knows the other.
                true => vec![MailParameter::SmtpUtfEight, MailParameter::Body(MailBodyParameter::EightBitMime)],
                false => Vec::new(),
            };
            match connection.command(Mail::new(Some(from.clone()), parameters)).await {
                Ok(_) => return Ok(connection),
                // It had said good-bye before it was asked. Nothing is sent yet, so another one is tried.
                Err(error) if !is_new && error.status().is_none_or(|code| u16::from(code) == 421) => {}
                Err(error) => return Err(self.failed(connection, &error, Step::Sender)),
            }
            (connection, is_new) = match self.idle.take(now) {
                Some(connection) => (connection, false),
                None => (self.connect().await?, true),
            };
        }
    }

    /// Names what went wrong, and hands back the connection if it is still good.
    fn failed(&self, connection: AsyncSmtpConnection, error: &Error, step: Step) -> Failed {
        // 421 says good-bye as well.
        let said_no = error.status().map(u16::from).is_some_and(|code| code != 421);
        Failed { error: self.name(error, step), connection: said_no.then(|| Box::new(connection)) }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SendError> {
        self.try_connect().await.map_err(|error| self.name(&error, Step::Connect))
    }

    async fn try_connect(&self) -> Result<AsyncSmtpConnection, Error> {
        let hello = ClientId::Domain(self.hello.clone());
        let server = (self.host.as_str(), self.port);
        let tls = match &self.security {
            Security::Tls(parameters) => Some(parameters.clone()),
            Security::None | Security::StartTls(_) => None,
        };
        let mut connection = AsyncSmtpConnection::connect_tokio1(server, Some(self.timeout), &hello, tls, None).await?;
        if let Security::StartTls(parameters) = &self.security {
            connection.starttls(parameters.clone(), &hello).await?;
        }
        if let Some((user, password)) = &self.login {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await?;
        }
        Ok(connection)
    }

    fn name(&self, error: &Error, step: Step) -> SendError {
        let secrets: Vec<_> = self.login.iter().map(|(_, password)| password).collect();
        reply::name(error, step, &self.receiver(), &secrets)
    }

    fn keep(&self, connection: AsyncSmtpConnection, now: Timestamp) {
        self.idle.put(connection, now, self.idle_max);
    }

    /// Its name in errors.
    fn receiver(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// A mail as it is written: a dot at the beginning of a line is doubled, because a dot alone ends it.
fn whole(mail: &str) -> String {
    let mut out = mail.replace("\r\n.", "\r\n..");
    if out.starts_with('.') {
        out.insert(0, '.');
    }
    out.push_str(if out.ends_with("\r\n") { ".\r\n" } else { "\r\n.\r\n" });
    out
}

impl Idle {
    /// The one used last, so that the others can grow old.
    fn take(&self, now: Timestamp) -> Option<AsyncSmtpConnection> {
        let mut idle = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        idle.retain(|(_, since)| now.duration_since(*since).abs() <= IDLE_MAX);
        idle.pop().map(|(connection, _)| connection)
    }

    fn put(&self, connection: AsyncSmtpConnection, now: Timestamp, max: usize) {
        let mut idle = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if idle.len() < max {
            idle.push((connection, now));
        }
    }
}

impl std::fmt::Debug for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::StartTls(_) => "StartTls",
            Self::Tls(_) => "Tls",
        })
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Idle")
    }
}

//! A message to a stream of NATS JetStream, acknowledged by it.
//!
//! The server's answer decides what happens next:
//!
//! | The server | Meaning |
//! | --- | --- |
//! | acknowledges it | sent: a stream has stored it; the message id is the stream and the number in it |
//! | acknowledges a duplicate | sent: it was stored before, under the same key |
//! | has no stream for the subject | refused: nobody would keep it |
//! | finds it too large, or the stream forbids it | refused |
//! | says that a stream is full or away | unavailable: tried again |
//! | cannot be reached, or does not know the password | unavailable: nothing was sent |
//! | is lost before it answers, or says nothing in time | unknown: it may have arrived |
//!
//! The idempotency key is the message's `Nats-Msg-Id`. A stream drops what it has seen under the same id within its window
//! (two minutes unless it is told otherwise), so a message that was unknown and is sent again within it is stored once.

mod failure;
mod subject;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{ConnectOptions, Event, HeaderMap, jetstream};
use async_trait::async_trait;
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Notice, Receipt, SendError};
use punctual_core::clock::{Clock, within};
use punctual_core::invalid::Invalid;
use punctual_core::template::said;
use tokio::sync::watch;

use crate::broker::route::Route;
use crate::broker::{self, CONCURRENCY, Heard};
use crate::common::fields::Fields;
use crate::common::link::Link;
use crate::common::token::Token;
use crate::event;
use crate::setup::Server;
use url::{Login, Target};

/// How often a silent server is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(10);
/// How long to wait, at most, before the next attempt after a connection was lost. The client tries by itself.
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(1);
const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(20);

/// How messages are published.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the server is: `nats://USER:PASSWORD@HOST:4222`, or `tls://`; several of one cluster with commas between. A secret.
    pub url: Token,
    /// A file with the user's JWT and seed, as `nsc` writes it.
    pub credentials_file: Option<PathBuf>,
    /// A token to sign in with. A secret.
    pub token: Option<Token>,
    /// The subject, which may have fields such as `{user}`; `{address}` is the reminder's address.
    pub subject: String,
    /// Where others reach this server; for the answer links.
    pub public_url: Option<String>,
    /// How long an acknowledgement may take.
    pub timeout: Duration,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How much may be sent.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: Token::new("nats://127.0.0.1:4222"),
            credentials_file: None,
            token: None,
            subject: "{address}".into(),
            public_url: None,
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            limits: Limits { concurrency: CONCURRENCY, ..Limits::default() },
        }
    }
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    let defaults = Config::default();
    let config = Config {
        url: fields.needed_secret("url", "nats://USER:PASSWORD@HOST:4222")?,
        credentials_file: fields.text("credentials_file").map(PathBuf::from),
        token: fields.secret("token")?,
        subject: fields.text("subject").unwrap_or(defaults.subject),
        public_url: server.public_url.clone(),
        timeout: fields.timeout(defaults.timeout, 2)?,
        connect_timeout: defaults.connect_timeout,
        limits: fields.limits(defaults.limits)?,
    };
    Ok(Arc::new(Nats::new(config, server.clock.clone())?))
}

/// Publishes reminders to NATS JetStream. An address is a subject.
pub struct Nats {
    config: Config,
    clock: Arc<dyn Clock>,
    target: Target,
    subject: Route,
    link: Link<Connection>,
}

struct Connection {
    streams: jetstream::Context,
    /// Answers of any kind.
    heard: Heard,
    /// How often the connection was lost.
    lost: watch::Receiver<u64>,
}

impl Connection {
    /// Ends when the connection is lost after `so_far` losses. What was under way then is never answered: the client makes a new
    /// connection, and the answer would have come on the old one.
    async fn lost(&self, so_far: u64) {
        let mut lost = self.lost.clone();
        if lost.wait_for(|n_lost| *n_lost > so_far).await.is_err() {
            // The client is gone without a word; the time limit decides.
            std::future::pending::<()>().await;
        }
    }
}

impl Nats {
    /// Makes the channel. Nothing is connected before the first message.
    pub fn new(config: Config, clock: Arc<dyn Clock>) -> Result<Self, Invalid> {
        if config.timeout.is_zero() || config.connect_timeout.is_zero() {
            return Err(Invalid::new("timeout", "is zero, so nothing could be sent; write one such as 10s"));
        }
        if config.token.is_some() && config.credentials_file.is_some() {
            return Err(Invalid::new("token", "and credentials_file are two ways to sign in; write one of them"));
        }
        let subject = Route::parse("subject", &config.subject)?;
        let target = Target::parse(config.url.expose())?;
        Ok(Self { config, clock, target, subject, link: Link::new() })
    }

    async fn connect(&self) -> Result<Connection, SendError> {
        let target = &self.target;
        let (n_lost, lost) = watch::channel(0);
        let n_lost = Arc::new(n_lost);
        let mut options = ConnectOptions::new()
            .name("punctual")
            .connection_timeout(self.config.connect_timeout)
            .ping_interval(PING_EVERY)
            .reconnect_delay_callback(reconnect_pause)
            .event_callback(move |event| {
                if matches!(event, Event::Disconnected | Event::Closed) {
                    n_lost.send_modify(|n_lost| *n_lost += 1);
                }
                say(event)
            });
        options = match (&self.config.token, &target.login) {
            (Some(token), _) | (None, Some(Login::Token(token))) => options.token(token.expose().to_owned()),
            (None, Some(Login::Password { user, password })) => {
                options.user_and_password(user.clone(), password.clone())
            }
            (None, None) => options,
        };
        if let Some(file) = &self.config.credentials_file {
            options = options.credentials_file(file).await.map_err(|error| {
                SendError::Unavailable(format!("the credentials file {} cannot be used: {error}", file.display()))
            })?;
        }
        let connecting = options.connect(target.servers.clone());
        let client = within(&*self.clock, self.config.connect_timeout, connecting)
            .await
            .ok_or_else(|| failure::silent(target, self.config.connect_timeout))?
            .map_err(|error| failure::connecting(&error, target))?;
        let streams = ContextBuilder::new().timeout(self.config.timeout).max_ack_inflight(CONCURRENCY).build(client);
        Ok(Connection { streams, heard: Heard::default(), lost })
    }

    /// Publishes one message, and waits until a stream has stored it.
    async fn publish(&self, subject: String, headers: HeaderMap, body: Vec<u8>) -> Result<Receipt, SendError> {
        let target = &self.target;
        subject::check(&subject).map_err(|problem| SendError::Refused(format!("the subject {problem}")))?;
        // The client makes a lost connection again by itself.
        let connection = self.link.get(|_| true, self.connect()).await?;
        let streams = &connection.streams;
        let n_lost = *connection.lost.borrow();
        // While it does so it would keep the message and send it at some time later, when it may be in nobody's interest.
        if streams.client().connection_state() != State::Connected {
            return Err(SendError::Unavailable(format!("the connection to {target} is lost; it is being made again")));
        }
        let n_heard = connection.heard.so_far();
        let publishing = async {
            let acknowledgement = streams.publish_with_headers(subject.clone(), headers, body.into()).await?;
            acknowledgement.await
        };
        let said = tokio::select! { biased;
            said = within(&*self.clock, self.config.timeout, publishing) => said.unwrap_or_else(|| Err(failure::timed_out())),
            () = connection.lost(n_lost) => {
                let why = format!("the connection to {target} was lost before it was acknowledged; it may have arrived");
                return Err(SendError::Unknown(why));
            }
        };
        if said.as_ref().err().is_none_or(failure::is_answer) {
            connection.heard.add();
        }
        match said {
            Ok(stored) => {
                let message_id = Some(format!("{}:{}", stored.stream, stored.sequence));
                Ok(Receipt { message_id, ..Receipt::default() })
            }
            Err(error) if failure::is_silence(&error) => {
                // A connection on which nothing came for so long is not worth another message.
                if connection.heard.so_far() == n_heard {
                    self.link.forget(&connection);
                }
                let limit = self.config.timeout;
                Err(SendError::Unknown(format!("{target} did not acknowledge it within {limit:?}")))
            }
            Err(error) if failure::is_no_stream(&error) => {
                let asking = streams.stream_by_subject(subject.as_str());
                let asked = within(&*self.clock, self.config.timeout, asking).await;
                Err(failure::no_stream(asked, &subject, target))
            }
            Err(error) => Err(failure::publishing(&error, target)),
        }
    }
}

/// How long the client waits after so many attempts to connect again.
fn reconnect_pause(n_tries: usize) -> Duration {
    RECONNECT_PAUSE_MIN.saturating_mul(1 << n_tries.min(8)).min(RECONNECT_PAUSE_MAX)
}

async fn say(event: Event) {
    match event {
        // Such as a subject that this user may not write to; the send itself only sees silence.
        Event::ServerError(error) => tracing::warn!(%error, "the NATS server says"),
        event => tracing::debug!(%event, "NATS"),
    }
}

#[async_trait]
impl Channel for Nats {
    fn kind(&self) -> &'static str {
        "nats"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let body = event::to_json(message, self.config.public_url.as_deref());
        let mut headers = headers(&message.idempotency_key);
        headers.insert("Reminder-Id", message.reminder.id.to_string());
        headers.insert("Occurrence-Id", message.occurrence.to_string());
        headers.insert("Attempt", message.attempt.to_string());
        for (name, value) in broker::headers::of(message) {
            headers.insert(name, said(&value));
        }
        self.publish(self.subject.fill(message), headers, body).await
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        let headers = headers(&notice.idempotency_key());
        self.publish(self.subject.fill_notice(notice), headers, event::notice_to_json(notice)).await
    }

    fn takes_notices(&self) -> bool {
        true
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        if !self.subject.uses("address") && address.is_empty() {
            return Ok(());
        }
        subject::check(address).map_err(|problem| Invalid::new("address", problem))
    }

    fn address_rule(&self) -> AddressRule {
        subject::rule(self.subject.uses("address"))
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn receiver(&self, _address: &str) -> String {
        self.target.to_string()
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The headers of every message, with its idempotency key.
fn headers(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(async_nats::header::NATS_MESSAGE_ID, key);
    headers.insert("Content-Type", "application/json");
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_setting_that_cannot_work_is_refused_and_no_secret_is_shown() {
        let check = |config: Config, field: &str| {
            let invalid = Nats::new(config, sample::clock()).unwrap_err();
            assert_eq!(invalid.field, field);
            assert!(!invalid.to_string().contains("hunter2"), "{invalid}");
        };
        let with_url = |url: &str| Config { url: Token::new(url), ..Config::default() };
        for url in ["", ",", "http://a:hunter2@b/", "nats://", "nats://a:hunter2@b:99999", "nats://b,c d"] {
            check(with_url(url), "url");
        }
        check(Config { subject: "{who}".into(), ..Config::default() }, "subject");
        check(Config { timeout: Duration::ZERO, ..Config::default() }, "timeout");
        let both =
            Config { token: Some(Token::new("hunter2")), credentials_file: Some("x".into()), ..Config::default() };
        check(both, "token");
        let config = Config { token: Some(Token::new("hunter2")), ..with_url("nats://a:hunter2@b.example") };
        let channel = Nats::new(config, sample::clock()).unwrap();
        assert_eq!(channel.receiver("x"), "nats://b.example:4222");
        assert!(!format!("{channel:?}").contains("hunter2"));
    }

    #[test]
    fn pauses_between_attempts_to_connect_double_up_to_a_second() {
        let pauses: Vec<u128> = (0..8).map(|n_tries| reconnect_pause(n_tries).as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(reconnect_pause(usize::MAX), RECONNECT_PAUSE_MAX);
    }

    #[test]
    fn an_address_may_be_empty_where_it_is_not_used() {
        let channel =
            Nats::new(Config { subject: "game.reminder_due".into(), ..Config::default() }, sample::clock()).unwrap();
        assert_eq!(channel.check_address(""), Ok(()));
        assert_eq!(
            Nats::new(Config::default(), sample::clock()).unwrap().check_address("").unwrap_err().field,
            "address"
        );
    }

    #[tokio::test]
    async fn a_subject_that_a_field_makes_wrong_is_refused_before_anything_is_sent() {
        let channel =
            Nats::new(Config { subject: "{user}.{address}".into(), ..Config::default() }, sample::clock()).unwrap();
        let mut message = sample::message("due");
        sample::change(&mut message, |reminder| reminder.user = "ann smith".into());
        assert!(matches!(channel.send(&message).await, Err(SendError::Refused(_))));
    }
}

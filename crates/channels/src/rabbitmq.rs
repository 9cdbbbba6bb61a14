//! A message to RabbitMQ, confirmed by it.
//!
//! The broker's answer decides what happens next:
//!
//! | The broker | Meaning |
//! | --- | --- |
//! | confirms it | sent: it is in at least one queue, on disk where the queue is durable |
//! | returns it | refused: no queue takes the routing key at this exchange |
//! | has no such exchange, forbids it, finds it too large | refused: a person must change that |
//! | says nack, or is out of memory or disk | unavailable: tried again |
//! | cannot be reached, or does not know the password | unavailable: nothing was sent |
//! | keeps those before it waiting for too long | unavailable: nothing was sent |
//! | goes away before it has confirmed, or says nothing in time | unknown: it may have arrived |
//!
//! Messages that wait at the same time share an AMQP channel; `group` says how each still gets its own verdict.

mod connection;
mod failure;
mod group;
mod url;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Notice, Receipt, SendError};
use punctual_core::clock::{Clock, within};
use punctual_core::invalid::Invalid;
use punctual_core::reminder::OnUnknown;
use punctual_core::template::said;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::broker::CONCURRENCY;
use crate::broker::headers::{self, Header};
use crate::broker::route::Route;
use crate::common::fields::Fields;
use crate::common::token::Token;
use crate::event;
use crate::setup::Server;
use group::{Groups, Job};
use url::Target;

/// How long a name of an exchange or a routing key may be, in bytes: the protocol has one byte for it.
const NAME_BYTES_MAX: usize = 255;
/// To be written to disk by queues that are.
const PERSISTENT: u8 = 2;

/// How messages are published.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the broker is: `amqp://USER:PASSWORD@HOST:5672/VHOST`, or `amqps://` with TLS. A secret.
    pub url: Token,
    /// The exchange, which may have fields such as `{user}`. Empty is the default exchange, whose routing keys are the names
    /// of queues.
    pub exchange: String,
    /// The routing key, which may have fields; `{address}` is the reminder's address.
    pub routing_key: String,
    /// Where others reach this server; for the answer links.
    pub public_url: Option<String>,
    /// How long a confirm may take, and how long a message may wait for its turn to be sent.
    pub timeout: Duration,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How much may be sent.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: Token::new("amqp://127.0.0.1:5672/%2f"),
            exchange: String::new(),
            routing_key: "{address}".into(),
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
        url: fields.needed_secret("url", "amqp://USER:PASSWORD@HOST:5672/VHOST")?,
        exchange: fields.text("exchange").unwrap_or(defaults.exchange),
        routing_key: fields.text("routing_key").unwrap_or(defaults.routing_key),
        public_url: server.public_url.clone(),
        timeout: fields.timeout(defaults.timeout, 2)?,
        connect_timeout: defaults.connect_timeout,
        limits: fields.limits(defaults.limits)?,
    };
    Ok(Arc::new(Rabbitmq::new(config, server.clock.clone())?))
}

/// Publishes reminders to RabbitMQ. An address is a routing key.
pub struct Rabbitmq {
    config: Config,
    clock: Arc<dyn Clock>,
    target: Target,
    exchange: Route,
    routing_key: Route,
    groups: Arc<Groups>,
}

impl Rabbitmq {
    /// Makes the channel. Nothing is connected before the first message.
    pub fn new(config: Config, clock: Arc<dyn Clock>) -> Result<Self, Invalid> {
        if config.timeout.is_zero() || config.connect_timeout.is_zero() {
            return Err(Invalid::new("timeout", "is zero, so nothing could be sent; write one such as 10s"));
        }
        let exchange = Route::parse("exchange", &config.exchange)?;
        let routing_key = Route::parse("routing_key", &config.routing_key)?;
        let target = Target::parse(config.url.expose())?;
        let groups = Groups::new(config.clone(), target.clone(), clock.clone());
        Ok(Self { config, clock, target, exchange, routing_key, groups })
    }

    /// Where in the broker, when `fill` says what a route comes to.
    fn place(&self, fill: impl Fn(&Route) -> String) -> Result<Place, SendError> {
        let name = |what: &str, route: &Route| {
            ShortString::try_new(fill(route))
                .map_err(|_| SendError::Refused(format!("the {what} is longer than {NAME_BYTES_MAX} bytes")))
        };
        let exchange = name("exchange", &self.exchange)?;
        let routing_key = name("routing key", &self.routing_key)?;
        Ok(Place { exchange, routing_key })
    }

    /// Publishes one message; `holds`: it must not be sent again when it may have arrived.
    async fn publish(&self, letter: Letter<'_>, body: Vec<u8>, holds: bool) -> Result<Receipt, SendError> {
        let (tell, told) = oneshot::channel();
        let properties = properties(&letter);
        let Letter { place, key, .. } = letter;
        let mut begins = self.groups.add(Job { place, key, properties, body, holds, tell });
        let limit = self.config.timeout;
        if within(&*self.clock, limit, &mut begins).await.is_none() {
            begins.close();
            // Its turn may have come in the same moment.
            if begins.try_recv().is_err() {
                let problem =
                    format!("{} is slow: it was not its turn within {limit:?}, nothing was sent", self.target);
                return Err(SendError::Unavailable(problem));
            }
        }
        told.await.unwrap_or_else(|_| Err(SendError::Unknown("the sender was cut off; it may have arrived".into())))
    }
}

/// The envelope of a message.
struct Letter<'a> {
    place: Place,
    /// The idempotency key.
    key: String,
    kind: &'a str,
    sent_at: Timestamp,
    headers: Vec<Header>,
}

/// Where in the broker.
#[derive(Debug, Clone)]
struct Place {
    exchange: ShortString,
    routing_key: ShortString,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exchange.as_str() {
            "" => write!(f, "queue {:?}", self.routing_key.as_str()),
            exchange => write!(f, "routing key {:?} at exchange {exchange:?}", self.routing_key.as_str()),
        }
    }
}

#[async_trait]
impl Channel for Rabbitmq {
    fn kind(&self) -> &'static str {
        "rabbitmq"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let place = self.place(|route| route.fill(message))?;
        let body = event::to_json(message, self.config.public_url.as_deref());
        let (key, sent_at) = (message.idempotency_key.clone(), message.sent_at);
        let letter = Letter { place, key, kind: event::DUE, sent_at, headers: headers::of(message) };
        self.publish(letter, body, message.reminder.on_unknown == OnUnknown::Hold).await
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        let place = self.place(|route| route.fill_notice(notice))?;
        let (key, kind) = (notice.idempotency_key(), &*notice.entry.kind);
        let letter = Letter { place, key, kind, sent_at: notice.sent_at, headers: Vec::new() };
        self.publish(letter, event::notice_to_json(notice), false).await
    }

    fn takes_notices(&self) -> bool {
        true
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        let is_used = [&self.exchange, &self.routing_key].iter().any(|route| route.uses("address"));
        if address.is_empty() && is_used {
            return Err(Invalid::new("address", "is empty; write a routing key such as game.reminder_due"));
        }
        if address.len() > NAME_BYTES_MAX {
            let problem = format!("is longer than {NAME_BYTES_MAX} bytes, which no routing key can be");
            return Err(Invalid::new("address", problem));
        }
        Ok(())
    }

    fn address_rule(&self) -> AddressRule {
        let is_used = [&self.exchange, &self.routing_key].iter().any(|route| route.uses("address"));
        AddressRule::Text {
            pattern: if is_used { "." } else { "" }.to_owned(),
            bytes_max: NAME_BYTES_MAX,
            problem: format!("is no routing key; write one of up to {NAME_BYTES_MAX} bytes such as game.reminder_due"),
        }
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn receiver(&self, _address: &str) -> String {
        self.target.to_string()
    }
}

impl fmt::Debug for Rabbitmq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rabbitmq").field("config", &self.config).finish_non_exhaustive()
    }
}

fn properties(letter: &Letter<'_>) -> BasicProperties {
    let mut properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_delivery_mode(PERSISTENT)
        .with_type(letter.kind.into())
        .with_app_id("punctual".into())
        .with_timestamp(u64::try_from(letter.sent_at.as_second()).unwrap_or(0));
    // The keys that are made here are never longer than a short text may be.
    if let Ok(key) = ShortString::try_new(letter.key.clone()) {
        properties = properties.with_message_id(key);
    }
    // Only what belongs to an event has headers: the body has it all, and a broker that has to read them confirms fewer messages.
    if !letter.headers.is_empty() {
        let mut table = FieldTable::default();
        for (name, value) in &letter.headers {
            table.insert(name.as_str().into(), amqp(value));
        }
        properties = properties.with_headers(table);
    }
    properties
}

/// A header's value in the protocol's own type.
fn amqp(value: &Value) -> AMQPValue {
    match value {
        Value::Bool(truth) => AMQPValue::Boolean(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => AMQPValue::LongLongInt(whole),
            (None, Some(number)) => AMQPValue::Double(number),
            (None, None) => AMQPValue::LongString(number.to_string().into()),
        },
        other => AMQPValue::LongString(said(other).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn an_address_is_a_routing_key() {
        let channel = Rabbitmq::new(Config::default(), sample::clock()).unwrap();
        for good in ["game.reminder_due", "queue with spaces", "ü", &"x".repeat(255)] {
            assert_eq!(channel.check_address(good), Ok(()), "{good}");
        }
        for bad in ["", &"x".repeat(256), &"ü".repeat(128)] {
            assert_eq!(channel.check_address(bad).unwrap_err().field, "address", "{bad}");
        }
        let fixed = Config { routing_key: "game.reminder_due".into(), ..Config::default() };
        assert_eq!(Rabbitmq::new(fixed, sample::clock()).unwrap().check_address(""), Ok(()));
    }

    #[test]
    fn a_setting_that_cannot_work_is_refused_and_no_secret_is_shown() {
        let check = |config: Config, field: &str| {
            let invalid = Rabbitmq::new(config, sample::clock()).unwrap_err();
            assert_eq!(invalid.field, field);
            assert!(!invalid.to_string().contains("hunter2"), "{invalid}");
        };
        let with_url = |url: &str| Config { url: Token::new(url), ..Config::default() };
        for url in ["", "hunter2", "http://a:hunter2@b/", "amqp://", "amqp:hunter2", "amqp://a:hunter2@b:99999/"] {
            check(with_url(url), "url");
        }
        check(with_url("amqp://a:hunter2@b?heartbeat=often"), "url");
        check(Config { exchange: "{".into(), ..Config::default() }, "exchange");
        check(Config { routing_key: "{who}".into(), ..Config::default() }, "routing_key");
        check(Config { timeout: Duration::ZERO, ..Config::default() }, "timeout");
        let channel = Rabbitmq::new(with_url("amqp://a:hunter2@b.example/v"), sample::clock()).unwrap();
        assert_eq!(channel.receiver("x"), "amqp://b.example:5672/v");
        assert!(!format!("{channel:?}").contains("hunter2"));
    }

    #[tokio::test]
    async fn a_name_that_is_too_long_is_refused_before_anything_is_sent() {
        let routing_key = "{address}{address}".into();
        let channel = Rabbitmq::new(Config { routing_key, ..Config::default() }, sample::clock()).unwrap();
        let sent = channel.send(&sample::message(&"x".repeat(200))).await;
        assert_eq!(sent, Err(SendError::Refused("the routing key is longer than 255 bytes".into())));
    }
}

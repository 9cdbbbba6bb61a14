//! The RabbitMQ channel before a real RabbitMQ, which takes seconds to start: all facts share one.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[allow(dead_code, reason = "each file uses a part of it")]
mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{clock, may_work_later, message, notice, soon, until_sent};
use futures_util::FutureExt;
use futures_util::future::join_all;
use lapin::message::BasicGetMessage;
use lapin::options::{
    BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueuePurgeOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Connection, ConnectionProperties, ExchangeKind};
use punctual_channels::Rabbitmq;
use punctual_channels::common::token::Token;
use punctual_channels::rabbitmq::Config;
use punctual_core::channel::{Channel, Receipt, SendError};
use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::servers::RabbitMq;
use punctual_testkit::wait::until;
use serde_json::Value;

const QUEUE: &str = "games";
const EXCHANGE: &str = "events";

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq() {
    let Some(mut server) = RabbitMq::start() else { return };
    let admin = Admin::connect(&server).await;
    admin.declare().await;
    a_message_arrives_with_its_properties_and_body(&server, &admin).await;
    an_exchange_and_a_routing_key_are_made_of_fields(&server, &admin).await;
    a_message_that_no_queue_takes_is_refused(&server).await;
    an_exchange_that_is_not_there_or_is_forbidden_refuses(&server).await;
    every_message_has_its_own_verdict(&server, &admin).await;
    of_those_that_go_out_together_each_has_its_own_verdict(&server, &admin).await;
    a_queue_that_is_full_may_have_room_later(&server).await;
    a_wrong_password_is_said_and_not_shown(&server).await;
    a_broker_that_cannot_be_reached_is_unavailable(&server).await;
    a_connection_that_swallows_is_unknown_and_left(&server).await;
    a_message_that_waits_too_long_or_is_given_up_is_never_sent(&server, &admin).await;
    drop(admin);
    confirmed_messages_survive_and_the_others_do_not_count_as_sent(&mut server).await;
}

fn config(server: &RabbitMq) -> Config {
    Config { url: Token::new(server.url()), ..Config::default() }
}

/// An application that has queues, and reads them.
struct Admin {
    channel: lapin::Channel,
    _connection: Connection,
}

impl Admin {
    async fn connect(server: &RabbitMq) -> Self {
        let connection = soon(Connection::connect(&server.url(), ConnectionProperties::default())).await.unwrap();
        let channel = soon(connection.create_channel()).await.unwrap();
        Self { channel, _connection: connection }
    }

    async fn declare(&self) {
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(QUEUE.into(), durable, FieldTable::default()).await.unwrap();
        let mut full = FieldTable::default();
        full.insert("x-max-length".into(), AMQPValue::LongInt(1));
        full.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
        self.channel.queue_declare("full".into(), durable, full).await.unwrap();
        let options = ExchangeDeclareOptions::default();
        let none = FieldTable::default();
        self.channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, options, none.clone()).await.unwrap();
        let options = QueueBindOptions::default();
        self.channel.queue_bind(QUEUE.into(), EXCHANGE.into(), "*.due.*".into(), options, none).await.unwrap();
    }

    /// The next message of the queue, taken out of it.
    async fn next(&self) -> Option<BasicGetMessage> {
        soon(self.channel.basic_get(QUEUE.into(), BasicGetOptions { no_ack: true })).await.unwrap()
    }

    /// How many messages were in the queue; it is empty then.
    async fn purge(&self) -> u32 {
        soon(self.channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default())).await.unwrap()
    }
}

async fn a_message_arrives_with_its_properties_and_body(server: &RabbitMq, admin: &Admin) {
    let channel = Rabbitmq::new(config(server), clock()).unwrap();
    let sent = message(QUEUE, 3);
    assert_eq!(soon(channel.send(&sent)).await, Ok(Receipt::default()));
    let got = admin.next().await.expect("it was confirmed");
    let properties = &got.delivery.properties;
    let text = |text: &Option<lapin::types::ShortString>| text.as_ref().unwrap().as_str().to_owned();
    assert_eq!(text(properties.message_id()), sent.idempotency_key);
    assert_eq!(text(properties.content_type()), "application/json");
    assert_eq!(text(properties.kind()), "reminder.due");
    assert_eq!(*properties.delivery_mode(), Some(2));
    assert_eq!(*properties.timestamp(), Some(u64::try_from(sent.sent_at.as_second()).unwrap()));
    let body: Value = serde_json::from_slice(&got.delivery.data).unwrap();
    assert_eq!(body["type"], "reminder.due");
    assert_eq!(body["data"]["occurrence_id"], sent.occurrence.to_string());
    assert_eq!(body["data"]["message"], sent.text);
    assert!(admin.next().await.is_none(), "once");

    assert_eq!(soon(channel.tell(&notice(QUEUE, 12))).await, Ok(Receipt::default()));
    let got = admin.next().await.expect("it was confirmed");
    let properties = &got.delivery.properties;
    assert_eq!(text(properties.message_id()), notice(QUEUE, 12).idempotency_key());
    assert_eq!(text(properties.kind()), "reminder.sent");
    let body: Value = serde_json::from_slice(&got.delivery.data).unwrap();
    assert_eq!((&body["type"], &body["data"]["id"]), (&"reminder.sent".into(), &12.into()));
}

async fn an_exchange_and_a_routing_key_are_made_of_fields(server: &RabbitMq, admin: &Admin) {
    let exchange = "{channel}s".into();
    let config = Config { exchange, routing_key: "{address}.due.{priority}".into(), ..config(server) };
    let channel = Rabbitmq::new(config, clock()).unwrap();
    let mut sent = message("game", 1);
    sent.to.channel = "event".into();
    soon(channel.send(&sent)).await.unwrap();
    let got = admin.next().await.expect("it was confirmed");
    assert_eq!(got.delivery.exchange.as_str(), EXCHANGE);
    assert_eq!(got.delivery.routing_key.as_str(), format!("game.due.{}", sent.reminder.priority.as_str()));
}

async fn a_message_that_no_queue_takes_is_refused(server: &RabbitMq) {
    let channel = Rabbitmq::new(config(server), clock()).unwrap();
    let Err(SendError::Refused(said)) = soon(channel.send(&message("nobody", 1))).await else { panic!() };
    assert!(said.contains("312 NO_ROUTE") && said.contains("\"nobody\""), "{said}");
    let channel = Rabbitmq::new(Config { exchange: EXCHANGE.into(), ..config(server) }, clock()).unwrap();
    let Err(SendError::Refused(said)) = soon(channel.send(&message("nobody", 1))).await else { panic!() };
    assert!(said.contains(EXCHANGE) && said.contains("\"nobody\""), "{said}");
}

async fn an_exchange_that_is_not_there_or_is_forbidden_refuses(server: &RabbitMq) {
    for (exchange, word) in [("nowhere", "no exchange"), ("amq.rabbitmq.trace", "internal")] {
        let channel = Rabbitmq::new(Config { exchange: exchange.into(), ..config(server) }, clock()).unwrap();
        let Err(SendError::Refused(said)) = soon(channel.send(&message("x", 1))).await else { panic!() };
        assert!(said.contains(word) && said.contains(exchange), "{said}");
    }
}

/// Many at once over one connection: what the broker says of one is never taken for another.
async fn every_message_has_its_own_verdict(server: &RabbitMq, admin: &Admin) {
    const N: u32 = 600;
    let channel = Rabbitmq::new(Config { exchange: "{user}".into(), ..config(server) }, clock()).unwrap();
    let channel = Arc::new(channel);
    let sends: Vec<_> = (0..N)
        .map(|run| {
            // By turns: taken, returned, and an exchange that is not there.
            let (exchange, key) = [(EXCHANGE, "a.due.b"), (EXCHANGE, "nobody"), ("nowhere", "x")][run as usize % 3];
            let mut message = message(key, run);
            Arc::make_mut(&mut message.reminder).user = exchange.into();
            let channel = Arc::clone(&channel);
            tokio::spawn(async move { channel.send(&message).await })
        })
        .collect();
    for (index, send) in sends.into_iter().enumerate() {
        let said = soon(send).await.unwrap();
        match index % 3 {
            0 => assert_eq!(said, Ok(Receipt::default())),
            1 => assert!(matches!(&said, Err(SendError::Refused(why)) if why.contains("NO_ROUTE")), "{said:?}"),
            _ => assert!(matches!(&said, Err(SendError::Refused(why)) if why.contains("no exchange")), "{said:?}"),
        }
    }
    assert_eq!(admin.purge().await, N / 3);
}

async fn of_those_that_go_out_together_each_has_its_own_verdict(server: &RabbitMq, admin: &Admin) {
    const N: u32 = 400;
    let channel = Arc::new(Rabbitmq::new(Config { exchange: EXCHANGE.into(), ..config(server) }, clock()).unwrap());
    // In no order that a client could guess: every third is returned.
    let is_returned = |run: u32| run.is_multiple_of(3) || run.is_multiple_of(7);
    let sends: Vec<_> = (0..N)
        .map(|run| {
            let message = message(if is_returned(run) { "nobody" } else { "a.due.b" }, run);
            let channel = Arc::clone(&channel);
            tokio::spawn(async move { channel.send(&message).await })
        })
        .collect();
    let mut n_taken = 0;
    for (run, send) in (0..N).zip(sends) {
        let said = soon(send).await.unwrap();
        match is_returned(run) {
            true => {
                assert!(matches!(&said, Err(SendError::Refused(why)) if why.contains("NO_ROUTE")), "{run}: {said:?}")
            }
            false => assert_eq!(said, Ok(Receipt::default()), "{run}"),
        }
        n_taken += u32::from(!is_returned(run));
    }
    assert_eq!(admin.purge().await, n_taken);
}

async fn a_queue_that_is_full_may_have_room_later(server: &RabbitMq) {
    let channel = Rabbitmq::new(config(server), clock()).unwrap();
    soon(channel.send(&message("full", 1))).await.unwrap();
    let said = soon(channel.send(&message("full", 2))).await;
    assert!(matches!(&said, Err(SendError::Unavailable(why)) if why.contains("nack")), "{said:?}");
}

async fn a_wrong_password_is_said_and_not_shown(server: &RabbitMq) {
    for wrong in ["guest:hunter2@", "hunter2:hunter2@"] {
        let url = Token::new(server.url().replace("guest:guest@", wrong));
        let channel = Rabbitmq::new(Config { url, ..config(server) }, clock()).unwrap();
        let Err(SendError::Unavailable(said)) = soon(channel.send(&message(QUEUE, 1))).await else { panic!() };
        assert!(said.contains("password") && !said.contains("hunter2"), "{said}");
    }
    let url = Token::new(server.url().replace("%2f", "elsewhere"));
    let channel = Rabbitmq::new(Config { url, ..config(server) }, clock()).unwrap();
    let Err(SendError::Unavailable(said)) = soon(channel.send(&message(QUEUE, 1))).await else { panic!() };
    assert!(said.contains("virtual host"), "{said}");
}

async fn a_broker_that_cannot_be_reached_is_unavailable(server: &RabbitMq) {
    let proxy = Proxy::before(server.port());
    let url = Token::new(proxy.url_for(&server.url()));
    let connect_timeout = Duration::from_millis(300);
    let channel = Rabbitmq::new(Config { url, connect_timeout, ..config(server) }, clock()).unwrap();
    proxy.refuse(true);
    let said = soon(channel.send(&message(QUEUE, 1))).await;
    assert!(matches!(said, Err(SendError::Unavailable(_))), "{said:?}");
    proxy.refuse(false);
    proxy.swallow(Toward::Client);
    let said = soon(channel.send(&message(QUEUE, 1))).await;
    assert!(matches!(&said, Err(SendError::Unavailable(why)) if why.contains("300ms")), "{said:?}");
    // The client's thread has let go of the connection that came to nothing.
    until("the connection is gone", async || proxy.connections() == 0).await;
}

async fn a_connection_that_swallows_is_unknown_and_left(server: &RabbitMq) {
    let proxy = Proxy::before(server.port());
    let url = Token::new(proxy.url_for(&server.url()));
    let timeout = Duration::from_millis(500);
    let channel = Rabbitmq::new(Config { url, timeout, ..config(server) }, clock()).unwrap();
    until_sent(&channel, &message(QUEUE, 1)).await;
    proxy.swallow(Toward::Client);
    let said = soon(channel.send(&message(QUEUE, 2))).await;
    assert!(matches!(&said, Err(SendError::Unknown(why)) if why.contains("500ms")), "{said:?}");
    proxy.resume();
    until_sent(&channel, &message(QUEUE, 3)).await;
    // Cut off between two messages: noticed, and made again for the next.
    proxy.cut();
    until_sent(&channel, &message(QUEUE, 4)).await;
}

async fn a_message_that_waits_too_long_or_is_given_up_is_never_sent(server: &RabbitMq, admin: &Admin) {
    let proxy = Proxy::before(server.port());
    let url = Token::new(proxy.url_for(&server.url()));
    let (timeout, connect_timeout) = (Duration::from_millis(300), Duration::from_secs(30));
    let config = Config { url, timeout, connect_timeout, exchange: "{user}".into(), ..config(server) };
    let channel = Rabbitmq::new(config, clock()).unwrap();
    let to = |exchange: &str, run: u32| {
        let mut message = message(QUEUE, run);
        Arc::make_mut(&mut message.reminder).user = exchange.into();
        message
    };
    admin.purge().await;
    proxy.withhold(Toward::Client);
    // One for each group that there can be.
    let before = ["amq.direct", "amq.fanout", "amq.headers", "amq.topic"].map(|exchange| to(exchange, 1));
    let mut stalled: Vec<_> = before.iter().map(|message| channel.send(message)).collect();
    for send in &mut stalled {
        assert_eq!(send.now_or_never(), None);
    }
    assert_eq!(channel.send(&to("", 2)).now_or_never(), None, "given up at once");
    let said = soon(channel.send(&to("", 3))).await;
    assert!(matches!(&said, Err(SendError::Unavailable(why)) if why.contains("within 300ms")), "{said:?}");
    proxy.resume();
    soon(join_all(stalled)).await;
    let last = to("", 4);
    until_sent(&channel, &last).await;
    let mut n_there = 0;
    while let Some(got) = admin.next().await {
        let key = got.delivery.properties.message_id().as_ref().unwrap().to_string();
        assert_eq!(key, last.idempotency_key);
        n_there += 1;
    }
    assert!(n_there > 0);
}

async fn confirmed_messages_survive_and_the_others_do_not_count_as_sent(server: &mut RabbitMq) {
    const N: u32 = 3_000;
    let timeout = Duration::from_secs(5);
    let channel = Arc::new(Rabbitmq::new(Config { timeout, ..config(server) }, clock()).unwrap());
    let before = Admin::connect(server).await;
    before.purge().await;
    drop(before);
    let (confirmed, mut n_confirmed) = tokio::sync::mpsc::unbounded_channel();
    let sends: Vec<_> = (0..N)
        .map(|run| {
            let (channel, confirmed) = (Arc::clone(&channel), confirmed.clone());
            tokio::spawn(async move {
                let said = channel.send(&message(QUEUE, run)).await;
                let _ = confirmed.send(());
                said
            })
        })
        .collect();
    // In the middle.
    for _ in 0..N / 10 {
        soon(n_confirmed.recv()).await;
    }
    server.stop_immediately();
    let mut n_ok = 0;
    for send in sends {
        match soon(send).await.unwrap() {
            Ok(_) => n_ok += 1,
            Err(error) => assert!(may_work_later(&error), "{error:?}"),
        }
    }
    assert!((N / 10..N).contains(&n_ok), "{n_ok} of {N} were confirmed before the stop");
    let said = soon(channel.send(&message(QUEUE, N))).await;
    assert!(matches!(said, Err(SendError::Unavailable(_))), "{said:?}");

    server.start_again();
    until_sent(&*channel, &message(QUEUE, N + 1)).await;
    let admin = Admin::connect(server).await;
    let n_there = admin.purge().await;
    assert!(n_there > n_ok, "{n_there} are there, {n_ok} and one were confirmed");

    // Told to stop, it says so to its clients; the next message says that it is away, and the one after the start arrives.
    drop(admin);
    server.stop();
    let said = soon(channel.send(&message(QUEUE, N + 2))).await;
    assert!(matches!(&said, Err(error) if may_work_later(error)), "{said:?}");
    server.start_again();
    until_sent(&*channel, &message(QUEUE, N + 3)).await;
}

//! The NATS channel before a real NATS server with JetStream.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[allow(dead_code, reason = "each file uses a part of it")]
mod common;

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::stream::{self, DiscardPolicy, Stream};
use common::{clock, may_work_later, message, notice, soon, until_sent, within};
use punctual_channels::common::token::Token;
use punctual_channels::nats::{Config, Nats};
use punctual_core::channel::{Channel, SendError};
use punctual_core::event::{OfEvent, Offset};
use punctual_core::reminder::Metadata;
use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::servers::Nats as Server;
use punctual_testkit::wait::until;
use serde_json::Value;

fn config(server: &Server) -> Config {
    Config { url: Token::new(server.url()), ..Config::default() }
}

/// An application that has a stream, and reads it.
async fn stream(server: &Server, config: stream::Config) -> Stream {
    let client = soon(async_nats::connect(server.url())).await.unwrap();
    soon(jetstream::new(client).create_stream(config)).await.unwrap()
}

fn games() -> stream::Config {
    stream::Config { name: "GAMES".into(), subjects: vec!["game.>".into()], ..stream::Config::default() }
}

async fn n_messages(stream: &Stream) -> u64 {
    soon(stream.get_info()).await.unwrap().state.messages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_an_event_names_it_in_its_headers() {
    let Some(server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let channel = Nats::new(config(&server), clock()).unwrap();
    let mut sent = message("game.reminder_due", 1);
    let reminder = Arc::make_mut(&mut sent.reminder);
    let (key, starts_at, offset) = ("game:42".to_owned(), sent.due_at, Offset::minutes_before(-30));
    reminder.event = Some(OfEvent { key, starts_at, ends_at: None, offset, instance: None });
    reminder.metadata =
        Metadata::from_stored(r#"{"game_id":42,"ranked":true,"Nats-Rollup":"all","note":"a\r\nb"}"#.into());
    soon(channel.send(&sent)).await.unwrap();
    let stored = soon(stream.get_raw_message(1)).await.unwrap();
    let header = |name: &str| stored.headers.get(name).map(|value| value.as_str().to_owned());
    let table = [
        ("event_key", Some("game:42")),
        ("event_starts_at", Some("2026-05-04T08:00:00Z")),
        ("event_offset_minutes", Some("-30")),
        ("reminder_minutes", Some("-30")),
        ("game_id", Some("42")),
        ("ranked", Some("true")),
        ("Nats-Rollup", None),
        ("note", None),
    ];
    for (name, expect) in table {
        assert_eq!(header(name).as_deref(), expect, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_stored_with_its_key_and_body_and_once() {
    let Some(server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let channel = Nats::new(config(&server), clock()).unwrap();
    let sent = message("game.reminder_due", 3);
    let receipt = soon(channel.send(&sent)).await.unwrap();
    assert_eq!(receipt.message_id.as_deref(), Some("GAMES:1"));
    let stored = soon(stream.get_raw_message(1)).await.unwrap();
    assert_eq!(stored.subject.as_str(), "game.reminder_due");
    let header = |name: &str| stored.headers.get(name).unwrap().as_str().to_owned();
    assert_eq!(header("Nats-Msg-Id"), sent.idempotency_key);
    assert_eq!(header("Content-Type"), "application/json");
    assert_eq!(header("Reminder-Id"), sent.reminder.id.to_string());
    assert_eq!(header("Attempt"), "1");
    let body: Value = serde_json::from_slice(&stored.payload).unwrap();
    assert_eq!(body["type"], "reminder.due");
    assert_eq!(body["data"]["occurrence_id"], sent.occurrence.to_string());

    // The second attempt of the same occurrence carries the same key: it is the same message.
    let again = punctual_core::channel::Message { attempt: 2, ..sent };
    assert_eq!(soon(channel.send(&again)).await.unwrap(), receipt);
    assert_eq!(n_messages(&stream).await, 1);
    soon(channel.send(&message("game.reminder_due", 4))).await.unwrap();
    assert_eq!(n_messages(&stream).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_told_finds_the_entry_once() {
    let Some(server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let channel = Nats::new(Config { subject: "game.{address}.{user}".into(), ..config(&server) }, clock()).unwrap();
    for _ in 0..2 {
        soon(channel.tell(&notice("results", 12))).await.unwrap();
    }
    assert_eq!(n_messages(&stream).await, 1);
    let stored = soon(stream.get_raw_message(1)).await.unwrap();
    assert_eq!(stored.subject.as_str(), "game.results.ann");
    assert_eq!(stored.headers.get("Nats-Msg-Id").unwrap().as_str(), notice("results", 12).idempotency_key());
    let body: Value = serde_json::from_slice(&stored.payload).unwrap();
    assert_eq!((&body["type"], &body["data"]["id"]), (&"reminder.sent".into(), &12.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_is_made_of_fields() {
    let Some(server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let channel =
        Nats::new(Config { subject: "game.{address}.{priority}".into(), ..config(&server) }, clock()).unwrap();
    let sent = message("due", 1);
    soon(channel.send(&sent)).await.unwrap();
    let stored = soon(stream.get_raw_message(1)).await.unwrap();
    assert_eq!(stored.subject.as_str(), format!("game.due.{}", sent.reminder.priority.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_no_stream_takes_is_refused() {
    let Some(server) = Server::start() else { return };
    let channel = Nats::new(config(&server), clock()).unwrap();
    // Also before there is any stream at all.
    for n_streams in 0..2 {
        let Err(SendError::Refused(said)) = soon(channel.send(&message("nobody.there", 1))).await else { panic!() };
        assert!(said.contains("no stream") && said.contains("nobody.there"), "{n_streams}: {said}");
        stream(&server, games()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_message_is_refused_and_a_full_stream_may_have_room_later() {
    let Some(server) = Server::start() else { return };
    let channel = Nats::new(config(&server), clock()).unwrap();
    let full = stream::Config { max_messages: 1, discard: DiscardPolicy::New, ..games() };
    stream(&server, full).await;
    let mut long = message("game.x", 1);
    long.text = "x".repeat(1024 * 1024);
    let said = soon(channel.send(&long)).await;
    assert!(matches!(&said, Err(SendError::Refused(why)) if why.contains("limit of 1048576")), "{said:?}");
    soon(channel.send(&message("game.x", 2))).await.unwrap();
    let said = soon(channel.send(&message("game.x", 3))).await;
    assert!(matches!(&said, Err(SendError::Unavailable(why)) if why.contains("maximum messages")), "{said:?}");

    let subjects = vec!["short.>".into()];
    let short = stream::Config { name: "SHORT".into(), subjects, max_message_size: 64, ..stream::Config::default() };
    stream(&server, short).await;
    let said = soon(channel.send(&message("short.x", 4))).await;
    assert!(matches!(&said, Err(SendError::Refused(why)) if why.contains("size")), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_said_and_not_shown() {
    let Some(server) = Server::start_with(&["--user", "ann", "--pass", "right"]) else { return };
    let send =
        |config: Config| async move { soon(Nats::new(config, clock()).unwrap().send(&message("game.x", 1))).await };
    let with = |user: &str| Config {
        url: Token::new(server.url().replace("nats://", &format!("nats://{user}@"))),
        ..config(&server)
    };
    let token = Config { token: Some(Token::new("hunter2")), ..config(&server) };
    for wrong in [with("ann:hunter2"), with("hunter2"), token] {
        let Err(SendError::Unavailable(said)) = send(wrong).await else { panic!() };
        assert!(said.contains("password") && !said.contains("hunter2"), "{said}");
    }
    let file = Config { credentials_file: Some("/nonexistent/creds".into()), ..config(&server) };
    let Err(SendError::Unavailable(said)) = send(file).await else { panic!() };
    assert!(said.contains("/nonexistent/creds"), "{said}");
    // The right one is let in, and there is no stream.
    let said = send(with("ann:right")).await;
    assert!(matches!(said, Err(SendError::Refused(_))), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_swallows_is_unknown_and_left() {
    let Some(server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let proxy = Proxy::before(server.port());
    let timeout = Duration::from_millis(500);
    let url = Token::new(proxy.url_for(&server.url()));
    let channel = Nats::new(Config { url, timeout, connect_timeout: timeout, ..config(&server) }, clock()).unwrap();
    proxy.refuse(true);
    let said = soon(channel.send(&message("game.x", 0))).await;
    assert!(matches!(said, Err(SendError::Unavailable(_))), "{said:?}");
    proxy.refuse(false);
    proxy.swallow(Toward::Client);
    let said = soon(channel.send(&message("game.x", 0))).await;
    assert!(matches!(&said, Err(SendError::Unavailable(why)) if why.contains("500ms")), "{said:?}");
    proxy.resume();
    until_sent(&channel, &message("game.x", 1)).await;

    // It is stored and nobody says so: unknown, and stored once however often it is sent again.
    proxy.swallow(Toward::Client);
    let said = soon(channel.send(&message("game.x", 2))).await;
    assert!(matches!(&said, Err(SendError::Unknown(why)) if why.contains("500ms")), "{said:?}");
    proxy.resume();
    let receipt = until_sent(&channel, &message("game.x", 2)).await;
    assert_eq!(receipt.message_id.as_deref(), Some("GAMES:2"));
    proxy.cut();
    until_sent(&channel, &message("game.x", 3)).await;
    assert_eq!(n_messages(&stream).await, 3);
}

/// How long a send may take whose connection is lost: much less than the time an acknowledgement may take.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_flight_is_unknown_as_soon_as_the_connection_is_lost() {
    let Some(mut server) = Server::start() else { return };
    let stream = stream(&server, games()).await;
    let proxy = Proxy::before(server.port());
    let timeout = Duration::from_secs(50);
    let url = Token::new(proxy.url_for(&server.url()));
    let channel = Arc::new(Nats::new(Config { url, timeout, ..config(&server) }, clock()).unwrap());
    until_sent(&*channel, &message("game.x", 0)).await;
    // The server stores it, nobody hears of it, and then the connection is lost.
    let lost_in_flight = async |run: u32, lose: &mut dyn FnMut()| {
        proxy.withhold(Toward::Client);
        let sending = {
            let channel = Arc::clone(&channel);
            tokio::spawn(async move { channel.send(&message("game.x", run)).await })
        };
        until("it is stored", async || n_messages(&stream).await > u64::from(run)).await;
        assert!(!sending.is_finished());
        lose();
        let said = within(AT_ONCE, sending).await.unwrap();
        assert!(matches!(&said, Err(SendError::Unknown(why)) if why.contains("lost")), "{said:?}");
    };

    lost_in_flight(1, &mut || proxy.cut()).await;
    proxy.resume();
    until_sent(&*channel, &message("game.x", 1)).await;
    assert_eq!(n_messages(&stream).await, 2, "sent again, and stored once");

    let mut stop = || {
        server.stop_immediately();
        proxy.cut();
    };
    lost_in_flight(2, &mut stop).await;
    let said = within(AT_ONCE, channel.send(&message("game.x", 3))).await;
    assert!(matches!(said, Err(SendError::Unavailable(_))), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_messages_survive_and_the_others_do_not_count_as_sent() {
    const N: u32 = 3_000;
    let Some(mut server) = Server::start() else { return };
    drop(stream(&server, games()).await);
    let timeout = Duration::from_secs(5);
    let channel = Arc::new(Nats::new(Config { timeout, ..config(&server) }, clock()).unwrap());
    let (ended, mut n_ended) = tokio::sync::mpsc::unbounded_channel();
    let turns = Arc::new(tokio::sync::Semaphore::new(64));
    let sends: Vec<_> = (0..N)
        .map(|run| {
            let (channel, ended, turns) = (Arc::clone(&channel), ended.clone(), Arc::clone(&turns));
            tokio::spawn(async move {
                let _turn = turns.acquire().await;
                let said = channel.send(&message("game.x", run)).await;
                let _ = ended.send(());
                said
            })
        })
        .collect();
    // In the middle.
    for _ in 0..N / 10 {
        soon(n_ended.recv()).await;
    }
    server.stop_immediately();
    let mut n_ok = 0;
    for send in sends {
        match soon(send).await.unwrap() {
            Ok(_) => n_ok += 1,
            Err(error) => assert!(may_work_later(&error), "{error:?}"),
        }
    }
    assert!((N / 10..N).contains(&(n_ok as u32)), "{n_ok} of {N} were acknowledged before the stop");
    let said = soon(channel.send(&message("game.x", N))).await;
    assert!(matches!(said, Err(SendError::Unavailable(_))), "{said:?}");

    server.start_again();
    until_sent(&*channel, &message("game.x", N + 1)).await;
    let client = soon(async_nats::connect(server.url())).await.unwrap();
    let stream = soon(jetstream::new(client).get_stream("GAMES")).await.unwrap();
    let n_there = n_messages(&stream).await;
    assert!(n_there > n_ok, "{n_there} are there, {n_ok} and one were acknowledged");
}

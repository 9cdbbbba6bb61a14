//! The bytes of the NATS channel on the wire, and the outcome of every answer that the server documents.
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[allow(dead_code, reason = "each file uses a part of it")]
mod common;

use common::{clock, message, soon};
use punctual_channels::common::token::Token;
use punctual_channels::nats::{Config, Nats};
use punctual_core::channel::{Channel, SendError};
use punctual_testkit::report;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A published file of the server's project; `None`, and a line in the report, where it is not beside the checkout.
fn published(file: &str) -> Option<Value> {
    let path = report::public(&format!("specs/nats/{file}"))?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

/// One message from a client, as the protocol has it.
#[derive(Debug, PartialEq)]
struct Published {
    subject: String,
    reply: Option<String>,
    headers: Vec<u8>,
    payload: Vec<u8>,
}

/// Reads what follows a control line that begins with `PUB` or `HPUB`.
async fn read(line: &str, from: &mut (impl AsyncReadExt + Unpin)) -> Published {
    let words: Vec<&str> = line.split_whitespace().collect();
    let n_sizes = if words[0] == "HPUB" { 2 } else { 1 };
    let (names, sizes) = words[1..].split_at(words.len() - 1 - n_sizes);
    let sizes: Vec<usize> = sizes.iter().map(|size| size.parse().unwrap()).collect();
    let mut bytes = vec![0; sizes[n_sizes - 1] + 2];
    from.read_exact(&mut bytes).await.unwrap();
    assert!(bytes.ends_with(b"\r\n"), "the sizes are right");
    bytes.truncate(bytes.len() - 2);
    let payload = bytes.split_off(if n_sizes == 2 { sizes[0] } else { 0 });
    if n_sizes == 2 {
        assert!(bytes.starts_with(b"NATS/1.0\r\n") && bytes.ends_with(b"\r\n\r\n"), "headers are whole");
    }
    let reply = names.get(1).map(|&reply| reply.to_owned());
    Published { subject: names[0].to_owned(), reply, headers: bytes, payload }
}

/// The control line of a message has sizes, and the headers are counted with the body.
#[tokio::test]
async fn messages_on_the_wire_are_read_as_the_protocol_says() {
    for (wire, subject, reply, headers, payload) in [
        ("PUB a.b 5\r\nhello\r\n", "a.b", None, "", "hello"),
        ("PUB a.b back.1 2\r\n\r\n\r\n", "a.b", Some("back.1"), "", "\r\n"),
        ("PUB a 0\r\n\r\n", "a", None, "", ""),
        ("HPUB a 22 25\r\nNATS/1.0\r\nKey: One\r\n\r\nabc\r\n", "a", None, "NATS/1.0\r\nKey: One\r\n\r\n", "abc"),
        ("HPUB a back 12 12\r\nNATS/1.0\r\n\r\n\r\n", "a", Some("back"), "NATS/1.0\r\n\r\n", ""),
    ] {
        let (line, mut rest) = wire.split_once("\r\n").map(|(line, rest)| (line, rest.as_bytes())).unwrap();
        let expect = Published {
            subject: subject.into(),
            reply: reply.map(str::to_owned),
            headers: headers.into(),
            payload: payload.into(),
        };
        assert_eq!(read(line, &mut rest).await, expect, "{wire:?}");
        assert_eq!(rest, b"", "{wire:?}");
    }
}

#[tokio::test]
async fn the_published_examples_are_read_as_they_say() {
    let Some(examples) = published("wire_examples.json") else { return };
    let mut n_read = 0;
    for example in examples["wire"].as_array().unwrap() {
        if !matches!(example["op"].as_str(), Some("PUB" | "HPUB")) {
            continue;
        }
        let (line, mut rest) =
            example["wire"].as_str().unwrap().split_once("\r\n").map(|(a, b)| (a, b.as_bytes())).unwrap();
        let read = read(line, &mut rest).await;
        assert_eq!(read.payload, example["payload"].as_str().unwrap().as_bytes());
        assert_eq!(read.headers, example["headers"].as_str().unwrap_or("").as_bytes());
        n_read += 1;
    }
    assert!(n_read >= 6, "{n_read}");
    report::ran(&format!("{n_read} messages of nats/wire_examples.json are read"));
}

/// A server that keeps what is published and answers as it is told: with a body, or with a bare status.
struct Fake {
    url: String,
    published: mpsc::UnboundedReceiver<Published>,
    answers: mpsc::UnboundedSender<Answer>,
}

enum Answer {
    Body(Value),
    NobodyListens,
}

impl Fake {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let ((keep, published), (answers, next)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve(BufStream::new(stream), keep, next).await;
        });
        Self { url, published, answers }
    }
}

async fn serve(
    mut stream: BufStream<TcpStream>,
    keep: mpsc::UnboundedSender<Published>,
    mut answers: mpsc::UnboundedReceiver<Answer>,
) {
    let info = json!({ "server_id": "F", "server_name": "f", "version": "2.9.10", "go": "go", "host": "127.0.0.1", "port": 1,
        "headers": true, "max_payload": 1_048_576, "jetstream": true, "proto": 1, "client_id": 1 });
    stream.write_all(format!("INFO {info}\r\n").as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut sid = String::new();
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|n_read| n_read > 0) {
        match line.split_whitespace().next() {
            Some("PING") => stream.write_all(b"PONG\r\n").await.unwrap(),
            Some("SUB") => sid = line.split_whitespace().last().unwrap().to_owned(),
            Some("PUB" | "HPUB") => {
                let published = read(&line, &mut stream).await;
                let reply = published.reply.clone().unwrap();
                let answer = match answers.recv().await {
                    Some(Answer::Body(body)) => {
                        let body = body.to_string();
                        format!("MSG {reply} {sid} {}\r\n{body}\r\n", body.len())
                    }
                    _ => format!("HMSG {reply} {sid} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"),
                };
                stream.write_all(answer.as_bytes()).await.unwrap();
                let _ = keep.send(published);
            }
            _ => {}
        }
        stream.flush().await.unwrap();
        line.clear();
    }
}

#[tokio::test]
async fn a_message_goes_out_with_its_key_in_a_header_and_every_acknowledgement_counts() {
    let mut fake = Fake::start().await;
    let channel = Nats::new(Config { url: Token::new(fake.url.clone()), ..Config::default() }, clock()).unwrap();
    let sent = message("game.reminder_due", 3);
    let acknowledgements = [
        json!({ "stream": "GAMES", "seq": 7 }),
        json!({ "stream": "GAMES", "seq": 7, "duplicate": true, "domain": "hub" }),
    ];
    for answer in acknowledgements {
        fake.answers.send(Answer::Body(answer)).unwrap();
        assert_eq!(soon(channel.send(&sent)).await.unwrap().message_id.as_deref(), Some("GAMES:7"));
        let published = soon(fake.published.recv()).await.unwrap();
        assert_eq!(published.subject, "game.reminder_due");
        let headers = String::from_utf8(published.headers).unwrap();
        let lines: Vec<&str> = headers.lines().collect();
        assert!(lines.contains(&format!("Nats-Msg-Id: {}", sent.idempotency_key).as_str()), "{headers}");
        let body: Value = serde_json::from_slice(&published.payload).unwrap();
        assert_eq!(body["data"]["occurrence_id"], sent.occurrence.to_string());
    }
}

/// The server's answers to a published message: the status, its own code, its words, and whether a person has to change
/// something about the message or the stream. All else may be over later, by itself or by the operator's hand.
const SAID_OF_A_MESSAGE: [(u64, u64, &str, bool); 19] = [
    (400, 10002, "resource limits exceeded for account", false),
    (503, 10008, "JetStream system temporarily unavailable", false),
    (500, 10009, "JetStream cluster can not handle request", false),
    (503, 10023, "insufficient resources", false),
    (500, 10028, "insufficient memory resources available", false),
    (503, 10035, "account not found", false),
    (503, 10039, "JetStream not enabled for account", false),
    (500, 10047, "insufficient storage resources available", false),
    (400, 10054, "message size exceeds maximum allowed", true),
    (503, 10076, "JetStream not enabled", false),
    // The words are the store's: that a stream has all the messages or bytes that it may have.
    (503, 10077, "{err}", false),
    (400, 10097, "header size exceeds maximum allowed of 64k", true),
    (400, 10109, "invalid operation on sealed stream", true),
    (500, 10118, "stream is offline", false),
    (400, 10120, "no JetStream default or applicable tiered limit present", false),
    (409, 10158, "duplicate message id is in process", false),
    (429, 10167, "too many requests", false),
    (400, 10169, "message counter increment is missing", true),
    (500, 10194, "stream is offline: {err}", false),
];

#[tokio::test]
async fn every_error_that_a_message_can_meet_has_its_meaning() {
    let fake = Fake::start().await;
    let channel = Nats::new(Config { url: Token::new(fake.url.clone()), ..Config::default() }, clock()).unwrap();
    for (run, (code, own, description, is_refused)) in (1..).zip(SAID_OF_A_MESSAGE) {
        let said = json!({ "code": code, "err_code": own, "description": description });
        fake.answers.send(Answer::Body(json!({ "stream": "GAMES", "error": said }))).unwrap();
        let failed = soon(channel.send(&message("game.x", run))).await.unwrap_err();
        let (SendError::Refused(why) | SendError::Unavailable(why)) = &failed else { panic!("{own}: {failed:?}") };
        assert!(why.contains(description), "{why}");
        assert_eq!(matches!(failed, SendError::Refused(_)), is_refused, "{own}: {failed:?}");
    }
}

#[test]
fn the_errors_are_those_that_the_server_publishes() {
    let Some(errors) = published("server_errors.json") else { return };
    for (code, own, description, _) in SAID_OF_A_MESSAGE {
        let error = errors.as_array().unwrap().iter().find(|error| error["error_code"] == own).unwrap();
        assert_eq!((error["code"].as_u64(), error["description"].as_str()), (Some(code), Some(description)));
    }
    report::ran(&format!("{} errors are those of nats/server_errors.json", SAID_OF_A_MESSAGE.len()));
}

#[tokio::test]
async fn where_nobody_listens_the_streams_decide() {
    let fake = Fake::start().await;
    let channel = Nats::new(Config { url: Token::new(fake.url.clone()), ..Config::default() }, clock()).unwrap();
    let page = |streams: Value| {
        let n_streams = streams.as_array().map_or(0, Vec::len);
        Answer::Body(json!({ "type": "io.nats.jetstream.api.v1.stream_names_response", "total": n_streams, "offset": 0,
            "limit": 1024, "streams": streams }))
    };
    let rows = [(page(json!(null)), true), (page(json!(["GAMES"])), false), (Answer::NobodyListens, false)];
    for (answer, is_refused) in rows {
        fake.answers.send(Answer::NobodyListens).unwrap();
        fake.answers.send(answer).unwrap();
        let failed = soon(channel.send(&message("game.x", 1))).await.unwrap_err();
        assert_eq!(matches!(failed, SendError::Refused(_)), is_refused, "{failed:?}");
        assert!(is_refused || matches!(failed, SendError::Unavailable(_)), "{failed:?}");
    }
}

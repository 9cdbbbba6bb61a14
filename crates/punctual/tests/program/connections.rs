//! Clients that connect and do not go on: idle sockets, slow senders, readers that do not read.

use std::fs;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::common::{Home, Receiver, Server, answer, soon, within};

async fn connect(server: &Server) -> TcpStream {
    soon(TcpStream::connect(server.url.strip_prefix("http://").unwrap())).await.unwrap()
}

/// The head of a request with the admin's key, and `more` headers.
fn head(server: &Server, request: &str, more: &str) -> String {
    format!("{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{more}\r\n", server.key)
}

/// Asks on a connection that stays open, and reads the status.
async fn asked(server: &Server, stream: &mut TcpStream) -> String {
    soon(stream.write_all(head(server, "GET /v1/channels", "").as_bytes())).await.unwrap();
    let mut answer = vec![0; 64 * 1024];
    let n = soon(stream.read(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer[..n]).lines().next().unwrap_or_default().to_owned()
}

/// Waits until the server has closed `stream`. Returns what it said before.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // A connection may also be closed by a reset.
    let _ = stream.read_to_end(&mut said).await;
    String::from_utf8_lossy(&said).into_owned()
}

fn soon_to(receiver: &Receiver, at: &str) -> Value {
    json!({ "message": "m", "schedule": { "type": "once", "at": at }, "to": [{ "channel": "webhook", "address": receiver.url }] })
}

/// Megabytes of memory that the server has.
fn resident_mb(server: &Server) -> u64 {
    memory_mb(server, "VmRSS:")
}

/// Megabytes of memory that the server has had at most.
fn most_resident_mb(server: &Server) -> u64 {
    memory_mb(server, "VmHWM:")
}

fn memory_mb(server: &Server, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn more_idle_sockets_than_descriptors_stop_neither_sending_nor_callers() {
    let home = Home::new();
    let server = home.serve_limited("256:256");
    let mut receiver = Receiver::listen().await;
    let mut known = connect(&server).await;
    assert_eq!(asked(&server, &mut known).await, "HTTP/1.1 200 OK");
    server.create(soon_to(&receiver, "3s")).await;

    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(connect(&server).await);
    }
    let (_, body) = receiver.next().await;
    let late = body["data"]["late_seconds"].as_f64().unwrap();
    assert!(late < 1.0, "it was sent {late} s late");
    // A newcomer gets in, and a client that has shown a key keeps its connection.
    assert_eq!(asked(&server, &mut connect(&server).await).await, "HTTP/1.1 200 OK");
    assert_eq!(asked(&server, &mut known).await, "HTTP/1.1 200 OK");
    // The connections that came first were idle longest.
    assert_eq!(soon(until_closed(&mut idle[0])).await, "");
    let n_open = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(n_open < 200, "{n_open} of 256 descriptors are taken");
    server.stop();
}

/// So few that taking a connection may fail.
#[tokio::test]
async fn with_hardly_any_descriptors_it_goes_on() {
    let home = Home::new();
    let server = home.serve_limited("64:64");
    let mut receiver = Receiver::listen().await;
    server.create(soon_to(&receiver, "2s")).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(connect(&server).await);
    }
    receiver.next().await;
    assert_eq!(asked(&server, &mut connect(&server).await).await, "HTTP/1.1 200 OK");
    let (status, log) = server.stop();
    assert!(status.success() && log.len() < 50, "{log:#?}");
}

#[tokio::test]
async fn the_limit_on_descriptors_is_raised_as_far_as_it_goes() {
    let home = Home::new();
    let server = home.serve_limited("200:1000");
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["1000", "1000", "files"]);
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_its_connection() {
    let home = Home::new();
    let server = home.serve();
    let mut silent = connect(&server).await;
    let dripping = connect(&server).await;
    let (mut reading, mut writing) = dripping.into_split();
    let drip = tokio::spawn(async move {
        let head = b"GET /healthz HTTP/1.1\r\nhost: ";
        for byte in head.iter().chain(std::iter::repeat(&b'x')) {
            if writing.write_all(&[*byte]).await.is_err() {
                return;
            }
            pause(Duration::from_millis(200)).await;
        }
    });
    let ended = Duration::from_secs(20);
    assert_eq!(within(ended, until_closed(&mut silent)).await, "");
    let mut said = Vec::new();
    let _ = within(ended, reading.read_to_end(&mut said)).await;
    assert_eq!(String::from_utf8_lossy(&said), "");
    within(ended, drip).await.unwrap();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_refused() {
    let home = Home::new();
    let server = home.serve();
    let mut stream = connect(&server).await;
    let half = head(&server, "POST /v1/reminders", "content-length: 100\r\n") + "{\"message\":";
    stream.write_all(half.as_bytes()).await.unwrap();
    let said = within(Duration::from_secs(28), until_closed(&mut stream)).await;
    assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("did not come in time"), "{said}");
}

#[tokio::test]
async fn no_body_is_read_for_a_link_that_nobody_made() {
    let home = Home::new();
    let server = home.serve();
    let mut stream = connect(&server).await;
    let host = server.url.strip_prefix("http://").unwrap();
    let half =
        format!("POST /a/x HTTP/1.1\r\nhost: {host}\r\nidempotency-key: k\r\ncontent-length: 1000000\r\n\r\nabc");
    stream.write_all(half.as_bytes()).await.unwrap();
    // Far sooner than a body that does not come is given up.
    let mut said = [0; 12];
    within(Duration::from_secs(5), stream.read_exact(&mut said)).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 404", "{}", String::from_utf8_lossy(&said));
}

#[tokio::test]
async fn http_2_is_not_spoken() {
    let home = Home::new();
    let server = home.serve();
    let mut stream = connect(&server).await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let said = soon(until_closed(&mut stream)).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said:?}");
}

/// Forty of thirty-two megabytes each, of which half comes.
#[tokio::test(flavor = "multi_thread")]
async fn half_sent_batches_take_bounded_memory_and_hinder_nobody() {
    let home = Home::new();
    let server = home.serve();
    let half = vec![b' '; 1024 * 1024];
    let mut senders = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(&server).await;
        let head = head(&server, "POST /v1/reminders/batch", "content-length: 33000000\r\n");
        let half = half.clone();
        senders.push(tokio::spawn(async move {
            stream.write_all(head.as_bytes()).await.unwrap();
            for _ in 0..16 {
                // A sender that was refused is closed before it has sent all.
                if stream.write_all(&half).await.is_err() {
                    break;
                }
            }
            stream
        }));
    }
    // Without a key nothing of a body is read.
    let mut stranger = connect(&server).await;
    let request = "POST /v1/reminders/batch HTTP/1.1\r\nhost: localhost\r\ncontent-length: 33000000\r\n\r\n";
    stranger.write_all(request.as_bytes()).await.unwrap();
    assert!(soon(until_closed(&mut stranger)).await.starts_with("HTTP/1.1 401 "));

    let mut receiver = Receiver::listen().await;
    server.create(soon_to(&receiver, "1s")).await;
    receiver.next().await;
    let batch = json!({ "reminders": vec![soon_to(&receiver, "1h"); 1000] });
    let (status, answer) = server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await;
    assert_eq!(status, 201, "{answer}");
    let (mut said, mut most) = (String::new(), 0);
    for sender in senders {
        let mut stream = within(Duration::from_secs(60), sender).await.unwrap();
        most = most.max(resident_mb(&server));
        said += &within(Duration::from_secs(60), until_closed(&mut stream)).await;
    }
    eprintln!("forty half-sent batches: {most} MB at most");
    assert!(most < 400, "{most} MB were taken");
    let n_refused = said.matches("HTTP/1.1 503 ").count();
    assert!(n_refused > 20 && said.matches("retry-after: 5\r\n").count() == n_refused, "{n_refused} of 40: {said}");

    // The budget is free again: a large batch is read whole.
    let large = json!({ "reminders": [{ "message": "x", "padding": "y".repeat(20 * 1024 * 1024) }] });
    let (status, answer) = server.call(Method::POST, "/v1/reminders/batch", Some(large)).await;
    assert_eq!(status, 422, "{answer}");
}

/// Forty who ask for much and read nothing.
#[tokio::test(flavor = "multi_thread")]
async fn readers_that_do_not_read_take_bounded_memory_and_are_ended() {
    let home = Home::new();
    let server = home.serve();
    let large = json!({ "message": "x".repeat(60 * 1024), "schedule": { "type": "once", "at": "1h" } });
    let mut n_created = 0;
    while n_created < 500 {
        let batch = json!({ "reminders": vec![large.clone(); 100] });
        let (status, answer) = server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await;
        assert_eq!(status, 201, "{answer}");
        n_created += 100;
    }
    let before = resident_mb(&server);
    let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut readers = Vec::new();
    for _ in 0..40 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = soon(socket.connect(address)).await.unwrap();
        // Several at once, so that no buffer of the system takes them all.
        let requests = head(&server, "GET /v1/reminders?limit=500", "").repeat(20);
        soon(stream.write_all(requests.as_bytes())).await.unwrap();
        readers.push(stream);
    }
    let mut receiver = Receiver::listen().await;
    server.create(soon_to(&receiver, "2s")).await;
    receiver.next().await;

    let mut most = 0;
    for reader in &mut readers {
        // The server ends a connection that is not read with a reset.
        within(Duration::from_secs(60), async {
            loop {
                most = most.max(resident_mb(&server));
                if reader.ready(tokio::io::Interest::ERROR).await.is_ok() && reader.take_error().unwrap().is_some() {
                    return;
                }
            }
        })
        .await;
    }
    eprintln!("forty that do not read: {before} MB before, {most} MB at most");
    assert!(most < before.max(150) + 250, "{before} MB before, {most} MB at most");

    // A client that follows the pages gets all reminders.
    let (mut n_listed, mut cursor) = (0, String::new());
    loop {
        let page = server.get(&format!("/v1/reminders?limit=500{cursor}")).await;
        n_listed += page["reminders"].as_array().unwrap().len();
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(n_listed, n_created + 1);
}

#[expect(clippy::disallowed_methods, reason = "how slowly somebody sends is real time")]
async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// An empty object is three bytes on the way and hundreds once it is understood.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_countless_values_takes_bounded_memory() {
    let home = Home::new();
    let server = home.serve();
    let many = |n: usize| format!("{{\"reminders\":[{}{{}}]}}", "{\"\":0},".repeat(n));
    for (path, n) in [("/v1/reminders/batch", 4_000_000), ("/v1/reminders", 100_000)] {
        let posts = (0..4).map(|_| {
            let request = server.request(Method::POST, path).bearer_auth(&server.key);
            tokio::spawn(request.header("content-type", "application/json").body(many(n)).send())
        });
        for post in posts.collect::<Vec<_>>() {
            let (status, problem) = answer(within(Duration::from_secs(60), post).await.unwrap().unwrap()).await;
            assert_eq!(status, 413, "{problem}");
            assert!(problem["detail"].as_str().unwrap().contains("send it in parts"), "{problem}");
        }
    }
    let most = most_resident_mb(&server);
    eprintln!("countless values: {most} MB at most");
    assert!(most < 400, "{most} MB were taken");
}

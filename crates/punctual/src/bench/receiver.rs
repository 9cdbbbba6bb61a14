//! The program that messages arrive at.
//!
//! It is as small as a receiver can be, so that what is measured is the sender: one thread that reads a request, notes
//! when it was all there, and says 204. It runs in a process of its own and ends when its standard input does.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;

use anyhow::Context;
use jiff::Timestamp;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

use super::child::Child;
use super::http::{Connection, Head, request};
use super::sink::Arrival;

/// What it says when it is ready.
const READY: &str = "listening on ";
/// How many connections may wait to be taken. Several nodes connect at one instant, and what finds no place is tried again
/// by the system a second later: that second would be the receiver's, not the sender's.
const BACKLOG: u32 = 4096;
const TAKEN: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// A message as it came: its key, the text of its instant, and when it was all there.
struct Taken {
    key: Box<str>,
    due_at: Box<str>,
    at: Timestamp,
}

type All = Rc<RefCell<Vec<Taken>>>;

/// Takes messages until standard input ends.
pub(super) async fn run() -> anyhow::Result<()> {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // Nobody waits any more when the listener failed.
        let _ = ended.send(());
    });
    // A runtime of one thread: the rest of the machine is the sender's.
    let (done, result) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = done.send(serve(end));
    });
    result.await.context("the receiver was cut off")?
}

fn serve(end: oneshot::Receiver<()>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let listener = socket.listen(BACKLOG)?;
        println!("{READY}{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        let all = All::default();
        let accept = async {
            loop {
                let (stream, _) = listener.accept().await?;
                tokio::task::spawn_local(take(stream, all.clone()));
            }
        };
        tokio::select! {
            failed = accept => failed,
            _ = end => Ok(()),
        }
    })
}

/// Answers one connection until it is closed. One that breaks off has nothing more to say.
async fn take(mut stream: TcpStream, all: All) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(4096);
    while let Ok(1..) = stream.read_buf(&mut buffer).await {
        let at = SystemClock::read();
        while let Ok(Some(head)) = Head::read(&buffer) {
            let end = head.length + head.body_length;
            if buffer.len() < end {
                break;
            }
            let answer = answer(&head, &buffer[head.length..end], at, &all);
            buffer.drain(..end);
            let written = match answer {
                Some(text) => stream.write_all(text.as_bytes()).await,
                None => stream.write_all(TAKEN).await,
            };
            if written.is_err() {
                return;
            }
        }
    }
}

/// Notes a message, or answers a question of the bench's.
fn answer(head: &Head<'_>, body: &[u8], at: Timestamp, all: &All) -> Option<String> {
    let text = match head.first_line {
        line if line.starts_with("GET /count ") => all.borrow().len().to_string(),
        line if line.starts_with("GET /take ") => {
            let mut text = String::new();
            for Taken { key, due_at, at } in all.take() {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} {due_at} {at}");
            }
            text
        }
        _ => {
            let key = head.header("webhook-id").unwrap_or_default().into();
            all.borrow_mut().push(Taken { key, due_at: due_at(body).into(), at });
            return None;
        }
    };
    Some(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len()))
}

/// The text of the instant in an event, without reading the whole document.
fn due_at(body: &[u8]) -> &str {
    const FIELD: &str = "\"due_at\":\"";
    let text = std::str::from_utf8(body).unwrap_or_default();
    let value = text.split_once(FIELD).map_or("", |(_, value)| value);
    value.split('"').next().unwrap_or_default()
}

/// The receiver, from the outside.
pub(super) struct Receiver {
    address: SocketAddr,
    connection: Connection,
    _child: Child,
}

impl Receiver {
    /// Starts it.
    pub(super) async fn start(clock: &dyn Clock) -> anyhow::Result<Self> {
        let (child, ready) = Child::start(&["bench", "receiver"], READY, clock).await?;
        let address = ready.rest.parse().with_context(|| format!("`{}` is no address", ready.rest))?;
        Ok(Self { address, connection: Connection::open(address).await?, _child: child })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// How many messages have come since they were last taken.
    pub(super) async fn count(&mut self) -> anyhow::Result<usize> {
        let text = self.connection.exchange(&request("GET", "/count", None, b"")).await?.text()?;
        text.parse().with_context(|| format!("`{text}` is no number"))
    }

    /// Takes what has come.
    pub(super) async fn take(&mut self) -> anyhow::Result<Vec<Arrival>> {
        let text = self.connection.exchange(&request("GET", "/take", None, b"")).await?.text()?;
        text.lines().map(|line| parse(line).with_context(|| format!("`{line}` is no arrival"))).collect()
    }
}

fn parse(line: &str) -> Option<Arrival> {
    let mut words = line.split(' ');
    let key = words.next()?.to_owned();
    let due_at = words.next()?.parse().ok()?;
    Some(Arrival { key, due_at, at: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instant_is_found_in_an_event() {
        let body =
            br#"{"type":"reminder.due","data":{"message":"x","due_at":"2026-03-02T07:00:00Z","late_seconds":0}}"#;
        assert_eq!(due_at(body), "2026-03-02T07:00:00Z");
        assert_eq!(due_at(b"{}"), "");
    }

    #[test]
    fn an_arrival_reads_back() {
        let arrival = parse("key-1 2026-03-02T07:00:00Z 2026-03-02T07:00:00.000084Z").unwrap();
        assert_eq!(arrival.key, "key-1");
        assert_eq!(arrival.late().as_micros(), 84);
        assert!(parse("key-1  2026-03-02T07:00:00Z").is_none());
    }
}

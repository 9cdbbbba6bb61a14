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
use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

use super::child::Child;
use super::http::{Connection, Head, request};
use super::sink::Arrival;

/// The line that says that it is ready.
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

/// How it treats messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Mood {
    /// It takes them.
    Takes,
    /// It never answers.
    Hangs,
    /// It answers 429 and asks for a wait of a second.
    Throttles,
    /// It answers 500.
    Fails,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How messages are treated
    #[arg(long, value_enum, default_value_t = Mood::Takes)]
    mood: Mood,
    /// On how many addresses of this machine to listen, from 127.0.0.1 on, each at the same port
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=250))]
    addresses: u8,
}

/// The messages that have come.
#[derive(Default)]
struct Book {
    taken: Vec<Taken>,
    seen: Seen,
    /// When somebody was last told to wait.
    told_at: Option<Timestamp>,
    n_open: usize,
}

/// What the receiver has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Messages that came.
    pub(super) n_requests: usize,
    /// The most that waited for an answer at once.
    pub(super) n_open_max: usize,
    /// Messages that came while it had asked for a wait.
    pub(super) n_too_soon: usize,
}

type All = Rc<RefCell<Book>>;

/// Takes messages until standard input ends.
pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // The listener may have failed.
        let _ = ended.send(());
    });
    // A runtime of one thread: the rest of the machine is the sender's.
    let (done, result) = oneshot::channel();
    let (mood, n_addresses) = (args.mood, args.addresses);
    std::thread::spawn(move || {
        let _ = done.send(serve(end, mood, n_addresses));
    });
    result.await.context("the receiver was cut off")?
}

fn serve(end: oneshot::Receiver<()>, mood: Mood, n_addresses: u8) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let first = listen(1, 0)?;
        let address = first.local_addr()?;
        let all = All::default();
        for last in 2..=n_addresses {
            tokio::task::spawn_local(accept(listen(last, address.port())?, all.clone(), mood));
        }
        println!("{READY}{address}");
        std::io::stdout().flush()?;
        let accept = accept(first, all, mood);
        tokio::select! {
            failed = accept => failed,
            _ = end => Ok(()),
        }
    })
}

fn listen(last: u8, port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, last], port)))?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, all: All, mood: Mood) -> anyhow::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::task::spawn_local(take(stream, all.clone(), mood));
    }
}

/// Answers one connection until it is closed. One that breaks off has nothing more to say.
async fn take(mut stream: TcpStream, all: All, mood: Mood) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(4096);
    while let Ok(1..) = stream.read_buf(&mut buffer).await {
        let at = SystemClock::read();
        while let Ok(Some(head)) = Head::read(&buffer) {
            let end = head.length + head.body_length;
            if buffer.len() < end {
                break;
            }
            if mood == Mood::Hangs {
                // A sender that gave up before this message came is noticed before the message is counted.
                tokio::task::yield_now().await;
            }
            let answer = answer(&head, &buffer[head.length..end], at, &all, mood);
            if answer.is_none() && mood == Mood::Hangs {
                // Until the sender that waits for an answer gives up.
                let _ = stream.read_buf(&mut Vec::new()).await;
                all.borrow_mut().n_open -= 1;
                return;
            }
            buffer.drain(..end);
            if mood == Mood::Throttles {
                // The wait begins when the answer does: the reader cannot know an earlier moment.
                all.borrow_mut().told_at = Some(SystemClock::read());
            }
            let written = match answer {
                Some(text) => stream.write_all(text.as_bytes()).await,
                None => stream.write_all(mood.answer()).await,
            };
            if written.is_err() {
                return;
            }
        }
    }
}

impl Mood {
    fn answer(self) -> &'static [u8] {
        match self {
            Self::Takes | Self::Hangs => TAKEN,
            Self::Throttles => b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n",
            Self::Fails => b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
        }
    }
}

/// Notes a message, or answers a question of the bench's.
fn answer(head: &Head<'_>, body: &[u8], at: Timestamp, all: &All, mood: Mood) -> Option<String> {
    let text = match head.first_line {
        line if line.starts_with("GET /count ") => all.borrow().taken.len().to_string(),
        line if line.starts_with("GET /seen ") => {
            let Seen { n_requests, n_open_max, n_too_soon } = all.borrow().seen;
            format!("{n_requests} {n_open_max} {n_too_soon}")
        }
        line if line.starts_with("GET /take ") => {
            let mut text = String::new();
            for Taken { key, due_at, at } in std::mem::take(&mut all.borrow_mut().taken) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} {due_at} {at}");
            }
            text
        }
        _ => {
            let key = head.header("webhook-id").unwrap_or_default().into();
            let book = &mut *all.borrow_mut();
            book.seen.n_requests += 1;
            if mood == Mood::Hangs {
                book.n_open += 1;
                book.seen.n_open_max = book.seen.n_open_max.max(book.n_open);
            }
            let wait = SignedDuration::from_secs(1);
            book.seen.n_too_soon += usize::from(book.told_at.is_some_and(|told_at| at.duration_since(told_at) < wait));
            if mood == Mood::Takes {
                book.taken.push(Taken { key, due_at: due_at(body).into(), at });
            }
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
    /// Starts one that listens on so many addresses.
    pub(super) async fn start_with(mood: Mood, n_addresses: u8, clock: &dyn Clock) -> anyhow::Result<Self> {
        let word = mood.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let n_addresses = n_addresses.to_string();
        let arguments = ["bench", "receiver", "--mood", &word, "--addresses", &n_addresses];
        let (child, ready) = Child::start(&arguments, READY, clock).await?;
        let address = ready.rest.parse().with_context(|| format!("`{}` is no address", ready.rest))?;
        Ok(Self { address, connection: Connection::open(address).await?, _child: child })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Where its address of this number is, counted from 0.
    pub(super) fn url_of(&self, number: usize, n_addresses: u8) -> String {
        let last = 1 + number % usize::from(n_addresses.max(1));
        format!("http://127.0.0.{last}:{}/hook", self.address.port())
    }

    /// What it has counted until now.
    pub(super) async fn seen(&mut self) -> anyhow::Result<Seen> {
        let text = self.connection.exchange(&request("GET", "/seen", None, b"")).await?.text()?;
        let mut numbers = text.split(' ').map_while(|word| word.parse().ok());
        let mut next = || numbers.next().with_context(|| format!("`{text}` is not what was seen"));
        Ok(Seen { n_requests: next()?, n_open_max: next()?, n_too_soon: next()? })
    }

    /// How many messages have come since they were last taken.
    pub(super) async fn count(&mut self) -> anyhow::Result<usize> {
        let text = self.connection.exchange(&request("GET", "/count", None, b"")).await?.text()?;
        text.parse().with_context(|| format!("`{text}` is no number"))
    }

    /// Takes the messages that have come.
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

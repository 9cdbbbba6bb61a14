//! Open pages, when they show what happened, and reminders that are due beside them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::WAIT_MAX;
use super::visitor::Visitor;
use crate::http::{Connection, request};
use crate::rig::{self, MESSAGE, plus};
use crate::server::Server;
use crate::sink::{Arrival, Received, Sink};
use crate::summary::Summary;

/// How long before the first instant everything is in place.
const AHEAD: SignedDuration = SignedDuration::from_secs(5);
/// How many reminders are created in one request.
const BATCH: usize = 1_000;
/// The kind of the entry that says that a reminder was sent.
const SENT: &str = "reminder.sent";

/// Reminders by webhook, spread over time and over people.
pub(super) struct Round {
    /// Whose they are: of people whose pages are open, or of others.
    pub(super) of: Whose,
    pub(super) n_users: usize,
    pub(super) count: usize,
    pub(super) over_seconds: u32,
}

/// Whose reminders are due.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    Readers,
    Others,
}

/// The messages of one round.
pub(super) struct Ran {
    pub(super) received: Received,
    arrivals: Vec<Arrival>,
}

impl Whose {
    fn user(self, number: usize) -> String {
        match self {
            Self::Readers => format!("reader-{number}"),
            Self::Others => format!("other-{number}"),
        }
    }
}

impl Round {
    pub(super) async fn run(&self, server: &Server, sink: &mut Sink, clock: &dyn Clock) -> anyhow::Result<Ran> {
        let over = SignedDuration::from_secs(self.over_seconds.into());
        // A thousand reminders are created in a fraction of a second; the bench says so where it takes longer.
        let instants = rig::instants(rig::soon(AHEAD), self.count, over);
        let to = sink.address().address;
        let mut connection = Connection::open(server.address).await?;
        for (batch, some) in instants.chunks(BATCH).enumerate() {
            let reminder = |(index, due_at): (usize, &Timestamp)| {
                json!({
                    "user": self.of.user((batch * BATCH + index) % self.n_users),
                    "message": MESSAGE,
                    "schedule": { "type": "once", "at": due_at },
                    "to": [{ "channel": "webhook", "address": to }],
                })
            };
            let reminders: Vec<Value> = some.iter().enumerate().map(reminder).collect();
            let body = serde_json::to_vec(&json!({ "reminders": reminders }))?;
            connection.exchange(&request("POST", "/v1/reminders/batch", Some(&server.key), &body)).await?.text()?;
        }
        let (first, last) = (instants.first().copied(), instants.last().copied().context("there are reminders")?);
        ensure!(first.is_some_and(|first| clock.now() < first), "the reminders were due before all were created");
        clock.sleep_until(last).await;
        let arrivals = sink.all(self.count, clock, plus(last, WAIT_MAX)).await?;
        Ok(Ran { received: Received::of(&arrivals), arrivals })
    }
}

type Seen = Arc<Mutex<HashMap<String, Timestamp>>>;

/// Pages of as many people, each with its stream.
pub(super) struct OpenPages {
    readers: Vec<JoinHandle<()>>,
    /// When the run of each reminder was seen, by the id of the reminder.
    seen: Seen,
}

impl OpenPages {
    /// Gives each person a key, signs in with it and opens the stream of the page.
    pub(super) async fn open(server: &Server, n: usize, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let seen = Seen::default();
        let mut connection = Connection::open(server.address).await?;
        let mut pages = Self { readers: Vec::new(), seen: Arc::clone(&seen) };
        for number in 0..n {
            let user = Whose::Readers.user(number);
            let key = json!({ "name": user, "user": user, "scopes": ["read", "write"] });
            let body = serde_json::to_vec(&key)?;
            let answer = connection.exchange(&request("POST", "/v1/keys", Some(&server.key), &body)).await?.text()?;
            let answer: Value = serde_json::from_str(&answer)?;
            let key = answer["key"].as_str().context("a key was made without a secret")?;
            let visitor = Visitor::sign_in(server.address, key).await?;
            let stream = stream(server, &visitor.cookie).await?;
            pages.readers.push(tokio::spawn(follow(stream, visitor, Arc::clone(&clock), Arc::clone(&seen))));
        }
        Ok(pages)
    }

    /// How long after its message was received each run was seen on its page.
    pub(super) async fn seen_after(&self, ran: &Ran, n_wanted: usize, clock: &dyn Clock) -> anyhow::Result<Summary> {
        let give_up_at = plus(clock.now(), WAIT_MAX);
        loop {
            let n_seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).len();
            if n_seen >= n_wanted {
                break;
            }
            ensure!(clock.now() < give_up_at, "{n_seen} of {n_wanted} runs were seen on an open page");
            clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(50))).await;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A key begins with the reminder's id.
        let seen = |arrival: &Arrival| Some(seen.get(arrival.key.get(..36)?)?.duration_since(arrival.at));
        let seen: Vec<SignedDuration> = ran.arrivals.iter().filter_map(seen).collect();
        ensure!(seen.len() == ran.arrivals.len(), "{} of {} messages were seen", seen.len(), ran.arrivals.len());
        Ok(Summary::of(seen))
    }
}

impl Drop for OpenPages {
    fn drop(&mut self) {
        self.readers.iter().for_each(JoinHandle::abort);
    }
}

/// Opens the stream of a page, and waits for its beginning.
async fn stream(server: &Server, cookie: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address).await.context("cannot connect")?;
    let head = format!(
        "GET /stream HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\nsec-fetch-site: same-origin\r\naccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut begin = Vec::new();
    while !begin.windows(7).any(|window| window == b"retry: ") {
        ensure!(stream.read_buf(&mut begin).await? > 0, "a stream was refused: {}", String::from_utf8_lossy(&begin));
    }
    Ok(stream)
}

/// An open page as its script has it: whenever there is news of a run, the page is asked for again, and the run is seen when it has come.
async fn follow(stream: TcpStream, visitor: Visitor, clock: Arc<dyn Clock>, seen: Seen) {
    let (tell, news) = unbounded_channel();
    tokio::join!(listen(stream, tell), look(visitor, news, clock, seen));
}

async fn listen(mut stream: TcpStream, tell: UnboundedSender<Vec<String>>) {
    let mut buffer = Vec::with_capacity(4096);
    while stream.read_buf(&mut buffer).await.is_ok_and(|n| n > 0) {
        // Whole events end with an empty line.
        while let Some(end) = buffer.windows(2).position(|window| window == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            let event = String::from_utf8_lossy(&event);
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
            let news: Value = serde_json::from_str(data).unwrap_or_default();
            let names = |field: &str| news[field].as_array().cloned().unwrap_or_default();
            if !names("kinds").iter().any(|kind| kind == SENT) {
                continue;
            }
            let ids = names("reminders").iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if tell.send(ids).is_err() {
                return;
            }
        }
    }
}

async fn look(mut visitor: Visitor, mut news: UnboundedReceiver<Vec<String>>, clock: Arc<dyn Clock>, seen: Seen) {
    while let Some(mut ids) = news.recv().await {
        while let Ok(more) = news.try_recv() {
            ids.extend(more);
        }
        let begun = clock.run_for();
        if visitor.look("/").await.is_err() {
            return;
        }
        let (now, took) = (clock.now(), clock.run_for() - begun);
        {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            for id in ids {
                seen.entry(id).or_insert(now);
            }
        }
        clock.pause((8 * took).clamp(Duration::from_millis(250), Duration::from_secs(5))).await;
    }
}

//! Socket Mode: Slack's events over a WebSocket that we open.
//!
//! Slack closes each socket after some hours and says so before: then the next is opened while the old one is still read, so that no
//! press falls between them. A press is acknowledged when its answer is committed; one that is not acknowledged within three seconds
//! shows the person a warning, and an event comes again.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, SelectAll, SplitSink};
use futures_util::{SinkExt, Stream, StreamExt, stream};
use punctual_core::channel::receive::{Ended, Inbound, Inlet, NotTaken, Reaction};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, Limits, MaybeTlsStream, Message, WebSocketStream};

use super::{PLATFORM, Slack, receive};
use crate::common::http::Answer;
use crate::common::quote::told;
use crate::common::token::Token;

/// How often Slack is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(5);
/// How long nothing may be heard from it; a ping is answered at once.
const SILENT_MAX: Duration = Duration::from_secs(11);
/// How long opening a socket, or writing to one, may take.
const TAKES_MAX: Duration = Duration::from_secs(10);
/// The longest message that is read.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// How many events are handed over at once. The next waits: Slack sends it again if it has to wait for long.
const TAKING_MAX: usize = 32;
/// How many people are told at once what was made of their answers. Nobody waits: an answer stands without that.
const TELLING_MAX: usize = 64;
/// How long to wait where Slack does not say.
const WAIT: Duration = Duration::from_secs(30);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
/// A socket that is being opened.
type Opening<'a> = Pin<Box<dyn Future<Output = Result<Socket, Ended>> + Send + 'a>>;
/// A message and its socket; no message is the socket's end.
type Heard = (u64, Option<Message>);

/// The sockets: one, and for some seconds two.
#[derive(Default)]
struct Sockets {
    n_opened: u64,
    heard: SelectAll<Pin<Box<dyn Stream<Item = Heard> + Send>>>,
    open: BTreeMap<u64, Open>,
}

struct Open {
    say: SplitSink<Socket, Message>,
    heard_at: Duration,
}

/// An event that was taken, or not, and where it came from.
struct Taken {
    socket: u64,
    envelope: String,
    taken: Result<Option<(Inbound, Reaction)>, NotTaken>,
}

impl Slack {
    /// Keeps a socket open until something is wrong.
    pub(super) async fn keep_socket(&self, inlet: &dyn Inlet) -> Ended {
        match self.talk(inlet).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    async fn talk(&self, inlet: &dyn Inlet) -> Result<std::convert::Infallible, Ended> {
        let mut sockets = Sockets::default();
        sockets.add(self.open().await?, self.clock.run_for());
        let mut taking = FuturesUnordered::new();
        let mut telling = FuturesUnordered::new();
        let mut next: Option<Opening<'_>> = None;
        let mut ping = self.clock.pause(PING_EVERY);
        loop {
            tokio::select! {
                Some((socket, message)) = sockets.heard.next(), if taking.len() < TAKING_MAX => {
                    let Some(message) = message else {
                        sockets.open.remove(&socket);
                        if sockets.open.is_empty() && next.is_none() {
                            return Err(Ended::Broken("Slack closed the connection".into()));
                        }
                        continue;
                    };
                    sockets.heard_from(socket, self.clock.run_for());
                    let Some(text) = message.as_text() else { continue };
                    let said: Value = serde_json::from_str(text).unwrap_or_default();
                    match said["type"].as_str().unwrap_or_default() {
                        "hello" => inlet.connected(),
                        "disconnect" => {
                            self.disconnected(&said)?;
                            next.get_or_insert_with(|| Box::pin(self.open()));
                        }
                        _ => taking.push(self.take(socket, said, inlet)),
                    }
                }
                Some(taken) = taking.next() => {
                    let Taken { socket, envelope, taken } = taken;
                    match taken {
                        Ok(taken) => {
                            let acked = json!({ "envelope_id": envelope }).to_string();
                            self.say(&mut sockets, socket, Message::text(acked)).await?;
                            let taken = taken.filter(|_| telling.len() < TELLING_MAX);
                            telling.extend(taken.map(|(inbound, reaction)| self.tell_quietly(inbound, reaction)));
                        }
                        Err(NotTaken::LeaseLost) => return Err(Ended::Replaced),
                        // Not acknowledged: the event comes again, or the person sees a warning.
                        Err(NotTaken::Unavailable) => {}
                    }
                }
                Some(()) = telling.next() => {}
                Some(opened) = OptionFuture::from(next.as_mut()) => {
                    next = None;
                    sockets.add(opened?, self.clock.run_for());
                }
                () = &mut ping => {
                    ping = self.clock.pause(PING_EVERY);
                    let now = self.clock.run_for();
                    if sockets.open.values().any(|open| now.saturating_sub(open.heard_at) > SILENT_MAX) {
                        return Err(Ended::Broken("Slack is silent".into()));
                    }
                    for socket in sockets.open.keys().copied().collect::<Vec<_>>() {
                        self.say(&mut sockets, socket, Message::ping(&b""[..])).await?;
                    }
                }
            }
        }
    }

    /// Hands over what an envelope has in it. One that says nothing to us is acknowledged at once.
    async fn take(&self, socket: u64, said: Value, inlet: &dyn Inlet) -> Taken {
        let envelope = said["envelope_id"].as_str().unwrap_or_default().to_owned();
        let read = match said["type"].as_str() {
            Some("interactive") => receive::press(&said["payload"], &self.api_url),
            Some("events_api") => receive::words(&said["payload"]),
            _ => Ok(None),
        };
        let inbound = read.unwrap_or_else(|problem| {
            // It would come again for ever.
            tracing::warn!("{problem}; it is passed over");
            None
        });
        let taken = match inbound {
            None => Ok(None),
            Some(inbound) => inlet.take(inbound.clone()).await.map(|reaction| Some((inbound, reaction))),
        };
        Taken { socket, envelope, taken }
    }

    /// Reads Slack's notice that it closes a socket: the next socket is opened, unless the notice says that no other will be.
    fn disconnected(&self, said: &Value) -> Result<(), Ended> {
        match said["reason"].as_str().unwrap_or_default() {
            "link_disabled" => {
                Err(Ended::Refused("Socket Mode is switched off; switch it on in the app's settings".into()))
            }
            "too_many_websockets" => Err(Ended::Wait(WAIT)),
            _ => Ok(()),
        }
    }

    /// Opens a socket: Slack gives a new URL for each.
    async fn open(&self) -> Result<Socket, Ended> {
        let Some(token) = &self.app_token else { return Err(Ended::Refused("the channel has no app_token".into())) };
        let broken = |error: String| Ended::Broken(error);
        let request = self.http.post(&format!("{}/apps.connections.open", self.api_url)).bearer_auth(token.expose());
        let answer = self.http.ask(request, PLATFORM).await.map_err(|error| broken(error.to_string()))?;
        let body = answer.json();
        let Some(url) = body["url"].as_str().filter(|_| body["ok"] == true) else {
            return Err(self.not_opened(&answer, token));
        };
        // The URL has a ticket in it, so it is never shown.
        if !url.starts_with("wss://") && !self.api_url.starts_with("http://") {
            return Err(broken("Slack gave a URL that is not secure".into()));
        }
        let builder = ClientBuilder::new()
            .uri(url)
            .map_err(|_| broken("Slack gave a URL that is none".into()))?
            .limits(Limits::default().max_payload_len(Some(MESSAGE_BYTES_MAX)));
        tokio::select! {
            connected = builder.connect() => match connected {
                Ok((socket, _)) => Ok(socket),
                Err(error) => Err(broken(format!("no connection to Slack: {}", told(&error.to_string(), &[token])))),
            },
            () = self.clock.pause(TAKES_MAX) => Err(broken(format!("no connection to Slack within {TAKES_MAX:?}"))),
        }
    }

    fn not_opened(&self, answer: &Answer, token: &Token) -> Ended {
        let body = answer.json();
        let said = match body["error"].as_str() {
            Some(error) => format!("Slack answered {}", told(error, &[token])),
            None => format!("Slack {}", answer.said(&[token])),
        };
        match body["error"].as_str().unwrap_or_default() {
            "ratelimited" | "rate_limited" => Ended::Wait(answer.retry_after(self.clock.now()).unwrap_or(WAIT)),
            _ if answer.status == 429 => Ended::Wait(answer.retry_after(self.clock.now()).unwrap_or(WAIT)),
            "internal_error" | "fatal_error" | "request_timeout" | "service_unavailable" | "team_added_to_org" | "" => {
                Ended::Broken(said)
            }
            "missing_scope" => Ended::Refused(format!("the app_token needs the scope connections:write: {said}")),
            _ => Ended::Refused(format!("the app_token is not accepted; check it, and that Socket Mode is on: {said}")),
        }
    }

    /// Writes to a socket. One that is gone is noticed where it is read.
    async fn say(&self, sockets: &mut Sockets, socket: u64, message: Message) -> Result<(), Ended> {
        let Some(open) = sockets.open.get_mut(&socket) else { return Ok(()) };
        tokio::select! {
            sent = open.say.send(message) => {
                if sent.is_err() {
                    sockets.open.remove(&socket);
                }
                Ok(())
            }
            () = self.clock.pause(TAKES_MAX) => Err(Ended::Broken("Slack does not read".into())),
        }
    }

    /// Tells a person what was made of their answer. It is recorded whether they are told or not.
    async fn tell_quietly(&self, inbound: Inbound, reaction: Reaction) {
        if let Err(error) = self.tell_one(&inbound, &reaction).await {
            tracing::debug!("Slack did not take what a person was to be told: {error}");
        }
    }
}

impl Sockets {
    fn add(&mut self, socket: Socket, now: Duration) {
        self.n_opened += 1;
        let id = self.n_opened;
        let (say, hear) = socket.split();
        // An error is an end: no more comes after it.
        let messages = hear.take_while(|message| std::future::ready(message.is_ok()));
        let ended = stream::once(async move { (id, None) });
        let heard = messages
            .map(move |message| (id, message.ok()))
            .filter(|(_, message)| std::future::ready(message.as_ref().is_some_and(|message| !message.is_close())));
        self.heard.push(Box::pin(heard.chain(ended)));
        self.open.insert(id, Open { say, heard_at: now });
    }

    fn heard_from(&mut self, socket: u64, now: Duration) {
        if let Some(open) = self.open.get_mut(&socket) {
            open.heard_at = now;
        }
    }
}

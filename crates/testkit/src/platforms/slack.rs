//! Slack on the loopback: a bot's messages, and Socket Mode.
//!
//! An event is sent again, on whatever socket there is, until it is acknowledged. A press is sent once: where it is not acknowledged
//! within three seconds, or its socket ends before, the person sees a warning and may press again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{Method, Uri};
use axum::routing::any;
use serde_json::{Value, json};

use super::socket::{Out, Sockets, ToClient, serve};
use super::{Asked, Local, second};

/// How long a person's client waits for an acknowledgement.
const PRESS_WAITS: Duration = Duration::from_secs(3);

/// A person who uses Slack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// Such as `U0123456789`.
    pub id: &'static str,
    /// Their name.
    pub name: &'static str,
}

/// A message as its channel shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The channel's id.
    pub channel: String,
    /// The message's `ts`.
    pub ts: String,
    /// The text of its notification.
    pub text: String,
    /// Label and value of each button.
    pub buttons: Vec<(String, String)>,
    /// The blocks as they were given.
    pub blocks: Value,
    /// How often it was edited.
    pub n_edits: usize,
}

/// What became of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// The client waits.
    Waits,
    /// The app has acknowledged it.
    Acked,
    /// The person saw a warning.
    Failed,
}

/// A running server.
pub struct Slack {
    http: Local,
    sockets: Local,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    asked: Vec<Asked>,
    http_port: u16,
    /// Where the sockets' URLs lead: to the sockets, or to a proxy before them.
    socket_port: u16,
    /// How many sockets have asked for a URL.
    n_opened: usize,
    messages: BTreeMap<(String, String), Shown>,
    n_messages: usize,
    links: BTreeMap<u64, ToClient>,
    n_sent: usize,
    presses: BTreeMap<String, Press>,
    /// Events that are not acknowledged, in order, and the socket that has each.
    events: Vec<(String, Value, Option<u64>, usize)>,
    /// What was posted to the `response_url` of a press.
    told: BTreeMap<String, Vec<Value>>,
    failing: Vec<(String, Value)>,
}

struct Press {
    link: Option<u64>,
    sent_at: Instant,
    pressed: Pressed,
}

impl Slack {
    /// Starts it.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(any(call)).with_state(Arc::clone(&shared));
        let http = Local::http(router);
        let for_sockets = Arc::clone(&shared);
        let sockets = Local::start(move |listener| serve(listener, for_sockets));
        let mut books = shared.lock();
        (books.http_port, books.socket_port) = (http.port, sockets.port);
        drop(books);
        Self { http, sockets, shared }
    }

    /// What a channel's `api_url` is set to.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.http.port)
    }

    /// The port of its sockets.
    pub fn socket_port(&self) -> u16 {
        self.sockets.port
    }

    /// From now on the sockets' URLs lead to this port: a proxy's.
    pub fn lead_sockets_to(&self, port: u16) {
        self.shared.lock().socket_port = port;
    }

    /// A person presses the button that has `label`; returns the press.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn press(&self, message: &Shown, label: &str, who: Person) -> String {
        let payload = self.payload(message, label, who);
        let id = payload["trigger_id"].as_str().unwrap_or_default().to_owned();
        let mut books = self.shared.lock();
        let envelope = envelope(&id, "interactive", payload);
        let link = books.links.last_key_value().map(|(link, client)| (*link, client.clone()));
        let sent = link.filter(|(_, client)| client.send(Out::Say(envelope)).is_ok());
        let pressed = if sent.is_some() { Pressed::Waits } else { Pressed::Failed };
        books.presses.insert(id.clone(), Press { link: sent.map(|(link, _)| link), sent_at: now(), pressed });
        id
    }

    /// The payload of a press, as a webhook gets it.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn payload(&self, message: &Shown, label: &str, who: Person) -> Value {
        let mut books = self.shared.lock();
        let kept = books.messages.get(&(message.channel.clone(), message.ts.clone())).cloned();
        // A person may press what they saw before it was changed.
        let buttons = kept.filter(|kept| !kept.buttons.is_empty()).unwrap_or_else(|| message.clone()).buttons;
        let data = buttons.into_iter().find(|(text, _)| text == label).map(|(_, data)| data);
        let data = data.unwrap_or_else(|| panic!("no button {label} under {message:?}"));
        books.n_sent += 1;
        let id = format!("press-{}", books.n_sent);
        let channel = json!({"id": message.channel, "name": "general"});
        json!({
            "type": "block_actions",
            "user": {"id": who.id, "username": who.name, "name": who.name, "team_id": "T0123456789"},
            "api_app_id": "A0123456789",
            "container": {"type": "message", "message_ts": message.ts, "channel_id": message.channel, "is_ephemeral": false},
            "trigger_id": id,
            "team": {"id": "T0123456789", "domain": "example"},
            "channel": channel,
            "response_url": format!("http://127.0.0.1:{}/actions/T0123456789/{id}/s3cret", books.http_port),
            "actions": [{"action_id": "punctual", "block_id": "b", "value": data, "type": "button", "action_ts": "1596530385.194939"}],
        })
    }

    /// A person writes to the bot; returns the event's id.
    pub fn write(&self, channel: &str, who: Person, text: &str, thread: Option<&Shown>) -> String {
        let mut books = self.shared.lock();
        books.n_sent += 1;
        let id = format!("Ev{:010}", books.n_sent);
        let mut event = json!({
            "type": if channel.starts_with('D') { "message" } else { "app_mention" }, "user": who.id, "text": text,
            "channel": channel, "ts": format!("{}.{:06}", second(), books.n_sent), "channel_type": "im",
        });
        if let Some(message) = thread {
            event["thread_ts"] = message.ts.as_str().into();
        }
        let payload = json!({
            "type": "event_callback", "event_id": id, "event_time": 1_700_000_001, "team_id": "T0123456789", "event": event,
        });
        books.events.push((id.clone(), payload, None, 0));
        books.send_events();
        id
    }

    /// What became of a press.
    ///
    /// # Panics
    /// Where there was none.
    pub fn pressed(&self, press: &str) -> Pressed {
        let mut books = self.shared.lock();
        let press = books.presses.get_mut(press).expect("a press of this server's");
        if press.pressed == Pressed::Waits && now().duration_since(press.sent_at) > PRESS_WAITS {
            press.pressed = Pressed::Failed;
        }
        press.pressed
    }

    /// What the app told the person alone, through the `response_url` of their press.
    pub fn told(&self, press: &str) -> Vec<Value> {
        self.shared.lock().told.get(press).cloned().unwrap_or_default()
    }

    /// How many events are not acknowledged.
    pub fn unconfirmed(&self) -> usize {
        self.shared.lock().events.len()
    }

    /// The bot's messages in a channel, oldest first.
    pub fn messages(&self, channel: &str) -> Vec<Shown> {
        self.shared.lock().messages.values().filter(|message| message.channel == channel).cloned().collect()
    }

    /// A message as it is shown now.
    ///
    /// # Panics
    /// Where there is none.
    pub fn message(&self, channel: &str, ts: &str) -> Shown {
        let books = self.shared.lock();
        books.messages.get(&(channel.to_owned(), ts.to_owned())).cloned().expect("a message of this server's")
    }

    /// How many sockets are open, and how many were asked for.
    pub fn links(&self) -> (usize, usize) {
        let books = self.shared.lock();
        (books.links.len(), books.n_opened)
    }

    /// Tells every socket that it will be closed.
    pub fn disconnect(&self, reason: &str) {
        let said = json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "test"}});
        for client in self.shared.lock().links.values() {
            let _ = client.send(Out::Say(said.clone()));
        }
    }

    /// Closes the oldest socket, as Slack does some seconds after it said so.
    pub fn close_oldest(&self) {
        if let Some((_, client)) = self.shared.lock().links.first_key_value() {
            let _ = client.send(Out::Close(1000));
        }
    }

    /// The next call of `method` is answered with `body`, and does nothing.
    pub fn fail_next(&self, method: &str, body: Value) {
        self.shared.lock().failing.push((method.to_owned(), body));
    }

    /// Takes the requests that have come so far.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.shared.lock().asked)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Books> {
        // Nothing under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sockets for Shared {
    fn opened(&self, link: u64, _path: &str, client: ToClient) {
        let mut books = self.lock();
        let hello = json!({"type": "hello", "num_connections": books.links.len() + 1, "debug_info": {"host": "test", "approximate_connection_time": 18_060}});
        let _ = client.send(Out::Say(hello));
        books.links.insert(link, client);
        books.send_events();
    }

    fn heard(&self, _link: u64, said: Value) {
        let mut books = self.lock();
        let id = said["envelope_id"].as_str().unwrap_or_default();
        if let Some(press) = books.presses.get_mut(id)
            && press.pressed == Pressed::Waits
        {
            let in_time = now().duration_since(press.sent_at) <= PRESS_WAITS;
            press.pressed = if in_time { Pressed::Acked } else { Pressed::Failed };
        }
        books.events.retain(|(event, ..)| event != id);
    }

    fn closed(&self, link: u64, _code: Option<u16>) {
        let mut books = self.lock();
        books.links.remove(&link);
        for press in books.presses.values_mut().filter(|press| press.link == Some(link)) {
            if press.pressed == Pressed::Waits {
                press.pressed = Pressed::Failed;
            }
        }
        for event in books.events.iter_mut().filter(|event| event.2 == Some(link)) {
            event.2 = None;
        }
        books.send_events();
    }
}

impl Books {
    /// Sends what no socket has.
    fn send_events(&mut self) {
        let Some((link, client)) = self.links.last_key_value() else { return };
        for (id, payload, has, n_tries) in self.events.iter_mut().filter(|event| event.2.is_none()) {
            let mut envelope = envelope(id, "events_api", payload.clone());
            envelope["retry_attempt"] = (*n_tries).into();
            if client.send(Out::Say(envelope)).is_ok() {
                (*has, *n_tries) = (Some(*link), *n_tries + 1);
            }
        }
    }

    fn post(&mut self, body: &Value) -> Value {
        let text = body["channel"].as_str().unwrap_or_default();
        // A message to a person appears in the channel that the bot shares with them.
        let channel = text.strip_prefix('U').map_or_else(|| text.to_owned(), |rest| format!("D{rest}"));
        self.n_messages += 1;
        let ts = format!("1700000000.{:06}", self.n_messages);
        let mut message = Shown {
            channel: channel.clone(),
            ts: ts.clone(),
            text: String::new(),
            buttons: Vec::new(),
            blocks: Value::Null,
            n_edits: 0,
        };
        message.show(body);
        self.messages.insert((channel.clone(), ts.clone()), message);
        json!({"ok": true, "channel": channel, "ts": ts})
    }

    fn update(&mut self, body: &Value) -> Value {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let Some(message) = self.messages.get_mut(&(text("channel"), text("ts"))) else {
            return json!({"ok": false, "error": "message_not_found"});
        };
        message.show(body);
        message.n_edits += 1;
        json!({"ok": true, "channel": message.channel, "ts": message.ts, "text": message.text})
    }
}

impl Shown {
    fn show(&mut self, body: &Value) {
        self.text = body["text"].as_str().unwrap_or_default().to_owned();
        self.blocks = body["blocks"].clone();
        let blocks = self.blocks.as_array().into_iter().flatten().filter(|block| block["type"] == "actions");
        let elements = blocks.flat_map(|block| block["elements"].as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.buttons = elements.map(|button| (text(&button["text"]["text"]), text(&button["value"]))).collect();
    }
}

async fn call(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: String) -> axum::Json<Value> {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let mut books = shared.lock();
    let path = uri.path().trim_start_matches('/').to_owned();
    books.asked.push(Asked { call: format!("{method} /{path}"), body: body.clone() });
    if let Some(at) = books.failing.iter().position(|(failing, _)| *failing == path) {
        return axum::Json(books.failing.remove(at).1);
    }
    axum::Json(match path.split('/').collect::<Vec<_>>().as_slice() {
        ["apps.connections.open"] => {
            books.n_opened += 1;
            json!({"ok": true, "url": format!("ws://127.0.0.1:{}/link/?ticket={}", books.socket_port, books.n_opened)})
        }
        ["chat.postMessage"] => books.post(&body),
        ["chat.update"] => books.update(&body),
        ["actions", _, press, _] => {
            books.told.entry((*press).to_owned()).or_default().push(body);
            json!({"ok": true})
        }
        _ => json!({"ok": false, "error": "unknown_method"}),
    })
}

fn envelope(id: &str, kind: &str, payload: Value) -> Value {
    json!({"envelope_id": id, "type": kind, "accepts_response_payload": false, "payload": payload})
}

#[expect(clippy::disallowed_methods, reason = "a person's client waits in real time")]
fn now() -> Instant {
    Instant::now()
}

//! Discord on the loopback: a bot's messages, interactions, and the gateway with its sessions.
//!
//! A session keeps what happened after its client was cut off, and gives it to a client that resumes. An interaction must be
//! answered within three seconds; else its token is void, and the person sees that it failed and may press again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::routing::any;
use serde_json::{Value, json};

use super::socket::{Out, Sockets, ToClient, serve};
use super::{Asked, Local, moment};

/// How long a person's client waits for an answer.
const PRESS_WAITS: Duration = Duration::from_secs(3);
/// The application's id.
pub const APPLICATION: u64 = 300_000_000_000_000_001;
/// The bot's own user id.
pub const BOT: u64 = 300_000_000_000_000_002;
/// How often a client shall beat, in milliseconds: often, so that a dead connection is noticed soon.
const BEAT_MILLIS: u64 = 500;

/// A person who uses Discord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// Their user id.
    pub id: u64,
    /// Their name.
    pub name: &'static str,
}

/// A message as its channel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The channel's id.
    pub channel: u64,
    /// The message's id.
    pub id: u64,
    /// The text, with its markup.
    pub content: String,
    /// Label and value of each button.
    pub buttons: Vec<(String, String)>,
    /// How often it was edited.
    pub n_edits: usize,
}

/// What became of a press.
#[derive(Debug, Clone, PartialEq)]
pub enum Pressed {
    /// The client waits.
    Waits,
    /// The bot has answered with this callback.
    Answered(Value),
    /// The person saw that it failed.
    Failed,
}

/// A running server.
pub struct Discord {
    http: Local,
    sockets: Local,
    shared: Arc<Shared>,
}

struct Shared {
    token: String,
    state: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    asked: Vec<Asked>,
    /// Where clients resume: at the gateway, or at a proxy before it.
    resume_port: u16,
    messages: BTreeMap<(u64, u64), Shown>,
    /// Channels of people's own messages, and whose they are.
    dms: BTreeMap<u64, u64>,
    n_ids: u64,
    links: BTreeMap<u64, Link>,
    sessions: BTreeMap<String, Session>,
    n_resumed: usize,
    presses: BTreeMap<u64, Press>,
    /// Clients hear nothing after their hello: no beat of theirs is answered.
    is_deaf: bool,
    failing: Vec<(String, u16, Value)>,
}

struct Link {
    client: ToClient,
    session: Option<String>,
}

#[derive(Default)]
struct Session {
    link: Option<u64>,
    events: Vec<Value>,
}

struct Press {
    token: String,
    /// The message that was pressed on.
    message: (u64, u64),
    at: Instant,
    pressed: Pressed,
}

impl Discord {
    /// Starts it for the bot that has `token`.
    pub fn start(token: &str) -> Self {
        let shared = Arc::new(Shared { token: token.to_owned(), state: Mutex::default() });
        let router = Router::new().fallback(any(call)).with_state(Arc::clone(&shared));
        let for_sockets = Arc::clone(&shared);
        let sockets = Local::start(move |listener| serve(listener, for_sockets));
        shared.lock().resume_port = sockets.port;
        Self { http: Local::http(router), sockets, shared }
    }

    /// What a channel's `api_url` is set to.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.http.port)
    }

    /// The gateway's port.
    pub fn gateway_port(&self) -> u16 {
        self.sockets.port
    }

    /// What a channel's `gateway_url` is set to.
    pub fn gateway_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.sockets.port)
    }

    /// From now on clients are told to resume at this port: a proxy's.
    pub fn resume_at(&self, port: u16) {
        self.shared.lock().resume_port = port;
    }

    /// A person presses the button that has `label`; returns the interaction's id.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn press(&self, message: &Shown, label: &str, who: Person) -> u64 {
        let interaction = self.interaction(message, label, who);
        let id = interaction["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
        self.shared.lock().dispatch("INTERACTION_CREATE", &interaction);
        id
    }

    /// The interaction of a press, as a webhook gets it. Its three seconds begin now.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn interaction(&self, message: &Shown, label: &str, who: Person) -> Value {
        let mut books = self.shared.lock();
        let kept = books.messages.get(&(message.channel, message.id)).cloned();
        // A person may press what they saw before it was changed.
        let buttons = kept.filter(|kept| !kept.buttons.is_empty()).unwrap_or_else(|| message.clone()).buttons;
        let data = buttons.into_iter().find(|(text, _)| text == label).map(|(_, data)| data);
        let data = data.unwrap_or_else(|| panic!("no button {label} under {message:?}"));
        let id = books.id();
        let token = format!("interaction-token-{id}");
        let press =
            Press { token: token.clone(), message: (message.channel, message.id), at: now(), pressed: Pressed::Waits };
        books.presses.insert(id, press);
        let mut interaction = json!({
            "id": id.to_string(), "application_id": APPLICATION.to_string(), "type": 3, "token": token, "version": 1,
            "data": {"custom_id": data, "component_type": 2, "id": 2},
            "channel_id": message.channel.to_string(),
            "message": {
                "id": message.id.to_string(), "channel_id": message.channel.to_string(), "content": message.content,
            },
        });
        let user = json!({"id": who.id.to_string(), "username": who.name, "global_name": who.name});
        if books.dms.contains_key(&message.channel) {
            interaction["user"] = user;
        } else {
            interaction["guild_id"] = "300000000000000003".into();
            interaction["member"] = json!({"user": user, "nick": null, "roles": []});
        }
        interaction
    }

    /// A person writes in a channel; in a server the bot sees the words only where it is mentioned.
    pub fn write(&self, channel: u64, who: Person, text: &str, reply_to: Option<&Shown>) {
        let mut books = self.shared.lock();
        let id = books.id();
        let is_dm = books.dms.contains_key(&channel);
        let calls_bot = text.contains(&format!("<@{BOT}>"));
        let mut message = json!({
            "id": id.to_string(), "channel_id": channel.to_string(),
            "author": {"id": who.id.to_string(), "username": who.name, "global_name": who.name},
            "content": if is_dm || calls_bot { text } else { "" },
            "mentions": [], "timestamp": moment().to_string(),
        });
        if calls_bot {
            message["mentions"] = json!([{"id": BOT.to_string(), "username": "punctual", "bot": true}]);
        }
        if !is_dm {
            message["guild_id"] = "300000000000000003".into();
        }
        if let Some(quoted) = reply_to {
            let buttons: Vec<Value> = quoted
                .buttons
                .iter()
                .map(|(label, data)| json!({"type": 2, "style": 2, "label": label, "custom_id": data}))
                .collect();
            message["referenced_message"] = json!({
                "id": quoted.id.to_string(), "content": quoted.content, "components": [{"type": 1, "components": buttons}],
            });
        }
        books.dispatch("MESSAGE_CREATE", &message);
    }

    /// What became of a press.
    ///
    /// # Panics
    /// Where there was none.
    pub fn pressed(&self, press: u64) -> Pressed {
        let mut books = self.shared.lock();
        let press = books.presses.get_mut(&press).expect("a press of this server's");
        press.look();
        press.pressed.clone()
    }

    /// The bot's messages in a channel, oldest first.
    pub fn messages(&self, channel: u64) -> Vec<Shown> {
        self.shared.lock().messages.values().filter(|message| message.channel == channel).cloned().collect()
    }

    /// A message as it is shown now.
    ///
    /// # Panics
    /// Where there is none.
    pub fn message(&self, channel: u64, id: u64) -> Shown {
        self.shared.lock().messages.get(&(channel, id)).cloned().expect("a message of this server's")
    }

    /// The channel of a person's own messages, if the bot has opened it.
    pub fn dm(&self, user: u64) -> Option<u64> {
        self.shared.lock().dms.iter().find(|(_, whose)| **whose == user).map(|(channel, _)| *channel)
    }

    /// How many clients are connected with a session, how many sessions there were, and how often one was resumed.
    pub fn sessions(&self) -> (usize, usize, usize) {
        let books = self.shared.lock();
        let n_live = books.links.values().filter(|link| link.session.is_some()).count();
        (n_live, books.sessions.len(), books.n_resumed)
    }

    /// Forgets every session, as Discord does after some minutes.
    pub fn forget_sessions(&self) {
        let mut books = self.shared.lock();
        books.sessions.clear();
        books.links.values_mut().for_each(|link| link.session = None);
    }

    /// Tells every client to reconnect (op 7).
    pub fn reconnect(&self) {
        for link in self.shared.lock().links.values() {
            let _ = link.client.send(Out::Say(json!({"op": 7, "d": null})));
        }
    }

    /// Closes every client with `code`.
    pub fn close(&self, code: u16) {
        for link in self.shared.lock().links.values() {
            let _ = link.client.send(Out::Close(code));
        }
    }

    /// From now on no beat is answered, or each is again.
    pub fn set_deaf(&self, is_deaf: bool) {
        self.shared.lock().is_deaf = is_deaf;
    }

    /// The next request to `call`, such as `PATCH /channels/1/messages/2`, is answered with `status` and `body`, and does nothing.
    pub fn fail_next(&self, call: &str, status: u16, body: Value) {
        self.shared.lock().failing.push((call.to_owned(), status, body));
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

impl Press {
    fn look(&mut self) {
        if self.pressed == Pressed::Waits && now().duration_since(self.at) > PRESS_WAITS {
            self.pressed = Pressed::Failed;
        }
    }
}

impl Sockets for Shared {
    fn opened(&self, link: u64, _path: &str, client: ToClient) {
        let _ = client.send(Out::Say(json!({"op": 10, "d": {"heartbeat_interval": BEAT_MILLIS}})));
        self.lock().links.insert(link, Link { client, session: None });
    }

    fn heard(&self, link: u64, said: Value) {
        let mut books = self.lock();
        match said["op"].as_u64() {
            Some(1) if !books.is_deaf => books.say(link, json!({"op": 11})),
            Some(2 | 6) if said["d"]["token"] != format!("Bot {}", self.token) => books.close(link, 4004),
            Some(2) => books.identify(link),
            Some(6) => books.resume(link, &said["d"]),
            _ => {}
        }
    }

    fn closed(&self, link: u64, code: Option<u16>) {
        let mut books = self.lock();
        let session = books.links.remove(&link).and_then(|link| link.session);
        let Some(session) = session else { return };
        if matches!(code, Some(1000 | 1001)) {
            books.sessions.remove(&session);
        } else if let Some(session) = books.sessions.get_mut(&session) {
            session.link = session.link.filter(|live| *live != link);
        }
    }
}

impl Books {
    fn id(&mut self) -> u64 {
        self.n_ids += 1;
        400_000_000_000_000_000 + self.n_ids
    }

    fn say(&self, link: u64, said: Value) {
        if let Some(link) = self.links.get(&link) {
            let _ = link.client.send(Out::Say(said));
        }
    }

    fn close(&self, link: u64, code: u16) {
        if let Some(link) = self.links.get(&link) {
            let _ = link.client.send(Out::Close(code));
        }
    }

    fn identify(&mut self, link: u64) {
        let id = format!("session-{}", self.id());
        let ready = json!({"op": 0, "t": "READY", "s": 1, "d": {
            "v": 10, "session_id": id, "resume_gateway_url": format!("ws://127.0.0.1:{}", self.resume_port),
            "user": {"id": BOT.to_string(), "username": "punctual", "bot": true},
            "application": {"id": APPLICATION.to_string(), "flags": 0}, "guilds": [],
        }});
        self.say(link, ready.clone());
        self.sessions.insert(id.clone(), Session { link: Some(link), events: vec![ready] });
        if let Some(link) = self.links.get_mut(&link) {
            link.session = Some(id);
        }
    }

    fn resume(&mut self, link: u64, said: &Value) {
        let (id, after) = (said["session_id"].as_str().unwrap_or_default(), said["seq"].as_u64().unwrap_or_default());
        let Some(session) = self.sessions.get_mut(id) else { return self.say(link, json!({"op": 9, "d": false})) };
        let old = session.link.replace(link);
        let missed: Vec<Value> = session.events.iter().skip(after as usize).cloned().collect();
        let seq = session.events.len() + 1;
        let resumed = json!({"op": 0, "t": "RESUMED", "s": seq, "d": {}});
        session.events.push(resumed.clone());
        for event in missed.into_iter().chain([resumed]) {
            self.say(link, event);
        }
        if let Some(link) = self.links.get_mut(&link) {
            link.session = Some(id.to_owned());
        }
        if let Some(old) = old {
            // The session has one client: the newer.
            self.links.entry(old).and_modify(|link| link.session = None);
            self.close(old, 4000);
        }
        self.n_resumed += 1;
    }

    /// Every session hears of it: at once, or when its client resumes.
    fn dispatch(&mut self, kind: &str, data: &Value) {
        let mut live = Vec::new();
        for session in self.sessions.values_mut() {
            let event = json!({"op": 0, "t": kind, "s": session.events.len() + 1, "d": data});
            session.events.push(event.clone());
            live.extend(session.link.map(|link| (link, event)));
        }
        for (link, event) in live {
            self.say(link, event);
        }
    }

    fn post(&mut self, channel: u64, body: &Value) -> Value {
        let id = self.id();
        let mut message = Shown { channel, id, content: String::new(), buttons: Vec::new(), n_edits: 0 };
        message.show(body);
        self.messages.insert((channel, id), message);
        json!({"id": id.to_string(), "channel_id": channel.to_string()})
    }

    fn edit(&mut self, key: (u64, u64), body: &Value) -> (u16, Value) {
        let Some(message) = self.messages.get_mut(&key) else {
            return (404, json!({"message": "Unknown Message", "code": 10008}));
        };
        message.show(body);
        message.n_edits += 1;
        (200, json!({"id": key.1.to_string(), "channel_id": key.0.to_string()}))
    }

    fn callback(&mut self, id: u64, token: &str, body: &Value) -> (u16, Value) {
        let unknown = (404, json!({"message": "Unknown interaction", "code": 10062}));
        let Some(press) = self.presses.get_mut(&id).filter(|press| press.token == token) else { return unknown };
        press.look();
        match press.pressed {
            Pressed::Failed => return unknown,
            Pressed::Answered(_) => {
                return (400, json!({"message": "Interaction has already been acknowledged.", "code": 40060}));
            }
            Pressed::Waits => press.pressed = Pressed::Answered(body.clone()),
        }
        let message = press.message;
        if body["type"] == 7 {
            self.edit(message, &body["data"]);
        }
        (204, Value::Null)
    }

    /// Edits the message that was pressed on, by the token of the press.
    fn edit_original(&mut self, token: &str, body: &Value) -> (u16, Value) {
        let press = self.presses.values().find(|press| press.token == token);
        let answered = press.filter(|press| matches!(press.pressed, Pressed::Answered(_)));
        match answered.map(|press| press.message) {
            Some(message) => self.edit(message, body),
            None => (404, json!({"message": "Unknown Webhook", "code": 10015})),
        }
    }
}

impl Shown {
    fn show(&mut self, body: &Value) {
        self.content = body["content"].as_str().unwrap_or_default().to_owned();
        let rows = body["components"].as_array().into_iter().flatten();
        let buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.buttons = buttons.map(|button| (text(&button["label"]), text(&button["custom_id"]))).collect();
    }
}

async fn call(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, axum::Json<Value>) {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let mut books = shared.lock();
    let call = format!("{method} {}", uri.path());
    books.asked.push(Asked { call: call.clone(), body: body.clone() });
    let is_bot = headers.get("authorization").is_some_and(|value| *value == format!("Bot {}", shared.token));
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    let parts: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
    let (status, said) = if let Some(at) = books.failing.iter().position(|(failing, ..)| *failing == call) {
        let (_, status, said) = books.failing.remove(at);
        (status, said)
    } else {
        match (method.as_str(), parts.as_slice()) {
            ("POST", ["interactions", id, token, "callback"]) => books.callback(number(id), token, &body),
            ("PATCH", ["webhooks", _, token, "messages", "@original"]) => books.edit_original(token, &body),
            ("POST", ["webhooks", id, _]) => (200, books.post(number(id), &body)),
            ("PATCH", ["webhooks", id, _, "messages", message]) => books.edit((number(id), number(message)), &body),
            _ if !is_bot => (401, json!({"message": "401: Unauthorized", "code": 0})),
            ("POST", ["channels", channel, "messages"]) => (200, books.post(number(channel), &body)),
            ("PATCH", ["channels", channel, "messages", id]) => books.edit((number(channel), number(id)), &body),
            ("POST", ["users", "@me", "channels"]) => {
                let user = number(body["recipient_id"].as_str().unwrap_or_default());
                let known = books.dms.iter().find(|(_, whose)| **whose == user).map(|(channel, _)| *channel);
                let channel = known.unwrap_or_else(|| books.id());
                books.dms.insert(channel, user);
                (200, json!({"id": channel.to_string(), "type": 1}))
            }
            _ => (404, json!({"message": "404: Not Found", "code": 0})),
        }
    };
    (StatusCode::from_u16(status).expect("a status of Discord's"), axum::Json(said))
}

#[expect(clippy::disallowed_methods, reason = "a person's client waits in real time")]
fn now() -> Instant {
    Instant::now()
}

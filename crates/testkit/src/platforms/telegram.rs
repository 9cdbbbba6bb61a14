//! Telegram on the loopback: a bot's messages, long polling and its webhook.
//!
//! Updates wait until a later `getUpdates` has a higher offset, or until a test delivers them to the webhook. Of two polls at once
//! the older is ended with 409, and so is every poll while a webhook is set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::any;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Asked, Local, second};

/// How many updates one poll gets where it does not say.
const LIMIT: usize = 100;

/// A person who uses Telegram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// Their number, which is also the number of their chat with the bot.
    pub id: i64,
    /// Their first name.
    pub name: &'static str,
}

/// A message as its chat shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The chat.
    pub chat: i64,
    /// The message's number in the chat.
    pub id: i64,
    /// The text, with its markup.
    pub text: String,
    /// Label and value of each button.
    pub buttons: Vec<(String, String)>,
    /// How often it was edited.
    pub n_edits: usize,
}

/// The webhook that the bot has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where updates go.
    pub url: String,
    /// The value of `X-Telegram-Bot-Api-Secret-Token`.
    pub secret: String,
}

/// A running server.
pub struct Telegram {
    local: Local,
    shared: Arc<Shared>,
}

struct Shared {
    token: String,
    state: Mutex<Books>,
    /// Something has changed that a poll may wait for.
    changed: Notify,
}

#[derive(Default)]
struct Books {
    asked: Vec<Asked>,
    messages: BTreeMap<(i64, i64), Shown>,
    n_messages: i64,
    updates: BTreeMap<i64, Value>,
    n_updates: i64,
    n_callbacks: usize,
    /// Callback queries, and what the bot answered.
    callbacks: BTreeMap<String, Option<Value>>,
    webhook: Option<Webhook>,
    /// Which poll is the latest.
    poll: u64,
    /// How many polls were ended with 409.
    n_conflicts: usize,
    /// The answers that methods give instead of their own.
    failing: Vec<(String, u16, Value)>,
}

impl Telegram {
    /// Starts it for the bot that has `token`.
    pub fn start(token: &str) -> Self {
        let shared = Arc::new(Shared { token: token.to_owned(), state: Mutex::default(), changed: Notify::new() });
        let router = Router::new().route("/{bot}/{method}", any(call)).with_state(Arc::clone(&shared));
        Self { local: Local::http(router), shared }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.local.port
    }

    /// What a channel's `api_url` is set to.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.local.port)
    }

    /// A person presses the button that has `label`; returns the query's id.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn press(&self, message: &Shown, label: &str, who: Person) -> String {
        let buttons = self.message(message.chat, message.id).buttons;
        let data = buttons.into_iter().find(|(text, _)| text == label).map(|(_, data)| data);
        let data = data.unwrap_or_else(|| panic!("no button {label} under {message:?}"));
        self.press_data(message, &data, who)
    }

    /// A person's old client presses a button that sends `data`, also where the message no longer shows it.
    pub fn press_data(&self, message: &Shown, data: &str, who: Person) -> String {
        let mut books = self.shared.lock();
        books.n_callbacks += 1;
        let id = format!("query-{}", books.n_callbacks);
        books.callbacks.insert(id.clone(), None);
        let kept = json!({
            "message_id": message.id, "date": 1, "chat": chat(message.chat), "text": message.text,
        });
        books.update(json!({"callback_query": {
            "id": id, "from": person(who), "message": kept, "chat_instance": "1", "data": data,
        }}));
        drop(books);
        self.shared.changed.notify_waiters();
        id
    }

    /// A person writes in a chat, perhaps as a reply; returns the message's number.
    pub fn write(&self, chat_id: i64, who: Person, text: &str, reply_to: Option<&Shown>) -> i64 {
        let mut books = self.shared.lock();
        books.n_messages += 1;
        let id = books.n_messages;
        let mut message =
            json!({"message_id": id, "from": person(who), "date": second(), "chat": chat(chat_id), "text": text});
        if let Some(quoted) = reply_to {
            message["reply_to_message"] = shown(quoted);
        }
        books.update(json!({ "message": message }));
        drop(books);
        self.shared.changed.notify_waiters();
        id
    }

    /// A message as it is shown now.
    ///
    /// # Panics
    /// Where there is none.
    pub fn message(&self, chat: i64, id: i64) -> Shown {
        self.shared.lock().messages.get(&(chat, id)).cloned().unwrap_or_else(|| panic!("no message {id} in {chat}"))
    }

    /// The bot's messages in a chat, oldest first.
    pub fn messages(&self, chat: i64) -> Vec<Shown> {
        self.shared.lock().messages.values().filter(|message| message.chat == chat).cloned().collect()
    }

    /// What the bot answered to a press: `text` and `show_alert`. None while the client still waits.
    pub fn answered(&self, query: &str) -> Option<Value> {
        self.shared.lock().callbacks.get(query).cloned().flatten()
    }

    /// How many updates the bot has not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.shared.lock().updates.len()
    }

    /// The updates that wait, oldest first: what the webhook would be sent.
    pub fn updates(&self) -> Vec<Value> {
        self.shared.lock().updates.values().cloned().collect()
    }

    /// The webhook has taken an update, so it is not sent again.
    pub fn delivered(&self, update: &Value) {
        self.shared.lock().updates.remove(&update["update_id"].as_i64().unwrap_or_default());
    }

    /// Lets updates get numbers from here on, as after a week without any.
    pub fn count_updates_from(&self, first: i64) {
        self.shared.lock().n_updates = first - 1;
    }

    /// The webhook that is set.
    pub fn webhook(&self) -> Option<Webhook> {
        self.shared.lock().webhook.clone()
    }

    /// Another program has set this webhook.
    pub fn set_webhook(&self, url: &str) {
        self.shared.lock().webhook = Some(Webhook { url: url.to_owned(), secret: String::new() });
        self.shared.changed.notify_waiters();
    }

    /// The next call of `method` is answered with `status` and `body`, and does nothing.
    pub fn fail_next(&self, method: &str, status: u16, body: Value) {
        self.shared.lock().failing.push((method.to_owned(), status, body));
    }

    /// How many polls were begun, and how many of them were ended with 409.
    pub fn polls(&self) -> (u64, usize) {
        let books = self.shared.lock();
        (books.poll, books.n_conflicts)
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

    async fn poll(&self, body: &Value) -> (StatusCode, Value) {
        let limit = body["limit"].as_u64().map_or(LIMIT, |limit| limit as usize);
        let mut ends = std::pin::pin!(pause(Duration::from_secs(body["timeout"].as_u64().unwrap_or_default())));
        let mine = {
            let mut books = self.lock();
            if let Some(offset) = body["offset"].as_i64() {
                books.updates.retain(|id, _| *id >= offset);
            }
            books.poll += 1;
            books.poll
        };
        self.changed.notify_waiters();
        loop {
            // Made before looking, so that no change between the look and the wait is missed.
            let changed = self.changed.notified();
            {
                let mut books = self.lock();
                let conflict = match (&books.webhook, books.poll == mine) {
                    (Some(_), _) => Some(
                        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
                    ),
                    (None, false) => Some(
                        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                    ),
                    _ => None,
                };
                if let Some(words) = conflict {
                    books.n_conflicts += 1;
                    return failed(409, words);
                }
                if !books.updates.is_empty() {
                    let some: Vec<_> = books.updates.values().take(limit).cloned().collect();
                    return ok(some.into());
                }
            }
            tokio::select! {
                () = changed => {}
                () = &mut ends => return ok(json!([])),
            }
        }
    }
}

impl Books {
    fn update(&mut self, mut update: Value) {
        self.n_updates += 1;
        update["update_id"] = self.n_updates.into();
        self.updates.insert(self.n_updates, update);
    }

    fn send(&mut self, body: &Value) -> (StatusCode, Value) {
        let Some(chat) = body["chat_id"].as_i64() else { return failed(400, "Bad Request: chat not found") };
        self.n_messages += 1;
        let mut message = Shown { chat, id: self.n_messages, text: String::new(), buttons: Vec::new(), n_edits: 0 };
        message.show(body);
        let said = shown(&message);
        self.messages.insert((chat, message.id), message);
        ok(said)
    }

    fn edit(&mut self, body: &Value) -> (StatusCode, Value) {
        let key = (body["chat_id"].as_i64().unwrap_or_default(), body["message_id"].as_i64().unwrap_or_default());
        let Some(message) = self.messages.get_mut(&key) else {
            return failed(400, "Bad Request: message to edit not found");
        };
        let mut changed = message.clone();
        changed.show(body);
        if changed == *message {
            return failed(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            );
        }
        changed.n_edits += 1;
        *message = changed;
        ok(shown(message))
    }

    fn answer(&mut self, body: &Value) -> (StatusCode, Value) {
        match self.callbacks.get_mut(body["callback_query_id"].as_str().unwrap_or_default()) {
            Some(answered) => {
                *answered = Some(body.clone());
                ok(true.into())
            }
            None => failed(400, "Bad Request: query is too old and response timeout expired or query ID is invalid"),
        }
    }
}

impl Shown {
    fn show(&mut self, body: &Value) {
        self.text = body["text"].as_str().unwrap_or_default().to_owned();
        let rows = body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
        let buttons = rows.flat_map(|row| row.as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.buttons = buttons.map(|button| (text(&button["text"]), text(&button["callback_data"]))).collect();
    }
}

async fn call(
    State(shared): State<Arc<Shared>>,
    Path((bot, method)): Path<(String, String)>,
    body: String,
) -> (StatusCode, axum::Json<Value>) {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    if bot.strip_prefix("bot") != Some(&shared.token) {
        let (status, said) = failed(401, "Unauthorized");
        return (status, axum::Json(said));
    }
    let told = {
        let mut books = shared.lock();
        books.asked.push(Asked { call: method.clone(), body: body.clone() });
        let at = books.failing.iter().position(|(failing, ..)| *failing == method);
        at.map(|at| books.failing.remove(at))
    };
    let (status, said) = match (told, method.as_str()) {
        (Some((_, status, said)), _) => (StatusCode::from_u16(status).expect("a status of a test"), said),
        (None, "getUpdates") => shared.poll(&body).await,
        (None, "sendMessage") => shared.lock().send(&body),
        (None, "editMessageText") => shared.lock().edit(&body),
        (None, "answerCallbackQuery") => shared.lock().answer(&body),
        (None, "setWebhook") => {
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            shared.lock().webhook = Some(Webhook { url: text("url"), secret: text("secret_token") });
            shared.changed.notify_waiters();
            ok(true.into())
        }
        (None, "deleteWebhook") => {
            shared.lock().webhook = None;
            ok(true.into())
        }
        (None, "getWebhookInfo") => {
            let url = shared.lock().webhook.as_ref().map(|webhook| webhook.url.clone()).unwrap_or_default();
            ok(json!({"url": url, "has_custom_certificate": false, "pending_update_count": 0}))
        }
        _ => failed(404, "Not Found"),
    };
    (status, axum::Json(said))
}

#[expect(clippy::disallowed_methods, reason = "the program that polls is real, and so is its time")]
async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

fn ok(result: Value) -> (StatusCode, Value) {
    (StatusCode::OK, json!({"ok": true, "result": result}))
}

fn failed(code: u16, words: &str) -> (StatusCode, Value) {
    let status = StatusCode::from_u16(code).expect("a status of Telegram's");
    (status, json!({"ok": false, "error_code": code, "description": words}))
}

fn person(who: Person) -> Value {
    json!({"id": who.id, "is_bot": false, "first_name": who.name})
}

fn chat(id: i64) -> Value {
    json!({"id": id, "type": if id > 0 { "private" } else { "supergroup" }})
}

fn shown(message: &Shown) -> Value {
    let rows: Vec<Value> =
        message.buttons.iter().map(|(label, data)| json!([{"text": label, "callback_data": data}])).collect();
    let mut value = json!({"message_id": message.id, "date": 1, "chat": chat(message.chat), "text": message.text});
    if !rows.is_empty() {
        value["reply_markup"] = json!({"inline_keyboard": rows});
    }
    value
}

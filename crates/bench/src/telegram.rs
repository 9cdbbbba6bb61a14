//! A platform on this machine that looks like Telegram: people's presses wait until the bot asks for them, or go to its webhook.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::Json;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::any;
use jiff::SignedDuration;
use punctual_channels::common::buttons;
use punctual_core::answer::{Pressed, Verb};
use punctual_core::clock::Clock;
use punctual_core::id::OccurrenceId;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// The bot's token: no secret, because its platform is this process.
pub(super) const TOKEN: &str = "123456789:AAE-token_of_the_bench";
/// How many updates one question gets at most.
const UPDATES_MAX: usize = 100;

/// The running platform. It ends with the process.
pub(super) struct Telegram {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    /// How long each press took until its person was told.
    pub(super) told: mpsc::UnboundedReceiver<SignedDuration>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    books: Mutex<Books>,
    /// A person has pressed something.
    pressed: Notify,
    told: mpsc::UnboundedSender<SignedDuration>,
    /// The secret of the bot's webhook, once it has set one.
    secret: watch::Sender<Option<String>>,
    /// Whether the bot asks for updates.
    asks: watch::Sender<bool>,
}

#[derive(Default)]
struct Books {
    updates: BTreeMap<i64, Value>,
    n_updates: i64,
    /// When each query was pressed, by the clock's running time.
    pressed_at: HashMap<String, Duration>,
}

impl Telegram {
    /// Starts it on a thread of its own, on a free port.
    pub(super) async fn start(clock: &Arc<dyn Clock>) -> anyhow::Result<Self> {
        let (sender, told) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            clock: Arc::clone(clock),
            books: Mutex::default(),
            pressed: Notify::new(),
            told: sender,
            secret: watch::Sender::new(None),
            asks: watch::Sender::new(false),
        });
        let router = Router::new().route("/{bot}/{method}", any(call)).with_state(Arc::clone(&shared));
        let (ready, listens) = oneshot::channel();
        std::thread::spawn(move || serve(router, ready));
        let address = listens.await.context("the platform did not start")??;
        Ok(Self { address, shared, told })
    }

    /// A person presses Done under the message of a run, which went to their chat.
    pub(super) fn press(&self, run: OccurrenceId, chat: i64) {
        let mut books = self.shared.lock();
        let (number, update) = books.update(run, chat);
        let query = update["callback_query"]["id"].as_str().unwrap_or_default().to_owned();
        books.updates.insert(number, update);
        books.pressed_at.insert(query, self.shared.clock.run_for());
        drop(books);
        self.shared.pressed.notify_one();
    }

    /// The same as a request to the bot's webhook has it.
    pub(super) fn pressed(&self, run: OccurrenceId, chat: i64) -> Value {
        self.shared.lock().update(run, chat).1
    }

    /// Waits until the bot has set its webhook; returns its secret.
    pub(super) async fn secret(&self) -> anyhow::Result<String> {
        let mut secret = self.shared.secret.subscribe();
        let set = secret.wait_for(Option::is_some).await.context("the platform ended early")?;
        Ok(set.clone().unwrap_or_default())
    }

    /// Waits until the bot asks for updates.
    pub(super) async fn asked(&self) -> anyhow::Result<()> {
        self.shared.asks.subscribe().wait_for(|asks| *asks).await.context("the platform ended early")?;
        Ok(())
    }
}

fn serve(router: Router, ready: oneshot::Sender<anyhow::Result<SocketAddr>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listening = async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            anyhow::Ok((listener, address))
        };
        match listening.await {
            Ok((listener, address)) => {
                // The bench may have been given up.
                let _ = ready.send(Ok(address));
                axum::serve(listener, router).await?;
            }
            Err(error) => drop(ready.send(Err(error))),
        }
        Ok(())
    })
}

impl Books {
    fn update(&mut self, run: OccurrenceId, chat: i64) -> (i64, Value) {
        self.n_updates += 1;
        let number = self.n_updates;
        let query = json!({
            "id": format!("query-{number}"),
            "from": { "id": chat, "is_bot": false, "first_name": "Ann" },
            "message": { "message_id": 1, "date": 1, "chat": { "id": chat, "type": "private" } },
            "chat_instance": "1",
            "data": buttons::data(Pressed::new(Verb::Ack, run)),
        });
        (number, json!({ "update_id": number, "callback_query": query }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a question until somebody presses something, or until it is over.
    async fn updates(&self, body: &Value) -> Value {
        let mut over = self.clock.pause(Duration::from_secs(body["timeout"].as_u64().unwrap_or_default()));
        if let Some(offset) = body["offset"].as_i64() {
            self.lock().updates.retain(|number, _| *number >= offset);
        }
        if body["timeout"].as_u64() > Some(0) {
            self.asks.send_replace(true);
        }
        loop {
            let updates: Vec<Value> = self.lock().updates.values().take(UPDATES_MAX).cloned().collect();
            if !updates.is_empty() {
                return updates.into();
            }
            tokio::select! { biased;
                () = self.pressed.notified() => {}
                () = &mut over => return json!([]),
            }
        }
    }
}

async fn call(
    State(shared): State<Arc<Shared>>,
    Path((_, method)): Path<(String, String)>,
    body: String,
) -> Json<Value> {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let result = match method.as_str() {
        "getUpdates" => shared.updates(&body).await,
        "setWebhook" => {
            shared.secret.send_replace(body["secret_token"].as_str().map(str::to_owned));
            true.into()
        }
        "answerCallbackQuery" => {
            let pressed_at = shared.lock().pressed_at.remove(body["callback_query_id"].as_str().unwrap_or_default());
            if let Some(pressed_at) = pressed_at {
                let took = shared.clock.run_for().saturating_sub(pressed_at);
                // The bench may have been given up.
                let _ = shared.told.send(SignedDuration::try_from(took).unwrap_or(SignedDuration::MAX));
            }
            true.into()
        }
        // A message that shows what became of it.
        "editMessageText" => json!({ "message_id": 1, "date": 1, "chat": { "id": 1, "type": "private" } }),
        _ => true.into(),
    };
    Json(json!({ "ok": true, "result": result }))
}

//! Where their messages arrive: one receiver in the test's own process, whose clock is the database's clock as well.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use serde_json::Value;
use tokio::sync::watch;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) key: String,
    pub(crate) reminder: String,
    pub(crate) due_at: Timestamp,
    pub(crate) at: Timestamp,
    /// When the node says that it sent it, in whole seconds.
    pub(crate) sent_at: Timestamp,
}

impl Arrival {
    pub(crate) fn late(&self) -> SignedDuration {
        self.at.duration_since(self.due_at)
    }
}

/// A receiver. It answers `/hook` at once, and `/gate` when the gate is open.
pub(crate) struct Receiver {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    arrivals: Mutex<Vec<Arrival>>,
    is_open: watch::Sender<bool>,
    /// How many have come, for those who wait.
    count: watch::Sender<usize>,
}

impl Receiver {
    pub(crate) async fn listen() -> Self {
        let shared = Arc::new(Shared {
            arrivals: Mutex::default(),
            is_open: watch::Sender::new(false),
            count: watch::Sender::new(0),
        });
        let app = Router::new().route("/hook", post(hook)).route("/gate", post(gate)).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, shared }
    }

    /// Where everything is answered at once.
    pub(crate) fn hook(&self) -> String {
        format!("{}/hook", self.url)
    }

    /// Where nothing is answered before the gate is open.
    pub(crate) fn gate(&self) -> String {
        format!("{}/gate", self.url)
    }

    pub(crate) fn open_gate(&self) {
        self.shared.is_open.send_replace(true);
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.shared.lock().clone()
    }

    /// Waits until `enough` says so of all that has come; the caller sees to a deadline.
    pub(crate) async fn until(&self, enough: impl Fn(&[Arrival]) -> bool) {
        let mut count = self.shared.count.subscribe();
        // The sender lives as long as this receiver.
        while !enough(&self.shared.lock()) {
            let _ = count.changed().await;
        }
    }

    /// Waits until each of these reminders has come at least once.
    pub(crate) async fn until_all(&self, reminders: impl IntoIterator<Item = &String>) {
        let mut missing: HashSet<String> = reminders.into_iter().cloned().collect();
        let mut count = self.shared.count.subscribe();
        let mut n_seen = 0;
        loop {
            {
                let arrivals = self.shared.lock();
                for arrival in &arrivals[n_seen..] {
                    missing.remove(&arrival.reminder);
                }
                n_seen = arrivals.len();
            }
            if missing.is_empty() {
                return;
            }
            let _ = count.changed().await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, headers: &HeaderMap, body: &str) -> StatusCode {
        let at = SystemClock::read();
        let event: Value = serde_json::from_str(body).unwrap();
        let text = |name: &str| event["data"][name].as_str().unwrap().to_owned();
        let key = headers["webhook-id"].to_str().unwrap().to_owned();
        assert_eq!(headers["idempotency-key"].to_str().unwrap(), key);
        let due_at = text("due_at").parse().unwrap();
        let sent_at = headers["webhook-timestamp"].to_str().unwrap().parse().unwrap();
        let sent_at = Timestamp::from_second(sent_at).unwrap();
        let mut arrivals = self.lock();
        arrivals.push(Arrival { key, reminder: text("reminder_id"), due_at, at, sent_at });
        let n_arrivals = arrivals.len();
        drop(arrivals);
        self.count.send_replace(n_arrivals);
        StatusCode::NO_CONTENT
    }
}

async fn hook(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> StatusCode {
    shared.take(&headers, &body)
}

async fn gate(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> StatusCode {
    let status = shared.take(&headers, &body);
    let mut is_open = shared.is_open.subscribe();
    let _ = is_open.wait_for(|is_open| *is_open).await;
    status
}

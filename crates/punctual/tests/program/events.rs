//! A reader of server-sent events.

use reqwest::Method;
use serde_json::Value;

use crate::common::{Server, answer, soon};

/// An open stream of the journal.
pub(crate) struct Events {
    response: reqwest::Response,
    rest: String,
    /// The last position that the server has named.
    pub(crate) last_id: Option<i64>,
}

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: Option<i64>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events {
    /// Opens a stream with the admin's key.
    pub(crate) async fn open(server: &Server, query: &str, last_id: Option<i64>) -> Self {
        Self::open_with(server, &server.key, query, last_id).await
    }

    /// Opens a stream, which has begun when this returns.
    pub(crate) async fn open_with(server: &Server, key: &str, query: &str, last_id: Option<i64>) -> Self {
        let mut request = server.request(Method::GET, &format!("/v1/stream{query}")).bearer_auth(key);
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = soon(request.send()).await.unwrap();
        if response.status() != 200 {
            panic!("{:?}", answer(response).await);
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut this = Self { response, rest: String::new(), last_id: None };
        while this.last_id.is_none() {
            assert!(this.more().await, "a stream begins with its position");
            this.take();
        }
        this
    }

    /// The next event; `None`: the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The next event, which is an entry.
    pub(crate) async fn entry(&mut self) -> Event {
        let event = self.next().await.expect("an entry comes");
        assert!(event.id.is_some() && event.data["kind"] == event.name, "{event:?}");
        event
    }

    /// Reads on; returns whether anything came.
    async fn more(&mut self) -> bool {
        match soon(self.response.chunk()).await {
            Ok(Some(chunk)) => {
                self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// The next whole event of what was read.
    fn take(&mut self) -> Option<Event> {
        while let Some(end) = self.rest.find("\n\n") {
            let block: String = self.rest.drain(..end + 2).collect();
            let field = |name: &str| {
                let lines: Vec<&str> =
                    block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect();
                (!lines.is_empty()).then(|| lines.join("\n"))
            };
            let id = field("id").map(|id| id.parse().unwrap());
            self.last_id = id.or(self.last_id);
            if let Some(data) = field("data") {
                let data = serde_json::from_str(&data).unwrap();
                return Some(Event { id, name: field("event").unwrap_or_default(), data });
            }
        }
        None
    }
}

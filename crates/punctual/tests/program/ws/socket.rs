//! A client of the WebSocket.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Uri, header};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_websockets::upgrade::Error as Upgrade;
use tokio_websockets::{ClientBuilder, CloseCode, Error, Message, WebSocketStream};

use crate::common::{Server, soon, within};

/// An open WebSocket.
pub(crate) struct Socket {
    frames: WebSocketStream<TcpStream>,
    last_id: i64,
    /// Notifications that came while an answer was awaited.
    notifications: Vec<Value>,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Came {
    Message(Value),
    Close(u16, String),
    /// The connection has ended without a word.
    Nothing,
}

/// Opens a connection with these headers; the status that refuses it.
pub(crate) async fn open(
    server: &Server,
    headers: &[(HeaderName, &str)],
    receive_bytes: Option<u32>,
) -> Result<WebSocketStream<TcpStream>, u16> {
    let address: SocketAddr = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    if let Some(bytes) = receive_bytes {
        socket.set_recv_buffer_size(bytes).unwrap();
    }
    let stream = soon(socket.connect(address)).await.unwrap();
    let uri: Uri = format!("ws://{address}/v1/ws").parse().unwrap();
    let mut builder = ClientBuilder::from_uri(uri);
    for (name, value) in headers {
        builder = builder.add_header(name.clone(), HeaderValue::from_str(value).unwrap()).unwrap();
    }
    match soon(builder.connect_on(stream)).await {
        Ok((frames, _)) => Ok(frames),
        Err(Error::Upgrade(Upgrade::DidNotSwitchProtocols(status))) => Err(status),
        Err(error) => panic!("{error}"),
    }
}

impl Socket {
    /// Opens a connection with the admin's key.
    pub(crate) async fn open(server: &Server) -> Self {
        Self::open_with(server, &server.key).await
    }

    pub(crate) async fn open_with(server: &Server, key: &str) -> Self {
        let authorization = format!("Bearer {key}");
        Self::of(open(server, &[(header::AUTHORIZATION, authorization.as_str())], None).await.unwrap())
    }

    pub(crate) fn of(frames: WebSocketStream<TcpStream>) -> Self {
        Self { frames, last_id: 0, notifications: Vec::new() }
    }

    pub(crate) async fn send(&mut self, message: Message) {
        soon(self.frames.send(message)).await.unwrap();
    }

    pub(crate) async fn text(&mut self, text: impl ToString) {
        self.send(Message::text(text.to_string())).await;
    }

    /// What comes next, but pings.
    pub(crate) async fn next(&mut self) -> Came {
        self.next_within(Duration::from_secs(30)).await
    }

    pub(crate) async fn next_within(&mut self, span: Duration) -> Came {
        loop {
            match within(span, self.frames.next()).await {
                Some(Ok(message)) if message.is_text() => {
                    return Came::Message(serde_json::from_str(message.as_text().unwrap()).unwrap());
                }
                Some(Ok(message)) if message.is_close() => {
                    let (code, reason) = message.as_close().unwrap();
                    return Came::Close(code.into(), reason.to_owned());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Came::Nothing,
            }
        }
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        match self.next().await {
            Came::Message(message) => message,
            came => panic!("no message but {came:?}"),
        }
    }

    /// The code and the reason with which the server ends the connection, after the messages that come before it.
    pub(crate) async fn ended(&mut self) -> (u16, String, Vec<Value>) {
        let mut messages = std::mem::take(&mut self.notifications);
        loop {
            match self.next().await {
                Came::Message(message) => messages.push(message),
                Came::Close(code, reason) => {
                    // The server ends the connection when it knows that this was heard.
                    while !matches!(self.next().await, Came::Nothing) {}
                    return (code, reason, messages);
                }
                Came::Nothing => panic!("it ended without a word, after {messages:?}"),
            }
        }
    }

    /// Calls a method; returns the whole answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.text(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let message = self.message().await;
            if message["id"] == id {
                assert_eq!(message["jsonrpc"], "2.0");
                return message;
            }
            assert!(message["method"].is_string(), "{message}");
            self.notifications.push(message);
        }
    }

    /// Calls a method that must succeed.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Calls a method that must be refused.
    pub(crate) async fn error(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].take()
    }

    /// The next notification.
    pub(crate) async fn notification(&mut self) -> Value {
        match self.notifications.is_empty() {
            true => self.message().await,
            false => self.notifications.remove(0),
        }
    }

    /// The next entry of the journal, but for the positions in between.
    pub(crate) async fn entry(&mut self) -> Value {
        loop {
            let mut notification = self.notification().await;
            match notification["method"].as_str() {
                Some("journal.entry") => return notification["params"].take(),
                Some("journal.position") => {}
                _ => panic!("no entry but {notification}"),
            }
        }
    }

    /// Closes in order.
    pub(crate) async fn close(mut self) {
        self.send(Message::close(Some(CloseCode::NORMAL_CLOSURE), "")).await;
        while !matches!(self.next().await, Came::Nothing) {}
    }
}

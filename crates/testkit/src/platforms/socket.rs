//! WebSockets of a platform: each is read by the platform and written to from anywhere.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_websockets::{CloseCode, Message, ServerBuilder, WebSocketStream};

/// What goes out to one client.
#[derive(Debug)]
pub(super) enum Out {
    /// A message.
    Say(Value),
    /// The end, with a code.
    Close(u16),
}

/// Writes to one client. Nothing happens when the client is gone.
pub(super) type ToClient = mpsc::UnboundedSender<Out>;

/// What a platform does with its sockets.
pub(super) trait Sockets: Send + Sync + 'static {
    /// A client has connected, with this path and query; `link` is its number.
    fn opened(&self, link: u64, path: &str, client: ToClient);

    /// A client has said something.
    fn heard(&self, link: u64, said: Value);

    /// A client is gone; with the code that it closed with, if it did.
    fn closed(&self, link: u64, code: Option<u16>);
}

/// Takes clients for as long as it is polled.
pub(super) async fn serve(listener: TcpListener, sockets: Arc<impl Sockets>) {
    let mut n_links = 0;
    loop {
        // A failure here is one connection's, not the listener's.
        let Ok((stream, _)) = listener.accept().await else { continue };
        n_links += 1;
        tokio::spawn(one(n_links, stream, Arc::clone(&sockets)));
    }
}

async fn one(link: u64, stream: TcpStream, sockets: Arc<impl Sockets>) {
    let _ = stream.set_nodelay(true);
    let Ok((request, mut socket)) = ServerBuilder::new().accept(stream).await else { return };
    let (client, mut out) = mpsc::unbounded_channel();
    let path = request.uri().path_and_query().map(|path| path.to_string()).unwrap_or_default();
    sockets.opened(link, &path, client);
    let code = talk(link, &mut socket, &mut out, &*sockets).await;
    sockets.closed(link, code);
}

async fn talk(
    link: u64,
    socket: &mut WebSocketStream<TcpStream>,
    out: &mut mpsc::UnboundedReceiver<Out>,
    sockets: &impl Sockets,
) -> Option<u16> {
    loop {
        tokio::select! {
            heard = socket.next() => {
                let message = heard?.ok()?;
                if let Some((code, _)) = message.as_close() {
                    return Some(code.into());
                }
                // Pings are answered by the library.
                if let Some(text) = message.as_text() {
                    sockets.heard(link, serde_json::from_str(text).unwrap_or_default());
                }
            }
            said = out.recv() => match said? {
                Out::Say(value) => socket.send(Message::text(value.to_string())).await.ok()?,
                Out::Close(code) => {
                    let code = CloseCode::try_from(code).expect("a close code of a test");
                    let _ = socket.send(Message::close(Some(code), "")).await;
                    return None;
                }
            },
        }
    }
}

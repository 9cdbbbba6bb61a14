//! A client that is not punctual: a connection of its own, and an ear for notifications.

use std::future::poll_fn;

use punctual_engine::machine;
use punctual_store::postgres::PostgresStore;
use punctual_testkit::servers::Postgres;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls};

/// The last notification of a test, so that it does not wait for one that does not come.
const END: &str = "end";

/// A connection, and what it is notified of.
pub(crate) struct Listener {
    pub(crate) client: Client,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Listener {
    pub(crate) async fn connect(url: &str) -> Self {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
        let (sender, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(told) = message {
                    // A test that has ended listens no more.
                    let _ = sender.send(told.payload().to_owned());
                }
            }
        });
        client.batch_execute("listen punctual").await.expect("it can listen");
        Self { client, heard }
    }

    /// The notifications since the last time. They come in the order of their commits, so all that was committed
    /// before comes before the end that is sent here.
    pub(crate) async fn told(&mut self) -> Vec<String> {
        self.client.batch_execute(&format!("notify punctual, '{END}'")).await.expect("the server is there");
        let mut told = Vec::new();
        loop {
            match self.heard.recv().await.expect("the connection lives") {
                payload if payload == END => return told,
                payload => told.push(payload),
            }
        }
    }
}

/// A new database with the schema in it, and its name.
pub(crate) async fn database(server: &Postgres) -> (PostgresStore, String) {
    let name = server.new_database(None);
    let store = PostgresStore::open(&server.url(&name), &machine()).await.expect("the database can be used");
    (store, name)
}

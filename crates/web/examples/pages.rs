//! The pages alone, before a server that runs elsewhere: for writing pages without building the server.
//!
//! `PUNCTUAL_URL=http://127.0.0.1:7373 PUNCTUAL_API_KEY=… cargo run -p punctual-web --example pages` serves them on port 7374 with the
//! rights of the key, whoever asks: it listens on the loopback only, signs nobody in, and is told nothing live.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::Request;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use punctual_client::Client;
use punctual_web::{Begun, House, NoEntry, Proof};

struct Elsewhere(Client);

#[async_trait]
impl House for Elsewhere {
    #[expect(clippy::disallowed_methods, reason = "there is no engine here whose clock could be asked")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn cookie(&self) -> &str {
        "punctual-pages"
    }

    fn is_secure(&self) -> bool {
        false
    }

    fn client(&self, _: &str) -> Client {
        self.0.clone()
    }

    fn peer(&self, _: &Extensions) -> Option<IpAddr> {
        None
    }

    async fn begin(&self, _: Proof<'_>, _: Option<IpAddr>) -> Result<Begun, NoEntry> {
        Ok(Begun { session: "anybody".into(), lasts: SignedDuration::from_hours(1) })
    }

    async fn end(&self, _: &str, _: bool) -> Result<(), NoEntry> {
        Ok(())
    }

    async fn turn(&self) {}

    async fn stream(&self, _: &str, _: &str, _: Request) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("PUNCTUAL_URL").unwrap_or_else(|_| punctual_client::DEFAULT_URL.into());
    let client = Client::new(&url, std::env::var("PUNCTUAL_API_KEY").ok().as_deref())?;
    let port = std::env::var("PAGES_PORT").unwrap_or_else(|_| "7374".into());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("sign in: http://{}/sign-in?link=anybody", listener.local_addr()?);
    axum::serve(listener, punctual_web::router(Arc::new(Elsewhere(client)))).await?;
    Ok(())
}

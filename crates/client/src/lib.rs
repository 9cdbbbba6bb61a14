//! A typed client for [punctual](https://crates.io/crates/punctual), a reminder scheduler and delivery engine.
//!
//! ```no_run
//! use punctual_client::Client;
//! use punctual_client::wire::{Answer, ReminderInput, StreamQuery, UserQuery};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:7373", Some("pk_…"))?;
//!
//! let asked = ReminderInput { text: Some("call mom tomorrow at 8".into()), ..ReminderInput::default() };
//! let reminder = client.create(&asked).await?;
//! println!("{}: {}", reminder.message, reminder.summary);
//!
//! let mut stream = client.stream(&StreamQuery::default(), None).await?;
//! while let Some(event) = stream.next().await? {
//!     println!("{} {}", event.name, event.data);
//!     if event.name == "reminder.sent" {
//!         client.answer(&reminder.id, "ack", &UserQuery::default(), &Answer::default()).await?;
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every route of the API that programs call has a function; [`wire`] has the types of their requests and answers. A server that refuses says why:
//! [`Failure::refused`] has its problem document, with the field that is to blame.
//!
//! Requests go over a [`Transport`]: [`Http`] is the one for servers elsewhere, and a program that has the server in its own process brings
//! another to [`Client::over`].

/// Requests and answers of the API, as types that the server and its clients share.
pub mod wire;

/// The words of fixed lists that a [`Word`](wire::Word) may be, and what is said in them.
pub mod known {
    pub use punctual_core::channel::SendOutcome;
    pub use punctual_core::event::{End as EventEnd, Offset};
    pub use punctual_core::key::Scope;
    pub use punctual_core::occurrence::{AttemptStatus, StateKind, Why};
    pub use punctual_core::quiet::ends_at as quiet_until;
    pub use punctual_core::reminder::{Address, Priority, ReminderStatus};
    pub use punctual_core::scope::default_at as default_offsets_at;
    pub use punctual_core::store::NodeState;
    pub use punctual_core::user::{Except, QuietHours};
    pub use punctual_core::watch::RunState;
}

/// One request and its answer.
mod call;

/// What goes wrong.
mod failure;

/// A server that is asked over HTTP.
mod net;

/// A server that is known by its certificate alone.
mod pinned;

/// One function for each route.
mod routes;

/// Reading server-sent events.
mod stream;

/// How requests reach a server.
mod transport;

pub use http;

pub use self::call::{Client, Seen};
pub use self::failure::{BadUrl, Failure, Refused, Unusable};
pub use self::net::{Http, bearer, is_same_server};
pub use self::routes::escaped;
pub use self::stream::{Stream, StreamEvent};
pub use self::transport::{Body, Chunks, Request, Response, Transport};

/// The header that makes a POST happen once: the same key and body are answered the same again. [`Client::with`] adds it.
pub const IDEMPOTENCY_KEY: http::HeaderName = http::HeaderName::from_static("idempotency-key");

/// Where a server listens if nobody says.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7373";

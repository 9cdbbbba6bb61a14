//! How reminders reach people: one file per channel.
//!
//! A channel sends once and says what happened; it knows nothing of schedules, retries or stores. What it
//! promises is written at [`punctual_core::channel::Channel`].

/// An HTTP POST to a URL, signed after Standard Webhooks.
pub mod webhook;

/// Discord: a bot's messages in channels and to people, and webhooks of channels.
pub mod discord;

/// Telegram: a bot's messages to people, groups and channels.
pub mod telegram;

/// Slack: a bot's messages in channels and to people, and incoming webhooks.
pub mod slack;

/// WhatsApp, by its Cloud API.
pub mod whatsapp;

/// A message to RabbitMQ, confirmed by it.
pub mod rabbitmq;

/// A message to a stream of NATS JetStream, acknowledged by it.
pub mod nats;

/// A line on a terminal.
pub mod console;

/// A function of the program that punctual runs in.
pub mod closure;

/// A rehearsal: everything but the send.
pub mod shadow;

/// E-mail over SMTP.
pub mod email;

/// Push notifications over ntfy.
pub mod ntfy;

/// Push notifications of browsers.
pub mod webpush;

/// SMS over Twilio.
pub mod twilio;

/// Phone calls over Vapi.
pub mod vapi;

/// Fetching a text from an address that a user chose.
pub mod fetch;

/// Channels made from settings.
pub mod setup;

/// What channels share.
pub mod common;

mod broker;
mod event;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod spec;

pub use closure::Closure;
pub use console::Console;
pub use discord::Discord;
pub use email::Email;
pub use nats::Nats;
pub use ntfy::Ntfy;
pub use rabbitmq::Rabbitmq;
pub use shadow::Shadow;
pub use slack::Slack;
pub use telegram::Telegram;
pub use twilio::Twilio;
pub use vapi::Vapi;
pub use webhook::Webhook;
pub use webpush::Webpush;
pub use whatsapp::Whatsapp;

//! The real program, from the outside: its binary on a free port, its API over real connections,
//! its command line.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;
mod events;

mod all_errors;
mod answer_links;
mod answers;
mod auth;
mod bad_days;
mod bad_input;
mod bonds;
mod calendar;
mod channels;
mod chat;
#[cfg(unix)]
mod clients;
mod command_line;
mod conditions;
mod connections;
mod cors;
mod docs;
mod embed;
mod embedding;
mod erase;
mod escalation;
mod event;
mod first_reminder;
mod groups;
mod headers;
mod health;
mod hosts;
mod idempotency;
mod import;
mod journal;
mod keys;
mod lifecycle;
mod limits;
mod lists;
mod logs;
mod mcp;
mod medicine;
mod newer_server;
mod openapi;
mod people;
mod phrases;
mod platforms;
mod postgres;
mod reach;
mod readme;
mod redis_timer;
mod reminders;
mod request_ids;
mod resend;
mod rust_client;
mod schemathesis;
mod search;
mod sentences;
mod settings;
mod shadow;
mod shared;
mod silences;
mod sql;
mod stream;
mod subscriptions;
mod timers;
mod tls;
mod undo;
mod watches;
mod words;
mod ws;
mod zones;

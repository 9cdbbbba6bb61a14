//! The promise of whoever reads foreign calendars.
//!
//! The engine says when one is read and what becomes of it; where it comes from and what its text means is known outside.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::event::Event;
use crate::feed::{Feed, Known};
use crate::rules::rota::RotaItem;
use crate::zone::Zone;

/// Reads foreign calendars.
#[async_trait]
pub trait Calendars: Send + Sync + 'static {
    /// Reads one. `zone` is that of its owner, for times that name none. Ends within a minute, whatever the other side does.
    async fn read(&self, feed: &Feed, zone: &Zone, now: Timestamp) -> Result<Reading, ReadError>;
}

/// What reading a calendar led to.
#[derive(Debug, Clone)]
pub enum Reading {
    /// It is what it was.
    Unchanged,
    /// It was read.
    Changed(Box<Contents>),
}

/// What stands in a calendar.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// By what its server knows this version again.
    pub known: Known,
    /// How long its server wants to be left alone.
    pub wait: Option<Duration>,
    /// Of a user's: the events that are to come.
    pub events: Vec<Event>,
    /// Of a group's: who is on duty when, now and in the next 90 days.
    pub duties: Vec<RotaItem>,
    /// What of it could not be read.
    pub problems: Vec<String>,
}

/// Why a calendar could not be read. The words name no more of its address than the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It may work later.
    #[error("{0}")]
    Later(String),
    /// It is no calendar, too large, or nothing that is read here. Somebody has to mend it.
    #[error("{0}")]
    Refused(String),
    /// Its server says that it is not there.
    #[error("{0}")]
    Gone(String),
}

//! A run that does nothing but say what it would do.

use punctual_core::rules::watch::reminder;
use punctual_core::source::{Bounds, Mode, Standing};
use punctual_core::watch::{BadRow, Place};

use super::{WatchError, Watcher, place_after};
use crate::instant::{minus, plus, signed};

/// How many rows are shown.
const SHOWN_MAX: usize = 100;
/// How many rows are counted.
const COUNTED_MAX: u64 = 100_000;

/// What a run would do.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// How the table stands.
    pub standing: Standing,
    /// How many rows would be reminded of.
    pub n_due: u64,
    /// Whether all of them were counted.
    pub is_all: bool,
    /// The first of them.
    pub rows: Vec<RehearsedRow>,
    /// The first of those that could not be.
    pub bad: Vec<BadRow>,
}

/// A row that would be reminded of.
#[derive(Debug, Clone)]
pub struct RehearsedRow {
    /// Its name.
    pub key: String,
    /// When it is due, as the application has it.
    pub due: String,
    /// When it was last reminded of, as the application has it.
    pub sent: Option<String>,
    /// Who would be reminded.
    pub user: String,
    /// What would be said.
    pub message: String,
    /// By which channel, if the watch says.
    pub channel: Option<String>,
}

impl Watcher {
    pub(super) async fn rehearse(&self) -> Result<Rehearsal, WatchError> {
        let said = |error: punctual_core::source::SourceError| WatchError::Source(error.to_string());
        let (watch, now) = (&self.watch, self.node.now());
        let standing = self.source.check().await.map_err(said)?;
        let bounds = Bounds {
            from: now,
            until: plus(now, signed(watch.window)),
            sent_before: matches!(standing.mode, Mode::Column(_)).then(|| minus(now, watch.again_after)),
        };
        let mut rehearsal = Rehearsal { standing, n_due: 0, is_all: true, rows: Vec::new(), bad: Vec::new() };
        let mut place: Option<Place> = None;
        // No run has it.
        let run = (punctual_core::id::WatchRunId::from_bytes([0; 16]), now);
        loop {
            let mut rows = match place {
                None => self.source.nameless(bounds, watch.batch).await.map_err(said)?,
                Some(_) => Vec::new(),
            };
            let page = self.source.read(bounds, place.as_ref(), watch.batch).await.map_err(said)?;
            let next = place_after(&page, watch.batch);
            rows.extend(page);
            let found = self.candidates(&rehearsal.standing.mode, rows, run).await?;
            rehearsal.n_due += found.intents.len() as u64;
            for intent in found.intents {
                if rehearsal.rows.len() >= SHOWN_MAX {
                    break;
                }
                let new = reminder(watch, &intent).reminder;
                rehearsal.rows.push(RehearsedRow {
                    key: intent.key.to_string(),
                    due: intent.due.to_string(),
                    sent: intent.previous.as_ref().map(ToString::to_string),
                    user: new.user,
                    message: new.message,
                    channel: new.to.first().map(|address| address.channel.clone()),
                });
            }
            let room = SHOWN_MAX.saturating_sub(rehearsal.bad.len());
            rehearsal.bad.extend(found.bad.into_iter().take(room));
            if next.is_none() || next == place {
                return Ok(rehearsal);
            }
            if rehearsal.n_due >= COUNTED_MAX {
                rehearsal.is_all = false;
                return Ok(rehearsal);
            }
            place = next;
        }
    }
}

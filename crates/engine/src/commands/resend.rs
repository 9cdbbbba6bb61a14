//! Sending again what has failed, many runs at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use punctual_core::change::{Change, Resend};
use punctual_core::store::{By, ChangeError, FailedQuery, FailedRun, StoreError};

use crate::Engine;

/// The most runs that one command sends again.
pub const RESEND_MAX: usize = 10_000;
/// How many runs are looked up at once.
const PAGE: usize = 500;
/// How many are changed at once: they share commits.
const TOGETHER: usize = 50;

/// What became of runs that were to be sent again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resent {
    /// Runs that are sent again, or would be.
    pub count: usize,
    /// Runs that may have arrived, and are left alone for that reason.
    pub held: usize,
    /// Runs that something else happened to meanwhile.
    pub left_out: usize,
    /// There are more than [`RESEND_MAX`].
    pub more: bool,
}

impl Engine {
    /// The channels on which a message that may have arrived is held by default.
    pub(crate) fn holding(&self) -> Arc<BTreeSet<String>> {
        let holding = self.parts.channels.iter().filter(|(_, channel)| channel.holds_unknown());
        Arc::new(holding.map(|(name, _)| name.clone()).collect())
    }

    /// Counts the failed runs that [`Engine::resend`] would send again.
    pub async fn count_failed(&self, query: FailedQuery, held: bool) -> Result<Resent, StoreError> {
        let holding = self.holding();
        let (mut counted, mut query) = (Resent::default(), FailedQuery { limit: PAGE, ..query });
        loop {
            let page = self.parts.node.store.failed_runs(query.clone()).await?;
            for run in &page {
                if counted.count == RESEND_MAX {
                    counted.more = true;
                    return Ok(counted);
                }
                counted.count_one(run, held, &holding);
            }
            if page.len() < PAGE {
                return Ok(counted);
            }
            query.after = page.last().map(|run| run.id);
        }
    }

    /// Sends failed runs again, at most [`RESEND_MAX`]; `held`: also those that may have arrived.
    ///
    /// A store that fails half-way leaves the rest as it is: the same command again goes on with them.
    pub async fn resend(&self, query: FailedQuery, held: bool, by: &By) -> Result<Resent, ChangeError> {
        let holding = self.holding();
        let (mut resent, mut query) = (Resent::default(), FailedQuery { limit: PAGE, ..query });
        loop {
            let page = self.parts.node.store.failed_runs(query.clone()).await?;
            let n_left = RESEND_MAX - resent.count;
            let mut wanted = Vec::new();
            for run in &page {
                if wanted.len() == n_left {
                    resent.more = true;
                    break;
                }
                match !held && run.is_held(&holding) {
                    true => resent.held += 1,
                    false => wanted.push(run.id),
                }
            }
            for together in wanted.chunks(TOGETHER) {
                let changes = together.iter().map(|id| {
                    let resend = Resend { run: Some(id.run), held, ..Resend::default() };
                    self.change(id.reminder, Change::Resend(resend), by.clone())
                });
                for answer in join_all(changes).await {
                    match answer {
                        Ok(_) => resent.count += 1,
                        Err(ChangeError::Store(error)) => return Err(error.into()),
                        Err(ChangeError::NotFound | ChangeError::Refused(_)) => resent.left_out += 1,
                    }
                }
            }
            if resent.more || page.len() < PAGE {
                return Ok(resent);
            }
            query.after = page.last().map(|run| run.id);
        }
    }
}

impl Resent {
    fn count_one(&mut self, run: &FailedRun, held: bool, holding: &BTreeSet<String>) {
        match !held && run.is_held(holding) {
            true => self.held += 1,
            false => self.count += 1,
        }
    }
}

//! Everything there is, out and in; and one person, out for ever.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::journal::Placed;
use punctual_core::store::{Record, Redacted, Removed, StoreError, WholeQuery, Wholes, Wholly};
use punctual_core::watch::LedgerRow;
use punctual_core::whole::{Adopted, Line, Overdue, WholeRun};
use punctual_core::writes::Link;

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Wholes for Tapped<T> {
    async fn wholes(&self, query: WholeQuery) -> Result<Wholly, StoreError> {
        pass!(self, "wholes", self.store.wholes(query))
    }

    async fn runs_below(&self, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, StoreError> {
        pass!(self, "runs_below", self.store.runs_below(id, below, limit))
    }

    async fn has_entries(&self, entries: Vec<Placed>) -> Result<Vec<bool>, StoreError> {
        pass!(self, "has_entries", self.store.has_entries(entries))
    }

    async fn adopt(&self, lines: Vec<Line>, overdue: Overdue, now: Timestamp) -> Result<Adopted, StoreError> {
        pass!(self, "adopt", self.store.adopt(lines, overdue, now))
    }

    async fn links(&self, event: &str) -> Result<Vec<Link>, StoreError> {
        pass!(self, "links", self.store.links(event))
    }

    async fn ledgers(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<(String, LedgerRow)>, StoreError> {
        pass!(self, "ledgers", self.store.ledgers(after, limit))
    }

    async fn remove_reminders(&self, user: &str) -> Result<Removed, StoreError> {
        pass!(self, "remove_reminders", self.store.remove_reminders(user))
    }

    async fn redact(&self, user: &str, record: Record, after: &str) -> Result<Redacted, StoreError> {
        pass!(self, "redact", self.store.redact(user, record, after))
    }
}

//! Finding reminders by what became of them, and by words in their text.

use async_trait::async_trait;
use punctual_core::id::ReminderId;
use punctual_core::store::{FailedQuery, FailedRun, Filled, FindQuery, Hits, Index, ReminderQuery, Search, StoreError};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Search for Tapped<T> {
    async fn failed_runs(&self, query: FailedQuery) -> Result<Vec<FailedRun>, StoreError> {
        pass!(self, "failed_runs", self.store.failed_runs(query))
    }

    async fn looks_to(&self, query: ReminderQuery) -> Result<Option<ReminderId>, StoreError> {
        pass!(self, "looks_to", self.store.looks_to(query))
    }

    async fn prepare_search(&self) -> Result<(), StoreError> {
        pass!(self, "prepare_search", self.store.prepare_search())
    }

    async fn filled(&self) -> Result<Filled, StoreError> {
        pass!(self, "filled", self.store.filled())
    }

    async fn ids_after(&self, after: Option<ReminderId>, limit: usize) -> Result<Vec<ReminderId>, StoreError> {
        pass!(self, "ids_after", self.store.ids_after(after, limit))
    }

    async fn index(&self, index: Index) -> Result<(), StoreError> {
        pass!(self, "index", self.store.index(index))
    }

    async fn find(&self, query: FindQuery) -> Result<Hits, StoreError> {
        pass!(self, "find", self.store.find(query))
    }
}

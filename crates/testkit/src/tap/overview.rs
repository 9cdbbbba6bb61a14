//! The things that people see who look at their day, or who look after a server.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::model::lateness::Stretch;
use punctual_core::store::{
    DatabaseState, HowMany, KnownNodes, Overview, ReminderQuery, RunsPage, RunsQuery, StoreError,
};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Overview for Tapped<T> {
    async fn runs(&self, query: RunsQuery) -> Result<RunsPage, StoreError> {
        pass!(self, "runs", self.store.runs(query))
    }

    async fn count(&self, query: ReminderQuery) -> Result<HowMany, StoreError> {
        pass!(self, "count", self.store.count(query))
    }

    async fn put_lateness(&self, stretches: Vec<Stretch>) -> Result<(), StoreError> {
        pass!(self, "put_lateness", self.store.put_lateness(stretches))
    }

    async fn lateness(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError> {
        pass!(self, "lateness", self.store.lateness(from, to))
    }

    async fn prune_lateness(&self, before: Timestamp) -> Result<(), StoreError> {
        pass!(self, "prune_lateness", self.store.prune_lateness(before))
    }

    async fn nodes(&self) -> Result<Option<KnownNodes>, StoreError> {
        pass!(self, "nodes", self.store.nodes())
    }

    async fn database(&self) -> Result<DatabaseState, StoreError> {
        pass!(self, "database", self.store.database())
    }
}

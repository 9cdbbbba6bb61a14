//! Events of applications, scopes and the reminders that follow them.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::event::Event;
use punctual_core::journal::Who;
use punctual_core::scope::{Path, Scope};
use punctual_core::store::{
    Answered, ByPlanner, ChangeError, EventQuery, EventView, Events, PlannedEvents, Put, PutEvent, PutInstance,
    PutScope, StoreError,
};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Events for Tapped<T> {
    async fn put_events(
        &self,
        put: Vec<PutEvent>,
        answered: Option<(String, Answered)>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        pass!(self, "put_events", self.store.put_events(put, answered, by))
    }

    async fn remove_events(
        &self,
        keys: Vec<String>,
        source: Option<String>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        pass!(self, "remove_events", self.store.remove_events(keys, source, by))
    }

    async fn put_instance(&self, key: &str, change: PutInstance, by: ByPlanner) -> Result<Put, ChangeError> {
        pass!(self, "put_instance", self.store.put_instance(key, change, by))
    }

    async fn plan_events(&self, keys: Option<Vec<String>>, by: ByPlanner) -> Result<PlannedEvents, StoreError> {
        pass!(self, "plan_events", self.tap.plan_events(&self.store, keys, by))
    }

    async fn put_scope(&self, scope: Scope, who: Who) -> Result<PutScope, StoreError> {
        pass!(self, "put_scope", self.store.put_scope(scope, who))
    }

    async fn remove_scope(&self, path: &Path, who: Who, now: Timestamp) -> Result<Option<u64>, StoreError> {
        pass!(self, "remove_scope", self.store.remove_scope(path, who, now))
    }

    async fn event(&self, key: &str) -> Result<Option<EventView>, StoreError> {
        pass!(self, "event", self.store.event(key))
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<Event>, StoreError> {
        pass!(self, "events", self.store.events(query))
    }

    async fn scope(&self, path: &Path) -> Result<Option<Scope>, StoreError> {
        pass!(self, "scope", self.store.scope(path))
    }

    async fn scopes(&self, under: Option<Path>, after: Option<Path>, limit: usize) -> Result<Vec<Scope>, StoreError> {
        pass!(self, "scopes", self.store.scopes(under, after, limit))
    }
}

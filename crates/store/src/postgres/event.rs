//! Events of applications, scopes and the reminders that follow them.

use async_trait::async_trait;
use punctual_core::store::Events;

use super::PostgresStore;

#[async_trait]
impl Events for PostgresStore {}

//! Foreign calendars that are read every so often.

use async_trait::async_trait;
use punctual_core::store::Feeds;

use super::PostgresStore;

#[async_trait]
impl Feeds for PostgresStore {}

//! Foreign calendars that are read every so often.

use async_trait::async_trait;
use punctual_core::store::Feeds;

use super::SqliteStore;

#[async_trait]
impl Feeds for SqliteStore {}

//! Finding reminders by words in their text.

use async_trait::async_trait;
use punctual_core::store::Search;

use super::SqliteStore;

#[async_trait]
impl Search for SqliteStore {}

//! Standing queries over an application's own table, their runs and what they have reminded of.

use async_trait::async_trait;
use punctual_core::store::Watches;

use super::SqliteStore;

#[async_trait]
impl Watches for SqliteStore {}

//! Standing queries over an application's own table, their runs and what they have reminded of.

use async_trait::async_trait;

/// Standing queries over an application's own table, their runs and what they have reminded of.
#[async_trait]
pub trait Watches: Send + Sync + 'static {}

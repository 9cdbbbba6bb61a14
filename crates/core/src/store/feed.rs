//! Foreign calendars that are read every so often.

use async_trait::async_trait;

/// Foreign calendars that are read every so often.
#[async_trait]
pub trait Feeds: Send + Sync + 'static {}

//! Finding reminders by words in their text.

use async_trait::async_trait;

/// Finding reminders by words in their text.
#[async_trait]
pub trait Search: Send + Sync + 'static {}

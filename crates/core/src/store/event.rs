//! Events of applications, scopes and the reminders that follow them.

use async_trait::async_trait;

/// Events of applications, scopes and the reminders that follow them.
#[async_trait]
pub trait Events: Send + Sync + 'static {}

//! Events of applications, scopes and the reminders that follow them.

use async_trait::async_trait;
use punctual_core::store::Events;

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Events for Tapped<T> {}

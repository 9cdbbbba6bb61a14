//! Foreign calendars that are read every so often.

use async_trait::async_trait;
use punctual_core::store::Feeds;

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Feeds for Tapped<T> {}

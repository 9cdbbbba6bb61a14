//! Finding reminders by words in their text.

use async_trait::async_trait;
use punctual_core::store::Search;

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Search for Tapped<T> {}

//! Standing queries over an application's own table, their runs and what they have reminded of.

use async_trait::async_trait;
use punctual_core::store::Watches;

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Watches for Tapped<T> {}

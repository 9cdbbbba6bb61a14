//! Everything there is, out and in; and one person, out for ever.

use async_trait::async_trait;

/// Everything there is, out and in; and one person, out for ever.
#[async_trait]
pub trait Wholes: Send + Sync + 'static {}

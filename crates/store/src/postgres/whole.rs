//! Everything there is, out and in; and one person, out for ever.

use async_trait::async_trait;
use punctual_core::store::Wholes;

use super::PostgresStore;

#[async_trait]
impl Wholes for PostgresStore {}

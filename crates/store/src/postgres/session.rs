//! A plain session, as any other client's: for measuring what plain SQL costs, and for looking.

use punctual_core::clock::Machine;
use punctual_core::store::StoreError;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::fault::Fault;
use super::open::{OpenError, pool};

/// A connection of one's own.
pub struct Session {
    client: Client,
}

impl Session {
    /// Connects to the database at `url`.
    pub async fn open(url: &str, machine: &Machine) -> Result<Self, OpenError> {
        let pool = pool(url, machine)?;
        let client = pool.connect().await.map_err(|fault| OpenError::of(pool.url(), fault))?;
        Ok(Self { client })
    }

    /// Runs a statement, in a transaction of its own unless one was begun. Parameters are texts; the statement says what they mean.
    pub async fn run(&self, sql: &str, texts: &[&str]) -> Result<u64, StoreError> {
        let params: Vec<(&(dyn ToSql + Sync), Type)> =
            texts.iter().map(|text| (text as &(dyn ToSql + Sync), Type::TEXT)).collect();
        self.client.execute_typed(sql, &params).await.map_err(|error| Fault::from(error).into())
    }

    /// The first column of what a query finds, as texts.
    pub async fn texts(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.client.query_typed(sql, &[]).await.map_err(Fault::from)?;
        let text = |row: &tokio_postgres::Row| row.try_get(0).map_err(|error| Fault::from(error).into());
        rows.iter().map(text).collect()
    }
}

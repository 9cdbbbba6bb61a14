//! Opening the database: whether it answers, and its schema.

use std::sync::Mutex;

use punctual_core::clock::Machine;
use punctual_core::shard::Shards;
use punctual_core::store::StoreError;

use super::fault::Fault;
use super::pool::Pool;
use super::shared_commit::SharedCommits;
use super::url::Url;
use super::{PostgresStore, migrate, tls};

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is wrong. It may hold a password, so it is not repeated.
    #[error("the database URL cannot be used: {0}")]
    Url(String),
    /// Certificates cannot be read.
    #[error("TLS to the database: {0}")]
    Tls(String),
    /// A later punctual made its schema.
    #[error("{url} has schema version {found}, but this punctual knows versions up to {known}; use a newer punctual")]
    TooNew {
        /// The database.
        url: String,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The server is older than what is supported.
    #[error("{url} is PostgreSQL {found}; 14 or newer is needed")]
    ServerTooOld {
        /// The database.
        url: String,
        /// Its version.
        found: String,
    },
    /// It does not answer, or refuses.
    #[error("cannot use {url}: {why}")]
    Refused {
        /// The database.
        url: String,
        /// Why.
        why: String,
    },
}

impl OpenError {
    pub(super) fn of(url: &Url, fault: Fault) -> Self {
        let why = match StoreError::from(fault) {
            StoreError::Unavailable(why) | StoreError::Broken(why) | StoreError::Missing(why) => why,
            StoreError::KeyUsed | StoreError::Seen | StoreError::LeaseLost | StoreError::Unexpected => {
                "it answers nonsense".into()
            }
        };
        Self::Refused { url: url.to_string(), why }
    }
}

pub(super) fn pool(url: &str, machine: &Machine) -> Result<Pool, OpenError> {
    let url = Url::parse(url)?;
    let tls = tls::connector(&url.verify)?;
    Ok(Pool::new(url, tls, machine.clone()))
}

pub(super) async fn open(url: &str, machine: &Machine) -> Result<PostgresStore, OpenError> {
    let pool = pool(url, machine)?;
    migrate::up(&pool).await?;
    Ok(PostgresStore {
        pool,
        own: Mutex::new(Shards::NONE),
        unsure: Mutex::default(),
        shared_commits: SharedCommits::new(),
    })
}

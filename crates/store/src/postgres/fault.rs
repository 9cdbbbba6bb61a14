//! Faults, named by what can be done about them.

use punctual_core::store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::url::chain;

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server undid the transaction because another was in its way. Doing it again helps.
    RolledBack(String),
    /// Another's lock, or the statement itself, lasts too long. Nothing was written.
    Blocked(String),
    /// The connection is gone. Unless it was being committed, nothing was written.
    Lost(String),
    /// All else.
    Store(StoreError),
}

impl Fault {
    /// Whether the server answered, so that the connection is in a known state.
    pub(super) fn was_answered(&self) -> bool {
        match self {
            Self::Lost(_) | Self::Blocked(_) | Self::Store(StoreError::Unavailable(_)) => false,
            Self::RolledBack(_) | Self::Store(_) => true,
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::RolledBack(why) => Self::Unavailable(format!("too many writers were in each other's way: {why}")),
            Fault::Lost(why) => Self::Unavailable(format!("the connection was lost: {why}")),
            Fault::Blocked(why) => Self::Unavailable(why),
            Fault::Store(error) => error,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let Some(said) = error.as_db_error() else {
            let is_io = std::error::Error::source(&error).is_some_and(|source| source.is::<std::io::Error>());
            return match error.is_closed() || is_io {
                true => Self::Lost(chain(&error)),
                false => Self::Store(StoreError::Broken(chain(&error))),
            };
        };
        let text = said.message().to_owned();
        let code = said.code();
        if *code == SqlState::UNIQUE_VIOLATION && said.constraint() == Some("answered_pkey") {
            return Self::Store(StoreError::KeyUsed);
        }
        if *code == SqlState::UNIQUE_VIOLATION && said.constraint() == Some("seen_pkey") {
            return Self::Store(StoreError::Seen);
        }
        if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            return Self::RolledBack(text);
        }
        // Two who write the same new event at once: who comes second finds it when it looks again.
        if *code == SqlState::UNIQUE_VIOLATION && said.constraint() == Some("event_pkey") {
            return Self::RolledBack(text);
        }
        // Two who make the same table at once: `if not exists` does not see the other's.
        let is_catalog = *code == SqlState::UNIQUE_VIOLATION && said.schema() == Some("pg_catalog");
        if is_catalog || [SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE].contains(code) {
            return Self::RolledBack(text);
        }
        match code.code() {
            "53100" => Self::Store(StoreError::Unavailable(
                "the database server's disk is full; free some space and it goes on by itself".into(),
            )),
            // It is starting, stopping, or was promoted elsewhere; PgBouncer calls everything a protocol violation.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "08000" | "08003" | "08006" | "08P01" => Self::Lost(text),
            "55P03" | "57014" => Self::Blocked(text),
            // It cannot write, or has no room.
            "25006" => Self::Store(StoreError::Unavailable(text)),
            code if code.starts_with("53") || code.starts_with("58") => Self::Store(StoreError::Unavailable(text)),
            code => Self::Store(StoreError::Broken(format!("{text} (SQLSTATE {code})"))),
        }
    }
}

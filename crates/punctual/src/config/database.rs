//! Where reminders are kept.

use std::fmt;
use std::path::{Path, PathBuf};

use punctual_store::postgres;

use super::Secret;

/// Where reminders are kept. Shown, it has no password.
#[derive(Clone)]
pub(crate) enum Database {
    /// One embedded file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres {
        /// As it was given.
        url: Secret,
        /// Without its password.
        shown: String,
    },
}

impl Database {
    /// Reads `sqlite:PATH`, a path, or `postgres://…`; else says what is wrong, without repeating what may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let url = postgres::Url::parse(text).map_err(|error| error.to_string())?;
            return Ok(Self::Postgres { url: Secret::new(text.to_owned()), shown: url.to_string() });
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(path) => path.strip_prefix("//").unwrap_or(path),
            // A misspelt `sqlite:` would otherwise name a new file, and an empty database would be served from it.
            None if is_scheme(text) => return Err("is no database this version knows".into()),
            None => text,
        };
        if path.is_empty() || path.starts_with(":memory:") {
            return Err("names no file, and reminders must survive a restart".into());
        }
        Ok(Self::Sqlite(path.into()))
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres { .. } => None,
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres { shown, .. } => f.write_str(shown),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a text begins like a URL and not like a path; one letter and a colon is a drive.
fn is_scheme(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(scheme, _)| scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

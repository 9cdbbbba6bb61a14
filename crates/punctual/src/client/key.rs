//! The key that a client shows to its server.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use reqwest::Url;

use super::call::is_same;
use crate::config::Secret;
use crate::serve::place;

/// The key to a server.
pub(super) enum Key {
    None,
    /// It was given to us.
    Given(Secret),
    /// The server of this data directory made it for users of this machine. Another start makes another.
    Made {
        data_dir: PathBuf,
        now: Mutex<Secret>,
    },
}

impl Key {
    pub(super) fn get(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Given(key) => Some(key.clone()),
            Self::Made { now, .. } => Some(now.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// Takes the key that a later start of the server at `url` made; false when there is none.
    pub(super) fn renew(&self, url: &str) -> bool {
        let Self::Made { data_dir, now } = self else { return false };
        let server = place::announced(data_dir);
        let is_same = |other: &str| Url::parse(url).is_ok_and(|url| is_same(&url, other));
        let Some(server) = server.filter(|server| is_same(&server.url)) else { return false };
        let mut now = now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = now.expose() != server.key.expose();
        *now = server.key;
        is_other
    }
}

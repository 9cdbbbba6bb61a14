//! The journal's entry for a key that was made or removed.

use jiff::Timestamp;

use crate::journal::{Data, Entry, Kind, Who};
use crate::user::ApiKey;
use crate::writes::Writes;

/// A key was made.
pub fn key_created(key: &ApiKey, who: Who) -> Writes {
    written(Kind::KeyCreated, key, who, key.created_at)
}

/// A key was removed.
pub fn key_deleted(key: &ApiKey, who: Who, now: Timestamp) -> Writes {
    written(Kind::KeyDeleted, key, who, now)
}

fn written(kind: Kind, key: &ApiKey, who: Who, now: Timestamp) -> Writes {
    let scopes: &[&str] = if key.write { &["read", "write"] } else { &["read"] };
    let ApiKey { id, name, user, .. } = key.clone();
    let data = Data::Key { id, name, user: user.clone(), scopes };
    let entry = Entry { at: now, kind, who, user, reminder: None, run: None, data };
    Writes { entries: vec![entry], ..Writes::new(now) }
}

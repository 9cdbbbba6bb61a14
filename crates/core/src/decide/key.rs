//! What is written when a key is made, gets another secret, or is removed.

use jiff::Timestamp;

use crate::journal::{Data, Entry, Kind, Who};
use crate::key::{ApiKey, Rotation};
use crate::writes::Writes;

/// A key was made.
pub fn key_created(key: &ApiKey, who: Who) -> Writes {
    written(Kind::KeyCreated, key, who, key.created_at)
}

/// A key gets another secret: the key as it is then, and what is written about it.
pub fn key_rotated(key: ApiKey, rotation: &Rotation, who: Who) -> (ApiKey, Writes) {
    let key = key.rotated(rotation);
    let writes = written(Kind::KeyRotated, &key, who, rotation.now);
    (key, writes)
}

/// A key was removed.
pub fn key_deleted(key: &ApiKey, who: Who, now: Timestamp) -> Writes {
    written(Kind::KeyDeleted, key, who, now)
}

fn written(kind: Kind, key: &ApiKey, who: Who, now: Timestamp) -> Writes {
    let ApiKey { id, name, user, channels, scopes, replaced, .. } = key.clone();
    let scopes = scopes.said().map(|scope| scope.as_str()).collect();
    let replaced_until = replaced.filter(|_| kind == Kind::KeyRotated).map(|replaced| replaced.until);
    let data = Data::Key { id, name, user: user.clone(), channels, scopes, replaced_until };
    let entry = Entry { at: now, kind, who, user, reminder: None, run: None, data };
    Writes { entries: vec![entry], ..Writes::new(now) }
}

//! The journal's entry for a group that was written or removed.

use jiff::Timestamp;

use crate::group::Group;
use crate::journal::{Data, Entry, Kind, Who};
use crate::writes::Writes;

/// The group of this name was written, or removed.
pub fn group_changed(name: &str, after: Option<&Group>, who: Who, now: Timestamp) -> Writes {
    let users = after.map(|after| after.users.clone()).unwrap_or_default();
    let data = Data::Group { group: name.to_owned(), users, deleted: after.is_none() };
    let entry = Entry { at: now, kind: Kind::GroupChanged, who, user: None, reminder: None, run: None, data };
    Writes { entries: vec![entry], ..Writes::new(now) }
}

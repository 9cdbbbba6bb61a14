//! The journal's entries about calendars.

use jiff::Timestamp;

use crate::journal::{Data, Entry, Kind, Who};
use crate::writes::Writes;

/// The address of a user's calendar was changed.
pub fn calendar_renewed(user: &str, who: Who, now: Timestamp) -> Writes {
    let data = Data::Fields { fields: vec!["calendar_url"] };
    let user = Some(user.to_owned());
    let entry = Entry { at: now, kind: Kind::UserChanged, who, user, reminder: None, run: None, data };
    Writes { entries: vec![entry], ..Writes::new(now) }
}

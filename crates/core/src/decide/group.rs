//! A group that was written or removed.

use jiff::Timestamp;

use super::person::Difference;
use crate::group::Group;
use crate::journal::{Data, Entry, Kind, Who};
use crate::writes::Writes;

/// The group of this name was written, or removed where there is none after. `is_silent`: a silence that has not ended is for it.
///
/// Returns the users whose open runs follow a difference: those who belong to a silent group no more may be told at once.
pub fn group_changed(
    name: &str,
    before: Option<&Group>,
    after: Option<&Group>,
    is_silent: bool,
    who: Who,
    now: Timestamp,
) -> (Vec<(String, Difference)>, Writes) {
    let users = after.map(|after| after.users.clone()).unwrap_or_default();
    let had = before.filter(|_| is_silent).map(|before| before.users.as_slice()).unwrap_or_default();
    let left = had.iter().filter(|user| !users.contains(user)).map(|user| (user.clone(), Difference::TIMES)).collect();
    let data = Data::Group { group: name.to_owned(), users, deleted: after.is_none() };
    let entry = Entry { at: now, kind: Kind::GroupChanged, who, user: None, reminder: None, run: None, data };
    (left, Writes { entries: vec![entry], ..Writes::new(now) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Mode;

    fn group(users: &[&str]) -> Group {
        Group {
            name: "oc".into(),
            mode: Mode::InOrder,
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            rota: None,
            shifts: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn those_who_leave_a_silent_group_are_looked_at_again() {
        let (two, one, none) = (group(&["bob", "eve"]), group(&["eve", "dan"]), group(&[]));
        for (name, before, after, is_silent, expect) in [
            ("one leaves and one comes", Some(&two), Some(&one), true, &["bob"][..]),
            ("the group is not silent", Some(&two), Some(&one), false, &[]),
            ("it is new", None, Some(&two), true, &[]),
            ("all leave", Some(&two), Some(&none), true, &["bob", "eve"]),
            ("it is removed", Some(&two), None, true, &["bob", "eve"]),
            ("it is removed and was not silent", Some(&two), None, false, &[]),
            ("the order is another", Some(&two), Some(&group(&["eve", "bob"])), true, &[]),
        ] {
            let (left, writes) = group_changed("oc", before, after, is_silent, "ann".into(), Timestamp::UNIX_EPOCH);
            let left: Vec<&str> = left.iter().map(|(user, _)| user.as_str()).collect();
            assert_eq!((left.as_slice(), writes.entries.len()), (expect, 1), "{name}");
        }
    }
}

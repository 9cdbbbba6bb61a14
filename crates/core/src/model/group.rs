//! People who belong together: whom an escalation asks, and whom a silence is for.

use jiff::Timestamp;
use punctual_time::words;

use super::version::Version;
use crate::invalid::{Faults, Invalid};

/// The longest name of a group.
pub const NAME_BYTES_MAX: usize = 64;
/// The most users of one group.
pub const USERS_MAX: usize = 100;
/// The most shifts of one group that are kept; later ones are read later.
pub const SHIFTS_MAX: usize = 500;

/// Users under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name, such as `on-call`.
    pub name: String,
    /// Whether its users are asked one after the other or all at once.
    pub mode: Mode,
    /// The users, in the order in which they are asked, each once. Where a rota says who is on duty, those who are asked while nobody is.
    pub users: Vec<String>,
    /// The calendar that says who is on duty: an https URL or, by the config alone, a file.
    pub rota: Option<String>,
    /// Who is on duty when, as that calendar says, in the order in which they are asked. Stores load it; it is not written with the group.
    pub shifts: Vec<Shift>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A stretch of time in which somebody is on duty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shift {
    /// When it begins.
    pub from_at: Timestamp,
    /// When it is over.
    pub until_at: Timestamp,
    /// Who is on duty.
    pub user: String,
}

/// How the users of a group are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One after the other.
    #[default]
    InOrder,
    /// All at once.
    All,
}

words!(Mode as "mode" { "in_order" => InOrder, "all" => All });

impl Group {
    /// Its version: every time that it is written makes it another, and who is on duty by its calendar does not.
    pub fn version(&self) -> Version {
        Version::of(&Self { shifts: Vec::new(), ..self.clone() })
    }

    /// Who is asked at an instant, each once: those on duty where there is a rota, and else, or while nobody is, its users.
    pub fn people_at(&self, at: Timestamp) -> Vec<&String> {
        let mut people: Vec<&String> = Vec::new();
        for shift in self.shifts.iter().filter(|shift| shift.from_at <= at && at < shift.until_at) {
            if !people.contains(&&shift.user) {
                people.push(&shift.user);
            }
        }
        if people.is_empty() { self.users.iter().collect() } else { people }
    }

    /// Checks what the types cannot: its name, and that there are users, each once.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        faults.note(check_name("name", &self.name));
        if self.users.is_empty() && self.rota.is_none() {
            faults.add(Invalid::new("users", "is empty; name at least one user, or delete the group"));
        }
        if self.users.len() > USERS_MAX {
            faults.add(Invalid::new("users", format!("has {} entries; at most {USERS_MAX}", self.users.len())));
        }
        for (index, user) in self.users.iter().enumerate().take(USERS_MAX) {
            let field = || format!("users[{index}]");
            if user.is_empty() || user.len() > 256 {
                faults.add(Invalid::new(field(), "must be 1 to 256 bytes long"));
            } else if self.users[..index].contains(user) {
                faults.add(Invalid::new(field(), format!("`{user}` is there already; name each user once")));
            }
        }
        faults.finish()
    }
}

/// Checks the name of a group in `field`.
pub fn check_name(field: &str, name: &str) -> Result<(), Invalid> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let problem =
            format!("`{name}` is no name of a group; write 1 to {NAME_BYTES_MAX} of a-z, 0-9, `.`, `_` and `-`");
        return Err(Invalid::new(field, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shifts as hours of a day, who is asked by `users` when nobody is on duty, and who is asked at an hour.
    #[track_caller]
    fn check(shifts: &[(i64, i64, &str)], users: &[&str], at: i64, expect: &[&str]) {
        let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let shift = |(from, until, user): &(i64, i64, &str)| Shift {
            from_at: hour(*from),
            until_at: hour(*until),
            user: (*user).into(),
        };
        let group = Group {
            name: "oc".into(),
            mode: Mode::InOrder,
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            rota: Some("https://example.org/oncall.ics".into()),
            shifts: shifts.iter().map(shift).collect(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(group.people_at(hour(at)), expect);
    }

    #[test]
    fn who_is_on_duty_is_asked_and_else_the_users() {
        let week = [(8, 32, "bob"), (32, 56, "eve")];
        check(&week, &[], 23, &["bob"]);
        check(&week, &[], 32, &["eve"]);
        check(&week, &[], 7, &[]);
        check(&week, &["zoe", "ann"], 60, &["zoe", "ann"]);
        check(&[(8, 32, "bob"), (20, 40, "dan"), (8, 12, "bob")], &["zoe"], 20, &["bob", "dan"]);
    }

    #[test]
    fn a_wrong_group_is_told_what_is_wrong() {
        let group = |name: &str, users: &[&str]| Group {
            name: name.into(),
            mode: Mode::InOrder,
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            rota: None,
            shifts: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(group("on-call_2.b", &["bob", "eve"]).validate(), Ok(()));
        for (group, field, words) in [
            (group("", &["bob"]), "name", "no name of a group"),
            (group("On call", &["bob"]), "name", "`On call` is no name of a group"),
            (group(&"x".repeat(65), &["bob"]), "name", "1 to 64"),
            (group("oc", &[]), "users", "is empty"),
            (group("oc", &["bob", ""]), "users[1]", "1 to 256 bytes"),
            (group("oc", &["bob", "eve", "bob"]), "users[2]", "`bob` is there already"),
        ] {
            let invalid = group.validate().unwrap_err();
            assert_eq!(invalid.field, field);
            assert!(invalid.problem.contains(words), "{invalid}");
        }
    }
}

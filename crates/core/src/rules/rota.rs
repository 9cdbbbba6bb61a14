//! Who is meant by what a calendar says about duty.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::group::{SHIFTS_MAX, Shift};

/// An entry of a calendar that says who is on duty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotaItem {
    /// When it begins.
    pub from_at: Timestamp,
    /// When it is over.
    pub until_at: Timestamp,
    /// Its title, such as `On call: bob`.
    pub title: String,
    /// The mail addresses of those who attend or organize it, in small letters.
    pub mails: Vec<String>,
    /// How much it matters, 1 the most; 0: not said.
    pub priority: u8,
}

/// The users that duties may be about.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// By id.
    pub ids: BTreeSet<String>,
    /// By mail address.
    pub by_mail: BTreeMap<String, String>,
}

impl RotaItem {
    /// The ids that its title may mean: the whole of it, and each of its words.
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.title.trim()).chain(words(&self.title)).filter(|word| !word.is_empty())
    }

    /// Who is on duty: one who attends, else the user whose id the title is, else the one whose id stands in it as a word.
    fn user(&self, known: &Known) -> Result<String, String> {
        if let Some(user) = self.mails.iter().find_map(|mail| known.by_mail.get(mail)) {
            return Ok(user.clone());
        }
        if known.ids.contains(self.title.trim()) {
            return Ok(self.title.trim().to_owned());
        }
        let found: BTreeSet<&str> = words(&self.title).filter(|word| known.ids.contains(*word)).collect();
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only.to_owned()),
            (None, _) => Err(format!("`{}` names no user", self.title)),
            (Some(one), Some(other)) => Err(format!("`{}` names {one} and {other}", self.title)),
        }
    }
}

/// The shifts of a rota in the order in which people are asked, and what could not be understood.
pub fn shifts(mut duties: Vec<RotaItem>, known: &Known) -> (Vec<Shift>, Vec<String>) {
    // What matters more comes first; what says nothing about it comes last.
    duties.sort_by_key(|duty| (duty.priority.checked_sub(1).unwrap_or(u8::MAX), duty.from_at));
    let (mut shifts, mut problems) = (Vec::new(), BTreeSet::new());
    for duty in duties {
        match duty.user(known) {
            Ok(user) => shifts.push(Shift { from_at: duty.from_at, until_at: duty.until_at, user }),
            Err(problem) => drop(problems.insert(problem)),
        }
    }
    if shifts.len() > SHIFTS_MAX {
        // The soonest are kept, in their order.
        let mut begins: Vec<Timestamp> = shifts.iter().map(|shift| shift.from_at).collect();
        begins.sort_unstable();
        let last = begins[SHIFTS_MAX - 1];
        shifts.retain(|shift| shift.from_at <= last);
        shifts.truncate(SHIFTS_MAX);
    }
    (shifts, problems.into_iter().collect())
}

/// The words of a title. An id may have `.`, `_`, `-`, `@` and `:` inside.
fn words(title: &str) -> impl Iterator<Item = &str> {
    let is_apart = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | ':'));
    title.split(is_apart).map(|word| word.trim_matches(['.', '-', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duty(title: &str, mails: &[&str], priority: u8, hour: i64) -> RotaItem {
        let at = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let mails = mails.iter().map(|mail| (*mail).to_owned()).collect();
        RotaItem { from_at: at(hour), until_at: at(hour + 8), title: title.into(), mails, priority }
    }

    fn known() -> Known {
        let ids = ["bob", "eve", "dan.k", "on call"].map(str::to_owned).into();
        Known { ids, by_mail: [("zoe@example.org".to_owned(), "zoe".to_owned())].into() }
    }

    #[test]
    fn a_duty_names_one_user() {
        for (title, mails, expect) in [
            ("bob", &[][..], Ok("bob")),
            (" eve ", &[], Ok("eve")),
            ("On call: bob", &[], Ok("bob")),
            ("bob (primary)", &[], Ok("bob")),
            ("Pager – dan.k.", &[], Ok("dan.k")),
            ("on call", &[], Ok("on call")),
            ("Duty", &["nobody@example.org", "zoe@example.org"], Ok("zoe")),
            ("bob", &["zoe@example.org"], Ok("zoe")),
            ("bobby", &[], Err("`bobby` names no user")),
            ("bob and eve", &[], Err("`bob and eve` names bob and eve")),
            ("", &[], Err("`` names no user")),
        ] {
            let found = duty(title, mails, 0, 0).user(&known());
            assert_eq!(found.as_deref().map_err(String::as_str), expect, "{title}");
        }
    }

    #[test]
    fn shifts_are_in_the_order_in_which_people_are_asked() {
        let duties =
            vec![duty("eve", &[], 0, 1), duty("bob", &[], 5, 3), duty("dan.k", &[], 1, 4), duty("who?", &[], 1, 0)];
        let (shifts, problems) = shifts(duties, &known());
        assert_eq!(shifts.iter().map(|shift| shift.user.as_str()).collect::<Vec<_>>(), ["dan.k", "bob", "eve"]);
        assert_eq!(problems, ["`who?` names no user"]);
    }

    #[test]
    fn of_very_many_shifts_the_soonest_are_kept() {
        let duties = (0..2000).rev().map(|hour| duty("bob", &[], 0, hour)).collect();
        let (shifts, _) = shifts(duties, &known());
        assert_eq!(shifts.len(), SHIFTS_MAX);
        assert_eq!(shifts.last().map(|shift| shift.from_at.as_second()), Some(499 * 3600));
    }
}

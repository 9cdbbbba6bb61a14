//! Stretches of time in which some reminders are not sent: "no chores until monday".

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::version::Version;
use crate::id::SilenceId;
use crate::invalid::{Faults, Invalid};
use crate::reminder::Reminder;
use crate::{group, tag};

/// The longest silence: nobody means more, and an instant at the end of time would be no end.
pub const LENGTH_MAX: SignedDuration = SignedDuration::from_hours(3653 * 24);
/// The most silences that there are at once, beginning or not. Each claim reads those that concern its reminders.
pub const SILENCES_MAX: usize = 10_000;
/// The most silences for one user at once, so that one user leaves room for the others.
pub const SILENCES_OF_USER_MAX: usize = 100;

/// A stretch of time in which reminders are not sent. A field that is given must match, so a user and a tag mean that user's
/// reminders with that tag, and a tag alone everybody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Its name for machines.
    pub id: SilenceId,
    /// Only this user's reminders.
    pub user: Option<String>,
    /// Only reminders of the users in this group.
    pub group: Option<String>,
    /// Only reminders with this tag.
    pub tag: Option<String>,
    /// When it begins; this instant belongs to it.
    pub from: Timestamp,
    /// When it ends; at this instant reminders are sent again.
    pub until: Timestamp,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Who asked for it.
    pub created_by: String,
}

impl Silence {
    /// Its version. A silence is made and ended, and never changed.
    pub fn version(&self) -> Version {
        Version::of(self)
    }

    /// Checks what the types cannot: that it is for somebody or something, and that it has a length.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        if self.user.is_none() && self.group.is_none() && self.tag.is_none() {
            faults.add(Invalid::missing("user", "say what is silent: a user, a group or a tag"));
        }
        if self.user.as_ref().is_some_and(|user| user.is_empty() || user.len() > 256) {
            faults.add(Invalid::new("user", "must be 1 to 256 bytes long"));
        }
        if let Some(name) = &self.group {
            faults.note(group::check_name("group", name));
        }
        if let Some(tag) = &self.tag {
            faults.note(tag::check_one("tag", tag));
        }
        if self.until <= self.created_at {
            faults.add(Invalid::new("until", format!("is {}, which is not in the future", self.until)));
        } else if self.until <= self.from {
            let problem = format!("is {}; it must be after `from`, which is {}", self.until, self.from);
            faults.add(Invalid::new("until", problem));
        } else if self.until.duration_since(self.created_at) > LENGTH_MAX {
            faults.add(Invalid::new("until", "is more than ten years ahead"));
        }
        faults.finish()
    }
}

/// A silence, with the people of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// The silence.
    pub silence: Silence,
    /// The users of its group; none if it has no group, or there is no such group.
    pub people: Vec<String>,
}

impl Silent {
    /// Whether it is about a reminder of `user`'s with these tags.
    pub fn is_about(&self, user: &str, tags: &[String]) -> bool {
        let Silence { user: only, group, tag, .. } = &self.silence;
        only.as_ref().is_none_or(|only| only == user)
            && group.as_ref().is_none_or(|_| self.people.iter().any(|one| one == user))
            && tag.as_ref().is_none_or(|tag| tags.contains(tag))
    }
}

/// The silences that a decision has to know of.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    all: Vec<Silent>,
    /// Those for one user, by user, and then those for one tag, by tag: a claim may have thousands of runs and of silences.
    by_user: HashMap<String, Vec<usize>>,
    by_tag: HashMap<String, Vec<usize>>,
    /// Those for the users of a group, whatever the tag.
    of_groups: Vec<usize>,
}

impl Silences {
    /// All of these.
    pub fn new(all: Vec<Silent>) -> Self {
        let mut silences = Self::default();
        for (index, Silent { silence, .. }) in all.iter().enumerate() {
            match (&silence.user, &silence.tag) {
                (Some(user), _) => silences.by_user.entry(user.clone()).or_default().push(index),
                (None, Some(tag)) => silences.by_tag.entry(tag.clone()).or_default().push(index),
                (None, None) => silences.of_groups.push(index),
            }
        }
        Self { all, ..silences }
    }

    /// Those that `reminder` must be silent for at `at`.
    pub fn holding<'a>(&'a self, reminder: &'a Reminder, at: Timestamp) -> impl Iterator<Item = &'a Silence> {
        let of_user = self.by_user.get(&reminder.user).into_iter().flatten();
        let of_tags = reminder.tags.iter().filter_map(|tag| self.by_tag.get(tag)).flatten();
        let possible = of_user.chain(of_tags).chain(&self.of_groups).map(|index| &self.all[*index]);
        let holding = possible
            .filter(move |silent| silent.is_about(&reminder.user, &reminder.tags))
            .map(|silent| &silent.silence);
        holding.filter(move |silence| silence.from <= at && at < silence.until)
    }

    /// Until when `reminder` must be silent that is to be sent at `at`; `None`: it may be sent.
    pub fn until(&self, reminder: &Reminder, at: Timestamp) -> Option<Timestamp> {
        self.holding(reminder, at).map(|silence| silence.until).max()
    }

    /// Whether this one is among them.
    pub fn has(&self, id: SilenceId) -> bool {
        self.all.iter().any(|silent| silent.silence.id == id)
    }
}

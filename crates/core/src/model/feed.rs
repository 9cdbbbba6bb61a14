//! Foreign calendars that are read every so often.

use std::time::Duration;

use jiff::Timestamp;
use punctual_time::words;
use serde_json::{Value, json};

use super::event::Offset;
use super::scope::escaped;
use super::version::Version;
use crate::invalid::{Faults, Invalid};

/// The longest name of a feed.
pub const NAME_BYTES_MAX: usize = 64;
/// The longest source.
pub const SOURCE_BYTES_MAX: usize = 2048;
/// The most feeds of one user.
pub const FEEDS_OF_USER_MAX: usize = 20;
/// How often a calendar is read that nobody said it of, and the shortest and the longest that somebody can say.
pub const EVERY: Duration = Duration::from_secs(15 * 60);
/// The shortest time between two readings.
pub const EVERY_MIN: Duration = Duration::from_secs(60);
/// The longest time between two readings.
pub const EVERY_MAX: Duration = Duration::from_secs(7 * 86_400);
/// How many problems of a calendar are kept.
pub const PROBLEMS_MAX: usize = 20;

/// A calendar elsewhere that is read every so often.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    /// Which one it is.
    pub key: FeedKey,
    /// Where it is: an https URL or, by the config alone, a file. It may be a secret.
    pub source: String,
    /// What is made of its items.
    pub settings: FeedSettings,
    /// How often it is read.
    pub every: Duration,
    /// When it is read next; none: never again, because it is gone.
    pub next_at: Option<Timestamp>,
    /// What was read last.
    pub known: Known,
    /// When it was last read.
    pub read_at: Option<Timestamp>,
    /// When it last was another than before.
    pub changed_at: Option<Timestamp>,
    /// How often in a row it could not be read.
    pub failures: u32,
    /// How many of its items were gone at the last reading, and are waited for.
    pub vanished: u32,
    /// Why it could not be read.
    pub problem: Option<String>,
    /// What of it could not be read.
    pub problems: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Which feed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedKey {
    /// Whose it is: a user's or a group's.
    pub kind: FeedKind,
    /// The user or the group.
    pub owner: String,
    /// What its owner calls it; empty for a group's.
    pub name: String,
}

/// Whose a feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedKind {
    /// A user's: its items become events.
    User,
    /// A group's: its items say who is on duty.
    Group,
}

words!(FeedKind as "kind" { "user" => User, "group" => Group });

/// Which alarms of a calendar count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alarms {
    /// Its own; where an item has none, the reader's defaults.
    #[default]
    Own,
    /// The reader's defaults alone.
    Defaults,
    /// Both.
    Both,
}

words!(Alarms as "alarms" { "own" => Own, "defaults" => Defaults, "both" => Both });

/// What is made of the items of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedSettings {
    /// Which alarms count.
    pub alarms: Alarms,
    /// The reader's defaults for this calendar; none: as their scope says.
    pub offsets: Option<Vec<Offset>>,
    /// What is said, with `{title}`, `{location}` and the fields of every event.
    pub message: Option<String>,
}

/// What was read last, by which a server knows whether there is anything new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// The entity tag.
    pub etag: Option<String>,
    /// When it was last modified, in the server's own words.
    pub modified: Option<String>,
}

/// What the keys of all events begin with that were taken over from calendars of this user: none can be another user's as well.
pub fn imported_prefix(user: &str) -> String {
    format!("ics:{}/", escaped(user))
}

impl FeedKey {
    /// The calendar of a user.
    pub fn of_user(user: &str, name: &str) -> Self {
        Self { kind: FeedKind::User, owner: user.to_owned(), name: name.to_owned() }
    }

    /// The rota of a group.
    pub fn of_group(group: &str) -> Self {
        Self { kind: FeedKind::Group, owner: group.to_owned(), name: String::new() }
    }

    /// What names it among those of its kind. A name has no slash.
    pub fn word(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// What the events say that follow it.
    pub fn source(&self) -> String {
        format!("calendar:{}/{}", self.owner, self.name)
    }
}

impl Feed {
    /// The version of what was asked for: every time that it is put makes it another, and a reading does not.
    pub fn version(&self) -> Version {
        Version::of(&(&self.key, &self.source, &self.settings, self.every, self.created_at))
    }

    /// A new one, which is read at once.
    pub fn new(key: FeedKey, source: String, settings: FeedSettings, every: Duration, now: Timestamp) -> Self {
        Self {
            key,
            source,
            settings,
            every,
            next_at: Some(now),
            known: Known::default(),
            read_at: None,
            changed_at: None,
            failures: 0,
            vanished: 0,
            problem: None,
            problems: Vec::new(),
            created_at: now,
        }
    }

    /// Checks what the types cannot.
    pub fn validate(&self) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        if self.key.kind == FeedKind::User {
            faults.note(check_name(&self.key.name));
        }
        if self.source.is_empty() || self.source.len() > SOURCE_BYTES_MAX || self.source.contains('\0') {
            faults.add(Invalid::new("url", format!("must be 1 to {SOURCE_BYTES_MAX} bytes long")));
        }
        if self.every < EVERY_MIN || self.every > EVERY_MAX {
            faults.add(Invalid::new("every", "must be between 1m and 7d, such as 15m"));
        }
        faults.finish()
    }

    /// By what its server knows the version that was read last; nothing on the first reading of a day (UTC), which reads the whole text.
    ///
    /// A text that never changes means something else as time passes: a rota's rule has other shifts in the next 90 days.
    pub fn known_at(&self, now: Timestamp) -> Known {
        let day = |at: Timestamp| at.as_second().div_euclid(86_400);
        let is_of_today = self.read_at.is_some_and(|read_at| day(read_at) == day(now));
        if is_of_today { self.known.clone() } else { Known::default() }
    }

    /// Where it is, for people: without what may be a secret.
    pub fn shown_source(&self) -> String {
        shown_source(&self.source)
    }
}

/// Refuses what cannot be the name of a user's calendar.
pub fn check_name(name: &str) -> Result<(), Invalid> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let problem =
            format!("`{name}` is no name of a calendar; write 1 to {NAME_BYTES_MAX} of a-z, 0-9, `.`, `_` and `-`");
        return Err(Invalid::new("name", problem));
    }
    Ok(())
}

/// Where a calendar is, for people: of a URL only the server, because the rest may be a secret.
pub fn shown_source(source: &str) -> String {
    match source.split_once("://") {
        Some((scheme, rest)) => {
            let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let server = server.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{server}/…")
        }
        None => source.to_owned(),
    }
}

impl FeedSettings {
    /// As a store keeps it: JSON.
    pub fn to_stored(&self) -> String {
        let mut fields = json!({ "alarms": self.alarms.as_str() });
        if let Some(offsets) = &self.offsets {
            fields["offsets"] = offsets.iter().map(|offset| Value::from(offset.word())).collect();
        }
        if let Some(message) = &self.message {
            fields["message"] = message.as_str().into();
        }
        fields.to_string()
    }

    /// Reads what [`FeedSettings::to_stored`] wrote.
    pub fn from_stored(text: &str) -> Result<Self, String> {
        let fields: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let offsets = fields["offsets"].as_array().map(|list| list.iter().map(Offset::read).collect()).transpose()?;
        let alarms =
            fields["alarms"].as_str().map(str::parse).transpose().map_err(|invalid: Invalid| invalid.to_string())?;
        let message = fields["message"].as_str().map(str::to_owned);
        Ok(Self { alarms: alarms.unwrap_or_default(), offsets, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_shown_without_its_secret() {
        for (source, shown) in [
            ("https://calendar.example/ical/secret/basic.ics?key=1", "https://calendar.example/…"),
            ("https://ann:pass@calendar.example", "https://calendar.example/…"),
            ("/home/ann/team.ics", "/home/ann/team.ics"),
        ] {
            assert_eq!(shown_source(source), shown);
        }
    }

    #[test]
    fn a_calendar_is_read_whole_once_a_day() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let key = FeedKey::of_group("on-call");
        let mut feed =
            Feed::new(key, "file:oncall.ics".into(), FeedSettings::default(), EVERY, at("2026-03-01T08:00:00Z"));
        feed.known.etag = Some("1".into());
        assert_eq!(feed.known_at(at("2026-03-01T08:00:00Z")), Known::default(), "it was never read");
        feed.read_at = Some(at("2026-03-01T08:00:00Z"));
        assert_eq!(feed.known_at(at("2026-03-01T23:59:59Z")), feed.known);
        assert_eq!(feed.known_at(at("2026-03-02T00:00:00Z")), Known::default());
    }

    #[test]
    fn settings_are_kept() {
        let offsets = Some(vec![Offset::minutes_before(60), Offset::minutes_before(-5)]);
        for settings in [
            FeedSettings::default(),
            FeedSettings { alarms: Alarms::Both, offsets, message: Some("{title} soon".into()) },
            FeedSettings { offsets: Some(vec![]), ..FeedSettings::default() },
        ] {
            assert_eq!(FeedSettings::from_stored(&settings.to_stored()), Ok(settings));
        }
    }
}

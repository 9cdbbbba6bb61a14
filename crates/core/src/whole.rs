//! Everything that a store keeps, as lines that stand alone: what an export writes, and what an import adopts.
//!
//! A line is one thing with all that belongs to it, so a file of them needs no snapshot of the whole store: it can be written page by page
//! while the store is used, cut off anywhere, and gone on with. Keys, leases, and what is kept for a few hours only are in no line.

use jiff::Timestamp;
use punctual_time::words;

use crate::event::Event;
use crate::feed::Feed;
use crate::group::Group;
use crate::id::{OccurrenceId, ReminderId};
use crate::invalid::Invalid;
use crate::journal::Placed;
use crate::occurrence::{Attempt, Occurrence};
use crate::reminder::{Priority, Reminder};
use crate::rules::course::Progress;
use crate::scope::Scope;
use crate::silence::Silence;
use crate::store::{DeadAddress, Response};
use crate::user::User;
use crate::watch::LedgerRow;
use crate::writes::{Link, Writes};

/// The most runs in one line, but for those that are open: a reminder has all of those.
pub const RUNS_MAX: usize = 1000;
/// The most runs of one page of reminders.
pub const PAGE_RUNS_MAX: usize = 4000;
/// The most lines that are adopted in one transaction.
pub const ADOPTED_AT_ONCE: usize = 1000;

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// Something that happened.
    Entry(Placed),
    /// A person.
    User(User),
    /// People who belong together.
    Group(Group),
    /// A silence that has not ended.
    Silence(Silence),
    /// An address that its platform calls dead.
    DeadAddress(DeadAddress),
    /// Offsets for the events below a path.
    Scope(Scope),
    /// A reminder with its runs.
    Reminder(Box<Whole>),
    /// Older runs of a reminder that has more than a line holds. All of them have ended.
    Runs(ReminderId, Vec<WholeRun>),
    /// An event, and which reminder each of its slots has.
    Event(Box<WholeEvent>),
    /// When a row of a watch, which is named first, was last reminded of.
    Ledger(String, LedgerRow),
    /// A calendar that a user follows: where it is and what is made of it, and not how far reading it has come.
    Calendar(Feed),
    /// A thing of this kind and name is not there any more: earlier lines about it do not count.
    Gone(LineKind, String),
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "Line documents them")]
pub enum LineKind {
    Entry,
    User,
    Group,
    Silence,
    DeadAddress,
    Scope,
    Reminder,
    Runs,
    Event,
    Ledger,
    Calendar,
    Gone,
}

words!(LineKind as "line" {
    "entry" => Entry, "user" => User, "group" => Group, "silence" => Silence, "dead_address" => DeadAddress, "scope" => Scope,
    "reminder" => Reminder, "runs" => Runs, "event" => Event, "watch_ledger" => Ledger, "calendar" => Calendar,
    "gone" => Gone,
});

/// A reminder, how far it has come, and its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The reminder.
    pub reminder: Reminder,
    /// Its series and tally.
    pub progress: Progress,
    /// Its runs by number: all that are open, and the newest of the others.
    pub runs: Vec<WholeRun>,
    /// The run below which there are more; none where these are all.
    pub more_below: Option<u32>,
}

/// An event, and which reminder each of its slots has. How far planning it has come is no part of it: it is planned anew, and finds its reminders.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeEvent {
    /// The event.
    pub event: Event,
    /// Its slots with their reminders.
    pub links: Vec<Link>,
}

/// A run, and how it got where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRun {
    /// The run.
    pub occurrence: Occurrence,
    /// The number of its last lease.
    pub lease: u64,
    /// Its attempts that have ended, in order.
    pub attempts: Vec<Attempt>,
    /// What people answered, in order.
    pub responses: Vec<Response>,
}

impl Line {
    /// What it is about.
    pub fn kind(&self) -> LineKind {
        match self {
            Self::Entry(_) => LineKind::Entry,
            Self::User(_) => LineKind::User,
            Self::Group(_) => LineKind::Group,
            Self::Silence(_) => LineKind::Silence,
            Self::DeadAddress(_) => LineKind::DeadAddress,
            Self::Scope(_) => LineKind::Scope,
            Self::Event(_) => LineKind::Event,
            Self::Ledger(..) => LineKind::Ledger,
            Self::Calendar(_) => LineKind::Calendar,
            Self::Gone(..) => LineKind::Gone,
            Self::Reminder(_) => LineKind::Reminder,
            Self::Runs(..) => LineKind::Runs,
        }
    }

    /// What names it among those of its kind.
    pub fn key(&self) -> String {
        match self {
            Self::Entry(entry) => entry.position.to_string(),
            Self::User(user) => user.id.clone(),
            Self::Group(group) => group.name.clone(),
            Self::Silence(silence) => silence.id.to_string(),
            Self::DeadAddress(dead) => dead.address.to_string(),
            Self::Scope(scope) => scope.path.to_string(),
            Self::Event(whole) => whole.event.key.clone(),
            Self::Ledger(watch, row) => format!("{watch}/{}", row.key),
            Self::Calendar(feed) => feed.key.word(),
            Self::Gone(_, key) => key.clone(),
            Self::Reminder(whole) => whole.reminder.id.to_string(),
            Self::Runs(id, runs) => {
                let last = runs.last().map_or(0, |run| run.occurrence.id.run);
                OccurrenceId { reminder: *id, run: last }.to_string()
            }
        }
    }

    /// Checks what the types cannot.
    pub fn validate(&self) -> Result<(), Invalid> {
        match self {
            Self::User(user) => user.validate(),
            Self::Group(group) => group.validate(),
            Self::Reminder(whole) => {
                let id = whole.reminder.id;
                whole.reminder.validate()?;
                of_one("runs", id, &whole.runs)
            }
            Self::Runs(id, runs) => {
                if let Some(open) = runs.iter().find(|run| !run.occurrence.state.is_final()) {
                    let run = open.occurrence.id.run;
                    return Err(Invalid::new(
                        "runs",
                        format!("run {run} has not ended; it belongs to its reminder's line"),
                    ));
                }
                of_one("runs", *id, runs)
            }
            Self::Event(whole) => match whole.links.iter().find(|link| link.slot.event != whole.event.key) {
                Some(other) => Err(Invalid::new("links", format!("has a slot of the event {}", other.slot.event))),
                None => Ok(()),
            },
            Self::Calendar(feed) => feed.validate(),
            Self::Entry(_)
            | Self::Silence(_)
            | Self::DeadAddress(_)
            | Self::Scope(_)
            | Self::Ledger(..)
            | Self::Gone(..) => Ok(()),
        }
    }
}

/// Checks that all of these are runs of one reminder, each once.
fn of_one(field: &str, id: ReminderId, runs: &[WholeRun]) -> Result<(), Invalid> {
    let mut before = 0;
    for WholeRun { occurrence, .. } in runs {
        if occurrence.id.reminder != id {
            return Err(Invalid::new(field, format!("has a run of reminder {}", occurrence.id.reminder)));
        }
        if occurrence.id.run <= before {
            return Err(Invalid::new(field, format!("run {} comes after run {before}", occurrence.id.run)));
        }
        before = occurrence.id.run;
    }
    Ok(())
}

/// The parts of an export, in order. What happened comes first, so that whatever an import has to say about runs that it ends comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The journal, up to where it was when the export began.
    Entries,
    /// People.
    Users,
    /// Groups.
    Groups,
    /// Silences.
    Silences,
    /// Dead addresses.
    DeadAddresses,
    /// Scopes.
    Scopes,
    /// Reminders.
    Reminders,
    /// Events. They come after their reminders, and after the scopes that say when those are due: an event that is planned finds both.
    Events,
    /// Calendars that users follow. They come after their events: a calendar that is read finds them.
    Calendars,
    /// The ledgers of watches.
    Ledgers,
    /// The journal from there on, and what it names, again: a later line counts.
    Changes,
}

words!(Section as "after" {
    "entries" => Entries, "users" => Users, "groups" => Groups, "silences" => Silences, "dead_addresses" => DeadAddresses,
    "scopes" => Scopes, "reminders" => Reminders, "events" => Events, "calendars" => Calendars, "watch_ledgers" => Ledgers, "changes" => Changes,
});

impl Section {
    /// All of them, in order.
    pub const ALL: [Self; 11] = [
        Self::Entries,
        Self::Users,
        Self::Groups,
        Self::Silences,
        Self::DeadAddresses,
        Self::Scopes,
        Self::Reminders,
        Self::Events,
        Self::Calendars,
        Self::Ledgers,
        Self::Changes,
    ];

    /// The one that follows.
    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|section| *section == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

/// Where an export goes on: `reminders`, or `reminders:0192…` after that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// In which part.
    pub section: Section,
    /// After what of it; nothing is its beginning.
    pub after: String,
}

impl Cursor {
    /// The beginning of a part.
    pub fn begin(section: Section) -> Self {
        Self { section, after: String::new() }
    }

    /// After this.
    pub fn after(section: Section, after: impl Into<String>) -> Self {
        Self { section, after: after.into() }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.after.is_empty() {
            true => write!(f, "{}", self.section),
            false => write!(f, "{}:{}", self.section, self.after),
        }
    }
}

impl std::str::FromStr for Cursor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (section, after) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self { section: section.parse()?, after: after.to_owned() })
    }
}

/// What becomes of runs that are overdue when they are adopted, or that a node was sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overdue {
    /// They are missed: the store that they come from may have sent them since.
    #[default]
    Missed,
    /// They are sent, as after an outage.
    Deliver,
}

words!(Overdue as "overdue" { "missed" => Missed, "deliver" => Deliver });

/// A reminder as it is written by an import.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptReminder {
    /// The reminder.
    pub reminder: Reminder,
    /// Its series and tally.
    pub progress: Progress,
}

/// A run as it is written by an import.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    /// The run.
    pub occurrence: Occurrence,
    /// The number of its last lease.
    pub lease: u64,
    /// Its reminder's priority.
    pub priority: Priority,
    /// Its user's shard.
    pub shard: u8,
}

/// What an import writes: things that are not there.
#[derive(Debug, Clone)]
pub struct Adoption {
    /// People.
    pub users: Vec<User>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Silences.
    pub silences: Vec<Silence>,
    /// Reminders.
    pub reminders: Vec<KeptReminder>,
    /// Their runs.
    pub runs: Vec<KeptRun>,
    /// Rows of the ledgers of watches.
    pub ledger: Vec<(String, LedgerRow)>,
    /// Calendars that users follow.
    pub feeds: Vec<Feed>,
    /// What happened before, in order.
    pub history: Vec<Placed>,
    /// Attempts, answers, dead addresses, scopes and events; and what the import itself does to runs that are overdue.
    pub writes: Writes,
}

/// What became of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Of each line: whether it was written. One that was there already stayed as it is.
    pub is_new: Vec<bool>,
    /// How many runs were missed because they were overdue.
    pub n_missed: usize,
    /// When something must be looked at because of them.
    pub wakes: Vec<Timestamp>,
}

/// What an entry says, wherever it stands: two with the same content are the same entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Content {
    at: Timestamp,
    kind: String,
    actor: String,
    via: Option<String>,
    user: Option<String>,
    reminder: Option<ReminderId>,
    run: Option<u32>,
    data: Option<String>,
}

impl Content {
    /// What an entry says.
    pub fn of(entry: &Placed) -> Self {
        Self {
            at: entry.at,
            kind: entry.kind.clone(),
            actor: entry.actor.clone(),
            via: entry.via.clone(),
            user: entry.user.clone(),
            reminder: entry.reminder,
            run: entry.run,
            data: entry.own_data(),
        }
    }
}

/// How the data of an entry begins that an import has brought.
const IMPORTED: &str = "{\"imported\":true";

impl Placed {
    /// Whether an import has brought it: it tells of what happened in another store.
    pub fn is_imported(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data.starts_with(IMPORTED))
    }

    /// Its data without the word that an import has brought it.
    pub fn own_data(&self) -> Option<String> {
        let data = self.data.as_ref()?;
        match data.strip_prefix(IMPORTED).map(|rest| rest.strip_prefix(',')) {
            None => Some(data.clone()),
            Some(None) => None,
            Some(Some(rest)) => Some(format!("{{{rest}")),
        }
    }

    /// The name that stands in this field of its data.
    pub fn named(&self, field: &str) -> Option<String> {
        let data: serde_json::Value = serde_json::from_str(self.data.as_deref()?).ok()?;
        data[field].as_str().map(str::to_owned)
    }

    /// The same entry, as an import writes it.
    #[must_use]
    pub fn imported(&self) -> Self {
        let data = match self.own_data().as_deref().and_then(|data| data.strip_prefix('{')) {
            None | Some("}") => format!("{IMPORTED}}}"),
            Some(rest) => format!("{IMPORTED},{rest}"),
        };
        Self { data: Some(data), ..self.clone() }
    }
}

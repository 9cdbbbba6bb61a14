//! Something of the application's with a start: a game, a meeting, a call.
//!
//! An event has offsets ("60 and 15 minutes before"), and each of its people has a reminder at each of them. Which reminders those are
//! is [`crate::rules::event`]'s business, and what becomes of those that are there already [`crate::decide::event`]'s.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

pub use super::offset::{End, OFFSETS_MAX, Offset};
pub use super::series::{Changed, Instance, Override, Repeats};
use super::step::Step;
use super::version::Version;
use crate::group;
use crate::id::ReminderId;
use crate::invalid::{Faults, Invalid};
use crate::model::scope::Path;
use crate::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use crate::schedule::{Rule, Schedule};
use crate::steps::Steps;
use crate::template::{Template, said};
use crate::zone::Zone;

/// What `created_via` says of a reminder that an event made.
pub const VIA: &str = "event";
/// The longest key of an event.
pub const KEY_BYTES_MAX: usize = 200;
/// The most users of one event.
pub const USERS_MAX: usize = 10_000;
/// The most groups of one event.
pub const GROUPS_MAX: usize = 16;
/// The most reminders of one event, or of one instance of a series.
pub const REMINDERS_MAX: usize = 20_000;

/// Something of the application's with a start.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The application's name for it.
    pub key: String,
    /// When it starts; of a series, when its first instance does.
    pub starts_at: Timestamp,
    /// When it ends; of a series, when its first instance does.
    pub ends_at: Option<Timestamp>,
    /// How it repeats.
    pub repeats: Option<Repeats>,
    /// When its people are reminded; none: as the nearest scope says.
    pub offsets: Option<Vec<Offset>>,
    /// Where it stands.
    pub scope: Option<Path>,
    /// Whom to remind, each once. With addresses alone (`to`) the event itself is the user.
    pub users: Vec<String>,
    /// Groups whose members are reminded as well.
    pub groups: Vec<String>,
    /// The reminders' name; none: the event's key.
    pub name: Option<String>,
    /// What to say, with fields such as `{minutes}` in it.
    pub message: String,
    /// The zone of its local times; none: each user's own.
    pub timezone: Option<Zone>,
    /// [`Reminder::priority`].
    pub priority: Priority,
    /// [`Reminder::to`].
    pub to: Vec<Address>,
    /// [`Reminder::only`].
    pub only: bool,
    /// [`Reminder::ack`].
    pub ack: Option<AckPolicy>,
    /// [`Reminder::escalate`].
    pub escalate: Vec<Step>,
    /// [`Reminder::snooze_allowed`].
    pub snooze_allowed: bool,
    /// [`Reminder::retries_max`].
    pub retries_max: u32,
    /// [`Reminder::misfire`].
    pub misfire: Misfire,
    /// [`Reminder::on_unknown`].
    pub on_unknown: OnUnknown,
    /// [`Reminder::metadata`].
    pub metadata: Metadata,
    /// [`Reminder::tags`].
    pub tags: Vec<String>,
    /// The calendar that it was read from: nobody else may change it.
    pub source: Option<String>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A reminder's place in an event: it has one reminder at most, whoever plans it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// The event's key.
    pub event: String,
    /// Which instance of a series, by its original local start, such as `20260310T180000`; empty of a single event.
    pub instance: String,
    /// At which offset.
    pub offset: Offset,
    /// For whom.
    pub user: String,
}

/// What a reminder says of the event that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfEvent {
    /// The event's key.
    pub key: String,
    /// When the event, or this instance of it, starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
    /// At which offset the reminder is.
    pub offset: Offset,
    /// Which instance of a series, by its original local start.
    pub instance: Option<String>,
}

/// A field of an event's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// The minutes before, which are negative after.
    Minutes,
    /// When it starts, in the reader's zone.
    StartsAt,
    /// When it ends, in the reader's zone.
    EndsAt,
    /// The event's key.
    Key,
    /// A field of the metadata: what it says.
    Said(String),
}

impl Event {
    /// Its version: every time that it is put otherwise than before makes it another.
    pub fn version(&self) -> Version {
        Version::of(self)
    }

    /// Checks everything about it, with the server's `zone` for a series that names none. Doors call it before anything is written.
    pub fn validate(&self, zone: &Zone, steps: &Steps) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        faults.note(check_key(&self.key));
        self.check_people(&mut faults);
        if let Some(ends_at) = self.ends_at
            && ends_at < self.starts_at
        {
            faults.add(Invalid::new("ends_at", "is before starts_at"));
        }
        if let Some(offsets) = &self.offsets {
            faults.note(self.check_offsets("offsets", offsets, self.ends_at));
        }
        faults.note(template(&self.message, &self.metadata));
        faults.settle();
        // A name that is not there becomes the key, and a message is checked again when its fields are filled in.
        let draft =
            self.draft(self.users.first().map_or("x", String::as_str), self.message.clone(), self.starts_at, zone);
        faults.note(draft.validate());
        if let Some(repeats) = &self.repeats {
            let zone = self.timezone.as_ref().unwrap_or(zone);
            if faults.note(repeats.schedule(self.starts_at, zone, steps)).is_some() {
                faults.note(repeats.validate(self));
            }
        }
        faults.finish()
    }

    fn check_people(&self, faults: &mut Faults) {
        if self.users.is_empty() && self.groups.is_empty() && self.to.is_empty() {
            faults.add(Invalid::missing("users", "say whom to remind: users, groups, or addresses in `to`"));
        }
        if self.users.len() > USERS_MAX {
            faults.add(Invalid::new("users", format!("has {} entries; at most {USERS_MAX}", self.users.len())));
        }
        let mut seen = BTreeSet::new();
        for (index, user) in self.users.iter().enumerate() {
            if user.is_empty() || user.len() > 256 || user.contains('\0') {
                faults.add(Invalid::new(format!("users[{index}]"), "must be 1 to 256 bytes long"));
            } else if !seen.insert(user) {
                let problem = format!("`{user}` is there already; name each user once");
                faults.add(Invalid::new(format!("users[{index}]"), problem));
            }
            if faults.is_full() {
                return;
            }
        }
        if self.groups.len() > GROUPS_MAX {
            faults.add(Invalid::new("groups", format!("has {} entries; at most {GROUPS_MAX}", self.groups.len())));
        }
        for (index, name) in self.groups.iter().enumerate().take(GROUPS_MAX) {
            faults.note(group::check_name(&format!("groups[{index}]"), name));
        }
    }

    /// Checks the offsets in `field` of an event or an instance that ends at `ends_at`.
    pub(super) fn check_offsets(
        &self,
        field: &str,
        offsets: &[Offset],
        ends_at: Option<Timestamp>,
    ) -> Result<(), Invalid> {
        if offsets.len() > OFFSETS_MAX {
            return Err(Invalid::new(field, format!("has {} entries; at most {OFFSETS_MAX}", offsets.len())));
        }
        if let Some(index) = offsets.iter().position(|offset| offset.of == End::End && ends_at.is_none()) {
            return Err(Invalid::new(format!("{field}[{index}]"), "counts from the end, and the event has no ends_at"));
        }
        let n_people = (self.users.len() + self.groups.len() * group::USERS_MAX).max(1);
        let n_reminders = n_people * offsets.len();
        if n_reminders > REMINDERS_MAX {
            let problem = format!(
                "has {} entries for {n_people} people, which are {n_reminders} reminders; at most {REMINDERS_MAX}",
                offsets.len()
            );
            return Err(Invalid::new(field, problem));
        }
        Ok(())
    }

    /// The user of an event with addresses alone.
    pub fn own_user(&self) -> String {
        format!("event:{}", self.key)
    }

    /// The reminder that says `message` to `user` at `due_at`, as far as the event itself says what it is.
    pub fn draft(&self, user: &str, message: String, due_at: Timestamp, zone: &Zone) -> Reminder {
        Reminder {
            id: ReminderId::from_bytes([0; 16]),
            user: user.to_owned(),
            name: Some(self.name.as_ref().unwrap_or(&self.key).clone()),
            message,
            schedule: Schedule::new(Rule::Once { at: due_at }),
            timezone: zone.clone(),
            priority: self.priority,
            to: self.to.clone(),
            only: self.only,
            ack: self.ack.clone(),
            escalate: self.escalate.clone(),
            escalates: None,
            event: None,
            snooze_allowed: self.snooze_allowed,
            retries_max: self.retries_max,
            misfire: self.misfire,
            on_unknown: self.on_unknown,
            created_via: VIA.to_owned(),
            original_text: None,
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            status: ReminderStatus::Active,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// Checks the key of an event.
pub fn check_key(key: &str) -> Result<(), Invalid> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let problem = format!("is {} bytes long; write 1 to {KEY_BYTES_MAX}, such as game:42", key.len());
        return Err(Invalid::new("key", problem));
    }
    if key.contains('\0') {
        return Err(Invalid::new("key", "contains a NUL character"));
    }
    Ok(())
}

/// Reads a message whose fields are those of an event, or scalar fields of its metadata.
pub fn template(message: &str, metadata: &Metadata) -> Result<Template<Field>, Invalid> {
    let metadata = metadata.to_value();
    let field = |name: &str| match name {
        "minutes" => Ok(Field::Minutes),
        "starts_at" => Ok(Field::StartsAt),
        "ends_at" => Ok(Field::EndsAt),
        "key" => Ok(Field::Key),
        name => match &metadata[name] {
            Value::Null => Err(format!(
                "has the unknown field {{{name}}}; known are minutes, starts_at, ends_at, key and the fields of the metadata"
            )),
            Value::Array(_) | Value::Object(_) => {
                Err(format!("has the field {{{name}}}, which is no text, number or flag in the metadata"))
            }
            value => Ok(Field::Said(said(value))),
        },
    };
    Template::parse(message, field).map_err(|problem| Invalid::new("message", problem))
}

impl OfEvent {
    /// As a store keeps it: JSON.
    pub fn to_stored(&self) -> String {
        let Self { key, starts_at, ends_at, offset, instance } = self;
        let mut fields = serde_json::json!({ "key": key, "starts_at": starts_at.to_string(), "offset": offset.word() });
        if let Some(ends_at) = ends_at {
            fields["ends_at"] = ends_at.to_string().into();
        }
        if let Some(instance) = instance {
            fields["instance"] = instance.as_str().into();
        }
        fields.to_string()
    }

    /// Reads what [`OfEvent::to_stored`] wrote.
    pub fn from_stored(text: &str) -> Result<Self, String> {
        let fields: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let text = |name: &str| fields[name].as_str().ok_or_else(|| format!("an event has no {name}"));
        let at = |text: &str| text.parse::<Timestamp>().map_err(|error| error.to_string());
        Ok(Self {
            key: text("key")?.to_owned(),
            starts_at: at(text("starts_at")?)?,
            ends_at: fields["ends_at"].as_str().map(at).transpose()?,
            offset: Offset::parse(text("offset")?)?,
            instance: fields["instance"].as_str().map(str::to_owned),
        })
    }
}

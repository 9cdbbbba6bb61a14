//! How an event repeats, and what is different about some of its instances.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::event::{Event, template};
use super::offset::{self, Offset};
use crate::invalid::Invalid;
use crate::reminder::{MESSAGE_BYTES_MAX, METADATA_BYTES_MAX, Metadata};
use crate::schedule::Schedule;
use crate::steps::Steps;
use crate::zone::Zone;

/// The most instances of a series about which something is different.
pub const OVERRIDES_MAX: usize = 1000;
/// How the name of an instance is written: its original local start.
const NAME: &str = "%Y%m%dT%H%M%S";

/// How an event repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// Its rule: a bare one such as `FREQ=WEEKLY;BYDAY=TU`, or lines of iCalendar (`RRULE`, `RDATE`, `EXDATE`). It begins with the event.
    pub rule: String,
    /// What is different about some instances, in the order of their original starts.
    pub overrides: Vec<Override>,
    /// SQL has written it: a node has yet to look whether the series has these instances.
    pub is_unchecked: bool,
}

/// What is different about an instance, or about it and all later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The instance's original local start, by which it is known.
    pub at: DateTime,
    /// It holds for all later ones, too.
    pub following: bool,
    /// What is different.
    pub change: Instance,
}

/// What became of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instance {
    /// It does not take place.
    Cancelled,
    /// It is not as its series says.
    Changed(Box<Changed>),
}

/// New values for an instance; `None` is as its series says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// When it starts. Those that follow it are moved by as much.
    pub starts_at: Option<Timestamp>,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
    /// Its offsets.
    pub offsets: Option<Vec<Offset>>,
    /// What is said.
    pub message: Option<String>,
    /// Its metadata.
    pub metadata: Option<Metadata>,
}

impl Repeats {
    /// A series by its rule.
    pub fn new(rule: impl Into<String>, overrides: Vec<Override>) -> Self {
        Self { rule: rule.into(), overrides, is_unchecked: false }
    }

    /// The schedule of its original starts, for an event that starts at `starts_at`, with local times in `zone`.
    pub fn schedule(&self, starts_at: Timestamp, zone: &Zone, steps: &Steps) -> Result<Schedule, Invalid> {
        let wrong = |problem: String| Invalid::new("rrule", problem);
        let rule = self.rule.trim();
        if rule.lines().any(|line| line.to_ascii_uppercase().starts_with("DTSTART")) {
            return Err(wrong("has a DTSTART; leave it out, because a series begins with starts_at".into()));
        }
        let is_bare = !rule.contains([':', '\n']);
        let start = name_of(zone.rules().to_datetime(starts_at));
        let prefix = if is_bare { "RRULE:" } else { "" };
        let input = json!({ "type": "rrule", "ical": format!("DTSTART:{start}\n{prefix}{rule}") });
        // It counts from just before its beginning, so that one which is over can still be read.
        let before = starts_at.checked_sub(SignedDuration::from_secs(1)).unwrap_or(starts_at);
        Schedule::from_input_within(&input, zone, before, steps).map_err(|invalid| wrong(invalid.problem))
    }

    /// Checks what is different about its instances, when it is `event`'s.
    pub(super) fn validate(&self, event: &Event) -> Result<(), Invalid> {
        if self.overrides.len() > OVERRIDES_MAX {
            let problem = format!("has {} entries; at most {OVERRIDES_MAX}", self.overrides.len());
            return Err(Invalid::new("instances", problem));
        }
        for Override { at, change, .. } in &self.overrides {
            let field = format!("instances.{}", name_of(*at));
            let Instance::Changed(changed) = change else { continue };
            changed.validate(event).map_err(|invalid| invalid.within(&field))?;
        }
        Ok(())
    }

    /// Writes what is different about an instance over what was; `None`: it is as its series says again.
    pub fn set(&mut self, at: DateTime, following: bool, change: Option<Instance>) {
        self.overrides.retain(|other| !(other.at == at && other.following == following));
        self.overrides.extend(change.map(|change| Override { at, following, change }));
        self.overrides.sort_by_key(|other| (other.at, !other.following));
    }

    /// Takes over what was different about instances of the series before, of which `schedule` says the new original starts: an instance is
    /// known by its local date, because "next Tuesday is off" means the day. Returns those whose day the new series does not have.
    pub fn carry(&mut self, before: &[Override], schedule: &Schedule, zone: &Zone) -> Vec<DateTime> {
        let mut dropped = Vec::new();
        let placed = before.iter().map(|old| (on_date(schedule, zone, old.at), old));
        // An instance that the series has by its very name comes before one of the same day.
        let (exact, others): (Vec<_>, Vec<_>) = placed.partition(|(at, old)| *at == Some(old.at));
        for (at, old) in exact.into_iter().chain(others) {
            let is_here =
                |at| self.overrides.iter().any(|new: &Override| new.at == at && new.following == old.following);
            match at {
                Some(at) if !is_here(at) => self.overrides.push(Override { at, ..old.clone() }),
                Some(_) => {}
                None => dropped.push(old.at),
            }
        }
        self.overrides.sort_by_key(|other| (other.at, !other.following));
        dropped
    }

    /// The series as it is once somebody has looked whether it has the instances that SQL has named, and which those are that it has not.
    pub fn checked(&self, starts_at: Timestamp, zone: &Zone, steps: &Steps) -> Result<(Self, Vec<DateTime>), Invalid> {
        let schedule = self.schedule(starts_at, zone, steps)?;
        let mut checked = Self::new(self.rule.clone(), Vec::new());
        let dropped = checked.carry(&self.overrides, &schedule, zone);
        Ok((checked, dropped))
    }

    /// As a store keeps it: JSON, as an application in SQL may write it, too.
    pub fn to_stored(&self) -> String {
        let overrides: Vec<Value> = self.overrides.iter().map(Override::to_value).collect();
        let mut fields = json!({ "rule": self.rule, "instances": overrides });
        if self.is_unchecked {
            fields["unchecked"] = true.into();
        }
        fields.to_string()
    }

    /// Reads what [`Repeats::to_stored`] wrote.
    pub fn from_stored(text: &str) -> Result<Self, Invalid> {
        let wrong = |problem: &str| Invalid::new("rrule", problem);
        let value: Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let rule = value["rule"].as_str().ok_or_else(|| wrong("is missing"))?.to_owned();
        let none = Vec::new();
        let overrides = value["instances"].as_array().unwrap_or(&none);
        let mut overrides = overrides.iter().map(Override::from_value).collect::<Result<Vec<_>, _>>()?;
        overrides.sort_by_key(|other| (other.at, !other.following));
        let is_unchecked = value["unchecked"].as_bool().unwrap_or_default();
        Ok(Self { rule, overrides, is_unchecked })
    }
}

/// The original start that `schedule` has at this local time, or else on this local date.
fn on_date(schedule: &Schedule, zone: &Zone, at: DateTime) -> Option<DateTime> {
    let midnight = at.date().at(0, 0, 0, 0);
    let local = |time: DateTime| zone.rules().to_timestamp(time).ok();
    let before = |at: Timestamp| at.checked_sub(SignedDuration::from_nanos(1)).ok();
    let next = |from: DateTime| {
        let next = schedule.next_after(zone, before(local(from)?)?)?;
        Some(zone.rules().to_datetime(next)).filter(|next| next.date() == at.date())
    };
    next(at).filter(|next| *next == at).or_else(|| next(midnight))
}

/// Whether `schedule` has an original start at this local time.
pub fn has(schedule: &Schedule, zone: &Zone, at: DateTime) -> bool {
    on_date(schedule, zone, at) == Some(at)
}

impl Override {
    /// As the API shows it, and a store keeps it.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("at".into(), name_of(self.at).into());
        if self.following {
            fields.insert("following".into(), true.into());
        }
        match &self.change {
            Instance::Cancelled => {
                fields.insert("cancelled".into(), true.into());
            }
            Instance::Changed(changed) => changed.write(&mut fields),
        }
        Value::Object(fields)
    }

    /// Reads what [`Override::to_value`] wrote: also an entry of `instances` in the API.
    pub fn from_value(value: &Value) -> Result<Self, Invalid> {
        let at =
            value["at"].as_str().ok_or_else(|| Invalid::new("at", "is missing; name the instance's original start"))?;
        let at = read_name(at).map_err(|problem| Invalid::new("at", problem))?;
        let following = value["following"].as_bool().unwrap_or_default();
        let change = match value["cancelled"].as_bool() {
            Some(true) => Instance::Cancelled,
            _ => Instance::Changed(Box::new(Changed::read(value)?)),
        };
        Ok(Self { at, following, change })
    }
}

impl Changed {
    /// Reads the fields of an object that it has; the others are left to the caller.
    pub fn read(value: &Value) -> Result<Self, Invalid> {
        let text = |name: &'static str| match &value[name] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.as_str())),
            _ => Err(Invalid::new(name, "is no text")),
        };
        let at = |name: &'static str| -> Result<Option<Timestamp>, Invalid> {
            let read = |text: &str| {
                text.parse()
                    .map_err(|_| Invalid::new(name, format!("`{text}` is no instant; write 2026-03-10T18:00:00Z")))
            };
            text(name)?.map(read).transpose()
        };
        let offsets = match &value["offsets"] {
            Value::Null => None,
            offsets => Some(offset::read_list("offsets", offsets)?),
        };
        let metadata = match &value["metadata"] {
            Value::Null => None,
            Value::Object(fields) => Some(Metadata::new(fields)),
            _ => return Err(Invalid::new("metadata", "is no object")),
        };
        Ok(Self {
            starts_at: at("starts_at")?,
            ends_at: at("ends_at")?,
            offsets,
            message: text("message")?.map(str::to_owned),
            metadata,
        })
    }

    fn write(&self, fields: &mut Map<String, Value>) {
        let Self { starts_at, ends_at, offsets, message, metadata } = self;
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        put("starts_at", starts_at.map(|at| at.to_string().into()));
        put("ends_at", ends_at.map(|at| at.to_string().into()));
        put("offsets", offsets.as_ref().map(|offsets| offsets.iter().map(|offset| offset.to_value()).collect()));
        put("message", message.as_ref().map(|message| message.as_str().into()));
        put("metadata", metadata.as_ref().map(Metadata::to_value));
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn validate(&self, event: &Event) -> Result<(), Invalid> {
        if let (Some(starts_at), Some(ends_at)) = (self.starts_at, self.ends_at)
            && ends_at < starts_at
        {
            return Err(Invalid::new("ends_at", "is before starts_at"));
        }
        if let Some(offsets) = &self.offsets {
            event.check_offsets("offsets", offsets, self.ends_at.or(event.ends_at))?;
        }
        let (message, metadata) = (self.message.as_ref().unwrap_or(&event.message), self.metadata.as_ref());
        if message.is_empty() || message.len() > MESSAGE_BYTES_MAX {
            return Err(Invalid::new("message", format!("must be 1 to {MESSAGE_BYTES_MAX} bytes long")));
        }
        let metadata = metadata.unwrap_or(&event.metadata);
        if metadata.as_str().len() > METADATA_BYTES_MAX {
            return Err(Invalid::new("metadata", format!("is larger than {METADATA_BYTES_MAX} bytes")));
        }
        template(message, metadata).map(drop)
    }
}

/// The name of an instance: its original local start, such as `20260310T180000`.
pub fn name_of(at: DateTime) -> String {
    at.strftime(NAME).to_string()
}

/// Reads the name of an instance: its original local start, in that form or as `2026-03-10T18:00`.
pub fn read_name(text: &str) -> Result<DateTime, String> {
    let wrong =
        || format!("`{text}` is no original start of an instance; write its local time, such as 20260310T180000");
    if text.ends_with(['Z', 'z']) || text.contains('+') {
        return Err(wrong());
    }
    let at: DateTime = text.parse().map_err(|_| wrong())?;
    Ok(at)
}

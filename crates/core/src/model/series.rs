//! How an event repeats, and what is different about some of its instances.

use jiff::civil::{Date, DateTime};
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
    /// Set until a node has looked whether the series has these instances.
    pub unchecked: Option<Unchecked>,
}

/// The facts by which a node finds the instances of a changed series ([`Repeats::checked`]); they are kept until it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// The series that named the instances; `None`: this one.
    pub was: Option<Was>,
    /// The instances that were named after the series had changed, by names of its own.
    pub named: Vec<DateTime>,
}

/// A series as it was before it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Was {
    /// Its rule.
    pub rule: String,
    /// When its first instance started.
    pub starts_at: Timestamp,
    /// Its zone, where it had one of its own.
    pub timezone: Option<Zone>,
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
        Self { rule: rule.into(), overrides, unchecked: None }
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

    /// Takes over what was different about instances of `event`'s series, which this one replaces. Which of them it has, [`Repeats::checked`]
    /// finds.
    pub fn follow(&mut self, event: &Event) {
        let Some(old) = &event.repeats else { return };
        let Event { starts_at, timezone, .. } = event;
        let was = || Was { rule: old.rule.clone(), starts_at: *starts_at, timezone: timezone.clone() };
        self.overrides.clone_from(&old.overrides);
        self.unchecked = Some(match &old.unchecked {
            // It was changed before, and nobody has looked since.
            Some(Unchecked { was: Some(first), named }) => Unchecked { was: Some(first.clone()), named: named.clone() },
            _ => Unchecked { was: Some(was()), named: Vec::new() },
        });
    }

    /// The series with the instances that it has, and the names of those that it has not, with local times in `zone`.
    ///
    /// An instance that it has by the very name is meant. One that was named before the series changed goes along by its day, because "next
    /// Tuesday is off" means the day: the second one of an old day becomes the second one of that day. Two never become one.
    pub fn checked(&self, event: &Event, zone: &Zone, steps: &Steps) -> Result<(Self, Vec<DateTime>), Invalid> {
        let own = |timezone: &Option<Zone>| timezone.as_ref().unwrap_or(zone).clone();
        let (new_zone, unchecked) = (own(&event.timezone), self.unchecked.clone().unwrap_or_default());
        let schedule = self.schedule(event.starts_at, &new_zone, steps)?;
        // Where the old rule cannot be read, an instance is found by its very name alone.
        let before = unchecked.was.and_then(|was| {
            let zone = own(&was.timezone);
            let schedule = Self::new(was.rule, Vec::new()).schedule(was.starts_at, &zone, steps).ok()?;
            Some((schedule, zone))
        });
        let is_own = |other: &&Override| starts(&schedule, &new_zone, other.at, steps).next() == Some(other.at);
        let (exact, others): (Vec<_>, Vec<_>) = self.overrides.iter().partition(is_own);
        let mut checked = Self::new(self.rule.clone(), exact.into_iter().cloned().collect());
        let mut dropped = Vec::new();
        for other in others {
            let is_named = unchecked.named.contains(&other.at);
            let at = before.as_ref().filter(|_| !is_named).and_then(|(old, old_zone)| {
                let of_day = |schedule, zone| starts_on(schedule, zone, other.at.date(), steps);
                of_day(old, old_zone).zip(of_day(&schedule, &new_zone)).find(|(was, _)| *was == other.at)
            });
            let is_there = |at| checked.overrides.iter().any(|new| new.at == at && new.following == other.following);
            match at {
                Some((_, at)) if !is_there(at) => checked.overrides.push(Override { at, ..other.clone() }),
                _ => dropped.push(other.at),
            }
        }
        checked.overrides.sort_by_key(|other| (other.at, !other.following));
        Ok((checked, dropped))
    }

    /// As a store keeps it: JSON, as an application in SQL may write it, too.
    pub fn to_stored(&self) -> String {
        let overrides: Vec<Value> = self.overrides.iter().map(Override::to_value).collect();
        let mut fields = json!({ "rule": self.rule, "instances": overrides });
        if let Some(Unchecked { was, named }) = &self.unchecked {
            fields["unchecked"] = true.into();
            if let Some(Was { rule, starts_at, timezone }) = was {
                let timezone = timezone.as_ref().map(Zone::name);
                fields["was"] = json!({ "rule": rule, "starts_at": starts_at.to_string(), "timezone": timezone });
            }
            if !named.is_empty() {
                fields["named"] = named.iter().map(|at| name_of(*at)).collect();
            }
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
        let unchecked = match value["unchecked"].as_bool() {
            Some(true) => Some(Unchecked::read(&value)?),
            _ => None,
        };
        Ok(Self { rule, overrides, unchecked })
    }
}

impl Unchecked {
    fn read(value: &Value) -> Result<Self, Invalid> {
        let wrong = |problem: String| Invalid::new("rrule", problem);
        let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
        let was = match &value["was"] {
            Value::Null => None,
            was => Some(Was {
                rule: text(&was["rule"]),
                starts_at: text(&was["starts_at"]).parse().map_err(|error| wrong(format!("{error}")))?,
                timezone: was["timezone"].as_str().map(Zone::named).transpose()?,
            }),
        };
        let named = value["named"].as_array().into_iter().flatten();
        let named = named.map(|name| read_name(&text(name)).map_err(wrong)).collect::<Result<_, _>>()?;
        Ok(Self { was, named })
    }
}

/// The original local starts that `schedule` has from this local time on, as far as `steps` reach.
fn starts(schedule: &Schedule, zone: &Zone, from: DateTime, steps: &Steps) -> impl Iterator<Item = DateTime> {
    let from = zone.rules().to_timestamp(from).ok().and_then(|at| at.checked_sub(SignedDuration::from_nanos(1)).ok());
    let first = from.and_then(|from| schedule.next_within(zone, from, steps));
    std::iter::successors(first, move |at| schedule.next_within(zone, *at, steps))
        .map(|at| zone.rules().to_datetime(at))
}

/// Those of one local date.
fn starts_on(schedule: &Schedule, zone: &Zone, date: Date, steps: &Steps) -> impl Iterator<Item = DateTime> {
    starts(schedule, zone, date.at(0, 0, 0, 0), steps).take_while(move |at| at.date() == date)
}

/// Whether `schedule` has an original start at this local time.
pub fn has(schedule: &Schedule, zone: &Zone, at: DateTime) -> bool {
    starts(schedule, zone, at, &Steps::of_request(1)).next() == Some(at)
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

//! The items of a calendar as events.

use jiff::Timestamp;
use punctual_core::event::{Changed, End, Event, Instance, OFFSETS_MAX, Offset, Override, Repeats};
use punctual_core::feed::{Alarms, FeedSettings};
use punctual_core::reminder::{Metadata, Misfire, OnUnknown, Priority};
use punctual_core::scope::{self, Path};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::item::{Alarm, Change, Edge, Item};

/// What is said of an event that has a title, where nobody says otherwise.
pub const MESSAGE: &str = "{title}";
/// The longest key that has the uid in it.
const KEY_BYTES_MAX: usize = 200;

/// What the events of a calendar have in common.
#[derive(Debug, Clone)]
pub struct Defaults<'a> {
    /// What their keys begin with.
    pub prefix: &'a str,
    /// Whom to remind.
    pub user: &'a str,
    /// Where the user's defaults stand.
    pub scope: Option<Path>,
    /// The calendar that they follow.
    pub source: Option<String>,
    /// What is made of the items.
    pub settings: &'a FeedSettings,
    /// The present.
    pub now: Timestamp,
}

/// The event of an item. One that is done or over is none.
pub fn of_item(item: &Item, by: &Defaults<'_>) -> Option<Event> {
    let last = item.ends_at.unwrap_or(item.starts_at);
    if item.done || (item.repeats.is_none() && last < by.now) {
        return None;
    }
    let message = by.settings.message.clone().unwrap_or_else(|| MESSAGE.to_owned());
    let mut event = Event {
        key: key(by.prefix, &item.uid),
        starts_at: item.starts_at,
        ends_at: item.ends_at,
        repeats: None,
        offsets: offsets(item, item.alarms.as_deref(), by),
        scope: by.scope.clone(),
        users: vec![by.user.to_owned()],
        groups: Vec::new(),
        name: Some(title(&item.title)).filter(|title| title.len() <= 256),
        message,
        timezone: Some(item.zone.clone()),
        priority: Priority::Normal,
        to: Vec::new(),
        only: false,
        ack: None,
        escalate: Vec::new(),
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        metadata: metadata(item, &item.title),
        tags: Vec::new(),
        source: by.source.clone(),
        created_at: by.now,
        updated_at: by.now,
    };
    event.repeats = item.repeats.as_ref().map(|repeats| {
        let overrides = repeats.overrides.iter().map(|change| instance(item, change, by)).collect();
        Repeats::new(repeats.lines.clone(), overrides)
    });
    Some(event)
}

/// The key of an item: the same for the same uid.
pub fn key(prefix: &str, uid: &str) -> String {
    let whole = format!("{prefix}{uid}");
    if whole.len() <= KEY_BYTES_MAX {
        return whole;
    }
    let hash: String = Sha256::digest(uid)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{hash}")
}

fn instance(item: &Item, change: &crate::item::Override, by: &Defaults<'_>) -> Override {
    let became = match &change.change {
        Change::Cancelled => Instance::Cancelled,
        Change::Changed { starts_at, ends_at, title, alarms } => {
            let own = alarms.as_ref().filter(|alarms| item.alarms.as_ref() != Some(alarms));
            Instance::Changed(Box::new(Changed {
                starts_at: Some(*starts_at),
                ends_at: ends_at.filter(|_| item.ends_at.is_some()),
                offsets: own.and_then(|alarms| offsets(item, Some(alarms), by)),
                message: None,
                metadata: (*title != item.title).then(|| metadata(item, title)),
            }))
        }
    };
    Override { at: change.at, following: change.following, change: became }
}

/// When its reader is reminded. `None`: as the reader's scope says.
fn offsets(item: &Item, alarms: Option<&[Alarm]>, by: &Defaults<'_>) -> Option<Vec<Offset>> {
    let own =
        || -> Vec<Offset> { alarms.unwrap_or_default().iter().filter_map(|alarm| offset(item, *alarm)).collect() };
    let anchor = if item.anchor() == Edge::End { End::End } else { End::Start };
    let about_anchor = |offsets: &[Offset]| -> Vec<Offset> {
        offsets
            .iter()
            .map(|offset| Offset { of: if offset.of == End::Start { anchor } else { offset.of }, ..*offset })
            .collect()
    };
    // A scope knows starts alone, so a to-do's defaults are written out.
    let defaults = match &by.settings.offsets {
        Some(offsets) => Some(about_anchor(offsets)),
        None if by.scope.is_none() || anchor == End::End => Some(about_anchor(&scope::OF_USERS)),
        None => None,
    };
    let mut found = match (by.settings.alarms, alarms) {
        (Alarms::Own, Some(_)) => own(),
        (Alarms::Own, None) | (Alarms::Defaults, _) => defaults?,
        (Alarms::Both, _) => {
            let mut both = own();
            both.extend(defaults.unwrap_or_else(|| about_anchor(&scope::OF_USERS)));
            both
        }
    };
    if item.ends_at.is_none() {
        found.retain(|offset| offset.of == End::Start);
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(OFFSETS_MAX);
    Some(found)
}

fn offset(item: &Item, alarm: Alarm) -> Option<Offset> {
    let before_seconds = match alarm {
        Alarm::Before { seconds, .. } => seconds,
        // An instant is for the one instance that it lies before, and a series has many.
        Alarm::At(_) if item.repeats.is_some() => return None,
        Alarm::At(at) => item.starts_at.duration_since(at).as_secs(),
    };
    let of = match alarm {
        Alarm::Before { of: Edge::End, .. } => End::End,
        _ => End::Start,
    };
    (before_seconds.abs() <= 366 * 86_400).then_some(Offset { of, before_seconds })
}

fn title(title: &str) -> String {
    if title.trim().is_empty() { "(no title)".to_owned() } else { title.trim().to_owned() }
}

fn metadata(item: &Item, said: &str) -> Metadata {
    let mut fields = Map::new();
    fields.insert("title".into(), title(said).into());
    fields.insert("uid".into(), item.uid.as_str().into());
    let mut add = |name: &str, value: &Option<String>| {
        fields.insert(name.to_owned(), Value::from(value.clone().unwrap_or_default()));
    };
    add("location", &item.location);
    add("description", &item.description);
    Metadata::new(&fields)
}

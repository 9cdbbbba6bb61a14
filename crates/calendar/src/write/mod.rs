//! A calendar as its text.
//!
//! The same entries give the same text, byte for byte: nothing in it says when it was written, so that a reader who asks whether it has
//! changed can be told. calcard folds and escapes; the zones are described by the changes that jiff knows, because by those we fire.

mod lines;
mod reminder;
mod zone;

use std::collections::BTreeMap;

use calcard::icalendar::{ICalendar, ICalendarComponent, ICalendarComponentType as Type, ICalendarProperty as Name};
use jiff::Timestamp;
use punctual_core::zone::Zone;

use self::lines::{add, stamp_utc, times};
pub use self::reminder::of_reminder;
use crate::item::{Edge, Kind};

/// What stands in `PRODID`.
const PRODUCT: &str = "-//punctual//punctual//EN";
/// How often a reader should look.
const REFRESH: &str = "PT15M";
/// How long an entry is shown that has no end of its own.
const SHOWN_FOR: &str = "PT15M";

/// One `VEVENT` or `VTODO`.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What names it, always the same.
    pub uid: String,
    /// What it is.
    pub kind: Kind,
    /// When it is.
    pub when: When,
    /// When it ends; none: it is shown for a quarter of an hour.
    pub ends_at: Option<Timestamp>,
    /// Its title.
    pub summary: String,
    /// More about it.
    pub description: Option<String>,
    /// Words by which it is found.
    pub categories: Vec<String>,
    /// How much it matters, 1 the most.
    pub priority: u8,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When to ring: so many seconds before one end, negative: after it.
    pub alarms: Vec<(i64, Edge)>,
    /// The uid of the entry that it belongs to.
    pub related_to: Option<String>,
}

/// When an entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// Once.
    At(Timestamp),
    /// Again and again: `DTSTART`, `RRULE`, `RDATE` and `EXDATE`, as `Schedule::to_ical` writes them.
    Series(String),
    /// At these instants.
    Dates(Vec<Timestamp>),
}

/// Writes a calendar called `name`.
pub fn write(name: &str, entries: &[Entry]) -> String {
    let mut components = vec![ICalendarComponent::new(Type::VCalendar)];
    let head = &mut components[0];
    add(head, Name::Version, ["2.0"]);
    add(head, Name::Prodid, [PRODUCT]);
    add(head, Name::Method, ["PUBLISH"]);
    add(head, Name::Name, [name]);
    add(head, Name::Other("X-WR-CALNAME".into()), [name]);
    lines::add_duration(head, Name::RefreshInterval, REFRESH);
    add(head, Name::Other("X-PUBLISHED-TTL".into()), [REFRESH]);

    let mut zones: BTreeMap<String, (Zone, Timestamp)> = BTreeMap::new();
    let mut written: Vec<(ICalendarComponent, Vec<ICalendarComponent>)> = Vec::new();
    for entry in entries {
        written.push((component(entry, &mut zones), alarms(entry)));
    }
    for (name, (zone, first_at)) in &zones {
        let (component, observances) = zone::describe(name, zone.rules(), *first_at);
        written.insert(0, (component, observances));
    }
    for (component, children) in written {
        let id = components.len() as u32;
        components[0].component_ids.push(id);
        let child_ids = (0..children.len() as u32).map(|n| id + 1 + n).collect();
        components.push(ICalendarComponent { component_ids: child_ids, ..component });
        components.extend(children);
    }
    ICalendar { components }.to_string()
}

fn component(entry: &Entry, zones: &mut BTreeMap<String, (Zone, Timestamp)>) -> ICalendarComponent {
    let mut made = ICalendarComponent::new(if entry.kind == Kind::Todo { Type::VTodo } else { Type::VEvent });
    let to = &mut made;
    add(to, Name::Uid, [entry.uid.as_str()]);
    add(to, Name::Dtstamp, [stamp_utc(entry.updated_at).as_str()]);
    add(to, Name::Created, [stamp_utc(entry.created_at).as_str()]);
    add(to, Name::LastModified, [stamp_utc(entry.updated_at).as_str()]);
    // Each change is later than the one before it.
    let changed = entry.updated_at.duration_since(entry.created_at).as_secs().max(0);
    add(to, Name::Sequence, [changed.to_string().as_str()]);
    let begins = if entry.kind == Kind::Todo { Name::Due } else { Name::Dtstart };
    match &entry.when {
        When::At(at) => add(to, begins, [stamp_utc(*at).as_str()]),
        When::Dates(dates) => {
            let stamps: Vec<String> = dates.iter().map(|at| stamp_utc(*at)).collect();
            add(to, begins, stamps.first().map(String::as_str));
            // The beginning counts by itself.
            if stamps.len() > 1 {
                add(to, Name::Rdate, stamps[1..].iter().map(String::as_str));
            }
        }
        When::Series(lines) => times(to, lines, zones),
    }
    if entry.kind == Kind::Event {
        match entry.ends_at {
            Some(ends_at) => match entry.when {
                When::At(_) => add(to, Name::Dtend, [stamp_utc(ends_at).as_str()]),
                When::Series(_) | When::Dates(_) => {}
            },
            None => lines::add_duration(to, Name::Duration, SHOWN_FOR),
        }
        // It is no reason not to have a meeting then.
        add(to, Name::Transp, ["TRANSPARENT"]);
    } else {
        add(to, Name::Status, ["NEEDS-ACTION"]);
    }
    add(to, Name::Summary, [entry.summary.as_str()]);
    add(to, Name::Description, entry.description.as_deref());
    if !entry.categories.is_empty() {
        add(to, Name::Categories, entry.categories.iter().map(String::as_str));
    }
    add(to, Name::Priority, [entry.priority.to_string().as_str()]);
    add(to, Name::RelatedTo, entry.related_to.as_deref());
    made
}

fn alarms(entry: &Entry) -> Vec<ICalendarComponent> {
    let one = |(before, of): &(i64, Edge)| {
        let mut alarm = ICalendarComponent::new(Type::VAlarm);
        add(&mut alarm, Name::Action, ["DISPLAY"]);
        lines::add_trigger(&mut alarm, *before, *of);
        add(&mut alarm, Name::Description, [entry.summary.as_str()]);
        alarm
    };
    entry.alarms.iter().map(one).collect()
}

//! A calendar from its text.
//!
//! calcard takes the text apart. It skips a line that it cannot read, so one bad line costs that line and not the calendar, and it does not
//! recurse, so no nesting ends the process. An item that we cannot use is a [`Problem`] with its uid, and the others are taken.

mod alarm;
mod component;
mod line;
mod series;
mod zone;

use std::collections::HashMap;
use std::time::Duration;

use calcard::icalendar::{ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarProperty};
use calcard::{Entry, Parser};
use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

use self::component::{Part, Role};
use self::line::{first_duration, first_text};
use self::zone::Zones;
use crate::item::{Calendar, Change, Item, Problem};

/// The end of the uids that we give. What we have published ourselves does not come back as somebody's event.
pub const OWN_UID_END: &str = "@punctual";
/// The most problems that are told.
const PROBLEMS_MAX: usize = 100;

/// How much of a calendar is read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest text.
    pub bytes: usize,
    /// The most items.
    pub items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, items: 10_000 }
    }
}

/// What reading an item needs to know beside it.
struct Around<'a> {
    /// The zone of times that name none, and of whole days.
    floating: &'a Zone,
    zones: Zones<'a>,
    steps: &'a Steps,
    now: Timestamp,
}

/// Reads a calendar, or a bare component of one. Times without a zone are meant in `floating`.
///
/// The error is about the whole text: it is no calendar, or too large. What is wrong with one item is in [`Calendar::problems`].
pub fn read(text: &str, floating: &Zone, limits: &Limits, steps: &Steps, now: Timestamp) -> Result<Calendar, Invalid> {
    let wrong = |problem: String| Err(Invalid::new("calendar", problem));
    if text.len() > limits.bytes {
        return wrong(format!("is {} bytes long; at most {} are read", text.len(), limits.bytes));
    }
    let calendars = take_apart(text);
    if calendars.is_empty() {
        return wrong("is no calendar: it has no line BEGIN:VCALENDAR".into());
    }
    let n_items: usize = calendars.iter().map(|calendar| components(calendar).count()).sum();
    if n_items > limits.items {
        return wrong(format!("has {n_items} events and to-dos; at most {} are read", limits.items));
    }
    let mut read = Calendar::default();
    for calendar in &calendars {
        read_one(calendar, floating, steps, now, &mut read);
    }
    read.problems.truncate(PROBLEMS_MAX);
    Ok(read)
}

/// The calendars of a text; one that has only bare components counts as a calendar for each.
fn take_apart(text: &str) -> Vec<ICalendar> {
    let mut parser = Parser::new(text);
    let mut found = Vec::new();
    loop {
        match parser.entry() {
            Entry::ICalendar(calendar) => {
                let kind = calendar.components.first().map(|component| &component.component_type);
                if matches!(
                    kind,
                    Some(
                        ICalendarComponentType::VCalendar
                            | ICalendarComponentType::VEvent
                            | ICalendarComponentType::VTodo
                    )
                ) {
                    found.push(calendar);
                }
            }
            Entry::Eof => return found,
            _ => {}
        }
    }
}

fn components(calendar: &ICalendar) -> impl Iterator<Item = &ICalendarComponent> {
    let is_item = |component: &&ICalendarComponent| {
        matches!(component.component_type, ICalendarComponentType::VEvent | ICalendarComponentType::VTodo)
    };
    calendar.components.iter().filter(is_item)
}

fn read_one(calendar: &ICalendar, floating: &Zone, steps: &Steps, now: Timestamp, read: &mut Calendar) {
    let head = calendar.components.first().filter(|head| head.component_type == ICalendarComponentType::VCalendar);
    let said = |name: &str| head.and_then(|head| first_text(head, &ICalendarProperty::Other(name.to_owned())));
    if read.name.is_none() {
        let name = head.and_then(|head| first_text(head, &ICalendarProperty::Name));
        read.name = name.or_else(|| said("X-WR-CALNAME")).filter(|name| !name.trim().is_empty());
    }
    let refresh = head.and_then(|head| {
        first_duration(head, &ICalendarProperty::RefreshInterval)
            .or_else(|| first_duration(head, &ICalendarProperty::Other("X-PUBLISHED-TTL".into())))
    });
    read.refresh =
        read.refresh.or_else(|| refresh.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs));

    let zones = Zones::new(calendar, floating, now, steps);
    // A calendar may say in which zone it is meant where its times do not.
    let own = said("X-WR-TIMEZONE").and_then(|name| zones.known_by_name(&name));
    let around = Around { floating: own.as_ref().unwrap_or(floating), zones, steps, now };
    let mut groups: Vec<(String, Vec<Part>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for component in components(calendar) {
        match Part::read(calendar, component, &around) {
            Ok(part) if part.item.uid.ends_with(OWN_UID_END) => {}
            Ok(part) => {
                let place = *places.entry(part.item.uid.clone()).or_insert(groups.len());
                if place == groups.len() {
                    groups.push((part.item.uid.clone(), Vec::new()));
                }
                groups[place].1.push(part);
            }
            Err(problem) => read.problems.push(problem),
        }
    }
    for (uid, parts) in groups {
        together(&uid, parts, &around, read);
    }
    // The same uid may stand in several calendars of one text; the first counts.
    let mut seen = std::collections::HashSet::new();
    read.items.retain(|item| seen.insert(item.uid.clone()));
}

/// Makes one item of the components with one uid: the series, and its instances that are otherwise.
fn together(uid: &str, parts: Vec<Part>, around: &Around<'_>, read: &mut Calendar) {
    let (mut wholes, mut instances): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| matches!(part.role, Role::Whole));
    wholes.sort_by_key(|part| (part.sequence, part.stamped_at));
    let problem = |problem: String| Problem { uid: uid.to_owned(), problem };
    let Some(whole) = wholes.pop() else {
        for part in instances {
            let at = match &part.role {
                Role::Instance { at, .. } => {
                    at.local(&part.item.zone).map(|at| at.strftime("%Y%m%dT%H%M%S").to_string())
                }
                Role::Whole => None,
            };
            let uid = format!("{uid}/{}", at.unwrap_or_default());
            read.items.push(Item { uid, ..part.item });
        }
        return;
    };
    let (mut item, lines) = (whole.item, whole.lines);
    if !lines.is_empty() {
        match lines.repeats(&item, around) {
            Ok((repeats, doubt)) => {
                item.repeats = Some(repeats);
                read.problems.extend(doubt.map(problem));
            }
            Err(wrong) => {
                read.problems.push(problem(wrong));
                return;
            }
        }
        // A zone that only this calendar knows has become single dates in UTC.
        if lines.is_of_unknown_zone() {
            item.zone = Zone::utc();
        }
    }
    instances.sort_by_key(|part| (part.sequence, part.stamped_at));
    if let Some(repeats) = &mut item.repeats {
        for part in instances {
            if let Some(mut change) = part.into_override(&item.zone, item.starts_at) {
                // A series that rings, and an instance that does not say: its alarms were removed.
                if let (Change::Changed { alarms: alarms @ None, .. }, Some(_)) = (&mut change.change, &item.alarms) {
                    *alarms = Some(Vec::new());
                }
                repeats.overrides.retain(|other| (other.at, other.following) != (change.at, change.following));
                repeats.overrides.push(change);
            }
        }
        repeats.overrides.sort_by_key(|change| change.at);
    }
    read.items.push(item);
}

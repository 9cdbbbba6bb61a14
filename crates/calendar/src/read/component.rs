//! One `VEVENT` or `VTODO`.

use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarParameterName, ICalendarParameterValue,
    ICalendarProperty, ICalendarStatus, ICalendarValue,
};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_core::zone::Zone;

use super::Around;
use super::alarm;
use super::line::{Time, first_number, first_text, first_time, mail, seconds};
use super::series::SeriesLines;
use super::zone::TheirZone;
use crate::item::{Change, Item, Kind, Override, Problem};

/// The longest title and description that are kept.
const TITLE_BYTES_MAX: usize = 500;
const DESCRIPTION_BYTES_MAX: usize = 4000;
/// The most people of one item.
const PEOPLE_MAX: usize = 100;

/// A component as it was read, before those of one uid are put together.
pub(super) struct Part {
    /// What it says, as if it stood alone.
    pub(super) item: Item,
    pub(super) role: Role,
    /// What it says about its repetition.
    pub(super) lines: SeriesLines,
    /// How often it was changed.
    pub(super) sequence: i64,
    /// When it was written.
    pub(super) stamped_at: Option<Timestamp>,
}

/// What a component is to the others of its uid.
pub(super) enum Role {
    /// The item, or the series.
    Whole,
    /// An instance of the series that is otherwise.
    Instance {
        /// Its original start.
        at: Time,
        /// So are all that come after it.
        following: bool,
    },
}

impl Part {
    pub(super) fn read(
        calendar: &ICalendar,
        component: &ICalendarComponent,
        around: &Around<'_>,
    ) -> Result<Self, Problem> {
        let uid = first_text(component, &ICalendarProperty::Uid).unwrap_or_default().trim().to_owned();
        Self::understand(calendar, component, &uid, around).map_err(|problem| Problem { uid, problem })
    }

    fn understand(
        calendar: &ICalendar,
        component: &ICalendarComponent,
        uid: &str,
        around: &Around<'_>,
    ) -> Result<Self, String> {
        let is_todo = component.component_type == ICalendarComponentType::VTodo;
        let kind = if is_todo { Kind::Todo } else { Kind::Event };
        let zones = &around.zones;
        let start = first_time(component, &ICalendarProperty::Dtstart, zones)?;
        let end_name = if is_todo { ICalendarProperty::Due } else { ICalendarProperty::Dtend };
        let end = first_time(component, &end_name, zones)?;
        // A to-do may have only its due date, or no date at all.
        let Some(begin) = start.as_ref().or(end.as_ref()) else {
            let name = if is_todo { "DUE" } else { "DTSTART" };
            return Err(format!("{name}: is missing, so nobody knows when it is"));
        };
        let far = || "DTSTART: is further away than the calendar goes".to_owned();
        let starts_at = begin.instant(around.floating).ok_or_else(far)?;
        let (zone, all_day) = match begin {
            Time::Zoned(_, TheirZone::Known(zone)) => (zone.clone(), false),
            Time::Zoned(_, TheirZone::Described(_)) | Time::Utc(_) => (Zone::utc(), false),
            Time::Floating(_) => (around.floating.clone(), false),
            Time::Day(_) => (around.floating.clone(), true),
        };
        let ends_at = match (&start, &end) {
            (Some(_), Some(end)) => end.instant(around.floating),
            (Some(_), None) => after(component, starts_at, &zone),
            (None, _) => None,
        };
        let whole_day = || {
            let next = zone.rules().to_datetime(starts_at).checked_add(SignedDuration::from_hours(24)).ok()?;
            zone.rules().to_timestamp(next).ok()
        };
        // An end before the beginning is a mistake of many programs; such an item has none.
        let ends_at =
            ends_at.filter(|ends_at| *ends_at > starts_at).or_else(|| (all_day && !is_todo).then(whole_day)?);

        let title = first_text(component, &ICalendarProperty::Summary).unwrap_or_default();
        let title = cut(title.trim(), TITLE_BYTES_MAX).to_owned();
        let long = |name| {
            let text = first_text(component, name).filter(|text| !text.trim().is_empty())?;
            Some(cut(text.trim(), DESCRIPTION_BYTES_MAX).to_owned())
        };
        let uid = match uid {
            "" => format!("{} {title}", zone.rules().to_datetime(starts_at).strftime("%Y%m%dT%H%M%S")),
            uid => uid.to_owned(),
        };
        let is_over = matches!(component.status(), Some(ICalendarStatus::Cancelled | ICalendarStatus::Completed));
        let done = is_over || (is_todo && component.has_property(&ICalendarProperty::Completed));
        let priority = first_number(component, &ICalendarProperty::Priority).unwrap_or(0);
        let mut people: Vec<String> = Vec::new();
        for name in [&ICalendarProperty::Attendee, &ICalendarProperty::Organizer] {
            for found in component.properties(name).filter_map(mail) {
                if !people.contains(&found) && people.len() < PEOPLE_MAX {
                    people.push(found);
                }
            }
        }
        let mut item = Item {
            uid,
            kind,
            title,
            description: long(&ICalendarProperty::Description),
            location: long(&ICalendarProperty::Location),
            starts_at,
            ends_at,
            all_day,
            zone,
            repeats: None,
            alarms: None,
            done,
            priority: u8::try_from(priority.clamp(0, 9)).unwrap_or(0),
            people,
        };
        let role = role(component, around)?;
        let lines = SeriesLines::read(component, begin, around)?;
        let is_single = lines.is_empty();
        item.alarms = alarm::read(calendar, component, &item, is_single, around);
        Ok(Self {
            item,
            role,
            lines,
            sequence: first_number(component, &ICalendarProperty::Sequence).unwrap_or(0),
            stamped_at: first_time(component, &ICalendarProperty::Dtstamp, zones)
                .ok()
                .flatten()
                .and_then(|stamped| stamped.instant(around.floating)),
        })
    }

    /// What it says about one instance of the series in `zone` that begins at `starts_at`.
    pub(super) fn into_override(self, zone: &Zone, starts_at: Timestamp) -> Option<Override> {
        let Role::Instance { at, following } = self.role else { return None };
        let at: DateTime = match at {
            // A day names the instance on that day, whatever its time.
            Time::Day(day) => day.to_datetime(zone.rules().to_datetime(starts_at).time()),
            at => at.local(zone)?,
        };
        let Item { starts_at, ends_at, title, alarms, done, .. } = self.item;
        let change = if done { Change::Cancelled } else { Change::Changed { starts_at, ends_at, title, alarms } };
        Some(Override { at, following, change })
    }
}

fn role(component: &ICalendarComponent, around: &Around<'_>) -> Result<Role, String> {
    let Some(entry) = component.property(&ICalendarProperty::RecurrenceId) else { return Ok(Role::Whole) };
    let Some(at) = first_time(component, &ICalendarProperty::RecurrenceId, &around.zones)? else {
        return Ok(Role::Whole);
    };
    let following = entry
        .params
        .iter()
        .any(|param| param.name == ICalendarParameterName::Range && param.value == ICalendarParameterValue::Bool(true));
    Ok(Role::Instance { at, following })
}

/// The end by a `DURATION`: its days by the calendar, its hours by the clock.
fn after(component: &ICalendarComponent, starts_at: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let value = component.property(&ICalendarProperty::Duration)?.values.first()?;
    let ICalendarValue::Duration(duration) = value else { return None };
    let days = i64::from(duration.weeks) * 7 + i64::from(duration.days);
    let local = zone.rules().to_datetime(starts_at).checked_add(SignedDuration::from_hours(days * 24)).ok()?;
    let at = zone.rules().to_timestamp(local).ok()?;
    at.checked_add(SignedDuration::from_secs(seconds(duration).abs() - days * 86_400)).ok()
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

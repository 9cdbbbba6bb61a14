//! When the reader of an item wants to be reminded.

use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarParameterName, ICalendarParameterValue,
    ICalendarProperty, ICalendarRelated, ICalendarValue,
};
use jiff::{SignedDuration, Timestamp};

use super::Around;
use super::line::{first_duration, first_number, first_text, first_time, seconds};
use crate::item::{Alarm, Edge, Item};

/// The most alarms of one item, repetitions included.
const ALARMS_MAX: usize = 32;
/// An alarm at this instant is how Apple says that there is none, where the reader's own default would count.
const NONE_AT: &str = "1976-04-01T00:55:45Z";

/// The alarms of a component. `None`: it has none of its own, not even one that says so.
pub(super) fn read(
    calendar: &ICalendar,
    component: &ICalendarComponent,
    item: &Item,
    is_single: bool,
    around: &Around<'_>,
) -> Option<Vec<Alarm>> {
    let children = component.component_ids.iter().filter_map(|id| calendar.component_by_id(*id));
    let mut found = Vec::new();
    let mut has_any = false;
    for alarm in children.filter(|child| child.component_type == ICalendarComponentType::VAlarm) {
        has_any = true;
        found.extend(one(alarm, item, is_single, around));
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(ALARMS_MAX);
    has_any.then_some(found)
}

fn one(alarm: &ICalendarComponent, item: &Item, is_single: bool, around: &Around<'_>) -> Vec<Alarm> {
    let action = first_text(alarm, &ICalendarProperty::Action).unwrap_or_default();
    let Some(first) = trigger(alarm, item, around) else { return Vec::new() };
    let none_at: Option<Timestamp> = NONE_AT.parse().ok();
    if action.eq_ignore_ascii_case("NONE") || matches!(first, Alarm::At(at) if Some(at) == none_at) {
        return Vec::new();
    }
    // Somebody has seen it elsewhere.
    let acknowledged = first_time(alarm, &ICalendarProperty::Acknowledged, &around.zones).ok().flatten();
    let acknowledged_at = acknowledged.and_then(|time| time.instant(around.floating));
    let rings_at = first.rings_at(item.starts_at, item.ends_at);
    if is_single && acknowledged_at.is_some_and(|seen_at| rings_at.is_some_and(|at| at <= seen_at)) {
        return Vec::new();
    }
    let n_more = first_number(alarm, &ICalendarProperty::Repeat).unwrap_or(0).clamp(0, ALARMS_MAX as i64);
    let every = first_duration(alarm, &ICalendarProperty::Duration).filter(|every| *every > 0);
    let n_more = if every.is_some() { n_more } else { 0 };
    (0..=n_more)
        .filter_map(|n| {
            let later = n * every.unwrap_or(0);
            match first {
                Alarm::Before { seconds, of } => Some(Alarm::Before { seconds: seconds.checked_sub(later)?, of }),
                Alarm::At(at) => at.checked_add(SignedDuration::from_secs(later)).ok().map(Alarm::At),
            }
        })
        .collect()
}

fn trigger(alarm: &ICalendarComponent, item: &Item, around: &Around<'_>) -> Option<Alarm> {
    let entry = alarm.property(&ICalendarProperty::Trigger)?;
    if let Some(ICalendarValue::Duration(duration)) = entry.values.first() {
        let is_of_end = entry.params.iter().any(|param| {
            param.name == ICalendarParameterName::Related
                && param.value == ICalendarParameterValue::Related(ICalendarRelated::End)
        });
        // An item without an end ends when it begins.
        let of = if is_of_end && item.ends_at.is_some() { Edge::End } else { Edge::Start };
        return Some(Alarm::Before { seconds: -seconds(duration), of });
    }
    let at = first_time(alarm, &ICalendarProperty::Trigger, &around.zones).ok().flatten()?;
    at.instant(around.floating).map(Alarm::At)
}

//! The instances of an item in a stretch of time.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

use crate::item::{Alarm, Change, Item, Override, Repeats};

/// One time at which an item happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its original start, local time of the series.
    pub at: DateTime,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
    /// Its title.
    pub title: String,
    /// Its alarms, if it or its series says any. One at an instant is the series' own and stands at every instance.
    pub alarms: Option<Vec<Alarm>>,
}

impl Item {
    /// The instances that begin in `from..until`, in order, at most `max`. One that is cancelled is none.
    pub fn instances(&self, from: Timestamp, until: Timestamp, max: usize, steps: &Steps) -> Vec<Instance> {
        let rules = self.zone.rules();
        let whole = |at, starts_at, ends_at| Instance {
            at,
            starts_at,
            ends_at,
            title: self.title.clone(),
            alarms: self.alarms.clone(),
        };
        let Some(repeats) = &self.repeats else {
            let is_inside = from <= self.starts_at && self.starts_at < until;
            let only = whole(rules.to_datetime(self.starts_at), self.starts_at, self.ends_at);
            return if is_inside { vec![only] } else { Vec::new() };
        };
        let mut found = Vec::new();
        for part in parts(repeats, &self.zone, self.length()) {
            let shifted = |at: Timestamp, by: SignedDuration| at.checked_add(by).unwrap_or(Timestamp::MIN);
            // A shift is local, and clocks differ by less than a day or so; what is outside is left out below.
            let day = SignedDuration::from_hours(26);
            let first = shifted(from, -part.by - day).max(part.from);
            let last = shifted(until, -part.by + day).min(part.until);
            let mut cursor = shifted(first, SignedDuration::from_nanos(-1));
            while let Some(at) = repeats.schedule.next_within(&self.zone, cursor, steps).filter(|at| *at < last) {
                cursor = at;
                let original = rules.to_datetime(at);
                if repeats.overrides.iter().any(|change| !change.following && change.at == original) {
                    continue;
                }
                let moved = |by| rules.to_timestamp(original.checked_add(by).ok()?).ok();
                let Some(starts_at) = (if part.by.is_zero() { Some(at) } else { moved(part.by) }) else { continue };
                if from <= starts_at && starts_at < until {
                    let ends_at = part.length.and_then(|length| moved(part.by + length));
                    let mut instance = whole(original, starts_at, ends_at);
                    if let Some(Override { change: Change::Changed { title, alarms, .. }, .. }) = part.by_override {
                        instance.title.clone_from(title);
                        instance.alarms = alarms.clone().or(instance.alarms);
                    }
                    found.push(instance);
                }
                if found.len() > max {
                    break;
                }
            }
        }
        for change in repeats.overrides.iter().filter(|change| !change.following) {
            if let Change::Changed { starts_at, ends_at, title, alarms } = &change.change
                && from <= *starts_at
                && *starts_at < until
            {
                let alarms = alarms.clone().or_else(|| self.alarms.clone());
                found.push(Instance {
                    at: change.at,
                    starts_at: *starts_at,
                    ends_at: *ends_at,
                    title: title.clone(),
                    alarms,
                });
            }
        }
        found.sort_by_key(|instance| (instance.starts_at, instance.at));
        found.truncate(max);
        found
    }
}

/// A stretch of a series within which every instance is moved by as much.
struct Part<'a> {
    from: Timestamp,
    until: Timestamp,
    by: SignedDuration,
    length: Option<SignedDuration>,
    by_override: Option<&'a Override>,
}

fn parts<'a>(repeats: &'a Repeats, zone: &Zone, length: Option<SignedDuration>) -> Vec<Part<'a>> {
    let rules = zone.rules();
    let whole =
        Part { from: Timestamp::MIN, until: Timestamp::MAX, by: SignedDuration::ZERO, length, by_override: None };
    let mut parts = vec![whole];
    let mut turns: Vec<&Override> = repeats.overrides.iter().filter(|change| change.following).collect();
    turns.sort_by_key(|change| change.at);
    for turn in turns {
        let Ok(from) = rules.to_timestamp(turn.at) else { continue };
        if let Some(last) = parts.last_mut() {
            last.until = from;
        }
        if let Change::Changed { starts_at, ends_at, .. } = &turn.change {
            let begins = rules.to_datetime(*starts_at);
            let by = begins.duration_since(turn.at);
            let length = ends_at.map(|ends_at| rules.to_datetime(ends_at).duration_since(begins)).or(length);
            parts.push(Part { from, until: Timestamp::MAX, by, length, by_override: Some(turn) });
        }
    }
    parts
}

//! When a person must not be disturbed.
//!
//! Quiet hours are a stretch of local time, every day. Across a change of the clocks a stretch begins and ends at the first
//! instant at which the local clock shows its time or a later one: a night is never quiet twice, and nobody is woken before
//! the end because an hour came twice.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, Timestamp};

use crate::alert;
use crate::occurrence::Why;
use crate::reminder::{Priority, Reminder};
use crate::silence::Silences;
use crate::user::{Except, Person, QuietHours};
use crate::zone::Zone;

/// Until when nothing of `reminder` may be sent to its person at `at`, and why. `None`: it may be sent.
///
/// Of a pause and of silences the one that ends last counts. Quiet hours are looked at when those are over. An alert always may be
/// sent: it is for an admin who has asked for no silence, or there is none.
pub fn must_wait(person: &Person, silences: &Silences, reminder: &Reminder, at: Timestamp) -> Option<(Timestamp, Why)> {
    if reminder.created_via == alert::VIA {
        return None;
    }
    let paused = person.paused_until.filter(|until| *until > at).map(|until| (until, Why::Paused));
    let silenced = silences.until(reminder, at).map(|until| (until, Why::Silenced));
    if let Some(wait) = silenced.into_iter().chain(paused).max_by_key(|(until, _)| *until) {
        return Some(wait);
    }
    let quiet = person.quiet.as_ref().filter(|quiet| !is_exempt(quiet, reminder.priority))?;
    let until = ends_at(quiet, zone_of(person, reminder), at)?;
    Some((until, Why::Quiet))
}

/// The zone in which a person's quiet hours are meant: theirs, else the reminder's.
pub fn zone_of<'a>(person: &'a Person, reminder: &'a Reminder) -> &'a Zone {
    person.timezone.as_ref().unwrap_or(&reminder.timezone)
}

/// When the quiet hours end that `at` lies in; `None`: it lies in none.
pub fn ends_at(quiet: &QuietHours, zone: &Zone, at: Timestamp) -> Option<Timestamp> {
    let mut end = stretch_end(quiet, zone, at)?;
    // A change of the clocks can make one stretch begin where another ends.
    while let Some(later) = stretch_end(quiet, zone, end) {
        end = later;
    }
    Some(end)
}

/// Whether quiet hours end at this very instant.
pub fn is_end(quiet: &QuietHours, zone: &Zone, at: Timestamp) -> bool {
    stretches(quiet, zone, at).any(|(from, to)| from < at && to == at) && stretch_end(quiet, zone, at).is_none()
}

fn stretch_end(quiet: &QuietHours, zone: &Zone, at: Timestamp) -> Option<Timestamp> {
    if quiet.from == quiet.to {
        // No door accepts such hours; and they would be a night without an end.
        return None;
    }
    stretches(quiet, zone, at).find(|(from, to)| *from <= at && at < *to).map(|(_, to)| to)
}

fn is_exempt(quiet: &QuietHours, priority: Priority) -> bool {
    match quiet.except {
        Except::Critical => priority == Priority::Critical,
        Except::High => matches!(priority, Priority::High | Priority::Critical),
    }
}

/// The stretches that begin on the day before `at`, on the day, and on the day after.
fn stretches(quiet: &QuietHours, zone: &Zone, at: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> {
    let today = zone.rules().to_datetime(at).date();
    let days = [today.yesterday().ok(), Some(today), today.tomorrow().ok()];
    days.into_iter().flatten().filter_map(move |day| {
        let last = if quiet.from < quiet.to { day } else { day.tomorrow().ok()? };
        Some((first_at(zone, day, quiet.from)?, first_at(zone, last, quiet.to)?))
    })
}

/// The first instant of `day` at which its clock shows `time` or later.
fn first_at(zone: &Zone, day: Date, time: Time) -> Option<Timestamp> {
    let wanted = zone.rules().to_ambiguous_timestamp(DateTime::from_parts(day, time));
    let is_skipped = matches!(wanted.offset(), AmbiguousOffset::Gap { .. });
    let at = wanted.compatible().ok()?;
    if is_skipped {
        // That is past the gap by as much as the time lies within it. The clock shows a later time from the change on.
        let just_after = at.checked_add(SignedDuration::from_nanos(1)).ok()?;
        let change = zone.rules().preceding(just_after).next()?;
        return Some(change.timestamp());
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(from: &str, to: &str) -> QuietHours {
        QuietHours { from: from.parse().unwrap(), to: to.parse().unwrap(), except: Except::Critical, digest: false }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// One row a case: zone, hours, instant, and when it ends.
    fn check(zone: &str, (from, to): (&str, &str), instant: &str, ends: Option<&str>) {
        let zone = Zone::named(zone).unwrap();
        assert_eq!(ends_at(&quiet(from, to), &zone, at(instant)), ends.map(at), "{zone} {from}-{to} at {instant}");
    }

    const NIGHT: (&str, &str) = ("22:00", "07:00");
    const NAP: (&str, &str) = ("13:00", "14:30");

    #[test]
    fn quiet_hours_begin_with_their_first_instant_and_end_before_their_last() {
        for (instant, ends) in [
            ("2026-01-10T21:59:59.999999Z", None),
            ("2026-01-10T22:00:00Z", Some("2026-01-11T07:00:00Z")),
            ("2026-01-10T23:59:59Z", Some("2026-01-11T07:00:00Z")),
            ("2026-01-11T00:00:00Z", Some("2026-01-11T07:00:00Z")),
            ("2026-01-11T06:59:59.999999999Z", Some("2026-01-11T07:00:00Z")),
            ("2026-01-11T07:00:00Z", None),
            ("2026-01-11T12:00:00Z", None),
        ] {
            check("UTC", NIGHT, instant, ends);
        }
        check("UTC", NAP, "2026-01-10T12:59:59Z", None);
        check("UTC", NAP, "2026-01-10T13:00:00Z", Some("2026-01-10T14:30:00Z"));
        check("UTC", NAP, "2026-01-10T14:30:00Z", None);
        check("UTC", NAP, "2026-01-10T23:00:00Z", None);
        check("UTC", ("00:00", "06:00"), "2026-01-10T00:00:00Z", Some("2026-01-10T06:00:00Z"));
        check("UTC", ("18:00", "18:00"), "2026-01-10T23:59:59Z", None);
        check("UTC", ("18:00", "00:00"), "2026-01-10T23:59:59Z", Some("2026-01-11T00:00:00Z"));
    }

    #[test]
    fn they_are_meant_in_their_zone() {
        check("Asia/Tokyo", NIGHT, "2026-01-10T13:00:00Z", Some("2026-01-10T22:00:00Z"));
        check("Asia/Tokyo", NIGHT, "2026-01-10T22:00:00Z", None);
        check("America/Los_Angeles", NIGHT, "2026-01-11T06:00:00Z", Some("2026-01-11T15:00:00Z"));
        check("-02:00", NIGHT, "2026-01-11T00:00:00Z", Some("2026-01-11T09:00:00Z"));
    }

    #[test]
    fn the_night_on_which_the_clocks_go_forward_is_shorter() {
        // Berlin, 2026-03-29: from 02:00 to 03:00, at 01:00 UTC.
        check("Europe/Berlin", NIGHT, "2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z"));
        check("Europe/Berlin", NIGHT, "2026-03-27T21:00:00Z", Some("2026-03-28T06:00:00Z"));
        // The end is in the hour that is left out: quiet ends with the change.
        check("Europe/Berlin", ("22:00", "02:30"), "2026-03-28T23:30:00Z", Some("2026-03-29T01:00:00Z"));
        check("Europe/Berlin", ("22:00", "02:30"), "2026-03-29T01:00:00Z", None);
        // And so is the beginning.
        check("Europe/Berlin", ("02:30", "07:00"), "2026-03-29T00:59:59Z", None);
        check("Europe/Berlin", ("02:30", "07:00"), "2026-03-29T01:00:00Z", Some("2026-03-29T05:00:00Z"));
        // All of it is left out: that night nothing is quiet.
        check("Europe/Berlin", ("02:15", "02:45"), "2026-03-29T01:00:00Z", None);
        check("Europe/Berlin", ("02:15", "02:45"), "2026-03-29T00:30:00Z", None);
    }

    #[test]
    fn the_night_on_which_an_hour_comes_twice_is_quiet_once() {
        // Berlin, 2026-10-25: from 03:00 to 02:00, at 01:00 UTC.
        check("Europe/Berlin", NIGHT, "2026-10-24T20:00:00Z", Some("2026-10-25T06:00:00Z"));
        // 02:10 the first time, and the second time, when it was 02:30 already.
        check("Europe/Berlin", ("22:00", "02:30"), "2026-10-25T00:10:00Z", Some("2026-10-25T00:30:00Z"));
        check("Europe/Berlin", ("22:00", "02:30"), "2026-10-25T01:10:00Z", None);
        // It began at 02:30 the first time, and 02:10 the second time is within.
        check("Europe/Berlin", ("02:30", "07:00"), "2026-10-25T00:29:59Z", None);
        check("Europe/Berlin", ("02:30", "07:00"), "2026-10-25T01:10:00Z", Some("2026-10-25T06:00:00Z"));
    }

    #[test]
    fn a_day_that_a_zone_left_out_is_no_trouble() {
        // Apia had no 30 December 2011.
        check("Pacific/Apia", NIGHT, "2011-12-30T09:30:00Z", Some("2011-12-30T17:00:00Z"));
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        for instant in [Timestamp::MIN, Timestamp::MAX] {
            for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
                ends_at(&quiet("22:00", "07:00"), &Zone::named(zone).unwrap(), instant);
            }
        }
    }

    #[test]
    fn the_end_is_known_when_it_comes() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let is_end = |(from, to), instant| is_end(&quiet(from, to), &zone, at(instant));
        assert!(is_end(NIGHT, "2026-01-11T06:00:00Z"));
        assert!(!is_end(NIGHT, "2026-01-11T06:00:00.000001Z"));
        assert!(!is_end(NIGHT, "2026-01-10T21:00:00Z"));
        assert!(is_end(NAP, "2026-01-10T13:30:00Z"));
        assert!(is_end(("22:00", "02:30"), "2026-03-29T01:00:00Z"), "where the clocks change");
        assert!(!is_end(("02:15", "02:45"), "2026-03-29T01:00:00Z"), "what never began does not end");
    }

    /// Whatever the zone and the hours, an end is an end, and comes within a day, or two where the clocks skip it.
    #[test]
    fn what_waits_is_let_go() {
        let hours = [NIGHT, NAP, ("02:30", "02:00"), ("00:00", "23:59"), ("23:30", "00:30"), ("02:00", "03:00")];
        for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago"] {
            let zone = Zone::named(zone).unwrap();
            for (from, to) in hours {
                let quiet = quiet(from, to);
                let mut instant = at("2025-12-31T00:00:00Z");
                while instant < at("2027-01-02T00:00:00Z") {
                    if let Some(end) = ends_at(&quiet, &zone, instant) {
                        assert!(end > instant && is_end(&quiet, &zone, end), "{zone} {from}-{to} at {instant}: {end}");
                        assert!(end.duration_since(instant).as_hours() < 50, "{zone} {from}-{to} at {instant}: {end}");
                        let shown = zone.rules().to_datetime(end).time();
                        assert!(shown >= quiet.to, "{zone} {from}-{to} at {instant}: the clock shows {shown}");
                    }
                    instant = instant.checked_add(jiff::SignedDuration::from_mins(59)).unwrap();
                }
            }
        }
    }
}

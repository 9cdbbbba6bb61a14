//! Instants as people read them.

use jiff::Timestamp;
use punctual_core::span;
use punctual_core::zone::Zone;

pub(crate) use crate::understood::exact;
use crate::wire::Reminder;

/// Local time, such as `Mon 2 Mar 08:00`; with the year when it is another one.
pub(crate) fn local(at: Timestamp, zone: &Zone, now: Timestamp) -> String {
    let there = at.to_zoned(zone.rules().clone());
    let here = now.to_zoned(zone.rules().clone());
    let date = if there.year() == here.year() { "%a %-d %b" } else { "%a %-d %b %Y" };
    // Seconds matter only when somebody is about to wait for them, or when they were asked for.
    let near = at.duration_since(now).as_secs().abs() < 120;
    let clock = if near || there.second() != 0 { "%H:%M:%S" } else { "%H:%M" };
    there.strftime(&format!("{date} {clock}")).to_string()
}

/// How far away, such as `in 4 min` or `2 h ago`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    let distance = at.duration_since(now);
    // Half a second of slack, so that "in 5 minutes" is not shown as 4.
    let roughly = span::rough(distance.unsigned_abs() + std::time::Duration::from_millis(500));
    if distance.is_negative() { format!("{roughly} ago") } else { format!("in {roughly}") }
}

/// Local time and where it is that, such as `Mon 2 Mar 08:00 Europe/Berlin`.
pub(crate) fn labelled(at: Timestamp, zone: &Zone, now: Timestamp) -> String {
    format!("{} {}", local(at, zone, now), zone.name())
}

/// All of it, such as `Mon 2 Mar 08:00 Europe/Berlin  in 4 min`.
pub(crate) fn both(at: Timestamp, zone: &Zone, now: Timestamp) -> String {
    format!("{}  {}", labelled(at, zone, now), relative(at, now))
}

/// The zone that a reminder's times are meant in.
pub(crate) fn zone_of(reminder: &Reminder<'_>) -> Zone {
    Zone::named(&reminder.timezone).unwrap_or_else(|_| Zone::utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_and_relative_stand_beside_each_other() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let now: Timestamp = "2026-03-02T06:55:30Z".parse().unwrap();
        for (at, expect) in [
            ("2026-03-02T07:00:00Z", "Mon 2 Mar 08:00 Europe/Berlin  in 5 min"),
            ("2026-03-02T06:56:00Z", "Mon 2 Mar 07:56:00 Europe/Berlin  in 30 s"),
            ("2026-03-01T06:55:30Z", "Sun 1 Mar 07:55:30 Europe/Berlin  1 day ago"),
            ("2027-01-01T00:00:00Z", "Fri 1 Jan 2027 01:00 Europe/Berlin  in 305 days"),
        ] {
            assert_eq!(both(at.parse().unwrap(), &zone, now), expect);
        }
        assert_eq!(exact(now, &zone), "2026-03-02T07:55:30+01:00");
    }
}
